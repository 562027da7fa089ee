/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that no server's settings should be: each is refused at once, in a sentence. */
#include "kinds/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define AT_ONCE_S 30
#define MEMORY_KB 32768 /* that reading settings may take */

static char folder[64];

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test_kinds_afpconf.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static FILE *created(const char *name)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

/* What is said of a file below root; items: how many are kept all the same. */
static int said(struct err *e, const char *root, const char *file, size_t *items)
{
	struct afpconf c;
	int r;

	*e = (struct err) { 0 };
	alarm(AT_ONCE_S);
	r = afpconf_read(&c, root, file, true, e);
	alarm(0);
	*items = c.n;
	afpconf_fini(&c);
	return r;
}

static void is_refused(const char *root, const char *file, const char *text)
{
	struct err e;
	size_t n;

	assert_true(said(&e, root, file, &n) < 0);
	if (!strstr(e.text, text))
		fail_msg("%s: %s", file, e.text);
}

/* Place: settings in a FIFO, a device, a file of procfs or sysfs, a file above 1 MiB, 64 files
 *   with all includes, 16,384 items | said: the settings are not looked at, the rest is as ever */
static void what_the_kernel_makes_is_no_file_of_settings(void **state)
{
	(void)state;
	is_refused("", "/proc/kmsg", "/proc/kmsg: it is not a file of a file system that stores");
	is_refused("", "/proc/self/status", "/proc/self/status: it is not a file of a file");
	is_refused("", "/sys/kernel/mm/transparent_hugepage/enabled", "it is not a file of a file");
}

/* Place: settings in a FIFO, a device, a file of procfs or sysfs, a file above 1 MiB, 64 files
 *   with all includes, 16,384 items */
static void what_may_never_answer_is_not_opened(void **state)
{
	char path[128];

	(void)state;
	is_refused("", "/dev/zero", "/dev/zero: it is not a regular file");
	is_refused("", "/dev/tty", "/dev/tty: it is not a regular file");
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	is_refused(folder, "/fifo", "/fifo: it is not a regular file");
	is_refused("", folder, "it is not a regular file");
}

/* Place: settings in a FIFO, a device, a file of procfs or sysfs, a file above 1 MiB, 64 files
 *   with all includes, 16,384 items */
static void a_large_file_is_not_read(void **state)
{
	FILE *f = created("/sparse");
	struct rusage u;

	(void)state;
	assert_int_equal(ftruncate(fileno(f), (off_t)1 << 42), 0);
	fclose(f);
	is_refused(folder, "/sparse", "/sparse is longer than 1 MiB");
	f = created("/items");
	for (int i = 0; i < 250000; i++)
		fputs("a=b\n", f);
	fclose(f);
	is_refused(folder, "/items", "/items:16385: more than 16384 settings");
	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
#ifndef __SANITIZE_ADDRESS__
	assert_true(u.ru_maxrss < MEMORY_KB);
#endif
}

/* Each of seven files includes the next one sixty times. */
/* Place: settings in a FIFO, a device, a file of procfs or sysfs, a file above 1 MiB, 64 files
 *   with all includes, 16,384 items */
static void includes_that_fan_out_are_counted(void **state)
{
	char name[16];
	struct err e;
	size_t n;
	FILE *f;

	(void)state;
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "/fan%d", i);
		f = created(name);
		fputs("[Global]\nlog level = default:info\n", f);
		for (int k = 0; i < 7 && k < 60; k++)
			fprintf(f, "include = /fan%d\n", i + 1);
		fclose(f);
	}
	assert_true(said(&e, folder, "/fan0", &n) < 0);
	assert_non_null(strstr(e.text, ": include: more than 64 files"));
	assert_int_equal(n, 64); /* what was read counts */
}

static void a_file_that_includes_itself_ends(void **state)
{
	FILE *f = created("/self");

	(void)state;
	fputs("include = /self\n", f);
	fclose(f);
	is_refused(folder, "/self", "/self:1: include: nested too deep");
}

static void usual_settings_are_read_to_their_end(void **state)
{
	FILE *f = created("/usual");
	struct err e;
	size_t n;

	(void)state;
	for (int i = 0; i < 1000; i++)
		fprintf(f, "[volume %d]\npath = /srv/volume/%d\n", i, i);
	fputs("valid users = a \\\nb", f); /* without a newline */
	fclose(f);
	f = created("/empty");
	fclose(f);
	assert_int_equal(said(&e, folder, "/usual", &n), 0);
	assert_int_equal(n, 1001);
	assert_int_equal(said(&e, folder, "/empty", &n), 0);
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_makes_is_no_file_of_settings),
		cmocka_unit_test(what_may_never_answer_is_not_opened),
		cmocka_unit_test(a_large_file_is_not_read),
		cmocka_unit_test(includes_that_fan_out_are_counted),
		cmocka_unit_test(a_file_that_includes_itself_ends),
		cmocka_unit_test(usual_settings_are_read_to_their_end),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
