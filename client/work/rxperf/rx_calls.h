/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_RXPERF_RX_CALLS_H
#define WORK_RXPERF_RX_CALLS_H

/* Small calls that servers of AFS answer without a login: whether they are there, and how fast. */

#include "base/buf.h"
#include "base/err.h"

#define RX_CALL_LEN 16 /* longest of the requests */

struct rx_small_call {
	const char *name; /* "GetTime" */
	uint16_t service;
	unsigned int port; /* the usual one */
	uint32_t opcode;
	bool called_back; /* the server asks its client, too */
	bool of_volume;   /* about the root directory of a volume */
	unsigned int
	    apart; /* STORE_RX_ASK...: a question that every server over Rx answers; 0: a call */
	uint32_t reply_min; /* least bytes of a reply */
};

/* By its name, in any case of letters. -ENOENT, and a text that lists all. */
int rx_small_call_find(const struct rx_small_call **out, const char *name, struct err *e);

/* The request, at most RX_CALL_LEN bytes. */
void rx_small_call_put(struct wbuf *b, const struct rx_small_call *c, uint32_t volume);

#endif
