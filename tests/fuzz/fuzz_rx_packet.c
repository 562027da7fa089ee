/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a hostile peer into everything that takes packets of Rx apart. What was understood must
 * lie within the input, and be the same once it is put together and taken apart again.
 */
#include "rx/packet.h"
#include "rx/perf.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void within(const struct rbuf *part, const uint8_t *data, size_t len)
{
	must(!part->bad && part->at >= data && part->end >= part->at && part->end <= data + len);
}

static void ack(struct rbuf b)
{
	uint8_t again[RX_ACK_LEN];
	struct wbuf w = wbuf_of(again, sizeof(again));
	struct rx_ack a, back;

	if (rx_ack_parse(&a, b))
		return;
	must(!a.n || (a.have >= b.at && a.have + a.n <= b.end));
	rx_ack_put(&w, &a);
	must(!w.bad && !rx_ack_parse(&back, rbuf_of(again, (size_t)(w.at - again))));
	must(back.first == a.first && back.previous == a.previous && back.serial == a.serial);
	must(back.reason == a.reason && back.n == a.n && !memcmp(back.have, a.have, a.n));
	must(back.window == a.window && back.packet_max == a.packet_max);
	must(back.mtu == a.mtu && back.datagram_max == a.datagram_max);
}

static void parts(const uint8_t *data, size_t len)
{
	uint8_t again[RX_HEADER_LEN];
	struct wbuf w = wbuf_of(again, sizeof(again));
	struct rx_parts p;
	struct rx_header h;
	struct rbuf part;
	size_t n = 0, total = 0;
	int32_t code;

	if (rx_parts_begin(&p, data, len))
		return;
	rx_header_put(&w, &p.h);
	must(!w.bad && !memcmp(again, data, sizeof(again)));
	for (; rx_parts_next(&p, &h, &part); n++) {
		within(&part, data, len);
		total += rbuf_left(&part);
		must(n < len && total <= len);
		ack(part);
		rx_abort_parse(&code, part);
	}
}

static void numbers(const uint8_t *data, size_t len)
{
	uint8_t again[RX_PERF_LEN];
	struct wbuf w = wbuf_of(again, sizeof(again));
	struct rx_perf p;
	size_t used = 0, some;

	if (rx_perf_parse(&p, data, len, &used))
		return;
	must(used <= len && used <= RX_PERF_LEN && p.entries <= RX_PERF_ENTRIES);
	rx_perf_put(&w, &p);
	must(!w.bad && (size_t)(w.at - again) == used && !memcmp(again, data, used));
	must(rx_perf_sent(&p) + rx_perf_received(&p) <= 4ull * RX_PERF_ENTRIES * UINT32_MAX);
	/* with less it waits for more */
	must(rx_perf_parse(&p, data, used - 1, &some) == -EAGAIN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	parts(data, len);
	numbers(data, len);
	return 0;
}
