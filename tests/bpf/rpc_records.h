/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_RPC_RECORDS_H
#define TESTS_BPF_RPC_RECORDS_H

/* Records of SunRPC, made and moved between both ends of a connection, and what was counted. */

#include "pieces.h"

#define LAST 0x80000000u

static inline void put(struct bytes *b, uint32_t word)
{
	const uint32_t be = htonl(word);

	memcpy(b->at + b->n, &be, sizeof(be));
	b->n += sizeof(be);
}

/* A record of one fragment: its mark is filled in here. */
static inline void close_record(struct bytes *b, size_t begin)
{
	const uint32_t mark = htonl(LAST | (uint32_t)(b->n - begin - 4));

	memcpy(b->at + begin, &mark, sizeof(mark));
}

/* An accepted reply with a verifier of this length: 28 + verifier + more. */
static inline void reply(struct bytes *b, uint32_t xid, uint32_t status, uint32_t verifier)
{
	const uint32_t words[] = { 0, xid, 1, 0, 0, verifier };
	size_t begin = b->n;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put(b, words[i]);
	memset(b->at + b->n, 0xff, (verifier + 3) & ~3u);
	b->n += (verifier + 3) & ~3u;
	put(b, status);
	close_record(b, begin);
}

/* The record of one fragment at b->at + begin as fragments of at most n bytes, some of them empty.
 */
static inline void shred(struct bytes *out, const struct bytes *in, size_t n)
{
	size_t len;

	for (size_t at = 4; at < in->n; at += len) {
		len = in->n - at < n ? in->n - at : n;
		if (at % 3 == 0)
			put(out, 0);
		put(out, (at + len == in->n ? LAST : 0) | (uint32_t)len);
		memcpy(out->at + out->n, in->at + at, len);
		out->n += len;
	}
}

#endif
