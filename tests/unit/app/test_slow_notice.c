/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is told that a step takes long, and who is not: app/slow_notice.h */
#include "app/slow_notice.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define SOON_NS  1000000u
#define NEVER_NS 1000000000000u
#define WAIT_MS  10000

/* text: what a step says to stderr, which is writer meanwhile. wait: until it has said something.
 */
static void slow_step(int reader, int writer, uint64_t after_ns, bool wait, char text[static 200])
{
	struct pollfd in = { reader, POLLIN, 0 };
	int err = dup(STDERR_FILENO);
	struct slow_notice notice;
	ssize_t n;

	dup2(writer, STDERR_FILENO);
	slow_notice_begin(&notice, "still at it", after_ns);
	if (wait)
		assert_int_equal(poll(&in, 1, WAIT_MS), 1);
	slow_notice_end(&notice);
	dup2(err, STDERR_FILENO);
	close(err);
	n = poll(&in, 1, 0) > 0 ? read(reader, text, 199) : 0;
	text[n > 0 ? n : 0] = '\0';
}

static void a_person_is_told_once_and_only_if_it_is_slow(void **state)
{
	int reader = posix_openpt(O_RDWR | O_NOCTTY), writer;
	char text[200];

	(void)state;
	assert_int_equal(grantpt(reader) || unlockpt(reader), 0);
	writer = open(ptsname(reader), O_RDWR | O_NOCTTY);
	slow_step(reader, writer, SOON_NS, true, text);
	assert_string_equal(text, "afpscope: still at it\r\n");
	slow_step(reader, writer, NEVER_NS, false, text);
	assert_string_equal(text, "");
	close(writer);
	close(reader);
}

static void a_file_is_not_told(void **state)
{
	struct slow_notice notice;
	int end[2], err;
	char text[200];

	(void)state;
	assert_int_equal(pipe2(end, O_NONBLOCK), 0);
	err = dup(STDERR_FILENO);
	dup2(end[1], STDERR_FILENO);
	slow_notice_begin(&notice, "still at it", SOON_NS);
	assert_false(notice.runs);
	slow_notice_end(&notice);
	dup2(err, STDERR_FILENO);
	close(err);
	assert_int_equal(read(end[0], text, sizeof(text)), -1);
	close(end[0]);
	close(end[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_person_is_told_once_and_only_if_it_is_slow),
		cmocka_unit_test(a_file_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
