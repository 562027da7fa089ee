/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_SMB2_FRAMES_H
#define TESTS_BPF_SMB2_FRAMES_H

/* A client and a server of SMB2 in one process: frames, and the watch of them. */

#include "pieces.h"

#include "bpf/commands.h"

#define IS_REPLY 1u
#define IS_ASYNC 2u
#define HEAD_LEN 64

static inline void put32(uint8_t *at, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(word >> 8 * i);
}

/* A frame of nothing yet; frame_end() fills in how long it is. */
static inline size_t frame_begin(struct bytes *b)
{
	memset(b->at + b->n, 0, 4);
	b->n += 4;
	return b->n;
}

static inline void frame_end(struct bytes *b, size_t begin)
{
	const uint32_t len = htonl((uint32_t)(b->n - begin));

	memcpy(b->at + begin - 4, &len, sizeof(len));
}

/* A header and "more" bytes; next: another one follows in the frame. */
static inline void message(struct bytes *b, uint16_t command, uint64_t id, uint32_t flags,
			   uint32_t status, size_t more, bool next)
{
	uint8_t *h = b->at + b->n;

	memset(h, 0, HEAD_LEN);
	memcpy(h, "\xfeSMB\x40", 5);
	put32(h + 8, status);
	h[12] = (uint8_t)command;
	put32(h + 16, flags);
	put32(h + 20, next ? (uint32_t)(HEAD_LEN + more) : 0);
	put32(h + 24, (uint32_t)id);
	put32(h + 28, (uint32_t)(id >> 32));
	memset(h + HEAD_LEN, 'm', more);
	b->n += HEAD_LEN + more;
}

/* A frame of one message. */
static inline void one(struct bytes *b, uint16_t command, uint64_t id, uint32_t flags,
		       uint32_t status, size_t more)
{
	size_t begin = frame_begin(b);

	message(b, command, id, flags, status, more, false);
	frame_end(b, begin);
}

static inline void request(struct bytes *b, uint16_t command, uint64_t id, size_t more)
{
	one(b, command, id, 0, 0, more);
}

static inline void reply(struct bytes *b, uint16_t command, uint64_t id, uint32_t status,
			 size_t more)
{
	one(b, command, id, IS_REPLY, status, more);
}

static inline void interim(struct bytes *b, uint16_t command, uint64_t id)
{
	one(b, command, id, IS_REPLY | IS_ASYNC, AFS_SMB2_PENDING, 9);
}

static inline void closed(struct bytes *b, const char *magic, size_t len)
{
	size_t begin = frame_begin(b);

	memset(b->at + b->n, 'c', len);
	memcpy(b->at + b->n, magic, 4);
	b->n += len;
	frame_end(b, begin);
}

/* A request that is read as smbd does, but not answered. */
static inline void come_as_to_smbd(uint16_t command, uint64_t id)
{
	struct bytes in = { 0 };

	request(&in, command, id, 16);
	come_after_its_mark(&in);
}

static inline void go_one(uint16_t command, uint64_t id)
{
	struct bytes out = { 0 };

	reply(&out, command, id, 0, 16);
	go(&out, sizeof(out.at));
}

#endif
