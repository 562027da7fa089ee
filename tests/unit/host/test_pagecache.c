/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which bytes of a file are in memory: of one with holes, those that were written. */
#include "host/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGES 3000 /* more than are looked at in one go */

static void bytes_in_memory_are_counted(void **state)
{
	char path[] = "/tmp/afpscope-pagecache-XXXXXX";
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), len = PAGES * page + 100;
	uint64_t looked = 0, cached = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pagecache_look(path, &looked, &cached), 0); /* empty */
	assert_int_equal(looked, 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(pagecache_look(path, &looked, &cached), 0);
	assert_int_equal(looked, len);
	assert_int_equal(cached, 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	assert_int_equal(pwrite(fd, "x", 1, (off_t)(2000 * page)), 1);
	assert_int_equal(pwrite(fd, "x", 1, (off_t)(len - 1)), 1);
	looked = cached = 0;
	assert_int_equal(pagecache_look(path, &looked, &cached), 0);
	assert_int_equal(cached, 2 * page + 100);
	/* added to what was there */
	assert_int_equal(pagecache_look(path, &looked, &cached), 0);
	assert_int_equal(looked, 2 * len);
	assert_int_equal(cached, 2 * (2 * page + 100));
	close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pagecache_look(path, &looked, &cached), -ENOENT);
	assert_int_equal(looked, 2 * len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_in_memory_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
