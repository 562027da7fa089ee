/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers that begin a call of rxperf. */
#include "rx/perf.h"

#include <errno.h>

void rx_perf_put(struct wbuf *b, const struct rx_perf *p)
{
	wbuf_u32(b, p->version);
	wbuf_u32(b, p->command);
	wbuf_u32(b, p->read_len);
	wbuf_u32(b, p->write_len);
	if (p->command != RX_PERF_FILE) {
		wbuf_u32(b, p->n);
		if (p->command == RX_PERF_RPC)
			wbuf_u32(b, p->m);
		return;
	}
	wbuf_u32(b, p->entries);
	for (uint32_t i = 0; i < p->entries; i++)
		wbuf_u32(b, p->entry[i]);
}

static void take_entries(struct rx_perf *out, struct rbuf *b)
{
	out->entries = rbuf_u32(b);
	for (uint32_t i = 0; i < out->entries && i < RX_PERF_ENTRIES; i++)
		out->entry[i] = rbuf_u32(b);
}

int rx_perf_parse(struct rx_perf *out, const void *data, size_t len, size_t *used)
{
	struct rbuf b = rbuf_of(data, len);

	*out = (struct rx_perf) { .version = rbuf_u32(&b), .command = 0 };
	out->command = rbuf_u32(&b);
	out->read_len = rbuf_u32(&b);
	out->write_len = rbuf_u32(&b);
	if (b.bad)
		return -EAGAIN;
	if (out->version != RX_PERF_VERSION || !rx_perf_name(out->command) ||
	    out->read_len > RX_PERF_CHUNK || out->write_len > RX_PERF_CHUNK)
		return -EPROTO;
	if (out->command == RX_PERF_FILE)
		take_entries(out, &b);
	else
		out->n = rbuf_u32(&b);
	if (out->command == RX_PERF_RPC)
		out->m = rbuf_u32(&b);
	if (out->entries > RX_PERF_ENTRIES)
		return -EPROTO;
	*used = (size_t)(b.at - (const uint8_t *)data);
	return b.bad ? -EAGAIN : 0;
}

/* Bytes of a FILE in one direction. */
static uint64_t file_bytes(const struct rx_perf *p, bool from_server)
{
	bool from = false;
	uint64_t words = 0;

	for (uint32_t i = 0; i < p->entries && i < RX_PERF_ENTRIES; i++) {
		from ^= !p->entry[i];
		words += from == from_server ? p->entry[i] : 0;
	}
	return words * 4;
}

uint64_t rx_perf_sent(const struct rx_perf *p)
{
	if (p->command == RX_PERF_FILE)
		return file_bytes(p, false);
	return p->command == RX_PERF_RECV ? 0 : p->n;
}

uint64_t rx_perf_received(const struct rx_perf *p)
{
	if (p->command == RX_PERF_FILE)
		return file_bytes(p, true);
	if (p->command == RX_PERF_RPC)
		return p->m;
	return p->command == RX_PERF_RECV ? p->n : 0;
}

const char *rx_perf_name(unsigned int command)
{
	static const char *const names[] = {
		[RX_PERF_SEND] = "send",
		[RX_PERF_RECV] = "recv",
		[RX_PERF_RPC] = "rpc",
		[RX_PERF_FILE] = "file",
	};

	return command < sizeof(names) / sizeof(names[0]) ? names[command] : NULL;
}
