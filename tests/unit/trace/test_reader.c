/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader: all of a whole trace; what is not right is left out and told. */
#include "unit/trace_rig.h"

static void a_whole_trace_comes_back_merged_by_time(void **state)
{
	const struct trace_read *read;
	struct rig *x = *state;
	struct timespec wall;

	must_open(x);
	take_all(x);
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		read = trace_reader_read(x->r, i);
		assert_int_equal(read->records, n_made[i]);
		assert_int_equal(read->packets, x->sound[i].len / TRACE_PACKET_LEN);
		assert_int_equal(read->damaged + read->missing + read->torn_len, 0);
		assert_int_equal(read->discarded, lost(NULL, i));
	}
	assert_string_equal(x->said, "calls: 7 records were lost when they were made\n");
	clock_gettime(CLOCK_REALTIME, &wall);
	assert_true(trace_reader_offset_ns(x->r) / 1000000000 <= wall.tv_sec);
	assert_true(trace_reader_offset_ns(x->r) / 1000000000 > wall.tv_sec - 10000000);
}

static void one_stream_is_read_alone_and_nothing_is_told_twice(void **state)
{
	struct rig *x = *state;

	must_open(x);
	take_all(x);
	trace_reader_choose(x->r, 1u << AFS_STREAM_CALLS);
	take_all(x);
	assert_int_equal(x->given[AFS_STREAM_CALLS], n_made[AFS_STREAM_CALLS]);
	assert_int_equal(x->given[AFS_STREAM_REQUESTS], 0);
	assert_int_equal(trace_reader_read(x->r, AFS_STREAM_CALLS)->discarded, LOST);
	assert_int_equal(x->n_said, 1);
}

static void a_trace_without_calls_and_waits_is_whole_and_others_are_missed(void **state)
{
	struct rig *x = *state;
	char path[128];

	assert_int_equal(unlink(path_of(x, AFS_STREAM_CALLS, path)), 0);
	must_open(x);
	assert_non_null(strstr(x->said, "calls: cannot be opened"));
	assert_int_equal(unlink(path_of(x, AFS_STREAM_WAITS, path)), 0);
	must_open(x);
	assert_int_equal(x->n_said, 0);
	assert_false(trace_reader_read(x->r, AFS_STREAM_CALLS)->there);
	assert_int_equal(unlink(path_of(x, AFS_STREAM_CLIENT, path)), 0);
	must_open(x);
	assert_string_equal(x->said, "client: cannot be opened: No such file or directory\n");
}

static void every_bit_of_a_head_is_watched(void **state)
{
	struct rig *x = *state;
	const struct trace_read *read = NULL;
	const unsigned int file = AFS_STREAM_CALLS;
	struct file *f = &x->sound[file];
	size_t at;

	for (size_t bit = 0; bit < HEAD_LEN * 8; bit++) {
		at = TRACE_PACKET_LEN + bit / 8;
		f->bytes[at] ^= (uint8_t)(1u << bit % 8);
		put_file(x, file, f);
		f->bytes[at] ^= (uint8_t)(1u << bit % 8);
		must_open(x);
		take_all(x);
		read = trace_reader_read(x->r, file);
		assert_int_equal(read->damaged, 1);
		assert_int_equal(read->missing, 0);
		assert_int_equal(x->given[file] + records_in(x, file, 1), n_made[file]);
		assert_non_null(strstr(x->said, "calls: packet 1 is left out: "));
	}
}

/* The writer's program, or another, that is wrong: the checksum is right. */
static void a_right_checksum_alone_is_not_enough(void **state)
{
	static const struct {
		size_t at, len;
		uint64_t value;
		const char *why;
	} cases[] = {
		{ 40, 8, UINT64_MAX, "its size" },
		{ 40, 8, 80 * 8 - 8, "its size" },
		{ 40, 8, (80 + 57) * 8, "its size" },
		{ 40, 8, 80 * 8 + 1, "its size" },
		{ 48, 8, 65536, "its size" },
		{ 64, 8, 0, "a duplicate" },
		{ 64, 8, UINT64_MAX, "a duplicate" },
		{ 56, 8, 0, "fewer records were lost" },
		{ 24, 8, 0, "its time goes back" },
		{ 24, 8, UINT64_MAX, "its time goes back" },
		{ 32, 8, 20000, "is not within its own" },
		{ 80 + 56, 8, 0, "records goes back" },
		{ 80, 8, UINT64_MAX, "records goes back" },
	};
	const unsigned int file = AFS_STREAM_CALLS;
	struct rig *x = *state;
	struct file f = { .len = x->sound[file].len };
	uint8_t *packet;
	uint32_t crc;

	f.bytes = malloc(f.len);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(f.bytes, x->sound[file].bytes, f.len);
		packet = f.bytes + TRACE_PACKET_LEN;
		memcpy(packet + cases[i].at, &cases[i].value, cases[i].len);
		memset(packet + offsetof(struct trace_packet_head, crc32), 0, 4);
		crc = (uint32_t)crc32(0, packet, TRACE_PACKET_LEN);
		memcpy(packet + offsetof(struct trace_packet_head, crc32), &crc, 4);
		put_file(x, file, &f);
		must_open(x);
		take_all(x);
		assert_int_equal(trace_reader_read(x->r, file)->damaged, 1);
		assert_non_null(strstr(x->said, cases[i].why));
		assert_int_equal(x->given[file] + records_in(x, file, 1), n_made[file]);
	}
	free(f.bytes);
}

static void many_damaged_packets_are_few_words(void **state)
{
	struct rig *x = *state;
	struct file f = { calloc(1, 50 * TRACE_PACKET_LEN), 50 * TRACE_PACKET_LEN };

	memset(f.bytes, 'x', f.len);
	put_file(x, AFS_STREAM_WAITS, &f);
	free(f.bytes);
	must_open(x);
	take_all(x);
	assert_int_equal(trace_reader_read(x->r, AFS_STREAM_WAITS)->damaged, 50);
	assert_non_null(strstr(x->said, "waits: 50 packets are left out in all"));
	assert_int_equal(x->n_said, 7);
}

/* Each must come to an end, at once. */
static void what_is_no_file_is_not_waited_for(void **state)
{
	struct rig *x = *state;
	char path[128];
	struct err e = { 0 };

	alarm(20);
	for (unsigned int i = 0; i < 4; i++) {
		path_of(x, AFS_STREAM_CALLS, path);
		unlink(path);
		assert_int_equal(i == 0   ? mkfifo(path, 0600)
				 : i == 1 ? symlink("/dev/zero", path)
				 : i == 2 ? symlink("/dev/tty", path)
					  : mkdir(path, 0700),
				 0);
		must_open(x);
		assert_string_equal(x->said, "calls: cannot be opened: not a regular file\n");
		take_all(x);
		assert_int_equal(x->given[AFS_STREAM_REQUESTS], n_made[AFS_STREAM_REQUESTS]);
	}
	path_of(x, METADATA, path);
	for (unsigned int i = 0; i < 3; i++) {
		unlink(path);
		assert_int_equal(i == 0   ? mkfifo(path, 0600)
				 : i == 1 ? symlink("/dev/zero", path)
					  : mkdir(path, 0700),
				 0);
		assert_int_equal(try_open(x, &e), -EINVAL);
		assert_non_null(strstr(e.text, "not a regular file"));
	}
	alarm(0);
}

static void a_hole_of_a_terabyte_takes_no_time(void **state)
{
	struct rig *x = *state;
	char path[128];

	alarm(20);
	assert_int_equal(truncate(path_of(x, AFS_STREAM_WAITS, path), 1L << 40), 0);
	must_open(x);
	take_all(x);
	assert_int_equal(x->given[AFS_STREAM_WAITS], n_made[AFS_STREAM_WAITS]);
	assert_int_equal(trace_reader_read(x->r, AFS_STREAM_WAITS)->damaged,
			 (1L << 40) / TRACE_PACKET_LEN -
			     x->sound[AFS_STREAM_WAITS].len / TRACE_PACKET_LEN);
	alarm(0);
}

static void the_metadata_must_be_ours_and_whole(void **state)
{
	struct rig *x = *state;
	struct file *f = &x->sound[METADATA], g = { calloc(1, f->len + 1), f->len };
	struct err e = { 0 };
	char *at;

	for (size_t i = 0; i < f->len; i++) {
		memcpy(g.bytes, f->bytes, f->len);
		g.bytes[i] ^= 1;
		put_file(x, METADATA, &g);
		assert_int_equal(try_open(x, &e), -EBADMSG);
	}
	for (g.len = 0; g.len < f->len; g.len += 97) {
		put_file(x, METADATA, &g);
		assert_int_equal(try_open(x, &e), -EBADMSG);
	}
	/* Of another version: whole, but with other records. */
	g.len = f->len;
	memcpy(g.bytes, f->bytes, f->len);
	at = strstr((char *)g.bytes, "uint32_t calls;");
	assert_non_null(at);
	memcpy(at, "uint32_t halls;", 15);
	snprintf((char *)g.bytes + g.len - 21, 22, "/* crc32 %08x */\n",
		 (unsigned int)crc32(0, g.bytes, (uInt)g.len - 21));
	put_file(x, METADATA, &g);
	assert_int_equal(try_open(x, &e), -EPROTO);
	assert_non_null(strstr(e.text, "babeltrace2 reads it"));
	/* The same records, written by another version. */
	memcpy(at, "uint32_t calls;", 15);
	at = strstr((char *)g.bytes, "tracer_version = \"");
	assert_non_null(at);
	at[18] = '9';
	snprintf((char *)g.bytes + g.len - 21, 22, "/* crc32 %08x */\n",
		 (unsigned int)crc32(0, g.bytes, (uInt)g.len - 21));
	put_file(x, METADATA, &g);
	must_open(x);
	free(g.bytes);
}

static void no_trace_is_said(void **state)
{
	struct rig *x = *state;
	struct err e = { 0 };
	char path[128];

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		assert_int_equal(unlink(path_of(x, i, path)), 0);
	assert_int_equal(try_open(x, &e), -ENODATA);
	unlink(path_of(x, METADATA, path));
	assert_int_equal(try_open(x, &e), -ENOENT);
	rmdir(x->dir);
	assert_int_equal(try_open(x, &e), -ENOENT);
	assert_non_null(strstr(e.text, x->dir));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_whole_trace_comes_back_merged_by_time),
		TEST(one_stream_is_read_alone_and_nothing_is_told_twice),
		TEST(a_trace_without_calls_and_waits_is_whole_and_others_are_missed),
		TEST(every_bit_of_a_head_is_watched),
		TEST(a_right_checksum_alone_is_not_enough),
		TEST(many_damaged_packets_are_few_words),
		TEST(what_is_no_file_is_not_waited_for),
		TEST(a_hole_of_a_terabyte_takes_no_time),
		TEST(the_metadata_must_be_ours_and_whole),
		TEST(no_trace_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
