/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_STATS_H
#define RX_STATS_H

/*
 * What any server of Rx says of itself when it is asked outside of calls, as rxdebug does: how many
 * calls wait for a thread. Bytes only.
 */

#include "rx/packet.h"

#define RX_STATS_BASIC 1                   /* what is asked for */
#define RX_STATS_LEN   (RX_HEADER_LEN + 8) /* of the question */

struct rx_stats {
	uint32_t calls;   /* served since it began */
	uint32_t waiting; /* for a thread, now */
	uint32_t idle;    /* threads, now */
	uint32_t waited;  /* calls that ever waited */
};

/* number: comes back with the answer; at least 1. */
void rx_stats_ask(struct wbuf *b, uint32_t number);

/* A datagram that may be the answer. 0 or -EPROTO: it is none. */
int rx_stats_parse(struct rx_stats *out, uint32_t *number, const void *datagram, size_t len);

#endif
