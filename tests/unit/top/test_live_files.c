/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file a request is about: the one it names, or the one whose number an FPOpenFork returned.
 */
#include "top/live_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { CLOSE = 4, DELETE = 8, OPEN = 26, READ = 27, GET_VOL_PARMS = 17 };
enum { ROOT = 2, BAD = -5000 };

static struct files *opened(bool texts)
{
	struct err e = { 0 };
	struct files *f;

	assert_int_equal(files_open(&f, texts, &e), 0);
	return f;
}

/* A command with a name of type 3 (UTF-8) at the offset of the command's path. */
static void named(struct files *f, uint32_t session, uint16_t id, uint8_t command, uint8_t dir,
		  const char *name)
{
	struct afs_named n = {
		.timestamp = 1, .session = session, .dsi_id = id, .command = command
	};
	size_t at = afs_path_at[command] - 1u, len = strlen(name);

	n.bytes[AFS_PATH_DIR + 2] = dir;
	n.bytes[at] = 3;
	n.bytes[at + 6] = (uint8_t)len;
	memcpy(n.bytes + at + 7, name, len);
	n.len = (uint16_t)(at + 7 + len);
	files_named(f, &n);
}

static const char *request(struct files *f, struct afs_record_requests r)
{
	static char name[FILES_NAME_MAX];

	files_request(f, &r, name);
	return name;
}

#define REQUEST(...) ((struct afs_record_requests) { .session = 10, __VA_ARGS__ })

static void a_name_is_that_of_its_request(void **state)
{
	struct files *f = opened(true);

	(void)state;
	named(f, 10, 1, DELETE, ROOT, "one");
	named(f, 10, 2, DELETE, 17, "two");
	named(f, 11, 1, DELETE, ROOT, "other");
	assert_string_equal(request(f, REQUEST(.dsi_id = 2, .command = DELETE)), "two (folder 17)");
	assert_string_equal(request(f, REQUEST(.dsi_id = 1, .command = DELETE)), "one");
	/* The same number again is another request. */
	assert_string_equal(request(f, REQUEST(.dsi_id = 1, .command = DELETE)), "(no file)");
	named(f, 10, 3, DELETE, 17, "");
	assert_string_equal(request(f, REQUEST(.dsi_id = 3, .command = DELETE)), "(folder 17)");
	files_close(f);
}

static void a_fork_is_the_file_that_it_opened(void **state)
{
	struct files *f = opened(true);

	(void)state;
	named(f, 10, 1, OPEN, ROOT, "big");
	named(f, 10, 2, OPEN, ROOT, "small");
	assert_string_equal(request(f, REQUEST(.dsi_id = 1, .command = OPEN, .fork = 5)), "big");
	assert_string_equal(request(f, REQUEST(.dsi_id = 2, .command = OPEN, .fork = 6)), "small");
	assert_string_equal(request(f, REQUEST(.dsi_id = 3, .command = READ, .fork = 5)), "big");
	assert_string_equal(request(f, REQUEST(.dsi_id = 4, .command = READ, .fork = 6)), "small");
	assert_string_equal(request(f, REQUEST(.dsi_id = 5, .command = CLOSE, .fork = 5)), "big");
	assert_string_equal(request(f, REQUEST(.dsi_id = 6, .command = READ, .fork = 5)),
			    "(opened before)");
	/* A number is used again. */
	named(f, 10, 7, OPEN, ROOT, "next");
	assert_string_equal(request(f, REQUEST(.dsi_id = 7, .command = OPEN, .fork = 6)), "next");
	assert_string_equal(request(f, REQUEST(.dsi_id = 8, .command = READ, .fork = 6)), "next");
	files_close(f);
}

static void a_refused_open_has_no_fork(void **state)
{
	struct files *f = opened(true);

	(void)state;
	named(f, 10, 1, OPEN, ROOT, "big");
	request(f, REQUEST(.dsi_id = 1, .command = OPEN, .fork = 5, .result = BAD));
	assert_string_equal(request(f, REQUEST(.dsi_id = 2, .command = READ, .fork = 5)),
			    "(opened before)");
	files_close(f);
}

static void sessions_have_forks_of_their_own(void **state)
{
	struct files *f = opened(true);
	struct afs_record_requests other = { .session = 10 + 4096, .command = READ, .fork = 5 };

	(void)state;
	named(f, 10, 1, OPEN, ROOT, "mine");
	request(f, REQUEST(.dsi_id = 1, .command = OPEN, .fork = 5));
	assert_string_equal(request(f, other), "(opened before)");
	files_end(f, 10);
	assert_string_equal(request(f, REQUEST(.command = READ, .fork = 5)), "(opened before)");
	files_end(f, 99);
	files_close(f);
}

static void what_is_about_no_file_says_so(void **state)
{
	struct files *f = opened(true);

	(void)state;
	assert_string_equal(request(f, REQUEST(.command = GET_VOL_PARMS)), "(no file)");
	files_close(f);
}

static void names_are_hashes_unless_asked_for(void **state)
{
	struct files *f = opened(false);
	char first[FILES_NAME_MAX];

	(void)state;
	named(f, 10, 1, DELETE, ROOT, "secret");
	strcpy(first, request(f, REQUEST(.dsi_id = 1, .command = DELETE)));
	assert_int_equal(strlen(first), 16);
	assert_int_equal(strspn(first, "0123456789abcdef"), 16);
	named(f, 11, 2, DELETE, ROOT, "secret");
	assert_string_equal(
	    request(f,
		    (struct afs_record_requests) { .session = 11, .dsi_id = 2, .command = DELETE }),
	    first);
	named(f, 10, 3, DELETE, ROOT, "Secret");
	assert_string_not_equal(request(f, REQUEST(.dsi_id = 3, .command = DELETE)), first);
	files_close(f);
}

static void forks_without_end_take_bounded_memory(void **state)
{
	struct files *f = opened(true);

	(void)state;
	for (uint32_t i = 1; i < 60000; i++) {
		named(f, 10, (uint16_t)i, OPEN, ROOT, "file");
		request(f, REQUEST(.dsi_id = (uint16_t)i, .command = OPEN, .fork = (uint16_t)i));
	}
	assert_string_equal(request(f, REQUEST(.command = READ, .fork = 1)), "file");
	assert_string_equal(request(f, REQUEST(.command = READ, .fork = 59999)), "(opened before)");
	files_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_that_of_its_request),
		cmocka_unit_test(a_fork_is_the_file_that_it_opened),
		cmocka_unit_test(a_refused_open_has_no_fork),
		cmocka_unit_test(sessions_have_forks_of_their_own),
		cmocka_unit_test(what_is_about_no_file_says_so),
		cmocka_unit_test(names_are_hashes_unless_asked_for),
		cmocka_unit_test(forks_without_end_take_bounded_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
