/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

static int made(int dir, const char *name)
{
	return close(openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
}

static void a_rename_replaces_nothing(void **state)
{
	char folder[] = "/tmp/afpscope-kernel-XXXXXX";
	int dir;

	(void)state;
	assert_non_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0 && !made(dir, "a") && !made(dir, "b"));
	assert_int_equal(kernel_rename_new(dir, "a", dir, "b"), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(kernel_rename_new(dir, "a", dir, "c"), 0);
	assert_int_equal(unlinkat(dir, "b", 0) | unlinkat(dir, "c", 0), 0);
	close(dir);
	assert_int_equal(rmdir(folder), 0);
}

static void a_wait_ends_with_an_event_or_in_time(void **state)
{
	int poll = epoll_create1(EPOLL_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };

	(void)state;
	assert_int_equal(epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event), 0);
	assert_int_equal(kernel_epoll_wait(poll, &event, 1, 1000), 0);
	assert_int_equal(eventfd_write(fd, 1), 0);
	event.data.u32 = 0;
	assert_int_equal(kernel_epoll_wait(poll, &event, 1, 999999999), 1);
	assert_int_equal(event.data.u32, 7);
	close(fd);
	close(poll);
}

static void proc_is_a_mount_and_a_folder_in_it_is_not(void **state)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t align;

	(void)state;
	assert_true(proc >= 0 && self >= 0);
	assert_true(kernel_is_mount(proc));
	assert_false(kernel_is_mount(self));
	assert_false(kernel_is_mount(-1));
	assert_false(kernel_direct_align(-1, &align));
	close(proc);
	close(self);
}

static void an_errno_has_words_and_nothing_else_has(void **state)
{
	(void)state;
	assert_string_equal(kernel_why(ENOENT), "No such file or directory");
	assert_string_equal(kernel_why(0), "unknown error");
	assert_string_equal(kernel_why(100000), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rename_replaces_nothing),
		cmocka_unit_test(a_wait_ends_with_an_event_or_in_time),
		cmocka_unit_test(proc_is_a_mount_and_a_folder_in_it_is_not),
		cmocka_unit_test(an_errno_has_words_and_nothing_else_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
