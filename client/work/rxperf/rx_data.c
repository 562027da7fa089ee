/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills and checks the bytes of calls of rxperf. */
#include "work/rxperf/rx_data.h"

#include "work/pattern.h"

#include <string.h>

#define ODD      0x9e3779b97f4a7c15ull
#define N_PLACES (RX_DATA_PERIOD / RX_DATA_HEAD)

/* No word of one is in the other, and the first bytes differ. */
static const uint64_t seeds[] = {
	[RX_DATA_OF_CLIENT] = 0x5278, [RX_DATA_OF_SERVER] = 0x527800007352
};

void rx_data_fill(uint8_t *out, enum rx_data_end from)
{
	pattern_fill(out, RX_DATA_PERIOD, 0, seeds[from]);
}

size_t rx_data_place(uint64_t call, uint64_t len)
{
	return len < RX_DATA_HEAD ? 0 : (call * ODD >> 32) % N_PLACES * RX_DATA_HEAD;
}

void rx_data_check_begin(struct rx_data_check *c, uint64_t len, enum rx_data_end from)
{
	*c = (struct rx_data_check) { .len = len, .seed = seeds[from] };
}

static size_t rx_data_least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/*
 * The place whose 8 bytes these are; RX_DATA_PERIOD: there is none. Words of the pattern are
 * multiples of an odd number, which has an inverse modulo 2^64.
 */
static size_t rx_data_place_of(const uint8_t head[static RX_DATA_HEAD], uint64_t seed)
{
	uint64_t inverse = ODD, word = 0;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - ODD * inverse;
	for (int i = RX_DATA_HEAD; i-- > 0;)
		word = word << 8 | head[i];
	word = word * inverse - seed;
	return word < N_PLACES ? word * RX_DATA_HEAD : RX_DATA_PERIOD;
}

/* The first bytes are there. */
static void look_at_head(struct rx_data_check *c)
{
	c->state = RX_DATA_RIGHT;
	if (c->len >= RX_DATA_HEAD)
		c->place = rx_data_place_of(c->head, c->seed);
	else if (pattern_check(c->head, (size_t)c->len, 0, c->seed) < c->len)
		c->place = RX_DATA_PERIOD;
	if (c->place == RX_DATA_PERIOD)
		c->state = RX_DATA_UNKNOWN;
}

/* Up to the end of the period at most; returns how many. */
static size_t rx_data_compare(struct rx_data_check *c, const uint8_t *data, size_t n)
{
	uint64_t at = (c->place + c->seen) % RX_DATA_PERIOD;
	size_t same;

	n = rx_data_least(RX_DATA_PERIOD - at, n);
	same = pattern_check(data, n, at, c->seed);
	if (same < n && c->state == RX_DATA_RIGHT) {
		c->state = RX_DATA_WRONG;
		c->wrong = c->seen + same;
	}
	return n;
}

void rx_data_check(struct rx_data_check *c, const uint8_t *data, size_t n)
{
	size_t head_len = rx_data_least(c->len, RX_DATA_HEAD), part;

	if (c->state == RX_DATA_BEGINS) {
		part = rx_data_least(head_len - c->seen, n);
		memcpy(c->head + c->seen, data, part);
		c->seen += part;
		data += part;
		n -= part;
		if (c->seen == head_len)
			look_at_head(c);
	}
	for (; n; data += part, n -= part, c->seen += part)
		part = c->state == RX_DATA_RIGHT ? rx_data_compare(c, data, n) : n;
}
