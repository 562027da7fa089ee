/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace's files: what is put is in them, whole, whatever ends the writing.
 * Tests user/trace/trace.c, fields.c, layout.c, metadata.c, stream.c.
 */
#include "run/account.h"
#include "trace/fields.h"
#include "trace/metadata.h"
#include "trace/stream.h"
#include "trace/trace.h"
#include "unit/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define HEAD_LEN   sizeof(struct trace_packet_head)
#define PER_PACKET ((TRACE_PACKET_LEN - HEAD_LEN) / sizeof(struct afs_record_calls))

/* Hands over n calls, in so many pulls, and says that some were lost. */
struct rig {
	char dir[64];
	struct trace *t;
	uint64_t n, made, per_pull;
	uint64_t lost;
	unsigned int cpus; /* on which the writer was seen, bits */
	uint64_t back_ns;  /* each so much before the one that came before it */
};

static int pull(void *user, int timeout_ms)
{
	struct rig *x = user;
	struct afs_record_calls c = { 0 };

	(void)timeout_ms;
	x->cpus |= 1u << sched_getcpu();
	for (uint64_t i = 0; i < x->per_pull && x->made < x->n; i++, x->made++) {
		c.timestamp = x->back_ns ? 1000000000 - x->made * x->back_ns : 1000 + x->made;
		c.t = x->made;
		c.ret = (int64_t)x->made;
		trace_put(x->t, AFS_STREAM_CALLS, &c);
	}
	return 0;
}

static uint64_t lost(const void *user, unsigned int stream)
{
	const struct rig *x = user;

	return stream == AFS_STREAM_CALLS ? x->lost : 0;
}

static int setup(void **state)
{
	struct rig *x = calloc(1, sizeof(*x));

	strcpy(x->dir, "/tmp/afpscope-trace-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	x->per_pull = 10000;
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct rig *x = *state;
	char command[128];

	trace_close(x->t);
	snprintf(command, sizeof(command), "rm -rf %s", x->dir);
	assert_int_equal(system(command), 0);
	free(x);
	return 0;
}

static void rig_open(struct rig *x, const struct trace_opts *opts)
{
	struct err e = { 0 };

	if (trace_open(&x->t, AT_FDCWD, x->dir, opts, &e))
		fail_msg("%s", e.text);
}

/* Everything goes through. */
static void rig_run(struct rig *x)
{
	const struct trace_source source = { .user = x, .pull = pull, .lost = lost };
	struct err e = { 0 };

	assert_int_equal(trace_start(x->t, &source, &e), 0);
	wait_until(__atomic_load_n(&x->made, __ATOMIC_RELAXED) >= x->n);
	trace_stop(x->t);
}

/* A file of the trace; owned by the caller. */
static uint8_t *slurp(const struct rig *x, const char *name, size_t *len)
{
	char path[128];
	struct stat st;
	uint8_t *all;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	assert_int_equal(stat(path, &st), 0);
	*len = (size_t)st.st_size;
	all = calloc(1, *len + 1);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fread(all, 1, *len, f), *len);
	fclose(f);
	return all;
}

/* Head i of a file, which must be as the format says. */
static struct trace_packet_head check_head(uint8_t *packet, uint64_t i, unsigned int stream)
{
	struct trace_packet_head head;

	memcpy(&head, packet, sizeof(head));
	memset(packet + offsetof(struct trace_packet_head, crc32), 0, 4);
	assert_int_equal(crc32(0, packet, TRACE_PACKET_LEN), head.crc32);
	memcpy(packet, &head, sizeof(head));
	assert_int_equal(head.magic, TRACE_MAGIC);
	assert_int_equal(head.stream, stream);
	assert_int_equal(head.seq, i);
	assert_int_equal(head.packet_size, TRACE_PACKET_LEN * 8);
	assert_true(head.content_size >= HEAD_LEN * 8);
	assert_true(head.content_size <= head.packet_size);
	assert_int_equal((head.content_size / 8 - HEAD_LEN) % trace_streams[stream].len, 0);
	assert_true(head.begin_ns <= head.end_ns);
	return head;
}

/* Numbers the calls in the file; *head is the last packet's. */
static uint64_t check_calls(const struct rig *x, struct trace_packet_head *head)
{
	struct afs_record_calls c;
	uint64_t n = 0, before = 0;
	uint8_t *all, *end;
	size_t len;

	all = slurp(x, "calls", &len);
	assert_int_equal(len % TRACE_PACKET_LEN, 0);
	for (size_t i = 0; i < len / TRACE_PACKET_LEN; i++) {
		uint8_t *packet = all + i * TRACE_PACKET_LEN;

		*head = check_head(packet, i, AFS_STREAM_CALLS);
		end = packet + head->content_size / 8;
		assert_true(head->begin_ns >= before);
		for (uint8_t *at = packet + HEAD_LEN; at < end; at += sizeof(c), n++) {
			memcpy(&c, at, sizeof(c));
			assert_int_equal(c.ret, n);
			assert_int_equal(c.t, n);
			assert_true(c.timestamp >= before);
			before = c.timestamp;
		}
		assert_int_equal(before, head->end_ns);
	}
	free(all);
	return n;
}

static void what_was_put_is_there_in_whole_packets(void **state)
{
	struct rig *x = *state;
	struct trace_packet_head head;

	x->n = 123456;
	x->lost = 77;
	rig_open(x, &(struct trace_opts) { .run = "0123", .command = "test" });
	assert_int_equal(trace_wants(x->t), AFS_TRACE_SMALL | AFS_TRACE_NAMES | AFS_TRACE_CALLS);
	rig_run(x);
	assert_int_equal(check_calls(x, &head), x->n);
	assert_int_equal(head.discarded, 77);
	assert_int_equal(trace_written(x->t, AFS_STREAM_CALLS), x->n);
}

/* Also where the one who starts it may not run there. */
static void the_writer_keeps_to_its_cpu(void **state)
{
	struct rig *x = *state;
	cpu_set_t before, one;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before)) {
		print_message("skipped: CPUs 0 and 1 are not both ours\n");
		skip();
	}
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	x->n = 100000;
	rig_open(x, &(struct trace_opts) { .pinned = true, .cpu = 1 });
	rig_run(x);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(x->cpus, 1u << 1);
}

static void time_never_goes_back_in_a_stream(void **state)
{
	struct rig *x = *state;
	struct trace_packet_head head;

	x->n = 3 * PER_PACKET;
	x->back_ns = 3;
	rig_open(x, &(struct trace_opts) {});
	rig_run(x);
	assert_int_equal(check_calls(x, &head), x->n);
	assert_int_equal(head.end_ns, 1000000000);
}

static void an_empty_stream_is_an_empty_packet_and_unwanted_ones_are_no_file(void **state)
{
	struct rig *x = *state;
	struct trace_packet_head head;
	uint8_t *all;
	char path[128];
	size_t len;

	rig_open(x, &(struct trace_opts) { .only_requests = true });
	assert_int_equal(trace_wants(x->t), AFS_TRACE_SMALL | AFS_TRACE_NAMES);
	rig_run(x);
	all = slurp(x, "requests", &len);
	assert_int_equal(len, TRACE_PACKET_LEN);
	head = check_head(all, 0, AFS_STREAM_REQUESTS);
	assert_int_equal(head.content_size, HEAD_LEN * 8);
	free(all);
	snprintf(path, sizeof(path), "%s/calls", x->dir);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_trace_is_never_written_over(void **state)
{
	struct rig *x = *state;
	struct trace *other;
	struct err e = { 0 };

	rig_open(x, &(struct trace_opts) {});
	assert_int_equal(trace_open(&other, AT_FDCWD, x->dir, &(struct trace_opts) {}, &e),
			 -EEXIST);
	assert_non_null(strstr(e.text, "there is one already"));
	assert_int_equal(
	    trace_open(&other, AT_FDCWD, "/nowhere/at/all", &(struct trace_opts) {}, &e), -ENOENT);
}

/* The run must tell it: a warning, and why. */
static void check_truncated(const struct rig *x, const char *why, uint64_t missing)
{
	char number[64];
	struct run r;

	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(trace_note(x->t, &r), 0);
	assert_string_equal(run_note_find(&r.rungs, "trace.truncated"), why);
	snprintf(number, sizeof(number), "%llu records", (unsigned long long)missing);
	assert_non_null(strstr(run_note_find(&r.warnings, "trace"), number));
	run_fini(&r);
}

/* One packet of each stream, but not of operations without them, is kept back for what is in none
 * yet. */
static void a_limit_ends_the_trace_at_a_whole_packet(void **state)
{
	struct rig *x = *state;
	struct trace_packet_head head;

	x->n = 10 * PER_PACKET;
	rig_open(x,
		 &(struct trace_opts) { .max_len = (4 + AFS_N_STREAMS) * TRACE_PACKET_LEN + 17 });
	rig_run(x);
	assert_int_equal(check_calls(x, &head), 6 * PER_PACKET);
	check_truncated(x, "limit", 4 * PER_PACKET);
}

/* As on a full disk: part of a packet goes in, then nothing. */
static void a_write_that_fails_leaves_what_was_whole(void **state)
{
	struct rig *x = *state;
	struct trace_packet_head head;
	struct rlimit before, less;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	less = before;
	less.rlim_cur = 3 * TRACE_PACKET_LEN + 1000;
	x->n = 10 * PER_PACKET;
	rig_open(x, &(struct trace_opts) {});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	rig_run(x);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(check_calls(x, &head), 3 * PER_PACKET);
	check_truncated(x, strerror(EFBIG), 7 * PER_PACKET);
}

static void a_full_device_is_an_error_of_the_packet(void **state)
{
	struct trace_shared all = { .room = UINT64_MAX };
	struct afs_record_calls c = { .timestamp = 1 };
	struct rig *x = *state;
	struct trace_stream s;
	int folder = open(x->dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(trace_stream_open(&s, AFS_STREAM_CALLS, folder), 0);
	close(s.fd);
	s.fd = open("/dev/full", O_WRONLY);
	for (uint64_t i = 0; i < PER_PACKET - 1; i++)
		assert_int_equal(trace_stream_put(&s, &all, &c, 0), 0);
	assert_int_equal(trace_stream_put(&s, &all, &c, 0), -ENOSPC);
	assert_int_equal(s.n_written, 0);
	assert_int_equal(all.written, 0);
	trace_stream_close(&s);
	close(folder);
}

#define CLIENT_ROOM 65536

static void a_client_that_is_too_fast_loses_records_by_number(void **state)
{
	struct rig *x = *state;
	struct afs_record_client c = { .timestamp = 5 };
	struct trace_packet_head head = { 0 };
	uint8_t *all;
	size_t len;
	struct run r;

	rig_open(x, &(struct trace_opts) {});
	for (uint64_t i = 0; i < CLIENT_ROOM + 5; i++)
		trace_client(x->t, &c);
	rig_run(x);
	assert_int_equal(trace_written(x->t, AFS_STREAM_CLIENT), CLIENT_ROOM);
	all = slurp(x, "client", &len);
	for (size_t i = 0; i < len / TRACE_PACKET_LEN; i++)
		head = check_head(all + i * TRACE_PACKET_LEN, i, AFS_STREAM_CLIENT);
	assert_int_equal(head.discarded, 5);
	free(all);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(trace_note(x->t, &r), 0);
	assert_int_equal(run_losses(&r), 5);
	assert_non_null(
	    strstr(run_note_find(&r.rungs, "trace"), " 65536 of the client's requests, "));
	run_fini(&r);
}

/* A killed program leaves them. */
static void what_is_old_is_written_before_its_packet_is_full(void **state)
{
	const struct trace_source source = { .user = *state, .pull = pull, .lost = lost };
	struct rig *x = *state;
	struct err e = { 0 };
	struct stat st;
	char path[128];

	x->n = 3;
	rig_open(x, &(struct trace_opts) {});
	assert_int_equal(trace_start(x->t, &source, &e), 0);
	snprintf(path, sizeof(path), "%s/calls", x->dir);
	wait_until(!stat(path, &st) && st.st_size);
	assert_int_equal(st.st_size, TRACE_PACKET_LEN);
}

static void the_table_fits_the_records(void **state)
{
	const struct trace_stream_def *s;
	size_t sum, len;

	(void)state;
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &trace_streams[i];
		sum = 0;
		for (size_t k = 0; k < s->n_fields; k++) {
			len = trace_types[s->field[k].type].len;
			assert_int_equal(sum % (len > 8 ? 1 : len), 0);
			sum += len;
		}
		assert_int_equal(sum, s->len);
		assert_int_equal(s->field[0].type, TRACE_clock);
		assert_string_equal(s->field[0].name, "timestamp");
	}
	sum = 0;
	for (size_t i = 0; i < TRACE_N_HEAD; i++)
		sum += trace_types[trace_head[i].type].len;
	assert_int_equal(sum, HEAD_LEN);
}

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* The fields of a head or a record are those of the table. */
static void check_layout(const json_t *of, const struct trace_field *field, size_t n)
{
	const json_t *fields = json_object_get(of, "fields"), *one;
	const char *names;
	int64_t at = 0;

	assert_int_equal(json_array_size(fields), n);
	for (size_t i = 0; i < n; i++) {
		one = json_array_get(fields, i);
		assert_string_equal(json_string_value(json_object_get(one, "name")), field[i].name);
		assert_string_equal(json_string_value(json_object_get(one, "type")),
				    trace_types[field[i].type].base);
		assert_int_equal(number_of(one, "offset"), at);
		at += (int64_t)trace_types[field[i].type].len;
		names = json_string_value(json_object_get(one, "names"));
		assert_true(trace_is_enum(field[i].type) == !!names);
		assert_int_equal(number_of(one, "length"), trace_is_array(field[i].type)
							       ? trace_types[field[i].type].len
							       : 0);
	}
	assert_int_equal(number_of(of, "bytes"), at);
}

static void the_layout_is_that_of_the_table_and_has_its_checksum(void **state)
{
	struct rig *x = *state;
	const json_t *streams, *one;
	struct trace_packet_head head;
	char uuid[33], *end;
	uint8_t *text, *packet;
	size_t len, packet_len;
	json_t *all;

	rig_open(x, &(struct trace_opts) {});
	rig_run(x);
	text = slurp(x, ".layout.json", &len);
	end = strstr((char *)text, "\n\"crc32\"");
	assert_non_null(end);
	end++;
	all = json_loads((char *)text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	assert_int_equal(strtoul(json_string_value(json_object_get(all, "crc32")), NULL, 16),
			 crc32(0, text, (uInt)(end - (char *)text)));
	packet = slurp(x, "calls", &packet_len);
	memcpy(&head, packet, HEAD_LEN);
	for (size_t i = 0; i < sizeof(head.uuid); i++)
		snprintf(uuid + 2 * i, 3, "%02x", head.uuid[i]);
	assert_string_equal(json_string_value(json_object_get(all, "uuid")), uuid);
	assert_true(number_of(json_object_get(all, "clock"), "offset_ns") > 0);
	check_layout(json_object_get(all, "head"), trace_head, TRACE_N_HEAD);
	streams = json_object_get(all, "streams");
	assert_int_equal(json_array_size(streams), AFS_N_STREAMS);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		one = json_array_get(streams, i);
		assert_int_equal(number_of(one, "id"), i);
		assert_string_equal(json_string_value(json_object_get(one, "name")),
				    trace_streams[i].name);
		check_layout(one, trace_streams[i].field, trace_streams[i].n_fields);
	}
	one = json_object_get(json_object_get(all, "names"), "class_t");
	assert_string_equal(json_string_value(json_object_get(one, "0")), ledger_class_name(0));
	json_decref(all);
	free(packet);
	free(text);
}

/* own_ns is "user" there: its own code. */
static void the_parts_of_a_request_are_the_columns_of_time(void **state)
{
	const struct trace_stream_def *s = &trace_streams[AFS_STREAM_REQUESTS];
	size_t at = 0;
	char name[32];

	(void)state;
	while (strcmp(s->field[at].name, "own_ns"))
		at++;
	for (size_t i = 1; i < ACCOUNT_N_COLUMNS; i++) {
		snprintf(name, sizeof(name), "%s_ns", account_columns[i].key);
		assert_string_equal(s->field[at + i].name, name);
	}
}

#define DOC      "docs/trace.md"
#define DOC_MARK "<!-- made by tests/unit/trace/test_writer.c -->\n"

/* The tables of docs/trace.md. */
static void put_tables(FILE *out)
{
	const struct trace_stream_def *s;
	const struct trace_field *f;
	size_t at;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &trace_streams[i];
		fprintf(out,
			"### %s\n\nStream %u, %zu bytes a record: %s.\n\n"
			"| Offset | Field | Type | Unit | Meaning |\n|---|---|---|---|---|\n",
			s->name, i, s->len, s->meaning);
		at = 0;
		for (size_t k = 0; k < s->n_fields; k++) {
			f = &s->field[k];
			fprintf(out, "| %zu | `%s` | %s | %s | %s |\n", at, f->name,
				trace_types[f->type].text, f->unit, f->meaning);
			at += trace_types[f->type].len;
		}
		fputc('\n', out);
	}
}

/* AFPSCOPE_WRITE=1 in the environment puts them there. */
static void the_documentation_has_the_tables(void **state)
{
	char *doc, *at, *tables = NULL;
	size_t len, doc_len;
	FILE *out = open_memstream(&tables, &len), *f;

	(void)state;
	put_tables(out);
	fclose(out);
	doc = calloc(1, 1 << 20);
	f = fopen(DOC, "re");
	assert_non_null(f);
	doc_len = fread(doc, 1, (1 << 20) - 1, f);
	fclose(f);
	assert_true(doc_len > 0);
	at = strstr(doc, DOC_MARK);
	assert_non_null(at);
	at += strlen(DOC_MARK);
	if (getenv("AFPSCOPE_WRITE")) {
		f = fopen(DOC, "we");
		assert_non_null(f);
		fprintf(f, "%.*s%s", (int)(at - doc), doc, tables);
		fclose(f);
	} else {
		assert_string_equal(at, tables);
	}
	free(doc);
	free(tables);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_put_is_there_in_whole_packets),
		TEST(the_writer_keeps_to_its_cpu),
		TEST(time_never_goes_back_in_a_stream),
		TEST(an_empty_stream_is_an_empty_packet_and_unwanted_ones_are_no_file),
		TEST(a_trace_is_never_written_over),
		TEST(a_limit_ends_the_trace_at_a_whole_packet),
		TEST(a_write_that_fails_leaves_what_was_whole),
		TEST(a_full_device_is_an_error_of_the_packet),
		TEST(a_client_that_is_too_fast_loses_records_by_number),
		TEST(what_is_old_is_written_before_its_packet_is_full),
		TEST(the_layout_is_that_of_the_table_and_has_its_checksum),
		cmocka_unit_test(the_table_fits_the_records),
		cmocka_unit_test(the_parts_of_a_request_are_the_columns_of_time),
		cmocka_unit_test(the_documentation_has_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
