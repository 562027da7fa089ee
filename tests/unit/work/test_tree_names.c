/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests client/work/tree.c: the names of test directories, and whose they are. */
#include "host/proc/procfs.h"
#include "work/tree.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

static uint64_t started(pid_t pid)
{
	struct procstat st;

	assert_int_equal(procstat_read(&st, pid), 0);
	return st.started;
}

static void a_name_knows_its_owner(void **state)
{
	char name[TREE_NAME_MAX + 1];
	struct tree_owner owner;

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		tree_name(name);
		assert_true(strlen(name) <= TREE_NAME_MAX);
		assert_true(tree_owner(name, &owner));
		assert_true(owner.here);
		assert_int_equal(owner.pid, getpid());
		assert_int_equal(owner.mark, tree_mark(started(getpid())));
	}
}

/* The name that a child of this process makes, once before() has changed where it is. */
static pid_t child_name(char name[static TREE_NAME_MAX + 1], bool (*before)(void))
{
	int fd[2];
	pid_t child;

	assert_int_equal(pipe(fd), 0);
	child = fork();
	if (!child) {
		if (before && !before())
			_exit(1);
		tree_name(name);
		_exit(write(fd[1], name, TREE_NAME_MAX + 1) != TREE_NAME_MAX + 1);
	}
	close(fd[1]);
	if (read(fd[0], name, TREE_NAME_MAX + 1) != TREE_NAME_MAX + 1)
		*name = '\0';
	close(fd[0]);
	waitpid(child, NULL, 0);
	return child;
}

static void the_owner_is_the_process_that_made_the_name(void **state)
{
	char name[TREE_NAME_MAX + 1];
	struct tree_owner owner;
	pid_t child = child_name(name, NULL);

	(void)state;
	assert_true(tree_owner(name, &owner));
	assert_true(owner.here);
	assert_int_equal(owner.pid, child);
}

/* The same number a tick later is another process. */
static void the_mark_tells_starts_apart(void **state)
{
	(void)state;
	for (uint64_t t = 1; t < 100000; t++)
		assert_true(tree_mark(t) != tree_mark(t + 1) && tree_mark(t) >> 24 == 0);
}

static bool another_pid_namespace(void)
{
	pid_t inner;
	int status;

	if (unshare(CLONE_NEWPID))
		return false;
	inner = fork(); /* who is in it */
	if (inner) {
		waitpid(inner, &status, 0);
		_exit(0);
	}
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("proc", "/proc", "proc", 0, NULL);
}

static bool another_host_name(void)
{
	return !unshare(CLONE_NEWUTS) && !sethostname("clone", 5);
}

/* As after a restart: the kernel's own file cannot be written, another lies on it. */
static bool another_boot(void)
{
	char path[] = "/tmp/afpscope-boot-XXXXXX";
	int fd = mkstemp(path);
	bool ok = fd >= 0 && write(fd, "00000000-1111-2222-3333-444444444444\n", 37) == 37;

	close(fd);
	ok = ok && !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	     !mount(path, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL);
	unlink(path);
	return ok;
}

static bool no_proc(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/proc", "tmpfs", 0, NULL);
}

/* A machine id is cloned with the machine; then its process numbers say nothing here. */
static void who_numbers_processes_otherwise_is_another_host(void **state)
{
	static bool (*const elsewhere[])(void) = { another_boot, another_host_name,
						   another_pid_namespace, no_proc };
	char name[TREE_NAME_MAX + 1];
	struct tree_owner owner;

	(void)state;
	if (geteuid())
		skip();
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		child_name(name, elsewhere[i]);
		assert_true(tree_owner(name, &owner));
		if (owner.here)
			fail_msg("case %zu: %s is taken for one of this host's", i, name);
	}
}

static void foreign_names_are_refused(void **state)
{
	static const char *const foreign[] = {
		"",
		"LanTest",
		"LanTest-",
		"LanTest-1234", /* afp_lantest's own */
		"LanTest-12345678",
		"LanTest-12345678-1234",
		"LanTest-12345678-1234-",
		"LanTest-12345678-1234-abcde",
		"LanTest-12345678-1234-abcdef0",
		"LanTest-12345678-1234-abcdef ",
		"LanTest-12345678-1234-abcdeg",
		"LanTest-12345678-1234-ABCDEF",
		"LanTest-1234567-1234-abcdef",
		"LanTest-123456789-1234-abcdef",
		"LanTest-0x123456-1234-abcdef",
		"LanTest-12345678-1234-0xabcd",
		"LanTest-+1234567-1234-abcdef",
		"LanTest-12345678- 1234-abcdef",
		"LanTest-12345678--123-abcdef",
		"LanTest-12345678-+123-abcdef",
		"LanTest-12345678-0123-abcdef",
		"LanTest-12345678-0-abcdef",
		"LanTest-12345678-12345678-abcdef",
		"LanTest-12345678-1234--abcde",
		" LanTest-12345678-1234-abcdef",
		"xLanTest-12345678-1234-abcdef",
		"lantest-12345678-1234-abcdef",
		"LanTest-12345678-1234-abcdef copy",
		"My LanTest-12345678-1234-abcdef",
	};
	struct tree_owner owner;

	(void)state;
	assert_true(tree_owner("LanTest-12345678-1234-abcdef", &owner));
	assert_int_equal(owner.pid, 1234);
	assert_true(tree_owner("LanTest-12345678-9999999-000000", &owner));
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (tree_owner(foreign[i], &owner))
			fail_msg("\"%s\" is taken for one of ours", foreign[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_knows_its_owner),
		cmocka_unit_test(the_owner_is_the_process_that_made_the_name),
		cmocka_unit_test(the_mark_tells_starts_apart),
		cmocka_unit_test(who_numbers_processes_otherwise_is_another_host),
		cmocka_unit_test(foreign_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
