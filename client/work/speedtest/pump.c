/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The window of data requests. speed_works.c decides which file and when. */
#include "work/speedtest/pump.h"

#include "work/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define PAGE       4096
#define LARGE_PAGE (2u << 20)

/*
 * Zeros, in large pages if the kernel gives them; *len is rounded up to whole ones. NULL: no
 * memory. O_DIRECT with scattered small pages takes longer, in some runs much longer, as fio's does
 * in tests/bench/bench.py speed-limit.
 */
static void *map_large(size_t *len)
{
	uint8_t *raw, *at;
	size_t spare;

	*len = (*len + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	raw = mmap(NULL, *len + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (raw == MAP_FAILED)
		return NULL;
	spare = LARGE_PAGE - (uintptr_t)raw % LARGE_PAGE;
	at = raw + spare;
	munmap(raw, spare);
	if (spare < LARGE_PAGE)
		munmap(at + *len, LARGE_PAGE - spare);
	madvise(at, *len, MADV_HUGEPAGE);
	memset(at, 0, *len); /* so that no page fault comes later */
	return at;
}

static void *map_small(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int pump_open(struct pump *t, struct load *l, unsigned int window, size_t stride, bool own_buffers,
	      struct err *e)
{
	*t = (struct pump) { .load = l, .e = e, .window = window, .shared = !own_buffers };
	t->stride = (stride + PAGE - 1) / PAGE * PAGE;
	t->memory_len = t->stride * (own_buffers ? window : 1);
	t->op = calloc(window, sizeof(*t->op));
	t->memory = l->store->align > 1 ? map_large(&t->memory_len) : map_small(t->memory_len);
	if (!t->memory || !t->op)
		return err_set(e, -ENOMEM, "no memory for %u requests of %zu bytes", window,
			       stride);
	return 0;
}

void pump_close(struct pump *t)
{
	if (t->memory)
		munmap(t->memory, t->memory_len);
	free(t->op);
	*t = (struct pump) { 0 };
}

void pump_randomize(struct pump *t)
{
	size_t got = 0;
	ssize_t n;

	while (got < t->stride) {
		n = getrandom(t->memory + got, t->stride - got, 0);
		if (n < 0)
			return;
		got += (size_t)n;
	}
	for (size_t at = t->stride; at + t->stride <= t->memory_len; at += t->stride)
		memcpy(t->memory + at, t->memory, t->stride);
}

static uint8_t *buffer_of(const struct pump *t, const struct store_op *op)
{
	return t->memory + (t->shared ? 0 : (size_t)(op - t->op) * t->stride);
}

static void put_data(const struct pump_job *job, uint8_t *at, size_t len, uint64_t offset)
{
	if (job->data == SPEED_PATTERN)
		pattern_fill(at, len, offset, job->seed);
	else if (job->data == SPEED_RANDOM)
		pattern_stamp(at, len, offset, job->seed);
}

/* Submits the next chunk, to be read or written. */
static int pump_submit(struct pump *t, const struct pump_job *job, struct store_op *op,
		       uint64_t offset)
{
	uint64_t left = job->len - offset;
	uint8_t *buffer = buffer_of(t, op);

	op->verb = job->read ? STORE_READ : STORE_WRITE;
	op->file = job->read ? job->from : job->to;
	op->offset = offset;
	op->len = left < job->chunk ? left : job->chunk;
	op->buf = op->verb == STORE_READ ? buffer : NULL;
	op->data = op->verb == STORE_WRITE ? buffer : NULL;
	op->discard = job->discard;
	if (op->verb == STORE_WRITE)
		put_data(job, buffer, op->len, offset);
	return load_store_submit(t->load, op, t->e);
}

/* Submits the write of what was read. */
static int submit_write(struct pump *t, const struct pump_job *job, struct store_op *op)
{
	op->verb = STORE_WRITE;
	op->file = job->to;
	op->data = op->buf;
	op->buf = NULL;
	return load_store_submit(t->load, op, t->e);
}

static int check_data(struct pump *t, const struct pump_job *job, const struct store_op *op)
{
	const uint8_t *at = op->buf;
	size_t good;

	if (job->data == SPEED_PATTERN)
		good = pattern_check(at, op->len, op->offset, job->seed);
	else
		good = pattern_check_zero(at, op->len);
	if (good == op->len)
		return 0;
	return err_set(t->e, LOAD_REFUSED,
		       "%s: byte %llu is 0x%02x, 0x%02x was written: the data came back wrong",
		       job->name, (unsigned long long)(op->offset + good), at[good],
		       job->data == SPEED_PATTERN ? pattern_byte(op->offset + good, job->seed) : 0);
}

static int pump_reap(struct pump *t, const struct pump_job *job, struct store_op **op)
{
	int r = load_store_reap(t->load, op, t->e);

	if (r)
		return r;
	if ((*op)->result != STORE_OK || (*op)->done != (*op)->len)
		return load_refuse(t->load, *op, job->name, t->e);
	load_add_bytes(t->load, (*op)->done);
	if (job->check && (*op)->verb == STORE_READ)
		return check_data(t, job, *op);
	return 0;
}

int pump_run(struct pump *t, const struct pump_job *job)
{
	uint64_t next = 0, half = job->len / 2;
	unsigned int used = 0, lent = 0;
	struct store_op *op;
	int r = 0;

	while (!r && (next < job->len || lent)) {
		if (load_stopped(t->load))
			return err_set(t->e, -EINTR, "interrupted");
		if (next < job->len && used < job->window) {
			op = &t->op[used++];
		} else {
			r = pump_reap(t, job, &op);
			if (r)
				break;
			lent--;
			if (job->write && op->verb == STORE_READ) {
				r = submit_write(t, job, op);
				lent++;
				continue;
			}
			if (next >= job->len)
				continue;
		}
		r = pump_submit(t, job, op, next);
		lent++;
		if (next <= half && next + job->chunk > half && job->len > job->chunk)
			load_half(t->load);
		next += job->chunk;
	}
	return r;
}
