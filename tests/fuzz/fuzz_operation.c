/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a hostile client, as the programs in the kernel copy them, into what makes records of
 * operations: parts of requests and replies in any order, with answers between them.
 */
#include "base/buf.h"
#include "trace/operation.h"
#include "trace/operations.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The next part, in memory that has not a byte more. */
static void part(struct operations *o, struct rbuf *b)
{
	const uint8_t kind = rbuf_u8(b);
	const uint16_t n = (uint16_t)(rbuf_u16(b) % (AFS_COMMAND_LEN + 1));
	const size_t left = rbuf_left(b), have = n < left ? n : left;
	struct afs_captured *h = malloc(sizeof(h->head) + have);

	if (!h)
		return;
	h->head = (struct afs_captured_head) { .timestamp = 1,
					       .session = kind >> 6,
					       .seq = rbuf_u8(b),
					       .len = rbuf_u16(b),
					       .dsi_id = rbuf_u8(b) & 7,
					       .part = kind & 3,
					       .found = kind >> 5 & 1 };
	h->head.command = rbuf_u8(b);
	h->head.at = kind & 4 ? rbuf_u16(b) : 0;
	h->head.n = (uint16_t)(have < rbuf_left(b) ? have : rbuf_left(b));
	if (h->head.n)
		memcpy(h->bytes, rbuf_bytes(b, h->head.n), h->head.n);
	operations_captured(o, h);
	free(h);
}

static void answer(struct operations *o, struct rbuf *b)
{
	const struct afs_record_requests r = { .timestamp = 2,
					       .session = rbuf_u8(b) & 3,
					       .dsi_id = rbuf_u8(b) & 7,
					       .command = rbuf_u8(b),
					       .bytes_out = rbuf_u8(b) };
	struct afs_record_operations out;

	operations_answered(o, &r, &out);
	/* A name has a length, and only one of more components has a folder. */
	if (!out.name != !out.depth || (out.parent && out.depth < 2))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct names *names;
	struct rbuf b = rbuf_of(data, len);
	struct err e = { 0 };
	struct operations *o;

	if (!names && names_open(&names, false, &e))
		abort();
	o = operations_open(names);
	while (rbuf_left(&b)) {
		if (*b.at & 0x10)
			part(o, &b);
		else
			answer(o, &b);
	}
	operations_close(o);
	return 0;
}
