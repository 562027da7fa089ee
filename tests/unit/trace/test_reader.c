/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace is read by its layout; what is damaged is left out, counted, and the rest is read.
 * Tests user/trace/reader.c.
 */
#include "base/clock.h"
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
#include <unistd.h>

#include <cmocka.h>

#define PER_PACKET                                                                                 \
	((TRACE_PACKET_LEN - sizeof(struct trace_packet_head)) / sizeof(struct afs_record_waits))
#define N (3 * PER_PACKET + 5) /* four packets */

struct rig {
	char dir[64];
	struct trace *t;
	uint64_t made;
	struct err e;
};

static int pull(void *user, int timeout_ms)
{
	struct rig *x = user;
	struct afs_record_waits w = { 0 };

	(void)timeout_ms;
	for (; x->made < N; x->made++) {
		w.timestamp = 1000 + x->made;
		w.t = x->made;
		w.session = (uint32_t)(x->made % 7);
		trace_put(x->t, AFS_STREAM_WAITS, &w);
	}
	return 0;
}

static uint64_t lost(const void *user, unsigned int stream)
{
	(void)user;
	return stream == AFS_STREAM_WAITS ? 17 : 0;
}

static int setup(void **state)
{
	const struct trace_opts opts = { .run = "0", .command = "test" };
	struct rig *x = calloc(1, sizeof(*x));
	const struct trace_source source = { .user = x, .pull = pull, .lost = lost };

	strcpy(x->dir, "/tmp/afpscope-trace-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	assert_int_equal(trace_open(&x->t, AT_FDCWD, x->dir, &opts, &x->e), 0);
	assert_int_equal(trace_start(x->t, &source, &x->e), 0);
	while (__atomic_load_n(&x->made, __ATOMIC_RELAXED) < N)
		usleep(1000);
	trace_stop(x->t);
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

static int file(const struct rig *x, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", x->dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Turns bits of a byte around. */
static void flip(const struct rig *x, const char *name, off_t at)
{
	int fd = file(x, name);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* All that can be read: each number at most once, in order. */
static struct trace_read read_all(struct rig *x)
{
	struct trace_reader *t;
	struct trace_read found;
	uint64_t last = 0, n = 0, number;
	int at, session;

	if (trace_reader_open(&t, x->dir, "waits", &x->e))
		fail_msg("%s", x->e.text);
	at = trace_reader_field(t, "t");
	session = trace_reader_field(t, "session");
	assert_true(at >= 0 && session >= 0);
	while (trace_reader_next(t, &x->e) > 0) {
		number = trace_reader_value(t, at);
		assert_true(!n || number > last);
		assert_int_equal(trace_reader_value(t, session), number % 7);
		last = number;
		n++;
	}
	trace_reader_found(t, &found);
	assert_int_equal(found.records, n);
	trace_reader_close(t);
	return found;
}

static void all_of_a_whole_trace_is_read(void **state)
{
	const struct trace_read found = read_all(*state);

	assert_int_equal(found.records, N);
	assert_int_equal(found.packets, 4);
	assert_int_equal(found.damaged, 0);
	assert_int_equal(found.torn_b, 0);
	assert_int_equal(found.discarded, 17);
}

static void a_damaged_packet_is_left_out(void **state)
{
	struct rig *x = *state;
	struct trace_read found;

	flip(x, "waits", TRACE_PACKET_LEN + 5000);
	found = read_all(x);
	assert_int_equal(found.records, N - PER_PACKET);
	assert_int_equal(found.damaged, 1);
}

static void of_a_cut_file_the_whole_packets_are_read(void **state)
{
	struct rig *x = *state;
	struct trace_read found;
	int fd = file(x, "waits");

	assert_int_equal(ftruncate(fd, 2 * TRACE_PACKET_LEN + 777), 0);
	close(fd);
	found = read_all(x);
	assert_int_equal(found.records, 2 * PER_PACKET);
	assert_int_equal(found.torn_b, 777);
}

/* The packets of the file, by their numbers in this order. */
static void put_packets(const struct rig *x, const char *order)
{
	static char packet[4][TRACE_PACKET_LEN];
	int fd = file(x, "waits");

	assert_int_equal(pread(fd, packet, sizeof(packet), 0), sizeof(packet));
	assert_int_equal(ftruncate(fd, 0), 0);
	for (off_t i = 0; order[i]; i++)
		assert_int_equal(
		    pwrite(fd, packet[order[i] - '0'], TRACE_PACKET_LEN, i * TRACE_PACKET_LEN),
		    TRACE_PACKET_LEN);
	close(fd);
}

static void no_packet_is_read_twice_or_too_late(void **state)
{
	struct rig *x = *state;
	struct trace_read found;

	put_packets(x, "00213");
	found = read_all(x);
	assert_int_equal(found.records, N - PER_PACKET);
	assert_int_equal(found.damaged, 2);
	assert_int_equal(found.missing, 0);
}

static void packets_that_are_not_there_are_counted(void **state)
{
	struct rig *x = *state;
	struct trace_read found;

	put_packets(x, "03");
	found = read_all(x);
	assert_int_equal(found.records, PER_PACKET + 5);
	assert_int_equal(found.missing, 2);
	assert_int_equal(found.damaged, 0);
}

static void a_damaged_layout_is_refused(void **state)
{
	struct rig *x = *state;
	struct trace_reader *t;

	flip(x, ".layout.json", 1000);
	assert_int_equal(trace_reader_open(&t, x->dir, "waits", &x->e), -EINVAL);
	assert_non_null(strstr(x->e.text, "damaged"));
	assert_null(t);
}

static void a_trace_of_the_other_byte_order_is_refused(void **state)
{
	struct rig *x = *state;
	struct trace_reader *t = NULL;
	const uint32_t magic = __builtin_bswap32(TRACE_MAGIC);
	const int fd = file(x, "waits");

	assert_int_equal(pwrite(fd, &magic, sizeof(magic), 0), sizeof(magic));
	close(fd);
	assert_int_equal(trace_reader_open(&t, x->dir, "waits", &x->e), -EINVAL);
	assert_non_null(strstr(x->e.text, "byte order"));
}

static void a_stream_or_field_that_is_not_there_is_said(void **state)
{
	struct rig *x = *state;
	struct trace_reader *t;

	assert_int_equal(trace_reader_open(&t, x->dir, "nothing", &x->e), -ENOENT);
	assert_int_equal(trace_reader_open(&t, "/nonexistent", "waits", &x->e), -ENOENT);
	assert_int_equal(trace_reader_open(&t, x->dir, "waits", &x->e), 0);
	assert_int_equal(trace_reader_field(t, "nothing"), -ENOENT);
	assert_int_equal(trace_reader_next(t, &x->e), 1);
	assert_int_equal(trace_reader_value(t, -ENOENT), 0);
	assert_int_equal(strlen(trace_reader_uuid(t)), 32);
	trace_reader_close(t);
}

static void it_is_read_again_from_its_begin(void **state)
{
	struct rig *x = *state;
	struct trace_reader *t;
	int at;

	assert_int_equal(trace_reader_open(&t, x->dir, "waits", &x->e), 0);
	at = trace_reader_field(t, "t");
	for (unsigned int i = 0; i < PER_PACKET + 3; i++)
		assert_int_equal(trace_reader_next(t, &x->e), 1);
	trace_reader_rewind(t);
	assert_int_equal(trace_reader_next(t, &x->e), 1);
	assert_int_equal(trace_reader_value(t, at), 0);
	trace_reader_close(t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_of_a_whole_trace_is_read),
		TEST(a_damaged_packet_is_left_out),
		TEST(of_a_cut_file_the_whole_packets_are_read),
		TEST(no_packet_is_read_twice_or_too_late),
		TEST(packets_that_are_not_there_are_counted),
		TEST(a_damaged_layout_is_refused),
		TEST(a_trace_of_the_other_byte_order_is_refused),
		TEST(a_stream_or_field_that_is_not_there_is_said),
		TEST(it_is_read_again_from_its_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
