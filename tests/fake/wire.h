/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_WIRE_H
#define FAKE_WIRE_H

/*
 * DSI's frames, as all servers and clients of the tests put and take them: written from the
 * protocol's tables, so that what they say of the program's own (client/dsi) is worth something.
 * No system calls: some of those who use it count theirs.
 */

#include <stdint.h>

#define WIRE_HEAD 16

enum {
	WIRE_CLOSE = 1,
	WIRE_COMMAND,
	WIRE_STATUS,
	WIRE_OPEN,
	WIRE_TICKLE,
	WIRE_WRITE,
	WIRE_ATTENTION = 8,
};

struct wire_head {
	uint8_t flags; /* 1: a reply */
	uint8_t command;
	uint16_t id;
	uint32_t code; /* a reply's result; where in a DSIWrite the data begin */
	uint32_t len;  /* of what follows */
	uint32_t reserved;
};

static inline void wire_put32(uint8_t to[static 4], uint32_t v)
{
	for (int i = 3; i >= 0; i--, v >>= 8)
		to[i] = (uint8_t)v;
}

static inline uint32_t wire_get32(const uint8_t from[static 4])
{
	return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static inline void wire_put(uint8_t to[static WIRE_HEAD], const struct wire_head *h)
{
	wire_put32(to, (uint32_t)h->flags << 24 | (uint32_t)h->command << 16 | h->id);
	wire_put32(to + 4, h->code);
	wire_put32(to + 8, h->len);
	wire_put32(to + 12, h->reserved);
}

static inline struct wire_head wire_get(const uint8_t from[static WIRE_HEAD])
{
	return (struct wire_head) {
		.flags = from[0],
		.command = from[1],
		.id = (uint16_t)(from[2] << 8 | from[3]),
		.code = wire_get32(from + 4),
		.len = wire_get32(from + 8),
		.reserved = wire_get32(from + 12),
	};
}

#endif
