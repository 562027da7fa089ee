/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rx/stats.h"

#include <errno.h>

void rx_stats_ask(struct wbuf *b, uint32_t number)
{
	const struct rx_header h = {
		.call = number, .serial = 1, .type = RX_DEBUG, .flags = RX_FROM_CLIENT | RX_LAST
	};

	rx_header_put(b, &h);
	wbuf_u32(b, RX_STATS_BASIC);
	wbuf_u32(b, 0);
}

/* 56 bytes: free packets, reclaimed ones, calls; four bytes; then what waits; the rest is spare. */
int rx_stats_parse(struct rx_stats *out, uint32_t *number, const void *datagram, size_t len)
{
	struct rbuf b = rbuf_of(datagram, len);
	struct rx_header h;

	rx_header_take(&b, &h);
	rbuf_u64(&b);
	out->calls = rbuf_u32(&b);
	rbuf_u32(&b);
	out->waiting = rbuf_u32(&b);
	out->idle = rbuf_u32(&b);
	out->waited = rbuf_u32(&b);
	*number = h.call;
	return b.bad || h.type != RX_DEBUG || h.flags & RX_FROM_CLIENT ? -EPROTO : 0;
}
