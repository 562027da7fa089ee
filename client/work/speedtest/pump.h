/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_SPEEDTEST_PUMP_H
#define WORK_SPEEDTEST_PUMP_H

/*
 * Moves a file's data in requests of one length with a window of them in flight: read, written, or
 * copied. The window is filled, then each answer makes room for the next request; in a copy a slot
 * is used for a read and then its write, so that never more than the window is in flight and the
 * session, which reads whenever it sends, cannot deadlock.
 */

#include "work/speedtest/speedtest.h"

struct pump {
	struct load *load;
	struct err *e;
	unsigned int window;
	size_t stride;   /* of a slot's buffer */
	uint8_t *memory; /* one buffer, or one for each slot */
	size_t memory_len;
	bool shared;         /* one buffer for all: data read is not used, zeros are written */
	struct store_op *op; /* window of them */
};

struct pump_job {
	bool read, write; /* both: a copy */
	struct store_file from, to;
	const char *name; /* for messages: what is read, or else written */
	uint64_t len;
	size_t chunk;
	unsigned int window;
	enum speed_data data; /* written by a job that does not read; expected by one that checks */
	uint64_t seed;        /* of SPEED_PATTERN */
	bool check;           /* compare what is read with the data */
	bool discard;         /* what is read need not be copied to this program */
};

/*
 * stride: longest request. own_buffers: a buffer a slot (copies, data other than zeros, checks). 0
 * or -ENOMEM; pump_close in both cases.
 */
int pump_open(struct pump *t, struct load *l, unsigned int window, size_t stride, bool own_buffers,
	      struct err *e);
void pump_close(struct pump *t);

/* Random bytes in all buffers, for SPEED_RANDOM; each request's blocks are made unequal again. */
void pump_randomize(struct pump *t);

/* 0; LOAD_REFUSED: an answer was not as needed, or data differs (text in e); negative errno. After
 * an error requests may be in flight: store_drain(). */
int pump_run(struct pump *t, const struct pump_job *job);

#endif
