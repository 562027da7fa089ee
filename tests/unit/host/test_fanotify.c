/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/fanotify.h"

#include "unit/invented_tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/fanotify.h>

#include <cmocka.h>

static const struct filesystem volume = { .mount = 0x1b, .dev = 0xfe00000, .ino = 0x4c8 };

/* Lines as the kernel prints them. */
static const struct {
	const char *line;
	bool watches;
} lines[] = {
	{ "fanotify flags:5 event-flags:8000", false },
	{ "fanotify mnt_id:1b mflags:0 mask:10000 ignored_mask:0", true },
	{ "fanotify mnt_id:1b mflags:0 mask:8070000 ignored_mask:0", true },
	/* Asked before a program is started or a file is read: no open waits for that. */
	{ "fanotify mnt_id:1b mflags:0 mask:40000 ignored_mask:0", false },
	{ "fanotify mnt_id:1b mflags:0 mask:20000 ignored_mask:0", false },
	/* It is told afterwards, and nobody waits for it. */
	{ "fanotify mnt_id:1b mflags:0 mask:3b ignored_mask:0", false },
	{ "fanotify mnt_id:1b mflags:0 mask:3b ignored_mask:10000", false },
	{ "fanotify mnt_id:1c mflags:0 mask:10000 ignored_mask:0", false },
	{ "fanotify sdev:fe00000 mflags:0 mask:10000 ignored_mask:0", true },
	{ "fanotify sdev:fe00001 mflags:0 mask:10000 ignored_mask:0", false },
	{ "fanotify ino:4c8 sdev:fe00000 mflags:0 mask:10000 ignored_mask:0 fhandle-bytes:8 "
	  "fhandle-type:1 f_handle:1",
	  true },
	{ "fanotify ino:4c9 sdev:fe00000 mflags:0 mask:10000 ignored_mask:0", false },
	{ "inotify wd:1 ino:4c8 sdev:fe00000 mask:800afce ignored_mask:0", false },
	{ "", false },
};

static void only_a_mark_that_asks_and_on_this_file_system_counts(void **state)
{
	const struct filesystem unknown = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (fanotify_watches(lines[i].line, &volume) != lines[i].watches)
			fail_msg("%s", lines[i].line);
		assert_false(fanotify_watches(lines[i].line, &unknown));
	}
}

static void who_watches_a_folder_is_found(void **state)
{
	const pid_t own[] = { 1, getpid() };
	struct fanotify_watcher w;
	struct filesystem fs;
	int fd;

	(void)state;
	filesystem_init(&fs, invented_root);
	filesystem_look(&fs, 1, getpid());
	fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
	if (fd < 0)
		skip(); /* no right */
	assert_int_equal(fanotify_find(&w, &fs, 1, NULL, 0), 0);
	assert_int_equal(w.n, 0);
	if (fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, invented_root)) {
		close(fd);
		skip(); /* a kernel without such questions */
	}
	assert_int_equal(fanotify_find(&w, &fs, 1, NULL, 0), 0);
	assert_int_equal(w.n, 1);
	assert_int_equal(w.pid, getpid());
	assert_true(w.comm[0]);
	assert_int_equal(fanotify_find(&w, &fs, 1, own, 2), 0);
	assert_int_equal(w.n, 0);
	assert_int_equal(fanotify_find(&w, &fs, 1, own, 1), 0);
	assert_int_equal(w.n, 1);
	close(fd);
	assert_int_equal(fanotify_find(&w, &fs, 1, NULL, 0), 0);
	assert_int_equal(w.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_mark_that_asks_and_on_this_file_system_counts),
		cmocka_unit_test(who_watches_a_folder_is_found),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
