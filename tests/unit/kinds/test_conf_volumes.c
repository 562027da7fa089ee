/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume a folder belongs to. */
#include "kinds/conf.h"

#include "base/text.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
	const char *path, *folder;
	bool below;
} folders[] = {
	{ "/srv/vol", "/srv/vol", true },    { "/srv/vol/src", "/srv/vol", true },
	{ "/srv/vol2", "/srv/vol", false },  { "/srv/vol2/src", "/srv/vol", false },
	{ "/srv/vol", "/srv/vol/", true },   { "/srv/vol/src", "/srv/vol//", true },
	{ "/srv/vo", "/srv/vol", false },    { "/srv", "/srv/vol", false },
	{ "/srv/vol2", "/srv/vol/", false },
};

static void a_name_that_begins_like_a_folder_is_not_in_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!text_below(folders[i].path, folders[i].folder) == folders[i].below)
			fail_msg("%s in %s", folders[i].path, folders[i].folder);
}

static const struct {
	const char *path, *volume;
} cases[] = {
	{ "/srv/vol", "/srv/vol" },
	{ "/srv/vol2/src", "/srv/vol2" },
	{ "/srv/vol/inner/src", "/srv/vol/inner/" },
	{ "/srv/vol/innermost", "/srv/vol" },
	{ "/srv/other", NULL },
	{ "/", NULL },
};

static void the_innermost_volume_is_found(void **state)
{
	struct afpconf_item item[] = {
		{ .key = "path", .value = "/srv/vol" },
		{ .key = "path", .value = "/srv/vol/inner/" },
		{ .key = "volume name", .value = "/srv/other" },
		{ .key = "path", .value = "/" },
		{ .key = "Path", .value = "/srv/vol2" },
	};
	const struct afpconf c = { .n = sizeof(item) / sizeof(item[0]), .item = item };
	const char *found;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		found = volumes_find(&c, cases[i].path);
		if (!cases[i].volume)
			assert_null(found);
		else
			assert_string_equal(found, cases[i].volume);
	}
}

static void each_folder_is_listed_once_and_none_that_depends_on_the_user(void **state)
{
	struct afpconf_item item[] = {
		{ .key = "path", .value = "/srv/a/" },  { .key = "path", .value = "/home/$u" },
		{ .key = "Path", .value = "/srv/b" },   { .key = "volume name", .value = "/x" },
		{ .key = "path", .value = "relative" }, { .key = "path", .value = "/srv/a" },
		{ .key = "path", .value = "/srv/ab" },
	};
	const struct afpconf c = { .n = sizeof(item) / sizeof(item[0]), .item = item };
	struct servers_session session[] = { { .volume = "/home/alice" },
					     { .volume = "" },
					     { .volume = "/srv/b" } };
	const struct servers_entry s = { .n_sessions = 3, .session = session };
	char path[8][CENSUS_PATH_MAX];

	(void)state;
	assert_int_equal(volumes_list(path, 8, &c, &s), 4);
	assert_string_equal(path[0], "/srv/a");
	assert_string_equal(path[1], "/srv/b");
	assert_string_equal(path[2], "/srv/ab");
	assert_string_equal(path[3], "/home/alice");
	assert_int_equal(volumes_list(path, 2, &c, &s), 2);
}

static char folder[] = "/tmp/afpscope-volumes-XXXXXX";

/* Below folder, as a name that is valid until the next call. */
static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

__attribute__((format(printf, 2, 3))) static void written(const char *name, const char *format, ...)
{
	FILE *f = fopen(in_folder(name), "w");
	va_list args;

	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

/* "-F SETTINGS WHERE LIBRARY": stands for a session that works there and has that library. */
static int be_session(char **argv)
{
	int fd = open(argv[4], O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED || chdir(argv[3]))
		return 1;
	if (write(STDOUT_FILENO, "!", 1) != 1)
		return 1;
	pause();
	return 0;
}

static pid_t begin_session(const char *library)
{
	char settings[128], inner[128], ready;
	int ends[2];
	pid_t pid;

	snprintf(settings, sizeof(settings), "%s", in_folder("afp.conf"));
	snprintf(inner, sizeof(inner), "%s", in_folder("volume/inner"));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", "afpd", "-F", settings, inner, in_folder(library), NULL);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &ready, 1), 1);
	close(ends[0]);
	return pid;
}

/* What netatalk 4 does not read names no volume; netatalk 3 has no such library, and reads it. */
static void volumes_are_those_of_the_files_that_the_server_reads(void **state)
{
	static const struct {
		const char *library, *volume;
	} rows[] = { { "libiniparser.so.4", "volume" }, { "libother.so.1", "volume/inner" } };

	(void)state;
	written("afp.conf", "[Global]\n[v]\npath = %s/volume\ninclude = %s/more.conf\n", folder,
		folder);
	written("more.conf", "[inner]\npath = %s/volume/inner\n", folder);
	assert_int_equal(mkdir(in_folder("volume"), 0700), 0);
	assert_int_equal(mkdir(in_folder("volume/inner"), 0700), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct volumes_settings s = { 0 };
		pid_t pid;
		char *found;

		written(rows[i].library, "x");
		pid = begin_session(rows[i].library);
		found = volumes_of(&s, pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_string_equal(found, in_folder(rows[i].volume));
		free(found);
		volumes_settings_fini(&s);
		unlink(in_folder(rows[i].library));
	}
	rmdir(in_folder("volume/inner"));
	rmdir(in_folder("volume"));
	unlink(in_folder("more.conf"));
	unlink(in_folder("afp.conf"));
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_begins_like_a_folder_is_not_in_it),
		cmocka_unit_test(the_innermost_volume_is_found),
		cmocka_unit_test(each_folder_is_listed_once_and_none_that_depends_on_the_user),
		cmocka_unit_test(volumes_are_those_of_the_files_that_the_server_reads),
	};

	if (argc == 5 && !strcmp(argv[1], "-F"))
		return be_session(argv);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
