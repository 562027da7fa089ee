/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer: one thread between the source's buffer, the client's, and the files. */

#include "trace/trace.h"

#include "base/clock.h"
#include "base/file.h"
#include "run/account.h"
#include "trace/fields.h"
#include "trace/layout.h"
#include "trace/metadata.h"
#include "trace/names.h"
#include "trace/operations.h"
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Look at both buffers this often, if nothing wakes the thread before. */
#define LOOK_MS 100

/* Older packets are written, so that a killed run leaves them. */
#define AGE_NS 2000000000u

/* Reserved below a limit, so that each stream's open packet can be written at the end. */
#define LAST_LEN(opts) ((AFS_N_STREAMS - !(opts)->replayable) * (uint64_t)TRACE_PACKET_LEN)

/* Client's records in the buffer; a power of two. */
#define CLIENT_ROOM 65536u

_Static_assert((int)AFS_N_COLUMNS == (int)ACCOUNT_N_COLUMNS, "the same columns, in one order");
_Static_assert((int)AFS_COLUMN_own_ns == (int)ACCOUNT_USER, "the same columns");
_Static_assert((int)AFS_COLUMN_calls_ns == (int)ACCOUNT_CALLS, "the same columns");
_Static_assert((int)AFS_COLUMN_disk_ns == (int)ACCOUNT_DISK, "the same columns");
_Static_assert((int)AFS_COLUMN_other_ns == (int)ACCOUNT_OTHER, "the same columns");

struct trace {
	struct trace_opts opts;
	struct trace_source source;
	struct trace_shared all;
	struct trace_stream stream[AFS_N_STREAMS];
	struct names *names;
	struct operations *operations; /* NULL: not wanted */
	int folder;
	char *dir; /* owned */
	pthread_t thread;
	bool running, stopping; /* stopping: atomic */
	int failed;             /* negative errno: writing has ended */
	uint64_t unwritten;     /* records that came after */
	/* Buffer of the client's records: its thread writes head, ours tail. */
	struct afs_record_client *client;
	uint64_t head, tail, client_lost;
};

unsigned int trace_wants(const struct trace *t)
{
	return AFS_TRACE_SMALL | AFS_TRACE_NAMES | (t->opts.only_requests ? 0 : AFS_TRACE_CALLS) |
	       (t->opts.replayable ? AFS_TRACE_REPLAYABLE : 0);
}

static bool wants(const struct trace *t, unsigned int stream)
{
	if (stream == AFS_STREAM_TEXTS)
		return t->opts.names;
	if (stream == AFS_STREAM_OPERATIONS)
		return t->opts.replayable;
	return !t->opts.only_requests || (stream != AFS_STREAM_CALLS && stream != AFS_STREAM_WAITS);
}

/* An operation is lost with the record that it was answered; else something of it is marked. */
static uint64_t trace_lost(const struct trace *t, unsigned int stream)
{
	if (stream == AFS_STREAM_OPERATIONS)
		stream = AFS_STREAM_REQUESTS;
	if (stream == AFS_STREAM_CLIENT)
		return __atomic_load_n(&t->client_lost, __ATOMIC_RELAXED);
	return t->source.user ? t->source.lost(t->source.user, stream) : 0;
}

/* Opening */

/* Takes the smallest of several differences, which was disturbed least. */
static int64_t trace_wall_offset_ns(void)
{
	uint64_t best = UINT64_MAX, before, after;
	int64_t offset = 0, wall_ns;

	for (int i = 0; i < 8; i++) {
		before = clock_now_ns();
		wall_ns = clock_wall_ns();
		after = clock_now_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		offset = wall_ns - (int64_t)(before + (after - before) / 2);
	}
	return offset;
}

static int write_about(const struct trace *t, const char *name, const struct trace_about *about,
		       int (*put)(FILE *out, const struct trace_about *about))
{
	int fd = file_create(t->folder, name, 0600), r;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		r = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	r = put(out, about);
	if (!r && ferror(out))
		r = -EIO;
	if (fclose(out) && !r)
		r = -errno;
	return r;
}

/* The metadata last: a trace that has it has all else, whenever the program was killed. */
static int trace_describe(const struct trace *t)
{
	char host[65] = "";
	struct trace_about about = { .run = t->opts.run ? t->opts.run : "",
				     .command = t->opts.command ? t->opts.command : "",
				     .host = host,
				     .kind = t->opts.kind,
				     .offset_ns = trace_wall_offset_ns() };
	int r;

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, "\"\\\n")] = '\0';
	memcpy(about.uuid, t->all.uuid, sizeof(about.uuid));
	r = write_about(t, LAYOUT_FILE, &about, layout_write);
	return r ? r : write_about(t, "metadata", &about, metadata_write);
}

/* above: the folder in which the last part of t->dir is made, or AT_FDCWD. */
static int open_files(struct trace *t, int above)
{
	const char *slash = strrchr(t->dir, '/');
	const char *name = above == AT_FDCWD || !slash ? t->dir : slash + 1;
	int r;

	if (mkdirat(above, name, 0700) && errno != EEXIST)
		return -errno;
	t->folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->folder < 0)
		return -errno;
	r = 0;
	for (unsigned int i = 0; i < AFS_N_STREAMS && !r; i++)
		if (wants(t, i))
			r = trace_stream_open(&t->stream[i], i, t->folder);
	return r ? r : trace_describe(t);
}

static void make_uuid(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		memset(uuid, 0, 16);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

int trace_open(struct trace **out, int folder, const char *dir, const struct trace_opts *opts,
	       struct err *e)
{
	struct trace *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->opts = *opts;
	t->folder = -1;
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		t->stream[i].fd = -1;
	t->all.room = UINT64_MAX - LAST_LEN(opts);
	if (opts->max_len)
		t->all.room = opts->max_len > LAST_LEN(opts) ? opts->max_len - LAST_LEN(opts) : 0;
	make_uuid(t->all.uuid);
	t->dir = strdup(dir);
	t->client = calloc(CLIENT_ROOM, sizeof(*t->client));
	if (!t->dir || !t->client) {
		r = err_set(e, -ENOMEM, "out of memory");
		goto fail;
	}
	r = names_open(&t->names, opts->names, e);
	if (r)
		goto fail;
	t->operations = opts->replayable ? operations_open(t->names) : NULL;
	if (opts->replayable && !t->operations) {
		r = err_set(e, -ENOMEM, "out of memory");
		goto fail;
	}
	r = open_files(t, folder);
	if (r) {
		err_set(e, r, "cannot write a trace into %s: %s", dir,
			r == -EEXIST    ? "there is one already"
			: r == -ENOTDIR ? "this is a symbolic link, or not a folder"
					: strerror(-r));
		goto fail;
	}
	*out = t;
	return 0;
fail:
	trace_close(t);
	return r;
}

/* Writing, only in the thread */

/* Writes each stream's open packet, which also has the number of lost records. */
static int flush_last(struct trace *t)
{
	struct trace_stream *s;
	int r = 0;

	t->all.room += LAST_LEN(&t->opts);
	for (unsigned int i = 0; i < AFS_N_STREAMS && !r; i++) {
		s = &t->stream[i];
		if (s->fd >= 0 && (s->n_open || !s->seq || s->discarded != trace_lost(t, i)))
			r = trace_stream_flush(s, &t->all, trace_lost(t, i));
	}
	return r;
}

/* Handles the result of a write. At the limit all of the server's streams end together. */
static void wrote(struct trace *t, int r)
{
	if (r == -E2BIG) {
		r = flush_last(t);
		r = r ? r : -E2BIG;
	}
	t->failed = r;
}

static void trace_put_record(struct trace *t, unsigned int stream, const void *record)
{
	struct trace_stream *s = &t->stream[stream];

	if (s->fd < 0)
		return;
	if (t->failed)
		t->unwritten++;
	else
		wrote(t, trace_stream_put(s, &t->all, record, trace_lost(t, stream)));
}

static void put_named(struct trace *t, const struct afs_named *seen)
{
	struct afs_record_names record;
	struct afs_record_texts text;

	names_record(t->names, seen, &record);
	trace_put_record(t, AFS_STREAM_NAMES, &record);
	if (names_text(t->names, seen, &record, &text))
		trace_put_record(t, AFS_STREAM_TEXTS, &text);
}

/* The name in a request that has just begun, if there is one; put_named's copy of its bytes. */
static void put_captured_name(struct trace *t, const struct afs_captured *captured)
{
	const struct afs_captured_head *h = &captured->head;
	struct afs_named named = { .timestamp = h->timestamp,
				   .session = h->session,
				   .dsi_id = h->dsi_id,
				   .command = (__u8)h->command };

	if (h->part != AFS_CAPTURED_BEGIN || h->command >= AFS_ACCOUNT_DSI ||
	    !afs_path_at[h->command])
		return;
	named.len = h->n < AFS_NAMED_LEN ? h->n : AFS_NAMED_LEN;
	memcpy(named.bytes, captured->bytes, named.len);
	put_named(t, &named);
}

static void put_request(struct trace *t, const struct afs_record_requests *r)
{
	struct afs_record_operations operation;

	/* First: at the limit of its size a recording has one more than is said, and not one less.
	 */
	if (t->operations) {
		operations_answered(t->operations, r, &operation);
		trace_put_record(t, AFS_STREAM_OPERATIONS, &operation);
	}
	trace_put_record(t, AFS_STREAM_REQUESTS, r);
}

void trace_put(void *trace, unsigned int stream, const void *record)
{
	struct trace *t = trace;

	switch (stream) {
	case AFS_STREAM_NAMES:
		put_named(t, record);
		break;
	case AFS_STREAM_REQUESTS:
		put_request(t, record);
		break;
	case AFS_STREAM_OPERATIONS:
		if (!t->operations)
			break;
		put_captured_name(t, record);
		operations_captured(t->operations, record);
		break;
	case AFS_STREAM_SESSIONS:
		if (t->operations)
			operations_session(t->operations, record);
		trace_put_record(t, stream, record);
		break;
	default:
		trace_put_record(t, stream, record);
		break;
	}
}

static void trace_put_clients(struct trace *t)
{
	uint64_t head = __atomic_load_n(&t->head, __ATOMIC_ACQUIRE);

	while (t->tail != head) {
		trace_put_record(t, AFS_STREAM_CLIENT, &t->client[t->tail % CLIENT_ROOM]);
		__atomic_store_n(&t->tail, t->tail + 1, __ATOMIC_RELEASE);
	}
}

static void flush_old(struct trace *t)
{
	uint64_t now = clock_now_ns();
	struct trace_stream *s;

	for (unsigned int i = 0; i < AFS_N_STREAMS && !t->failed; i++) {
		s = &t->stream[i];
		if (s->fd >= 0 && s->n_open && s->since_ns + AGE_NS < now)
			wrote(t, trace_stream_flush(s, &t->all, trace_lost(t, i)));
	}
}

static void *trace_run(void *arg)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
	struct trace *t = arg;
	bool pulls = t->source.user, last;

	do {
		last = __atomic_load_n(&t->stopping, __ATOMIC_ACQUIRE);
		if (pulls)
			pulls = !t->source.pull(t->source.user, last ? 0 : LOOK_MS);
		else if (!last)
			nanosleep(&pause, NULL);
		trace_put_clients(t);
		flush_old(t);
	} while (!last);
	if (!t->failed)
		t->failed = flush_last(t);
	return NULL;
}

int trace_start(struct trace *t, const struct trace_source *source, struct err *e)
{
	sigset_t all, before;
	pthread_attr_t attr;
	cpu_set_t cpus;
	int r;

	t->source = *source;
	pthread_attr_init(&attr);
	CPU_ZERO(&cpus);
	CPU_SET(t->opts.cpu, &cpus);
	if (t->opts.pinned)
		pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	/* Leaves signals to the main thread; SIGXFSZ must become an error of write. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&t->thread, &attr, trace_run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (r == EINVAL && t->opts.pinned)
		return err_set(
		    e, -r, "the trace cannot be written on CPU %u: it is off, or not allowed to us",
		    t->opts.cpu);
	if (r)
		return err_set(e, -r, "cannot start the writer of the trace: %s", strerror(r));
	t->running = true;
	return 0;
}

void trace_client(struct trace *t, const struct afs_record_client *record)
{
	if (t->head - __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE) >= CLIENT_ROOM) {
		__atomic_fetch_add(&t->client_lost, 1, __ATOMIC_RELAXED);
		return;
	}
	t->client[t->head % CLIENT_ROOM] = *record;
	__atomic_store_n(&t->head, t->head + 1, __ATOMIC_RELEASE);
}

void trace_stop(struct trace *t)
{
	if (!t->running)
		return;
	__atomic_store_n(&t->stopping, true, __ATOMIC_RELEASE);
	pthread_join(t->thread, NULL);
	t->running = false;
}

uint64_t trace_written(const struct trace *t, unsigned int stream)
{
	return t->stream[stream].n_written;
}

static uint64_t unwritten(const struct trace *t)
{
	uint64_t n = t->unwritten;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		n += t->stream[i].n_open;
	return n;
}

int trace_note(const struct trace *t, struct run *r)
{
	int err = run_note(&r->rungs, "trace",
			   "%s: %" PRIu64 " requests, %" PRIu64 " calls, %" PRIu64
			   " waits, %" PRIu64 " of the client's requests, %" PRIu64 " bytes",
			   t->dir, trace_written(t, AFS_STREAM_REQUESTS),
			   trace_written(t, AFS_STREAM_CALLS), trace_written(t, AFS_STREAM_WAITS),
			   trace_written(t, AFS_STREAM_CLIENT), t->all.written);

	if (!err)
		err = run_loss(r, "records of client: no room on the way to the file",
			       trace_lost(t, AFS_STREAM_CLIENT));
	if (err || !t->failed)
		return err;
	err = run_note(&r->rungs, "trace.truncated", "%s",
		       t->failed == -E2BIG ? "limit" : strerror(-t->failed));
	if (err)
		return err;
	if (t->failed == -E2BIG)
		return run_note(&r->warnings, "trace",
				"the trace is truncated: its limit of %" PRIu64
				" bytes was reached, and %" PRIu64 " records came after",
				t->opts.max_len, unwritten(t));
	return run_note(&r->warnings, "trace",
			"the trace is truncated (%s): %" PRIu64 " records are not in it",
			strerror(-t->failed), unwritten(t));
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	trace_stop(t);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		trace_stream_close(&t->stream[i]);
	if (t->folder >= 0)
		close(t->folder);
	operations_close(t->operations);
	names_close(t->names);
	free(t->client);
	free(t->dir);
	free(t);
}
