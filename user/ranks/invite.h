/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_INVITE_H
#define RANKS_INVITE_H

/*
 * Where rank 0 listens: what it tells the others through MPI. All of its host's addresses, because
 * it does not know which of them they reach; and a secret, by which both sides know that the other
 * one belongs to this run.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define INVITE_LEN       512
#define INVITE_SECRET    16
#define INVITE_ADDRESSES 28

struct invite {
	uint16_t port;
	uint8_t secret[INVITE_SECRET];
	unsigned int n;
	struct sockaddr_storage address[INVITE_ADDRESSES]; /* with the port; loopback last */
};

/* This host's, with a new secret. 0 or a negative errno. */
int invite_here(struct invite *out, uint16_t port, struct err *e);

void invite_pack(const struct invite *p, uint8_t out[static INVITE_LEN]);
/* 0 or -EPROTO: another version's. */
int invite_unpack(struct invite *out, const uint8_t in[static INVITE_LEN]);

#endif
