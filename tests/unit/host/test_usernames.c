/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of users of processes with other roots, which needs root. A name service that hangs, and
 * user namespaces: tests/integration/record/test_places.py. */
#include "host/usernames.h"

#include "unit/invented_tree.h"

#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

/* A process whose root is this folder; 0: no right to make one. */
static pid_t start_below(const char *folder)
{
	char path[128], byte = 'n';
	int ends[2];
	pid_t child;

	snprintf(path, sizeof(path), "%s%s", invented_root, folder);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = chroot(path) ? 'n' : 'y';
		if (write(ends[1], &byte, 1) == 1 && byte == 'y')
			for (;;)
				pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	if (byte == 'y')
		return child;
	waitpid(child, NULL, 0);
	print_message("chroot needs root\n");
	return 0;
}

/* Until it is answered: on a busy machine that may take longer than it is waited for. */
static const char *find(struct usernames *u, pid_t pid, uint32_t uid)
{
	const char *name;

	do
		name = usernames_find(u, pid, uid);
	while (usernames_unanswered(u));
	return name;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void a_user_of_this_host_has_the_name_service_s_name(void **state)
{
	struct usernames *u = calloc(1, sizeof(*u));
	const char *name = find(u, getpid(), 0);

	(void)state;
	assert_string_equal(name, getpwuid(0)->pw_name);
	assert_null(find(u, getpid(), 0x7ffffff0));
	/* They share a place. */
	assert_null(find(u, getpid(), 4096));
	assert_string_equal(find(u, getpid(), 0), getpwuid(0)->pw_name);
	free(u);
}

/* Place: container with its own `/etc/passwd` */
static void a_root_of_its_own_has_its_own_users(void **state)
{
	struct usernames *u = calloc(1, sizeof(*u));
	pid_t one, two;

	(void)state;
	invented_file("/one/etc/passwd", "root:x:0:0::/:\nalice:x:33:33::/:\neve:x:33:33::/:\n");
	invented_file("/two/etc/passwd", "bob:x:33:33::/:\n");
	one = start_below("/one");
	two = one ? start_below("/two") : 0;
	if (!two)
		return free(u);
	assert_string_equal(find(u, one, 33), "alice");
	assert_string_equal(find(u, two, 33), "bob");
	assert_null(find(u, one, 34));
	end(two);
	end(one);
	/* It is remembered; what was not asked in its life is not known. */
	assert_string_equal(find(u, two, 33), "bob");
	assert_null(find(u, one, 35));
	free(u);
}

static void no_other_list_is_asked_where_its_own_is_strange(void **state)
{
	static const char *const folders[] = { "/none", "/pipe", "/link", "/sparse", "/long" };
	struct usernames *u = calloc(1, sizeof(*u));
	char path[128];
	pid_t child;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/etc/x", folders[i]);
		invented_file(path, "");
	}
	invented_file("/sparse/etc/passwd", "root:x:0:0::/:\n");
	snprintf(path, sizeof(path), "%s/sparse/etc/passwd", invented_root);
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	snprintf(path, sizeof(path), "%s/pipe/etc/passwd", invented_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	invented_link("/link/etc/passwd", "/etc/passwd");
	/* The line of the user stands behind the end of what is read. */
	snprintf(path, sizeof(path), "%s/long/etc/passwd", invented_root);
	FILE *f = fopen(path, "w");
	for (int i = 0; i < 100000; i++)
		fprintf(f, "user%d:x:%d:0::/:\n", i, 100 + i);
	fputs("late:x:0:0::/:\n", f);
	fclose(f);
	for (size_t i = 0; i < 5; i++) {
		child = start_below(folders[i]);
		if (!child)
			break;
		assert_null(find(u, child, i == 3 ? 1 : 0));
		end(child);
	}
	free(u);
}

static void one_s_own_name_and_home_are_found(void **state)
{
	struct usernames_own me;

	(void)state;
	do
		usernames_own(&me);
	while (!*me.name);
	assert_string_equal(me.name, getpwuid(geteuid())->pw_name);
	assert_string_equal(me.home, getpwuid(geteuid())->pw_dir);
}

static void in_one_s_own_namespace_a_number_is_what_it_is(void **state)
{
	(void)state;
	assert_int_equal(usernames_inside(getpid(), 33), 33);
	assert_int_equal(usernames_inside(1, 100033), 100033);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_of_this_host_has_the_name_service_s_name),
		cmocka_unit_test(a_root_of_its_own_has_its_own_users),
		cmocka_unit_test(no_other_list_is_asked_where_its_own_is_strange),
		cmocka_unit_test(one_s_own_name_and_home_are_found),
		cmocka_unit_test(in_one_s_own_namespace_a_number_is_what_it_is),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
