/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a path of the user's leads, and where one that a stranger prepared does not. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* mine/ with text, yours/ of nobody; links: own, theirs (to mine), file (to mine/text). */
static int setup(void **state)
{
	char *dir = strdup("/tmp/afpscope-file-XXXXXX"), command[512];

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	snprintf(command, sizeof(command),
		 "mkdir mine yours && echo old >mine/text && ln -s mine own && ln -s ../mine "
		 "yours/theirs && ln -s ../mine/text yours/file && ln -s mine/text text && "
		 "ln -s mine/new new && ln -s loop loop && mkfifo yours/pipe");
	assert_int_equal(system(command), 0);
	if (!geteuid())
		assert_int_equal(system("chown -hR 65534 yours"), 0);
	*state = dir;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(system(command), 0);
	free(*state);
	return 0;
}

static bool is(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	if (!fgets(found, sizeof(found), f))
		found[0] = '\0';
	fclose(f);
	return !strcmp(found, text);
}

/* What it is called from the folder it is. 0: it could be opened. */
static int folder(const char *path, unsigned int make, const char *is_there)
{
	struct err e = { 0 };
	int fd = file_folder(path, make, &e), r;
	struct stat here, there;

	if (fd < 0) {
		assert_int_equal(e.code, fd);
		assert_non_null(strstr(e.text, path));
		return fd;
	}
	r = fstat(fd, &here) || stat(is_there, &there) || here.st_ino != there.st_ino;
	close(fd);
	assert_int_equal(r, 0);
	return 0;
}

static void folders_are_found_and_made(void **state)
{
	char full[128];

	snprintf(full, sizeof(full), "%s/./own/../mine//", (char *)*state);
	assert_int_equal(folder(full, 0, "mine"), 0);
	assert_int_equal(folder("/", 0, "/"), 0);
	assert_int_equal(folder("own", 0, "mine"), 0);
	assert_int_equal(folder("own/a/b", 0, ""), -ENOENT);
	assert_int_equal(folder("own/a/b", 0755, "mine/a/b"), 0);
	assert_int_equal(folder("own/a/b", 0755, "mine/a/b"), 0);
	assert_int_equal(folder("", 0755, ""), -ENOENT);
	assert_int_equal(folder("text", 0755, ""), -ENOTDIR);
	assert_int_equal(folder("text/x", 0755, ""), -ENOTDIR);
	assert_int_equal(folder("loop", 0755, ""), -ELOOP);
	assert_int_equal(folder("/proc/here", 0755, ""), -ENOENT);
	assert_int_equal(folder("/proc/self/cwd/mine", 0, "mine"), 0);
}

static void a_strangers_link_is_not_followed(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(folder("yours/theirs", 0, ""), -ELOOP);
	assert_int_equal(folder("yours/theirs/x", 0755, ""), -ELOOP);
	assert_int_equal(folder("own/../yours/theirs/../mine", 0755, ""), -ELOOP);
	assert_int_equal(access("mine/x", F_OK), -1);
	assert_int_equal(file_save("yours/file", FILE_RESULT, "new\n", 4, &e), -ELOOP);
	assert_non_null(strstr(e.text, "yours/file: file in it is a symbolic link of another user "
				       "(user id 65534)"));
	assert_int_equal(file_save("yours/theirs/text", FILE_RESULT, "new\n", 4, &e), -ELOOP);
	assert_int_equal(file_check("yours/file", FILE_RESULT, &e), -ELOOP);
	assert_true(is("mine/text", "old\n"));
	assert_int_equal(folder("yours", 0, "yours"), 0);
	assert_int_equal(file_save("yours/mine", FILE_RESULT, "new\n", 4, &e), 0);
	assert_true(is("yours/mine", "new\n"));
}

static void a_name_of_ours_replaces_a_link_and_a_pipe(void **state)
{
	int yours = open("yours", O_PATH | O_DIRECTORY);
	struct stat st;

	(void)state;
	assert_int_equal(file_replace(yours, "file", "new\n", 4), 0);
	assert_int_equal(file_replace(yours, "pipe", "new\n", 4), 0);
	close(yours);
	assert_true(is("mine/text", "old\n"));
	assert_int_equal(lstat("yours/file", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_true(is("yours/pipe", "new\n"));
	assert_int_equal(system("test $(ls -A yours | wc -l) = 3"), 0); /* nothing beside them */
}

static void files_are_written_where_ones_own_links_lead(void **state)
{
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(file_save("text", FILE_RESULT, "new\n", 4, &e), 0);
	assert_true(is("mine/text", "new\n"));
	assert_int_equal(file_save("new", FILE_RESULT, "new\n", 4, &e), 0);
	assert_true(is("mine/new", "new\n"));
	assert_int_equal(lstat("text", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(file_check("other", FILE_RESULT, &e), 0);
	assert_int_equal(access("other", F_OK), -1);
	assert_int_equal(file_check("own", FILE_RESULT, &e), -EISDIR);
	assert_non_null(strstr(e.text, "own is a folder: name a file"));
	assert_int_equal(file_check("none/text", FILE_RESULT, &e), -ENOENT);
	assert_non_null(strstr(e.text, "cannot write none/text: No such file or directory"));
	assert_int_equal(file_check("/dev/stdout", FILE_RESULT, &e), 0);
	assert_int_equal(file_check("/dev/null", FILE_RESULT, &e), 0);
	assert_int_equal(file_save("/dev/null", FILE_RESULT, "new\n", 4, &e), 0);
}

/* As /dev/stdout is where it was redirected. */
static void a_link_to_an_open_file_adds_to_it(void **state)
{
	int fd = open("mine/text", O_RDONLY);
	struct err e = { 0 };
	char path[64], found[16] = "";

	(void)state;
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	assert_int_equal(file_save(path, FILE_RESULT, "new\n", 4, &e), 0);
	assert_int_equal(pread(fd, found, sizeof(found), 0), 8);
	assert_string_equal(found, "old\nnew\n");
	close(fd);
}

static void what_is_no_regular_file_is_not_waited_for(void **state)
{
	static const char *const odd[] = { "yours/pipe", "mine", "/dev/zero", "/dev/tty" };
	uint64_t len;
	int fd;

	(void)state;
	alarm(10);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_int_equal(file_open(AT_FDCWD, odd[i], &len), -EINVAL);
	assert_int_equal(file_open(AT_FDCWD, "none", &len), -ENOENT);
	fd = file_open(AT_FDCWD, "text", &len);
	assert_true(fd >= 0);
	assert_int_equal(len, 4);
	close(fd);
	alarm(0);
}

/* Text of a file that the user named. 0: it was read. */
static int text_of(const char *path, size_t most, const char *expected, const char *why)
{
	struct err e = { 0 };
	char *text;
	int r = file_read(&text, path, most, &e);

	if (r) {
		assert_null(text);
		assert_int_equal(e.code, r);
		assert_non_null(strstr(e.text, path));
		assert_non_null(strstr(e.text, why));
		return r;
	}
	assert_string_equal(text, expected);
	free(text);
	return 0;
}

static void a_text_is_read_up_to_its_limit_and_no_further(void **state)
{
	(void)state;
	alarm(10);
	assert_int_equal(text_of("text", 4, "old\n", ""), 0);
	assert_int_equal(text_of("text", 100, "old\n", ""), 0);
	assert_int_equal(text_of("text", 3, "", "is longer than 3 bytes"), -EINVAL);
	assert_int_equal(text_of("yours/pipe", 100, "", "is not a regular file"), -EINVAL);
	assert_int_equal(text_of("/dev/zero", 100, "", "is not a regular file"), -EINVAL);
	assert_int_equal(text_of("mine", 100, "", "is not a regular file"), -EINVAL);
	assert_int_equal(text_of("none", 100, "", "cannot open none: No such file"), -ENOENT);
	assert_int_equal(system("truncate -s 8G mine/sparse; printf 'a\\0b' >mine/bytes"), 0);
	assert_int_equal(text_of("mine/sparse", 100, "", "is longer than 100 bytes"), -EINVAL);
	assert_int_equal(text_of("mine/bytes", 100, "", "is not text"), -EINVAL);
	/* A file of the system has no length, and some text of one never ends. */
	assert_int_equal(text_of("/proc/self/smaps", 100, "", "is longer than"), -EINVAL);
	alarm(0);
}

static void a_status_replaces_only_a_regular_file(void **state)
{
	static const char *const odd[] = { "yours/pipe", "/dev/null", "/dev/stdout" };
	struct err e = { 0 };
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(file_check(odd[i], FILE_STATUS, &e), -EINVAL);
		assert_int_equal(file_save(odd[i], FILE_STATUS, "new\n", 4, &e), -EINVAL);
		assert_non_null(strstr(e.text, odd[i]));
		assert_non_null(strstr(e.text, "is not a regular file, so it is not replaced"));
	}
	assert_int_equal(stat("yours/pipe", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(file_save("text", FILE_STATUS, "new\n", 4, &e), 0);
	assert_true(is("mine/text", "new\n"));
	assert_int_equal(file_save("none", FILE_STATUS, "new\n", 4, &e), 0);
	assert_true(is("none", "new\n"));
	assert_int_equal(file_check("yours", FILE_STATUS, &e), -EISDIR);
}

/* Also one with a name as long as may be, and beside one that was left there. */
static void a_new_file_takes_no_others_name(void **state)
{
	int here = open(".", O_PATH | O_DIRECTORY), fd;
	char name[256];

	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(file_replace(here, name, "new\n", 4), 0);
	assert_true(is(name, "new\n"));
	assert_int_equal(file_create(here, "text", 0600), -EEXIST);
	fd = file_create(here, "made", 0600);
	assert_true(fd >= 0);
	close(fd);
	close(here);
}

static void what_does_not_fit_leaves_the_old_file_alone(void **state)
{
	int mine = open("mine", O_PATH | O_DIRECTORY), r;
	struct rlimit before, small;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 2;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = file_replace(mine, "text", "new\n", 4);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_true(is("mine/text", "old\n"));
	assert_int_equal(system("test $(ls -A mine | wc -l) = 1"), 0);
	close(mine);
}

static void a_small_file_is_read_whole_or_cut_to_fit(void **state)
{
	char text[16] = "untouched", few[3];
	int fd = open("mine/text", O_RDWR);

	(void)state;
	assert_int_equal(file_text(text, sizeof(text), "mine/text"), 4);
	assert_string_equal(text, "old\n");
	assert_int_equal(file_text(few, sizeof(few), "mine/text"), 2);
	assert_string_equal(few, "ol");
	assert_int_equal(file_text(text, sizeof(text), "none"), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(file_text(text, sizeof(text), "mine"), -EISDIR);
	assert_string_equal(text, "");
	/* What is kept open is read from its start each time. */
	assert_int_equal(file_text_again(text, sizeof(text), fd), 4);
	assert_int_equal(pwrite(fd, "new", 3, 0), 3);
	assert_int_equal(file_text_again(text, sizeof(text), fd), 4);
	assert_string_equal(text, "new\n");
	assert_int_equal(file_text_again(text, sizeof(text), -EACCES), -EACCES);
	assert_string_equal(text, "");
	close(fd);
}

static void a_line_ends_before_its_newline(void **state)
{
	char text[16];

	(void)state;
	assert_int_equal(file_line(text, sizeof(text), "mine/text"), 0);
	assert_string_equal(text, "old");
	assert_int_equal(system("printf 'one\ntwo\n' >mine/two; printf half >mine/half; "
				": >mine/empty; echo >mine/blank"),
			 0);
	assert_int_equal(file_line(text, sizeof(text), "mine/two"), 0);
	assert_string_equal(text, "one");
	assert_int_equal(file_line(text, sizeof(text), "mine/half"), 0);
	assert_string_equal(text, "half");
	assert_int_equal(file_line(text, sizeof(text), "mine/blank"), 0);
	assert_string_equal(text, "");
	assert_int_equal(file_line(text, sizeof(text), "mine/empty"), -ENODATA);
	assert_int_equal(file_line(text, sizeof(text), "none"), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders_are_found_and_made),
		TEST(a_strangers_link_is_not_followed),
		TEST(a_name_of_ours_replaces_a_link_and_a_pipe),
		TEST(files_are_written_where_ones_own_links_lead),
		TEST(a_link_to_an_open_file_adds_to_it),
		TEST(what_is_no_regular_file_is_not_waited_for),
		TEST(a_text_is_read_up_to_its_limit_and_no_further),
		TEST(a_status_replaces_only_a_regular_file),
		TEST(a_new_file_takes_no_others_name),
		TEST(what_does_not_fit_leaves_the_old_file_alone),
		TEST(a_small_file_is_read_whole_or_cut_to_fit),
		TEST(a_line_ends_before_its_newline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
