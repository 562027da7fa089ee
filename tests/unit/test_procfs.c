/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says about the files of a process. */
#include "host/procfs.h"

#include <fcntl.h>
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
	pid_t child;
	bool local;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/log", folder);
	child = start_in_chroot(folder, file);
	local = child && procfs_fd_is_local(child, 0);
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

static void what_is_no_file_is_not_local(void **state)
{
	int ends[2];

	(void)state;
	assert_return_code(pipe(ends), 0);
	assert_false(procfs_fd_is_local(getpid(), ends[0]));
	close(ends[0]);
	close(ends[1]);
	assert_false(procfs_fd_is_local(getpid(), ends[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_a_process_in_a_chroot_is_local),
		cmocka_unit_test(what_is_no_file_is_not_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
