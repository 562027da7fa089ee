/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/afp/settings.h"

#include "unit/began.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* With one line in a section. */
static struct run set_in(unsigned int version, const char *section, const char *key,
			 const char *value)
{
	struct afpconf_item item = { .section = (char *)section,
				     .key = (char *)key,
				     .value = (char *)value };
	const struct afpconf c = { .n = 1, .item = &item };
	struct run r = { 0 };

	settings_conf(&r, &c, version);
	return r;
}

static struct run set_by(const char *section, const char *key, const char *value)
{
	return set_in(0, section, key, value);
}

static void the_limit_of_sessions_is_that_of_the_global_section(void **state)
{
	(void)state;
	assert_int_equal(set_by("Global", "max connections", "17").limit.sessions, 17);
	assert_int_equal(set_by("global", "Max Connections", " 17").limit.sessions, 17);
	/* The default. */
	assert_int_equal(set_by("vol1", "max connections", "17").limit.sessions, 200);
	assert_int_equal(set_by("Global", "max connections", "none").limit.sessions, 200);
	assert_int_equal(set_by("Global", "max connections", "-3").limit.sessions, 200);
}

/* At least 1,024, and a power of two. */
static void the_directory_cache_is_as_large_as_netatalk_makes_it(void **state)
{
	(void)state;
	assert_int_equal(set_by("Global", "dircache size", "1024").limit.cached, 1024);
	assert_int_equal(set_by("Global", "dircache size", "1025").limit.cached, 2048);
	assert_int_equal(set_by("Global", "dircache size", "65536").limit.cached, 65536);
	/* The default, which depends on the version. */
	assert_int_equal(set_by("Global", "dircache size", "1023").limit.cached, 0);
	assert_int_equal(set_by("vol1", "dircache size", "4096").limit.cached, 0);
	assert_int_equal(set_in(406, "Global", "log level", "x").limit.cached, 65536);
	assert_int_equal(set_in(405, "Global", "log level", "x").limit.cached, 8192);
	assert_int_equal(set_in(402, "Global", "log level", "x").limit.cached, 8192);
	assert_int_equal(set_in(301, "Global", "dircachesize", "1023").limit.cached, 8192);
	assert_int_equal(set_in(405, "Global", "dircache size", "8192").limit.cached, 8192);
}

/* Up to 4.4 one key, from 4.5 on another; 4.5.1 reads the old one, too, unless the new one is set.
 */
static void the_key_of_the_directory_cache_is_the_version_s(void **state)
{
	static const struct {
		unsigned int version;
		const char *key;
		uint64_t by_old, by_new; /* 2048 */
	} rows[] = {
		{ 301, "dircachesize", 2048, 8192 },  { 402, "dircachesize", 2048, 8192 },
		{ 404, "dircachesize", 2048, 8192 },  { 405, "dircache size", 2048, 2048 },
		{ 406, "dircache size", 2048, 2048 }, { 500, "dircache size", 2048, 2048 },
		{ 0, "dircache size", 2048, 2048 },
	};
	struct afpconf_item both[] = {
		{ .section = "Global", .key = "dircachesize", .value = "2048" },
		{ .section = "Global", .key = "dircache size", .value = "4096" },
	};
	const struct afpconf c = { .n = 2, .item = both };
	struct run r = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r = set_in(rows[i].version, "Global", "dircachesize", "2048");
		assert_int_equal(r.limit.cached, rows[i].by_old);
		assert_string_equal(r.limit.cached_key, rows[i].key);
		r = set_in(rows[i].version, "Global", "dircache size", "2048");
		assert_int_equal(r.limit.cached, rows[i].by_new);
		settings_conf(&r, &c, rows[i].version);
		assert_int_equal(r.limit.cached,
				 rows[i].version && rows[i].version < 405 ? 2048 : 4096);
		assert_true(*settings_cache(rows[i].version)->source);
	}
}

static void the_version_is_a_string_of_the_program(void **state)
{
	static const char text[] = "\177ELF\0\1\0"
				   "2.4.1\0"
				   "libc.so.6\0"
				   "4.5\0"
				   "10.4.5.1\0"
				   "4.5.1 (patched)\0"
				   "4.5.1\0"
				   "3.1.12\0";

	(void)state;
	assert_int_equal(settings_version(text, sizeof(text)), 405);
	assert_int_equal(settings_version("4.10.0dev", sizeof("4.10.0dev")), 410);
	assert_int_equal(settings_version("3.1.12", sizeof("3.1.12")), 301);
	assert_int_equal(settings_version("4.5.1", sizeof("4.5.1") - 1), 0); /* has no end */
	assert_int_equal(settings_version("4.5.1-2", sizeof("4.5.1-2")), 0);
}

/* Zeros take long to look through; they may go meanwhile. */
#define PROGRAM_LEN (60l << 20)

/* Place: a program that is replaced and cut while its version is looked up | said: the version
 *   is not known */
static void a_program_that_is_cut_while_it_is_read_does_no_harm(void **state)
{
	const struct timespec soon = { .tv_nsec = 20000000 };
	char folder[] = "/tmp/test_kinds_settings.XXXXXX", path[64], command[256];
	struct servers_entry s = { .conf = "/etc/passwd" };
	struct settings set = { 0 };
	pid_t cutter;
	int status;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(command, sizeof(command), "cp $(command -v sleep) %s && truncate -s %ld %s", path,
		 PROGRAM_LEN, path);
	assert_int_equal(system(command), 0);
	s.master = fork();
	if (!s.master) {
		execl(path, path, "60", NULL);
		_exit(1);
	}
	nanosleep(&soon, NULL);
	cutter = fork();
	if (!cutter) {
		nanosleep(&soon, NULL);
		kill(s.master, SIGKILL);
		while (truncate(path, 0) && errno == ETXTBSY)
			nanosleep(&soon, NULL);
		_exit(0);
	}
	settings_read(&set, &s);
	assert_int_equal(set.version, 0);
	settings_fini(&set);
	assert_int_equal(waitpid(s.master, &status, 0), s.master);
	assert_int_equal(waitpid(cutter, &status, 0), cutter);
	unlink(path);
	rmdir(folder);
}

/* Of a server that began after its file was written, or before. */
static void shown(char out[ERR_TEXT_MAX], const char *text, bool is_old)
{
	struct servers_entry s = { .master = getpid() };
	struct run r;
	int fd;

	assert_int_equal(run_init(&r, "load", "load"), 0);
	snprintf(s.conf, sizeof(s.conf), "/tmp/settings-XXXXXX");
	fd = mkstemp(s.conf);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	s.started = is_old ? began_now() : 0;
	assert_int_equal(settings_show(&r, &s), 0);
	close(fd);
	unlink(s.conf);
	snprintf(out, ERR_TEXT_MAX, "%s", run_note_find(&r.server, RUN_AFP_CONF));
	run_fini(&r);
}

static void what_makes_servers_differ_is_shown(void **state)
{
	char is[ERR_TEXT_MAX];

	(void)state;
	shown(is,
	      "[Global]\nlog level = default:note\nvol preset = usual\n[usual]\nea = sys\n"
	      "[one]\npath = /a\ncnid scheme = sqlite\n[two]\npath = /b\nea = ad\n",
	      true);
	assert_ptr_equal(strstr(is, "cnid scheme = sqlite (1 of 2 volumes), not set (1 of 2 "
				    "volumes); ea = sys (1 of 2 volumes), ad (1 of 2 volumes); "),
			 is);
	assert_non_null(strstr(is, "; log level = default:note; dircache size = not set; "));
	/* A volume's default is in [Global]; homes need no path. */
	shown(is,
	      "[Global]\nspotlight = yes\n[Homes]\nbasedir regex = /home\nea = samba\n"
	      "[one]\npath = /a\nspotlight = no\n[two]\npath = /b\n",
	      true);
	assert_non_null(strstr(is, "; spotlight = yes (2 of 3 volumes), no (1 of 3 volumes); "));
	assert_non_null(strstr(is, "; ea = samba (1 of 3 volumes), not set (2 of 3 volumes); "));
	shown(is, "[Global]\n", true);
	assert_ptr_equal(strstr(is, "cnid scheme = not set; ea = not set; "), is);
	shown(is, "[Global]\n", false);
	assert_string_equal(
	    is, "not visible: the configuration may have been changed after the server began");
}

/* What a server that began before the last change has read is not known, with a default or not. */
static void of_a_file_that_was_changed_no_limit_is_known(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		static const char text[] = "[Global]\nmax connections = 30\n"
					   "dircache size = 100000\n";
		struct servers_entry s = { .master = getpid() };
		struct settings set = { 0 };
		struct run r;
		int fd;

		assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
		snprintf(s.conf, sizeof(s.conf), "/tmp/settings-XXXXXX");
		fd = mkstemp(s.conf);
		assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
		s.started = i ? 0 : began_now();
		settings_read(&set, &s);
		settings_note(&r, &set, &s);
		assert_int_equal(r.limit.changed, i);
		assert_int_equal(r.limit.sessions, i ? 0 : 30);
		assert_int_equal(r.limit.cached, i ? 0 : 131072);
		set.version = 402;
		settings_note(&r, &set, &s);
		assert_false(r.limit.tells);
		set.version = 405;
		settings_note(&r, &set, &s);
		assert_true(r.limit.tells);
		settings_fini(&set);
		close(fd);
		unlink(s.conf);
		run_fini(&r);
	}
}

/* netatalk 3.1 reads what its file includes (this process has no library that does not). */
static void nor_of_one_that_it_includes(void **state)
{
	static const struct timespec later[2] = { { .tv_sec = INT32_MAX },
						  { .tv_sec = INT32_MAX } };
	struct servers_entry s = { .master = getpid() };
	char more[] = "/tmp/settings-more-XXXXXX", text[100];
	int fd, more_fd = mkstemp(more);
	struct settings set = { 0 };
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	snprintf(s.conf, sizeof(s.conf), "/tmp/settings-XXXXXX");
	fd = mkstemp(s.conf);
	snprintf(text, sizeof(text), "[Global]\ninclude = %s\n", more);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(text, sizeof(text), "[Global]\nmax connections = 30\n");
	assert_true(more_fd >= 0 && write(more_fd, text, strlen(text)) == (ssize_t)strlen(text));
	s.started = began_now();
	settings_read(&set, &s);
	settings_note(&r, &set, &s);
	assert_true(!r.limit.changed && r.limit.sessions == 30);
	assert_int_equal(futimens(more_fd, later), 0);
	settings_read(&set, &s);
	settings_note(&r, &set, &s);
	assert_true(r.limit.changed && !r.limit.sessions);
	settings_fini(&set);
	close(fd);
	close(more_fd);
	unlink(s.conf);
	unlink(more);
	run_fini(&r);
}

/* Copied with its times (cp -p, rsync -a, a package), or another file was put in its place. */
static void a_file_with_an_old_time_may_be_a_new_one(void **state)
{
	static const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct servers_entry s = { .master = getpid() };
	char other[] = "/tmp/settings-other-XXXXXX";
	const char text[2][40] = { "[Global]\nmax connections = 30\n",
				   "[Global]\nmax connections = 40\n" };
	struct settings set = { 0 };
	struct run r;
	int fd;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	snprintf(s.conf, sizeof(s.conf), "/tmp/settings-XXXXXX");
	for (int i = 0; i < 2; i++) {
		fd = mkstemp(i ? other : s.conf);
		assert_true(fd >= 0 && write(fd, text[i], strlen(text[i])) > 0);
		assert_int_equal(futimens(fd, old), 0);
		close(fd);
		settings_read(&set, &s);
		assert_string_equal(afpconf_find(&set.conf, "Global", "max connections")->value,
				    "30");
	}
	settings_note(&r, &set, &s);
	assert_true(r.limit.changed && !r.limit.sessions);
	/* It has the same length and time of its text, and is read all the same. */
	assert_int_equal(rename(other, s.conf), 0);
	settings_read(&set, &s);
	assert_string_equal(afpconf_find(&set.conf, "Global", "max connections")->value, "40");
	settings_fini(&set);
	unlink(s.conf);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_of_sessions_is_that_of_the_global_section),
		cmocka_unit_test(the_key_of_the_directory_cache_is_the_version_s),
		cmocka_unit_test(the_version_is_a_string_of_the_program),
		cmocka_unit_test(the_directory_cache_is_as_large_as_netatalk_makes_it),
		cmocka_unit_test(a_program_that_is_cut_while_it_is_read_does_no_harm),
		cmocka_unit_test(what_makes_servers_differ_is_shown),
		cmocka_unit_test(of_a_file_that_was_changed_no_limit_is_known),
		cmocka_unit_test(nor_of_one_that_it_includes),
		cmocka_unit_test(a_file_with_an_old_time_may_be_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
