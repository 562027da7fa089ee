/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_RXPERF_RX_DATA_H
#define WORK_RXPERF_RX_DATA_H

/*
 * The bytes that a call of rxperf moves. They are those of a pattern that repeats after 1 MiB, from
 * a place that the first 8 bytes tell: so either end can check what it gets without knowing the
 * call, and notices bytes of another call or of another place. What is shorter begins at place 0.
 *
 * Clients and servers have a pattern each, and so say in the call itself who they are. Bytes of
 * other programs are none of these, and are not checked: OpenAFS's rxperf answers from the memory
 * into which it has read, that is with bytes of some client, of any place and from several calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RX_DATA_PERIOD (1u << 20)
#define RX_DATA_HEAD   8u /* bytes that tell the place */

enum rx_data_end { RX_DATA_OF_CLIENT, RX_DATA_OF_SERVER };

/* RX_DATA_PERIOD bytes, as this end sends them. */
void rx_data_fill(uint8_t *out, enum rx_data_end from);

/* Where the bytes of a call begin: of the pattern, a multiple of 8. */
size_t rx_data_place(uint64_t call, uint64_t len);

enum rx_data_state {
	RX_DATA_BEGINS,  /* too little has come */
	RX_DATA_RIGHT,   /* all so far are the pattern's */
	RX_DATA_WRONG,   /* were, up to byte "wrong" */
	RX_DATA_UNKNOWN, /* of another program */
};

/* A stream that is checked piece by piece. */
struct rx_data_check {
	enum rx_data_state state;
	uint64_t len, seen; /* bytes of the stream, of these checked */
	uint64_t seed;
	uint64_t wrong; /* index of the first wrong one */
	size_t place;
	uint8_t head[RX_DATA_HEAD];
};

/* from: who sends it. */
void rx_data_check_begin(struct rx_data_check *c, uint64_t len, enum rx_data_end from);
/* The next n bytes; not more than there are to come. */
void rx_data_check(struct rx_data_check *c, const uint8_t *data, size_t n);

#endif
