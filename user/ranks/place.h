/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_PLACE_H
#define RANKS_PLACE_H

/*
 * Where rank 0 listens: what it tells the others through MPI. All of its host's addresses, because
 * it does not know which of them they reach; and a secret, by which both sides know that the other
 * one belongs to this run.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PLACE_LEN       512
#define PLACE_SECRET    16
#define PLACE_ADDRESSES 28

struct place {
	uint16_t port;
	uint8_t secret[PLACE_SECRET];
	unsigned int n;
	struct sockaddr_storage address[PLACE_ADDRESSES]; /* with the port; loopback last */
};

/* This host's, with a new secret. 0 or a negative errno. */
int place_here(struct place *out, uint16_t port, struct err *e);

void place_pack(const struct place *p, uint8_t out[static PLACE_LEN]);
/* 0 or -EPROTO: another version's. */
int place_unpack(struct place *out, const uint8_t in[static PLACE_LEN]);

#endif
