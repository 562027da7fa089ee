/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedtest from beginning to end: sizes, works, iterations, and cleaning the volume. The works are
 * in speed_works.c.
 */
#include "work/speedtest/speedtest.h"

#include "load/room.h"
#include "work/speedtest/speed_priv.h"
#include "work/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the null peer's measurement: iterations, total time, bytes (beyond: scaled). */
#define NULL_ITERATIONS 5
#define NULL_NS         500000000u
#define NULL_LEN_MAX    (256u << 20)

const char *speedtest_name(enum speed_work work)
{
	return speed_rows[work].name;
}

static int check_chunk(const struct store *s, const struct speedtest_opts *o, enum speed_work work,
		       struct err *e)
{
	size_t most = speedtest_chunk(s, o, work);
	char asked[RUN_SIZE_MAX], limit[RUN_SIZE_MAX];

	if (o->chunk <= most || work == SPEED_SERVER_COPY)
		return 0;
	return err_set(e, -EINVAL,
		       "%s: requests of %s are asked for (-q), at most %s are possible, by the "
		       "server's quantum and the set of requests",
		       speedtest_name(work), run_size(o->chunk, asked), run_size(most, limit));
}

int speedtest_check(const struct store *s, const struct speedtest_opts *opts, struct err *e)
{
	char size[RUN_SIZE_MAX];
	int r = 0;

	for (unsigned int i = 0; i < opts->n_works && !r; i++)
		r = check_chunk(s, opts, opts->work[i], e);
	for (size_t i = 0; i < opts->n_sizes && !r; i++)
		if (opts->size[i] > s->len_max)
			r = err_set(e, -EINVAL,
				    "a file of %s: 32-bit commands (the set " SPEEDTEST_PEER_SET
				    ", AFP before 3.0) end before 2 GiB; use the set " SPEEDTEST_SET
				    " and AFP 3",
				    run_size(opts->size[i], size));
	return r;
}

/* The reference */

static int time_null_once(struct speed *s, struct pump *t, uint64_t len, uint64_t *ns)
{
	struct pump_job job = speed_job(s);
	struct store_op flush = { .verb = STORE_FLUSH };
	uint64_t begun_ns = load_clock_ns();
	int r;

	job.from = job.to = (struct store_file) { 1 };
	job.len = len;
	job.check = false;
	r = pump_run(t, &job);
	if (!r && s->work == SPEED_WRITE && s->opts->flush) {
		flush.file = job.to;
		r = load_store_call(t->load, &flush, s->e);
	}
	*ns = load_clock_ns() - begun_ns;
	return r;
}

static int compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* 0: all were timed, *n of them. */
static int time_null_all(struct speed *s, struct pump *t, uint64_t len, uint64_t *ns,
			 unsigned int *n)
{
	uint64_t warmup, all = 0;
	int r = time_null_once(s, t, len, &warmup);

	for (*n = 0; !r && *n < NULL_ITERATIONS && all < NULL_NS; all += ns[(*n)++])
		r = time_null_once(s, t, len, &ns[*n]);
	return r;
}

/* Times the same transfer against the null peer. On errors it is simply not measured. */
static void time_null(struct speed *s, struct run_transfer *out)
{
	uint64_t len = s->size < NULL_LEN_MAX ? s->size : NULL_LEN_MAX, ns[NULL_ITERATIONS];
	struct load quiet = { .store = s->opts->null, .hooks = s->load->hooks };
	struct pump t = s->t;
	unsigned int n;

	if (!s->opts->null || s->work == SPEED_SERVER_COPY)
		return;
	t.load = &quiet;
	if (time_null_all(s, &t, len, ns, &n)) {
		store_drain(s->opts->null); /* the pump's memory will be freed */
		return;
	}
	qsort(ns, n, sizeof(*ns), compare_ns);
	out->null_ns = (uint64_t)((double)ns[n / 2] * (double)s->size / (double)len);
	out->null_n = n;
}

/* Iterations */

static int iterate(struct speed *s, unsigned int iteration, bool warmup)
{
	const struct speed_row *row = &speed_rows[s->work];
	int r, rc;

	if (load_stopped(s->load))
		return err_set(s->e, -EINTR, "interrupted");
	s->seed++;
	r = row->begin(s);
	if (!r) {
		load_region_begin(s->load, iteration, warmup);
		r = row->timed(s);
		rc = load_region_end(s->load, !r, s->e);
		r = r ? r : rc;
	}
	if (!r && s->opts->verify && row->verify)
		r = row->verify(s);
	r = r ? r : row->end(s);
	return r > 0 ? err_prefix(s->e, r, "%s, %s %u", s->load->transfer->title,
				  warmup ? "warm-up" : "iteration", iteration)
		     : r;
}

static int iterate_all(struct speed *s)
{
	unsigned int n = s->opts->warmups + s->opts->iterations;
	bool warmup;
	int r = 0;

	for (unsigned int i = 0; i < n && !r; i++) {
		warmup = i < s->opts->warmups;
		if (i && s->opts->delay_ns)
			r = store_idle(s->load->store, s->opts->delay_ns, s->load->stop, s->e);
		r = r ? r : iterate(s, warmup ? i + 1 : i + 1 - s->opts->warmups, warmup);
	}
	return r;
}

static void speedtest_describe(const struct speed *s, struct run_transfer *t)
{
	struct pump_job job = speed_job(s);

	t->moved = s->size;
	t->window = s->work == SPEED_SERVER_COPY ? 1 : job.window;
	t->dropped = job.discard;
	t->sparse = s->opts->sparse && s->work != SPEED_WRITE;
	t->own_file = !s->opts->file || s->work == SPEED_WRITE;
	if (s->work == SPEED_SERVER_COPY)
		return;
	t->chunk = s->chunk;
	t->requests = (s->size + s->chunk - 1) / s->chunk;
}

/* Closes everything; nothing stays in flight. Goes on after an error, and keeps the first. */
static int speedtest_clean_up(struct speed *s, int r)
{
	const char *const left[] = { SPEED_FILE, SPEED_SOURCE, SPEED_DESTINATION };
	struct err later = { 0 }, *kept = s->e;
	int rc;

	if (s->load->afp)
		dsi_ignore_stop(s->load->afp->dsi);
	store_drain(s->load->store);
	s->e = &later;
	rc = speed_close(s, &s->from, &s->from_open);
	rc = rc < 0 ? rc : speed_close(s, &s->to, &s->to_open);
	s->from_open = s->to_open = false;
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < 3 && rc >= 0 && *s->base[i] && s->dir[i].id; k++)
			rc = speed_delete(s, s->dir[i], left[k], true);
	rc = rc < 0 ? rc : speed_remove_dirs(s, true);
	s->e = kept;
	if (rc && !r)
		r = err_set(s->e, rc, "cannot remove %s again: %.400s", s->name, later.text);
	return r;
}

static int run_work(struct speed *s, unsigned int test)
{
	const struct speed_row *row = &speed_rows[s->work];
	const struct speedtest_opts *o = s->opts;
	bool own = s->work == SPEED_COPY || o->data != SPEED_ZERO || o->verify;
	size_t stride = s->load->store->chunk_read;
	int r = o->next ? o->next(o->user, s->work, s->size, s->e) : 0;

	if (r)
		return r > 0 ? 0 : r;
	s->chunk = speedtest_chunk(s->load->store, o, s->work);
	s->filled = false;
	stride = s->load->store->chunk_write > stride ? s->load->store->chunk_write : stride;
	stride = stride < s->size ? stride : (size_t)s->size;
	r = pump_open(&s->t, s->load, o->window, stride, own, s->e);
	if (!r && o->data == SPEED_RANDOM)
		pump_randomize(&s->t);
	r = r ? r : row->setup(s);
	if (r > 0)
		err_prefix(s->e, r, "%s", row->name);
	if (!r && test == 1)
		load_ready(s->load);
	r = r ? r : load_transfer_begin(s->load, test, row->name, s->size, s->e);
	if (!r) {
		speedtest_describe(s, s->load->transfer->transfer);
		r = iterate_all(s);
		if (!r)
			time_null(s, s->load->transfer->transfer);
		load_transfer_end(s->load);
	}
	r = r ? r : row->teardown(s);
	r = r ? r : speed_remove_dirs(s, false);
	if (r)
		r = speedtest_clean_up(s, r);
	store_drain(s->load->store);
	pump_close(&s->t);
	return r;
}

static int run_all(struct speed *s, size_t n_sizes, const uint64_t *size)
{
	unsigned int test = 0;
	int r = 0;

	for (size_t i = 0; i < n_sizes && !r; i++)
		for (unsigned int k = 0; k < s->opts->n_works && !r; k++) {
			s->size = size[i];
			s->work = s->opts->work[k];
			r = run_work(s, ++test);
		}
	return r;
}

/* A given file must be large enough. */
static int check_file(struct speed *s, uint64_t *len)
{
	int r = speed_file_len(s, len);

	for (size_t i = 0; i < s->opts->n_sizes && !r; i++)
		if (s->opts->size[i] > *len)
			r = err_set(s->e, LOAD_REFUSED,
				    "%s has %" PRIu64 " bytes, a test of %" PRIu64
				    " is asked for: use a larger file or a smaller size",
				    s->opts->file, *len, s->opts->size[i]);
	if (!r && !*len)
		r = err_set(s->e, LOAD_REFUSED, "%s is empty", s->opts->file);
	return r;
}

/* The bytes that a work of a size has at once on root i. */
static uint64_t speedtest_need(const struct speedtest_opts *o, enum speed_work work, uint64_t size,
			       unsigned int i)
{
	bool copies = work == SPEED_COPY || work == SPEED_SERVER_COPY;
	uint64_t source = o->file || o->sparse ? 0 : size;

	if (work == SPEED_WRITE)
		return i ? 0 : size;
	return (i ? 0 : source) + (copies && i == o->second ? size : 0);
}

/* Of the work and the size that need the most. */
static int check_room(struct speed *s, unsigned int i, size_t n_sizes, const uint64_t *size)
{
	const char *where = i ? "the second volume" : "the volume";
	struct room_need need = { .volume = i, .where = where };
	uint64_t n;

	for (size_t k = 0; k < n_sizes; k++)
		for (unsigned int w = 0; w < s->opts->n_works; w++) {
			n = speedtest_need(s->opts, s->opts->work[w], size[k], i);
			need.bytes = n > need.bytes ? n : need.bytes;
		}
	return room_check(s->load->store, &need, s->e);
}

int speedtest_run(struct load *l, const struct speedtest_opts *opts, char base[2][32],
		  struct err *e)
{
	struct speed *s = calloc(1, sizeof(*s));
	const uint64_t *size;
	uint64_t len = 0;
	size_t n_sizes;
	int r = 0;

	base[0][0] = base[1][0] = '\0';
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->load = l;
	s->opts = opts;
	s->e = e;
	s->base = base;
	tree_name(s->name);
	if (opts->file && !(opts->peer && opts->n_sizes))
		r = check_file(s, &len);
	n_sizes = opts->n_sizes ? opts->n_sizes : 1;
	size = opts->n_sizes ? opts->size : &len;
	for (unsigned int i = 0; !opts->force && !r && i < 1u + opts->second; i++)
		r = check_room(s, i, n_sizes, size);
	r = r ? r : run_all(s, n_sizes, size);
	free(s);
	return r;
}
