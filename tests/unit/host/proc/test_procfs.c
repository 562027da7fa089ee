/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc says about a process, its files and its children.
 * Also tests user/host/filesystem.c.
 */
#include "host/filesystem.h"
#include "host/proc/procfs.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process with "file" open as descriptor 0, in a chroot, ready when this returns. */
static pid_t start_in_chroot(const char *folder, const char *file)
{
	char byte = 'n';
	int ready[2];
	pid_t child;

	assert_return_code(pipe(ready), 0);
	child = fork();
	assert_return_code(child, 0);
	if (!child) {
		dup2(open(file, O_RDWR | O_CREAT, 0600), 0);
		byte = chroot(folder) ? 'n' : 'y';
		_exit(write(ready[1], &byte, 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (byte == 'y')
		return child;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

/* netatalk's test servers, and jails made by hand. */
static void a_file_of_a_process_in_a_chroot_is_local(void **state)
{
	char folder[] = "/tmp/afpscope-procfs-XXXXXX", file[64];
	struct proctext_mount mount;
	pid_t child;
	bool local;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/log", folder);
	child = start_in_chroot(folder, file);
	fd = open(file, O_RDONLY);
	local = child && !filesystem_mount_of(&mount, child, fd) && filesystem_is_local(mount.type);
	close(fd);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	unlink(file);
	rmdir(folder);
	if (!child) {
		print_message("chroot needs root\n");
		skip();
	}
	assert_true(local);
}

static int note_child(void *arg, pid_t child)
{
	pid_t *seen = arg;

	for (int i = 0; i < 2; i++)
		if (seen[i] == child)
			seen[i] = 0;
	return 0;
}

static void all_children_of_a_process_are_listed(void **state)
{
	pid_t child[2], left[2];

	(void)state;
	if (!procfs_lists_children())
		skip();
	for (int i = 0; i < 2; i++) {
		child[i] = left[i] = fork();
		assert_return_code(child[i], 0);
		if (!child[i])
			_exit(pause());
	}
	assert_int_equal(procfs_each_child(getpid(), note_child, left), 0);
	for (int i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	assert_int_equal(left[0], 0);
	assert_int_equal(left[1], 0);
	assert_int_equal(procfs_each_child(child[0], note_child, left), -ENOENT);
}

/* Of a process that has ended, and has a number yet. */
static void what_has_ended_says_so(void **state)
{
	pid_t child = fork();
	struct procfs_numbers numbers;
	struct procfs_lines lines;
	struct procfs_times times;
	struct afs_compat io;
	struct procstat st;
	uint64_t mount;
	uint32_t real, effective;
	char text[64] = "old";
	int fd;

	(void)state;
	assert_return_code(child, 0);
	if (!child)
		_exit(pause());
	fd = procfs_open(child, 0, "stat");
	assert_return_code(fd, 0);
	assert_true(file_text_again(text, sizeof(text), fd) > 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(file_text_again(text, sizeof(text), fd), -ESRCH);
	assert_string_equal(text, "");
	close(fd);
	assert_int_equal(procfs_open(child, 0, "stat"), -ENOENT);
	assert_int_equal(file_text_again(text, sizeof(text), -ENOENT), -ENOENT);
	assert_int_equal(procstat_read(&st, child), -ENOENT);
	assert_int_equal(procfs_io(&io, child, 0), -ENOENT);
	assert_int_equal(procfs_thread_times(&times, child, child), -ENOENT);
	assert_int_equal(procfs_uids(&real, &effective, child), -ENOENT);
	assert_int_equal(procfs_argument(text, sizeof(text), child, "-F"), -ENOENT);
	assert_int_equal(procfs_mount_of(&mount, -1), -ENOENT);
	assert_int_equal(procfs_link(text, sizeof(text), child, "exe"), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(procfs_lines(&lines, child, "maps"), -ENOENT);
	assert_false(procfs_line(&lines));
	procfs_variable(text, sizeof(text), child, "PATH");
	assert_string_equal(text, "");
	assert_int_equal(procfs_threads(&numbers, child), -ENOENT);
	assert_false(procfs_next(&numbers));
	assert_int_equal(procfs_fds(&numbers, child), -ENOENT);
	assert_int_equal(procfs_fd_socket(child, 0), 0);
	assert_null(procfs_mapped(child, (const char *const[]) { "/", NULL }));
	assert_int_equal(procfs_identity(child, "root"), 0);
}

static void this_process_is_number_0(void **state)
{
	char zero[PATH_MAX], own[PATH_MAX];
	uint32_t real, effective;

	(void)state;
	assert_int_equal(procfs_uids(&real, &effective, 0), 0);
	assert_int_equal(real, getuid());
	assert_int_equal(effective, geteuid());
	assert_int_equal(procfs_link(zero, sizeof(zero), 0, "exe"), 0);
	assert_int_equal(procfs_link(own, sizeof(own), getpid(), "exe"), 0);
	assert_string_equal(zero, own);
	assert_non_null(procfs_mapped(0, (const char *const[]) { "none/such", own, NULL }));
	assert_int_equal(procfs_identity(0, "root"), procfs_identity(getpid(), "root"));
	assert_int_not_equal(procfs_identity(0, "root"), 0);
	procfs_variable(own, sizeof(own), 0, "PATH");
	assert_string_equal(own, getenv("PATH"));
	procfs_variable(own, sizeof(own), 0, "PAT");
	assert_string_equal(own, "");
}

/* Cut to fit in both. */
static void a_file_of_another_root_is_below_it(void **state)
{
	char path[32], few[16];

	(void)state;
	procfs_inside(path, sizeof(path), 7, "/etc/passwd");
	assert_string_equal(path, "/proc/7/root/etc/passwd");
	procfs_inside(path, sizeof(path), 7, "");
	assert_string_equal(path, "/proc/7/root");
	procfs_inside(few, sizeof(few), 7, "/etc/passwd");
	assert_string_equal(few, "/proc/7/root/et");
	procfs_inside(few, sizeof(few), 1234567, "/etc/passwd");
	assert_string_equal(few, "/proc/1234567/r");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_a_process_in_a_chroot_is_local),
		cmocka_unit_test(all_children_of_a_process_are_listed),
		cmocka_unit_test(what_has_ended_says_so),
		cmocka_unit_test(this_process_is_number_0),
		cmocka_unit_test(a_file_of_another_root_is_below_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
