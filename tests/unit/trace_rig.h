/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_RIG_H
#define TRACE_RIG_H

/* A trace with records of all streams, and the reader, which must give out nothing else. */

#include "trace/fields.h"
#include "trace/metadata.h"
#include "trace/reader.h"
#include "trace/stream.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define HEAD_LEN sizeof(struct trace_packet_head)
#define METADATA AFS_N_STREAMS
#define N_FILES  (AFS_N_STREAMS + 1)
#define LOST     7 /* calls */

static const uint64_t n_made[AFS_N_STREAMS] = { 1100, 5000, 3000, 20, 1500 };

struct file {
	uint8_t *bytes; /* owned */
	size_t len;
};

struct rig {
	char dir[64];
	struct trace *writer;
	struct file sound[N_FILES]; /* as it was written */
	struct trace_reader *r;
	uint64_t n_said;
	char said[1024]; /* the first ones */
	uint64_t given[AFS_N_STREAMS];
};

static const char *name_of(unsigned int file)
{
	return file == METADATA ? "metadata" : trace_streams[file].name;
}

static const char *path_of(const struct rig *x, unsigned int file, char path[128])
{
	snprintf(path, 128, "%s/%s", x->dir, name_of(file));
	return path;
}

/* All records at once, of all streams, so that merging has something to do. */
static inline int pull(void *user, int timeout_ms)
{
	struct rig *x = user;
	uint64_t record[AFS_RECORD_MAX / 8];

	(void)timeout_ms;
	for (uint64_t i = 0; i < 5000; i++) {
		for (unsigned int k = 0; k < AFS_N_STREAMS; k++) {
			if (i >= n_made[k])
				continue;
			for (size_t w = 2; w < AFS_RECORD_MAX / 8; w++)
				record[w] = (i + 1) * (w + 3) * 0x9e3779b97f4a7c15u;
			record[0] = 1000 + i * (10 + k);
			record[1] = i;
			trace_put(x->writer, k, record);
		}
	}
	return -1;
}

static inline uint64_t lost(const void *user, unsigned int stream)
{
	(void)user;
	return stream == AFS_STREAM_CALLS ? LOST : 0;
}

static inline void slurp(const struct rig *x, unsigned int file, struct file *f)
{
	char path[128];
	struct stat st;
	FILE *in;

	assert_int_equal(stat(path_of(x, file, path), &st), 0);
	f->len = (size_t)st.st_size;
	f->bytes = malloc(f->len + 1);
	in = fopen(path, "re");
	assert_non_null(in);
	assert_int_equal(fread(f->bytes, 1, f->len, in), f->len);
	fclose(in);
}

static inline void put_file(const struct rig *x, unsigned int file, const struct file *f)
{
	char path[128];
	FILE *out;

	unlink(path_of(x, file, path));
	out = fopen(path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(f->bytes, 1, f->len, out), f->len);
	fclose(out);
}

static inline int setup(void **state)
{
	struct rig *x = calloc(1, sizeof(*x));
	const struct trace_source source = { .user = x, .pull = pull, .lost = lost };
	struct err e = { 0 };

	strcpy(x->dir, "/tmp/afpscope-reader-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	if (trace_open(&x->writer, AT_FDCWD, x->dir,
		       &(struct trace_opts) { .names = true, .run = "1", .command = "t" }, &e))
		fail_msg("%s", e.text);
	assert_int_equal(trace_start(x->writer, &source, &e), 0);
	trace_stop(x->writer);
	trace_close(x->writer);
	for (unsigned int i = 0; i < N_FILES; i++)
		slurp(x, i, &x->sound[i]);
	*state = x;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *x = *state;
	char command[128];

	trace_reader_close(x->r);
	for (unsigned int i = 0; i < N_FILES; i++)
		free(x->sound[i].bytes);
	snprintf(command, sizeof(command), "rm -rf %s", x->dir);
	assert_int_equal(system(command), 0);
	free(x);
	return 0;
}

static inline void say(void *user, const char *text)
{
	struct rig *x = user;
	size_t len = strlen(x->said);

	x->n_said++;
	snprintf(x->said + len, sizeof(x->said) - len, "%s\n", text);
}

static inline int try_open(struct rig *x, struct err *e)
{
	const struct trace_listener listener = { .user = x, .say = say };

	trace_reader_close(x->r);
	x->n_said = 0;
	x->said[0] = '\0';
	return trace_reader_open(&x->r, x->dir, &listener, e);
}

static inline void must_open(struct rig *x)
{
	struct err e = { 0 };

	if (try_open(x, &e))
		fail_msg("%s", e.text);
}

/* Record i of a stream as it was written. */
static const uint8_t *written(const struct rig *x, unsigned int stream, uint64_t i)
{
	size_t len = trace_streams[stream].len, each = (TRACE_PACKET_LEN - HEAD_LEN) / len;

	return x->sound[stream].bytes + i / each * TRACE_PACKET_LEN + HEAD_LEN + i % each * len;
}

/* Takes all records: each as written, none twice, in the order of time. */
static inline void take_all(struct rig *x)
{
	uint64_t next[AFS_N_STREAMS] = { 0 }, t, at_ns, last_ns = 0;
	const uint8_t *record;
	unsigned int stream;

	memset(x->given, 0, sizeof(x->given));
	while ((record = trace_reader_next(x->r, &stream))) {
		assert_true(stream < AFS_N_STREAMS);
		memcpy(&at_ns, record, sizeof(at_ns));
		memcpy(&t, record + 8, sizeof(t));
		assert_true(at_ns >= last_ns);
		last_ns = at_ns;
		assert_true(t < n_made[stream] && t >= next[stream]);
		next[stream] = t + 1;
		assert_memory_equal(record, written(x, stream, t), trace_streams[stream].len);
		x->given[stream]++;
	}
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		assert_int_equal(trace_reader_read(x->r, i)->records, x->given[i]);
	assert_true(trace_reader_flawed(x->r) == !!x->n_said);
}

static inline struct trace_packet_head head_of(const struct rig *x, unsigned int file, size_t slot)
{
	struct trace_packet_head head;

	memcpy(&head, x->sound[file].bytes + slot * TRACE_PACKET_LEN, HEAD_LEN);
	return head;
}

static inline uint64_t records_in(const struct rig *x, unsigned int file, size_t slot)
{
	return (head_of(x, file, slot).content_size / 8 - HEAD_LEN) / trace_streams[file].len;
}

#endif
