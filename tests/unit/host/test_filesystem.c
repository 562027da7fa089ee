/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at file systems of this machine. One that does not answer: tests/bpf/test_stuck.c. */
#include "host/filesystem.h"

#include "unit/invented_tree.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_folder_has_a_type_room_and_an_inode(void **state)
{
	struct filesystem fs;
	struct statvfs room;
	struct stat st;

	(void)state;
	filesystem_init(&fs, invented_root);
	for (int i = 0; i < 2; i++) {
		filesystem_look(&fs, 1, getpid());
		assert_int_equal(stat(invented_root, &st), 0);
		assert_int_equal(statvfs(invented_root, &room), 0);
		assert_int_equal(fs.error, 0);
		assert_true(fs.type[0] && fs.dev && fs.mount);
		assert_int_equal(fs.ino, st.st_ino);
		assert_true(fs.has_room);
		assert_int_equal(fs.size_b, room.f_blocks * room.f_frsize);
		assert_false(fs.silent);
	}
	assert_false(filesystem_is_remote(&fs));
}

static void a_link_in_the_path_is_followed(void **state)
{
	struct filesystem fs[2];
	char path[96];

	(void)state;
	invented_file("/real/file", "");
	invented_link("/short", "real");
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", invented_root, i ? "short" : "real");
		filesystem_init(&fs[i], path);
	}
	filesystem_look(fs, 2, getpid());
	assert_true(fs[0].ino);
	assert_int_equal(fs[0].ino, fs[1].ino);
}

/* In a chroot that is no mount point: the mount on which it lies is shown to nobody in there. */
static int look_in_chroot(void)
{
	struct filesystem fs[2];
	char proc[96];

	snprintf(proc, sizeof(proc), "%s/proc", invented_root);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) || chroot(invented_root))
		return 1;
	filesystem_init(&fs[0], "/volume");
	filesystem_init(&fs[1], "/gone");
	filesystem_look(fs, 2, getpid());
	if (fs[0].error || !fs[0].ino || !fs[0].has_room)
		return 2;
	return fs[1].error == -ENOENT ? 0 : 3;
}

static void a_folder_whose_mount_is_not_shown_is_there(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	invented_file("/volume/file", "");
	invented_file("/proc/none", "");
	pid = fork();
	if (!pid)
		_exit(look_in_chroot());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void what_is_not_there_says_so(void **state)
{
	struct filesystem fs;

	(void)state;
	filesystem_init(&fs, "/nowhere/at/all");
	filesystem_look(&fs, 1, getpid());
	assert_int_equal(fs.error, -ENOENT);
	assert_false(fs.has_room || fs.silent);
	assert_int_equal(fs.below.n, 0);
	filesystem_look(&fs, 1, 0x7fffffff);
	assert_true(fs.error < 0);
}

/* /proc is no disk. */
static void a_file_system_without_a_device_has_none(void **state)
{
	struct filesystem fs;

	(void)state;
	filesystem_init(&fs, "/proc");
	filesystem_look(&fs, 1, getpid());
	assert_string_equal(fs.type, "proc");
	assert_int_equal(fs.below.n, 0);
	assert_false(fs.has_room);
}

static void remote_ones_are_known_by_their_type(void **state)
{
	static const struct {
		const char *type;
		bool remote;
	} types[] = { { "nfs4", true },       { "cifs", true },
		      { "fuse.sshfs", true }, { "9p", true },
		      { "ext4", false },      { "fusectl", false },
		      { "overlay", false },   { "", false },
		      { "glusterfs", true },  { "fuse.glusterfs", true } };
	struct filesystem fs = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		snprintf(fs.type, sizeof(fs.type), "%s", types[i].type);
		assert_int_equal(filesystem_is_remote(&fs), types[i].remote);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_has_a_type_room_and_an_inode),
		cmocka_unit_test(a_link_in_the_path_is_followed),
		cmocka_unit_test(a_folder_whose_mount_is_not_shown_is_there),
		cmocka_unit_test(what_is_not_there_says_so),
		cmocka_unit_test(a_file_system_without_a_device_has_none),
		cmocka_unit_test(remote_ones_are_known_by_their_type),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
