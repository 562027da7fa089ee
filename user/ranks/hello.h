/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_HELLO_H
#define RANKS_HELLO_H

/* How a rank introduces itself to rank 0. Only for user/ranks; others use hub.h. */

#include "ranks/hub.h"

struct hello {
	unsigned int rank;
	pid_t pid;
	char host[65];
	char terms[HUB_TERMS_MAX + 1];
};

#define HELLO_LEN (2 + INVITE_SECRET + 4 + 4 + 256 + 2 + HUB_TERMS_MAX)
size_t hello_pack(const struct hello *hello, const uint8_t secret[static INVITE_SECRET],
		  uint8_t out[static HELLO_LEN]);
/* 0; -EPROTO: a stranger, or another version. */
int hello_unpack(struct hello *out, const struct message *m,
		 const uint8_t secret[static INVITE_SECRET]);

#endif
