/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read, Write, Copy and ServerCopy: which files, which operations, in which order. The order is
 * that of afp_speedtest (docs/speedtest.md); pump.c moves the data.
 */
#include "work/speedtest/speed_priv.h"

#include <errno.h>
#include <stdio.h>

#define READ_WRITE (STORE_FOR_READ | STORE_FOR_WRITE)

/* Operations */

static int speed_works_ask(struct speed *s, enum store_verb verb, struct store_dir dir,
			   const char *name)
{
	s->op.verb = verb;
	s->op.dir = dir;
	s->op.name = name;
	return load_store_call(s->load, &s->op, s->e);
}

static int speed_works_refuse(struct speed *s, const char *name)
{
	return load_refuse(s->load, &s->op, name, s->e);
}

static int must(struct speed *s, enum store_verb verb, struct store_dir dir, const char *name)
{
	int r = speed_works_ask(s, verb, dir, name);

	if (r || s->op.result == STORE_OK)
		return r;
	return speed_works_refuse(s, *name ? name : s->name);
}

static int on_file(struct speed *s, enum store_verb verb, struct store_file file, const char *name)
{
	s->op.file = file;
	return must(s, verb, s->op.dir, name);
}

static int speed_works_open_file(struct speed *s, struct store_dir dir, const char *name,
				 unsigned int how, struct store_file *file, bool *open)
{
	int r;

	s->op.how = how;
	r = must(s, STORE_OPEN, dir, name);
	s->op.how = 0; /* a CREATE with it would open as well */
	if (r)
		return r;
	*file = s->op.opened;
	*open = true;
	return 0;
}

int speed_close(struct speed *s, struct store_file *file, bool *open)
{
	int r = *open ? on_file(s, STORE_CLOSE, *file, "a file of the test") : 0;

	if (!r)
		*open = false;
	return r;
}

int speed_delete(struct speed *s, struct store_dir dir, const char *name, bool may_be_gone)
{
	int r = speed_works_ask(s, STORE_DELETE, dir, name);

	if (r || s->op.result == STORE_OK || (may_be_gone && s->op.result == STORE_NONE))
		return r;
	return speed_works_refuse(s, *name ? name : s->name);
}

static unsigned int n_dirs(const struct speed *s)
{
	bool copies = s->work == SPEED_COPY || s->work == SPEED_SERVER_COPY;

	return copies && s->opts->second ? 2 : 1;
}

static int expect_no_dir(struct speed *s, unsigned int i)
{
	int r = speed_works_ask(s, STORE_PROBE, s->load->store->root[i], s->name);

	if (r || s->op.result == STORE_NONE)
		return r;
	if (s->op.result == STORE_OK)
		return err_set(s->e, LOAD_REFUSED, "%s is there already", s->name);
	return speed_works_refuse(s, s->name);
}

/*
 * base is set as soon as there may be something to remove: also if the answer is lost or malformed.
 * If it was refused or never sent (-EINTR), there is nothing of ours.
 */
static int make_dir(struct speed *s, unsigned int i)
{
	int r;

	s->dir[i] = (struct store_dir) { .volume = i };
	snprintf(s->base[i], sizeof(s->base[i]), "%s", s->name);
	r = must(s, STORE_MKDIR, s->load->store->root[i], s->name);
	if (!r)
		s->dir[i] = s->op.made;
	else if (r == -EINTR || (r > 0 && s->op.code != AFP_ERR_BAD_REPLY))
		*s->base[i] = '\0';
	return r;
}

static int speed_make_dirs(struct speed *s)
{
	int r = 0;

	/* afp_speedtest probes both before it makes one. */
	for (unsigned int i = 0; i < n_dirs(s) && !r; i++)
		r = expect_no_dir(s, i);
	for (unsigned int i = 0; i < n_dirs(s) && !r; i++)
		r = make_dir(s, i);
	return r;
}

int speed_remove_dirs(struct speed *s, bool may_be_gone)
{
	int r = 0;

	for (unsigned int i = 0; i < 2 && !r; i++) {
		if (!*s->base[i])
			continue;
		if (s->dir[i].id)
			r = speed_delete(s, s->dir[i], "", may_be_gone);
		else
			r = speed_delete(s, s->load->store->root[i], s->name, true);
		if (!r)
			*s->base[i] = '\0';
	}
	return r;
}

int speed_file_len(struct speed *s, uint64_t *len)
{
	struct store_dir root = s->load->store->root[0];
	int r = must(s, STORE_PROBE, root, s->opts->file), rc;

	r = r ? r
	      : speed_works_open_file(s, root, s->opts->file, STORE_FOR_READ, &s->from,
				      &s->from_open);
	if (r)
		return r;
	r = on_file(s, STORE_LENGTH, s->from, s->opts->file);
	*len = s->op.done;
	rc = speed_close(s, &s->from, &s->from_open);
	return r ? r : rc;
}

/* Where copies go. */
static struct store_dir dir_to(const struct speed *s)
{
	return s->dir[n_dirs(s) - 1];
}

static const char *source_name(const struct speed *s)
{
	if (s->opts->file)
		return s->opts->file;
	return s->work == SPEED_READ || s->work == SPEED_WRITE ? SPEED_FILE : SPEED_SOURCE;
}

static struct store_dir source_dir(const struct speed *s)
{
	return s->opts->file ? s->load->store->root[0] : s->dir[0];
}

/* A given file is only read, and others may read it, too; afp_speedtest opens it exclusively. */
static unsigned int source_how(const struct speed *s)
{
	if (s->opts->file && !s->opts->peer)
		return STORE_FOR_READ;
	return s->work == SPEED_SERVER_COPY ? READ_WRITE : READ_WRITE | STORE_ALONE;
}

static int open_source(struct speed *s)
{
	return speed_works_open_file(s, source_dir(s), source_name(s), source_how(s), &s->from,
				     &s->from_open);
}

static int open_destination(struct speed *s, struct store_dir dir, const char *name)
{
	return speed_works_open_file(s, dir, name, READ_WRITE | STORE_ALONE, &s->to, &s->to_open);
}

/* Data */

size_t speedtest_chunk(const struct store *s, const struct speedtest_opts *opts,
		       enum speed_work work)
{
	const struct speed_row *row = &speed_rows[work];
	size_t most = row->reads ? s->chunk_read : s->chunk_write;

	if (row->reads && row->writes && s->chunk_write < most)
		most = s->chunk_write;
	return opts->chunk && opts->chunk < most ? opts->chunk : most;
}

/*
 * Data that is not used can be dropped by the kernel, like iperf3 --skip-rx-copy: then this
 * program's copying is not measured. By default it is dropped if the server is another host. On one
 * host nothing is gained: a client that always waits leaves TCP's work of receiving to the server,
 * whose CPU time rises by what the client's falls (tests/bench/bench.py speed-receive). Not in
 * afp_speedtest's set, which copies; nor if there is only one request: then waking for each piece
 * costs more than copying (measured).
 */
static bool may_discard(const struct speed *s)
{
	const struct store *store = s->load->store;
	uint64_t len = s->size < s->chunk ? s->size : s->chunk;

	if (s->opts->verify || !store->discard_from || len < store->discard_from)
		return false;
	if (s->opts->receive == SPEED_RECEIVE_AUTO)
		return !s->opts->peer && !store->near && s->size > s->chunk;
	return s->opts->receive == SPEED_RECEIVE_DROP;
}

struct pump_job speed_job(const struct speed *s)
{
	const struct speed_row *row = &speed_rows[s->work];
	bool has_source = s->work != SPEED_WRITE;

	return (struct pump_job) {
		.read = row->reads,
		.write = row->writes,
		.from = s->from,
		.to = s->to,
		.name = row->reads ? source_name(s) : SPEED_FILE,
		.len = s->size,
		.chunk = s->chunk,
		.window = s->opts->window,
		.data = has_source && s->opts->sparse ? SPEED_ZERO : s->opts->data,
		.seed = has_source ? s->seed_of_source : s->seed,
		.check = s->opts->verify && row->reads,
		.discard = row->reads && !row->writes && may_discard(s),
	};
}

/* Fills the source; in afp_speedtest's set one request at a time. */
static int speed_works_fill(struct speed *s)
{
	struct pump_job job = speed_job(s);
	int r;

	if (s->opts->file || (s->filled && !s->opts->recreate))
		return 0;
	s->filled = true;
	if (s->opts->sparse) {
		s->op.len = s->size;
		return on_file(s, STORE_SET_LEN, s->from, source_name(s));
	}
	s->seed_of_source = s->seed;
	job.read = false;
	job.write = true;
	job.check = false;
	job.to = s->from;
	job.seed = s->seed;
	job.chunk = speedtest_chunk(s->load->store, s->opts, SPEED_WRITE);
	job.window = s->opts->peer ? 1 : s->opts->window;
	r = pump_run(&s->t, &job);
	return r || !s->opts->flush ? r : on_file(s, STORE_FLUSH, s->from, source_name(s));
}

/* Reads a file back and compares; not timed. */
static int read_back(struct speed *s, struct store_file file, const char *name)
{
	struct pump_job job = speed_job(s);

	job.read = job.check = true;
	job.write = false;
	job.from = file;
	job.name = name;
	job.chunk = speedtest_chunk(s->load->store, s->opts, SPEED_READ);
	return pump_run(&s->t, &job);
}

/* Read and Write: one file */

static int setup_file(struct speed *s)
{
	int r = speed_make_dirs(s);

	return r ? r : must(s, STORE_CREATE, s->dir[0], SPEED_FILE);
}

static int end_file(struct speed *s)
{
	int r = speed_close(s, &s->from, &s->from_open);

	r = r ? r : speed_close(s, &s->to, &s->to_open);
	if (!s->opts->recreate)
		return r;
	r = r ? r : speed_delete(s, s->dir[0], SPEED_FILE, false);
	return r ? r : must(s, STORE_CREATE, s->dir[0], SPEED_FILE);
}

static int teardown_file(struct speed *s)
{
	return speed_delete(s, s->dir[0], SPEED_FILE, false);
}

static int setup_read(struct speed *s)
{
	return s->opts->file ? must(s, STORE_PROBE, source_dir(s), s->opts->file) : setup_file(s);
}

static int begin_read(struct speed *s)
{
	int r = open_source(s);

	return r ? r : speed_works_fill(s);
}

static int timed_transfer(struct speed *s)
{
	struct pump_job job = speed_job(s);

	return pump_run(&s->t, &job);
}

static int speed_works_end_read(struct speed *s)
{
	return s->opts->file ? speed_close(s, &s->from, &s->from_open) : end_file(s);
}

static int teardown_read(struct speed *s)
{
	return s->opts->file ? 0 : teardown_file(s);
}

static int begin_write(struct speed *s)
{
	return open_destination(s, s->dir[0], SPEED_FILE);
}

static int timed_write(struct speed *s)
{
	int r = timed_transfer(s);

	return r || !s->opts->flush ? r : on_file(s, STORE_FLUSH, s->to, SPEED_FILE);
}

static int verify_write(struct speed *s)
{
	return read_back(s, s->to, SPEED_FILE);
}

/* Copies: two files */

static int make_source(struct speed *s)
{
	return s->opts->file ? 0 : must(s, STORE_CREATE, s->dir[0], SPEED_SOURCE);
}

static int remove_source(struct speed *s)
{
	return s->opts->file ? 0 : speed_delete(s, s->dir[0], SPEED_SOURCE, false);
}

static int setup_copies(struct speed *s)
{
	int r = s->opts->file ? must(s, STORE_PROBE, source_dir(s), s->opts->file) : 0;

	r = r ? r : speed_make_dirs(s);
	return r ? r : make_source(s);
}

static int setup_copy(struct speed *s)
{
	int r = setup_copies(s);

	return r ? r : must(s, STORE_CREATE, dir_to(s), SPEED_DESTINATION);
}

static int begin_copy(struct speed *s)
{
	int r = open_source(s);

	r = r ? r : open_destination(s, dir_to(s), SPEED_DESTINATION);
	return r ? r : speed_works_fill(s);
}

static int verify_copy(struct speed *s)
{
	return read_back(s, s->to, SPEED_DESTINATION);
}

static int end_copy(struct speed *s)
{
	int r = speed_close(s, &s->from, &s->from_open);

	r = r ? r : speed_close(s, &s->to, &s->to_open);
	if (!s->opts->recreate)
		return r;
	r = r ? r : remove_source(s);
	r = r ? r : speed_delete(s, dir_to(s), SPEED_DESTINATION, false);
	r = r ? r : make_source(s);
	return r ? r : must(s, STORE_CREATE, dir_to(s), SPEED_DESTINATION);
}

static int teardown_copy(struct speed *s)
{
	int r = remove_source(s);

	return r ? r : speed_delete(s, dir_to(s), SPEED_DESTINATION, false);
}

static int begin_server_copy(struct speed *s)
{
	int r = open_source(s);

	r = r ? r : speed_works_fill(s);
	return r ? r : speed_close(s, &s->from, &s->from_open);
}

static int timed_server_copy(struct speed *s)
{
	int r;

	s->op.to_dir = dir_to(s);
	s->op.to_name = SPEED_DESTINATION;
	r = must(s, STORE_COPY, source_dir(s), source_name(s));
	if (!r)
		load_add_bytes(s->load, s->size);
	return r;
}

static int verify_server_copy(struct speed *s)
{
	int r = open_destination(s, dir_to(s), SPEED_DESTINATION);

	r = r ? r : read_back(s, s->to, SPEED_DESTINATION);
	return r ? r : speed_close(s, &s->to, &s->to_open);
}

static int end_server_copy(struct speed *s)
{
	int r = 0;

	if (s->opts->recreate) {
		r = remove_source(s);
		r = r ? r : make_source(s);
	}
	return r ? r : speed_delete(s, dir_to(s), SPEED_DESTINATION, false);
}

static int teardown_server_copy(struct speed *s)
{
	int r = remove_source(s);

	/* afp_speedtest deletes again what its last iteration has deleted. */
	return r || !s->opts->peer ? r : speed_delete(s, dir_to(s), SPEED_DESTINATION, true);
}

const struct speed_row speed_rows[N_SPEED_WORKS] = {
	[SPEED_READ] = { "Read", true, false, setup_read, begin_read, timed_transfer, NULL,
			 speed_works_end_read, teardown_read },
	[SPEED_WRITE] = { "Write", false, true, setup_file, begin_write, timed_write, verify_write,
			  end_file, teardown_file },
	[SPEED_COPY] = { "Copy", true, true, setup_copy, begin_copy, timed_transfer, verify_copy,
			 end_copy, teardown_copy },
	[SPEED_SERVER_COPY] = { "ServerCopy", false, false, setup_copies, begin_server_copy,
				timed_server_copy, verify_server_copy, end_server_copy,
				teardown_server_copy },
};
