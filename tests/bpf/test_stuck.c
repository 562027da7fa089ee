/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system whose daemon has stopped does not stop the watch. It is a FUSE one of a few lines,
 * spoken as the kernel's linux/fuse.h says: a folder with one file, and everything is asked anew.
 * Tests user/host/census.c, patient.c, filesystem.c.
 */
#include "watched.h"

#include "base/clock.h"
#include "host/census.h"
#include "host/filesystem.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define FILE_NAME "vol.sqlite"
#define FILE_ID   2

struct stuck {
	char dir[64], file[96];
	pid_t daemon, holder;
};

static void set_attr(struct fuse_attr *a, uint64_t id)
{
	a->ino = id;
	a->mode = id == FILE_ID ? S_IFREG | 0644 : S_IFDIR | 0755;
	a->nlink = 1;
}

/* An answer of len bytes, or a negative errno. */
static void answer(int fd, uint64_t unique, int error, const void *body, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + (error ? 0 : len)),
					.error = error,
					.unique = unique };
	uint8_t all[256];

	memcpy(all, &head, sizeof(head));
	memcpy(all + sizeof(head), body, len);
	if (write(fd, all, head.len) < 0)
		_exit(1);
}

static void serve_one(int fd, const struct fuse_in_header *in, const char *name)
{
	struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
	struct fuse_entry_out entry = { .nodeid = FILE_ID };
	struct fuse_attr_out attr = { .attr_valid = 0 };
	struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		set_attr(&entry.attr, FILE_ID);
		answer(fd, in->unique, strcmp(name, FILE_NAME) ? -ENOENT : 0, &entry,
		       sizeof(entry));
		break;
	case FUSE_GETATTR:
		set_attr(&attr.attr, in->nodeid);
		answer(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_FORGET:
		break;
	default:
		answer(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

static void be_daemon(int fd)
{
	static uint8_t request[1 << 16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, request, sizeof(request)) > 0)
		serve_one(fd, (const void *)request,
			  (const char *)request + sizeof(struct fuse_in_header));
	_exit(0);
}

static int setup(void **state)
{
	struct stuck *x = calloc(1, sizeof(*x));
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	*state = x;
	strcpy(x->dir, "/tmp/afpscope-stuck-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	snprintf(x->file, sizeof(x->file), "%s/" FILE_NAME, x->dir);
	if (fd < 0)
		return 0;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("afpscope", x->dir, "fuse", 0, options)) {
		close(fd);
		return 0;
	}
	x->daemon = fork();
	if (!x->daemon)
		be_daemon(fd);
	close(fd);
	x->holder = fork();
	if (!x->holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (open(x->file, O_RDWR | O_CLOEXEC) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	return 0;
}

static int teardown(void **state)
{
	struct stuck *x = *state;

	if (x->daemon) {
		kill(x->holder, SIGKILL);
		kill(x->daemon, SIGKILL); /* then the kernel answers */
		waitpid(x->holder, NULL, 0);
		waitpid(x->daemon, NULL, 0);
		umount2(x->dir, MNT_DETACH);
	}
	rmdir(x->dir);
	free(x);
	return 0;
}

/* Its root and its working folder are there: none of it may be asked. */
static void nor_does_it_stop_the_census(void **state)
{
	static const char *const names[] = { "afpd", NULL };
	struct stuck *x = *state;
	struct census c;
	struct err e;
	pid_t child;

	if (!x->daemon)
		skip();
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir(x->dir) || chroot("."))
			_exit(1);
		for (;;)
			pause();
	}
	usleep(100000);
	kill(x->daemon, SIGSTOP);
	alarm(30);
	assert_int_equal(census_read(&c, names, child, 0, &e), 0);
	assert_true(c.process[census_find(&c, child)].root);
	alarm(0);
	census_fini(&c);
	kill(child, SIGKILL);
	kill(x->daemon, SIGCONT);
	waitpid(child, NULL, 0);
}

static int count_own(void *arg, pid_t pid)
{
	*(size_t *)arg += getpgid(pid) == getpgrp();
	return 0;
}

/* Of this program, with those that ask for it. */
static size_t n_processes(void)
{
	size_t n = 0;

	procfs_each(count_own, &n);
	return n;
}

/* One process asks, however often it is looked at; it is heard when it can answer again. */
static void a_volume_that_does_not_answer_is_asked_once(void **state)
{
	struct stuck *x = *state;
	struct filesystem fs;
	uint64_t begun;
	size_t n;

	if (!x->daemon)
		skip();
	filesystem_init(&fs, x->dir);
	alarm(30);
	filesystem_look(&fs, 1, getpid());
	assert_string_equal(fs.type, "fuse");
	assert_false(fs.silent);
	n = n_processes();
	kill(x->daemon, SIGSTOP);
	for (int i = 0; i < 3; i++) {
		begun = clock_now_ns();
		filesystem_look(&fs, 1, getpid());
		assert_true(clock_now_ns() - begun < (i ? 300000000 : 2000000000));
		assert_true(fs.silent && filesystem_is_remote(&fs));
		assert_int_equal(n_processes(), n + 1);
	}
	kill(x->daemon, SIGCONT);
	for (int i = 0; i < 1000 && fs.silent; i++) {
		usleep(10000);
		filesystem_look(&fs, 1, getpid());
	}
	assert_false(fs.silent);
	alarm(0);
}

static void no_strangers_command_line_is_read(void **state)
{
	static const char *const names[] = { "afpd", NULL };
	size_t others = 0;
	struct census c;
	struct err e;
	pid_t child = fork();

	(void)state;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", "kill -STOP $$; :", "-F", "/a/secret", NULL);
		_exit(1);
	}
	usleep(100000);
	assert_int_equal(census_read(&c, names, 0, 0, &e), 0);
	for (size_t i = 0; i < c.n_processes; i++)
		others += c.process[i].conf[0] && strcmp(c.process[i].comm, "afpd") != 0;
	census_fini(&c);
	assert_int_equal(others, 0);
	assert_int_equal(census_read(&c, names, child, 0, &e), 0);
	assert_string_equal(c.process[census_find(&c, child)].conf, "/a/secret");
	census_fini(&c);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nor_does_it_stop_the_census),
		TEST(a_volume_that_does_not_answer_is_asked_once),
		TEST(no_strangers_command_line_is_read),
	};

	setpgid(0, 0); /* other tests run beside this one: see count_own() */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
