/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_PUMP_H
#define WORK_PUMP_H

/*
 * A file's data moved in requests of one length with a window of them in flight: read, written, or
 * read and written back. The window is filled, then each answer makes room for the next request; a
 * copy's slot goes from its read to its write, so that never more than the window is in flight and
 * the session, which reads whenever it sends, cannot be deadlocked by it.
 */

#include "work/speedtest.h"

struct pump {
	struct load *load;
	const volatile sig_atomic_t *stop;
	struct err *e;
	unsigned int window;
	size_t stride;   /* of a slot's buffer */
	uint8_t *memory; /* one buffer, or one for each slot */
	size_t memory_len;
	bool shared; /* one buffer for all: nobody looks at what is read, zeros are written */
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
	bool check;           /* what is read is the data */
	bool discard;         /* what is read need not come to this program */
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

/* 0; LOAD_REFUSED: an answer was not what is needed, or data is not what it should be (text in e);
 * negative errno. Requests may be left in flight after an error: store_drain(). */
int pump_run(struct pump *t, const struct pump_job *job);

/* Says what came of an op in the words of its store, naming the thing. Returns LOAD_REFUSED. */
int pump_refuse(struct load *l, const struct store_op *op, const char *name, struct err *e);

#endif
