/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What texts of /proc say: whole ones, cut ones, and those of something else. */
#include "host/proc/proctext.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define IO                                                                                         \
	"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"                  \
	"cancelled_write_bytes: 7\n"

static const char io_text[] = IO;

static void an_account_has_all_of_its_four_figures(void **state)
{
	struct afs_compat io = { .syscr = 77 };
	char text[sizeof(io_text)];
	const size_t last = (size_t)(strstr(io_text, "syscw: ") - io_text) + strlen("syscw: ");

	(void)state;
	for (size_t len = 0; len <= last; len++) {
		snprintf(text, sizeof(text), "%.*s", (int)len, io_text);
		assert_int_equal(proctext_io(&io, text), -EPROTO);
	}
	assert_int_equal(io.syscr, 77);
	assert_int_equal(proctext_io(&io, io_text), 0);
	assert_int_equal(io.rchar, 1);
	assert_int_equal(io.wchar, 2);
	assert_int_equal(io.syscr, 3);
	assert_int_equal(io.syscw, 4);
	assert_int_equal(proctext_io(&io, "rchar: \nwchar: 2\nsyscr: 3\nsyscw: 4\n"), -EPROTO);
}

static void times_are_three_numbers(void **state)
{
	static const char *const no[] = { "", "1", "1 2", "1 2 ", "a b c", "\n" };
	struct procfs_times t;

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_int_equal(proctext_times(&t, no[i]), -EPROTO);
	assert_int_equal(proctext_times(&t, "18446744073709551615 2 3\n"), 0);
	assert_true(t.cpu_ns == UINT64_MAX);
	assert_int_equal(t.runq_ns, 2);
	assert_int_equal(t.slices, 3);
}

static void a_key_is_a_whole_one_at_the_start_of_a_line(void **state)
{
	static const char text[] =
	    "Name:\tUid: 5\nVmSwap:\t    12 kB\nnonvoluntary_switches:\t9\n"
	    "voluntary_switches:\t8\nUid:\t0\t1000\t0\t0\nEmpty:\t\nLast:\t7";
	char value[32] = "untouched", few[4];
	uint64_t n = 77;

	(void)state;
	assert_true(proctext_value(value, sizeof(value), text, "Uid"));
	assert_string_equal(value, "0\t1000\t0\t0");
	assert_true(proctext_value(few, sizeof(few), text, "Uid"));
	assert_string_equal(few, "0\t1");
	assert_true(proctext_number(&n, text, "voluntary_switches"));
	assert_int_equal(n, 8);
	assert_true(proctext_number(&n, text, "VmSwap"));
	assert_int_equal(n, 12);
	assert_true(proctext_number(&n, text, "Last"));
	assert_int_equal(n, 7);
	assert_true(proctext_value(value, sizeof(value), text, "Empty"));
	assert_string_equal(value, "");
	/* No number is not 0. */
	assert_false(proctext_number(&n, text, "Empty"));
	assert_false(proctext_number(&n, text, "Name"));
	assert_false(proctext_number(&n, text, "Swap"));
	assert_false(proctext_number(&n, text, "VmSwap:"));
	assert_false(proctext_number(&n, "", "VmSwap"));
	assert_int_equal(n, 7);
	assert_false(proctext_value(value, sizeof(value), text, "Las"));
	assert_string_equal(value, "");
}

#define WORDS(text) text, sizeof(text) - 1

static void the_argument_of_an_option_follows_it(void **state)
{
	char out[16] = "none";

	(void)state;
	/* As it is in the file: each word ends with a zero, the last one too, unless it was cut. */
	assert_true(proctext_argument(out, sizeof(out), WORDS("afpd\0-d\0-F\0/a b\0"), "-F"));
	assert_string_equal(out, "/a b");
	assert_true(proctext_argument(out, sizeof(out), WORDS("afpd\0-F/c\0-d\0"), "-F"));
	assert_string_equal(out, "/c");
	assert_true(proctext_argument(out, sizeof(out), WORDS("b\0--n-x\0z\0--n\0a\0"), "--n"));
	assert_string_equal(out, "a");
	assert_true(proctext_argument(out, sizeof(out), WORDS("b\0--n=\0-nz\0"), "--n"));
	assert_string_equal(out, "");
	assert_false(proctext_argument(out, sizeof(out), WORDS("b\0--nn=a\0--n\0"), "--n"));
	assert_true(proctext_argument(out, sizeof(out), WORDS("b\0-n\0-name\0a\0"), "-name"));
	assert_string_equal(out, "a");
	assert_false(proctext_argument(out, sizeof(out), WORDS("b\0-names\0a\0"), "-name"));
	assert_true(proctext_word(WORDS("b\0rx\0--serve\0"), "--serve"));
	assert_false(proctext_word(WORDS("b\0rx\0--serves\0"), "--serve"));
	assert_true(proctext_argument(out, sizeof(out), WORDS("afpd\0\0-F\0/e"), "-F"));
	assert_string_equal(out, "/e");
	assert_true(proctext_argument(out, sizeof(out), WORDS("a\0-F\0/longer/than/fits\0"), "-F"));
	assert_string_equal(out, "/longer/than/fi");
	snprintf(out, sizeof(out), "none");
	assert_false(proctext_argument(out, sizeof(out), WORDS("afpd\0-F\0"), "-F"));
	assert_false(proctext_argument(out, sizeof(out), WORDS("afpd\0-F"), "-F"));
	assert_false(proctext_argument(out, sizeof(out), WORDS("-F\0"), "-F"));
	assert_false(proctext_argument(out, sizeof(out), WORDS("afpd\0-d\0"), "-F"));
	assert_false(proctext_argument(out, sizeof(out), WORDS(""), "-F"));
	assert_string_equal(out, "none");
}

static void storage_is_what_was_read_and_what_was_written_to_stay(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	assert_int_equal(proctext_storage(&bytes, "rchar: 1\nread_bytes: 4096\nwrite_bytes: 100\n"
						  "cancelled_write_bytes: 30\n"),
			 0);
	assert_int_equal(bytes, 4166);
	/* Of files that others had written. */
	assert_int_equal(proctext_storage(&bytes, "read_bytes: 7\nwrite_bytes: 100\n"
						  "cancelled_write_bytes: 300\n"),
			 0);
	assert_int_equal(bytes, 7);
	assert_int_equal(proctext_storage(&bytes, "rchar: 1\nwchar: 1\n"), -EPROTO);
}

static void a_mount_has_a_device_and_may_have_a_type(void **state)
{
	struct proctext_mount m;

	(void)state;
	assert_int_equal(proctext_mount(&m, "36 35 98:5 /mnt1 /mnt2 rw,noatime master:1 - ext3 "
					    "/dev/root rw,errors=continue\n"),
			 0);
	assert_int_equal(m.id, 36);
	assert_int_equal(m.dev, 98 << 20 | 5);
	assert_string_equal(m.root, "/mnt1");
	assert_string_equal(m.point, "/mnt2");
	assert_string_equal(m.type, "ext3");
	assert_string_equal(m.source, "/dev/root");
	assert_string_equal(m.options, "rw,errors=continue");
	assert_int_equal(proctext_mount(&m, "36 35 0:40 / /a\\040b\\134 rw - nfs4 "
					    "fs:/x\\040y rw\n"),
			 0);
	assert_string_equal(m.point, "/a b\\");
	assert_string_equal(m.source, "fs:/x y");
	assert_int_equal(proctext_mount(&m, "36 35 98:5 /mnt1 /mnt2 rw"), 0);
	assert_string_equal(m.type, "");
	assert_int_equal(proctext_mount(&m, "36 35 98:"), -EPROTO);
	assert_int_equal(proctext_mount(&m, "36 35"), -EPROTO);
	assert_int_equal(proctext_mount(&m, ""), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_has_all_of_its_four_figures),
		cmocka_unit_test(times_are_three_numbers),
		cmocka_unit_test(a_key_is_a_whole_one_at_the_start_of_a_line),
		cmocka_unit_test(the_argument_of_an_option_follows_it),
		cmocka_unit_test(storage_is_what_was_read_and_what_was_written_to_stay),
		cmocka_unit_test(a_mount_has_a_device_and_may_have_a_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
