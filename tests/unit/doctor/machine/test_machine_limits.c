/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits that the kernel of this machine enforces, and what is said of them: needs root and cgroups
 * of version 1. A process in each group does nothing but run into its limit.
 */
#include "unit/two_looks.h"
#include "unit/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define CGROUPS   "/sys/fs/cgroup"
#define PATH_LEN  256
#define WATCH_MS  1000
#define BLOCK_B   65536
#define FILE_B    (48u << 20)
#define MEMORY_B  (16u << 20)
#define WRITE_B_S (2u << 20)
#define NAP_US    20000

static char folder[64]; /* on this machine's disk */

struct limited {
	char group[PATH_LEN], file[PATH_LEN];
	pid_t pid;
};

static bool put(const char *group, const char *file, const char *text)
{
	char path[2 * PATH_LEN];
	ssize_t len = (ssize_t)strlen(text);
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, (size_t)len) == len;
	close(fd);
	return done;
}

/* The size of the file, written by blocks past the page cache. */
static void write_for_ever(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	void *block = aligned_alloc(4096, BLOCK_B);

	memset(block, 1, BLOCK_B);
	for (off_t at = 0;; at = (at + BLOCK_B) % (off_t)FILE_B)
		if (pwrite(fd, block, BLOCK_B, at) != BLOCK_B)
			_exit(1);
}

static void read_for_ever(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char block[BLOCK_B];

	for (off_t at = 0;; at = (at + BLOCK_B) % (off_t)FILE_B)
		if (pread(fd, block, BLOCK_B, at) != BLOCK_B)
			_exit(1);
}

static void burn(const char *path)
{
	(void)path;
	for (;;)
		;
}

static void nap(const char *path)
{
	(void)path;
	for (;;)
		usleep(NAP_US);
}

/* A group of a controller, with a limit; false: this machine does not let us. */
static bool group_make(struct limited *l, const char *controller, const char *file,
		       const char *limit)
{
	snprintf(l->group, sizeof(l->group), CGROUPS "/%s/afpscope-limits-%d", controller,
		 getpid());
	return !mkdir(l->group, 0755) && put(l->group, file, limit);
}

/* A process that joins the group and does this. */
static void limited_start(struct limited *l, void (*work)(const char *path))
{
	l->pid = fork();
	if (l->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!put(l->group, "cgroup.procs", "0"))
		_exit(1);
	work(l->file);
}

static void limited_end(struct limited *l)
{
	if (l->pid > 0) {
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
	}
	for (int i = 0; i < 100 && *l->group && rmdir(l->group) && errno == EBUSY; i++)
		usleep(10000);
}

/* What is said of the process after a while. n volumes: the folder's file system. */
static const struct run_figures *watched(struct two_looks *l, const struct limited *of,
					 struct filesystem *volume, size_t n)
{
	const pid_t own[] = { of->pid };

	filesystem_init(volume, folder);
	filesystem_look(volume, 1, getpid());
	l->m.volume = volume;
	l->m.n_volumes = n;
	l->m.own = own;
	l->m.n_own = 1;
	/* It has begun, and is in its group. */
	usleep(200000);
	assert_int_equal(machine_look(&l->before, of->pid), 0);
	usleep(WATCH_MS * 1000);
	assert_int_equal(machine_look(&l->after, of->pid), 0);
	looks_between(l);
	machine_fini(&l->before);
	machine_fini(&l->after);
	assert_int_equal(waitpid(of->pid, NULL, WNOHANG), 0); /* it works on */
	return &l->figures;
}

static bool is_within(const struct run_figures *f, enum run_figure which, double least, double most)
{
	if (f->known[which] && f->value[which] >= least && f->value[which] <= most)
		return true;
	print_error("%s: known %d, %g, \"%s\"\n", run_figures[which].key, f->known[which],
		    f->value[which], f->who[which]);
	return false;
}

static void a_quota_that_holds_a_process_back_is_measured(void **state)
{
	struct two_looks *l = *state;
	struct limited one = { 0 };
	struct filesystem volume;
	const struct run_figures *f;
	bool fine;

	/* Before others, so that it is the quota which holds it back and not their work. */
	if (!group_make(&one, "cpu", "cpu.cfs_quota_us", "20000") ||
	    !put(one.group, "cpu.shares", "262144")) {
		limited_end(&one);
		skip();
	}
	limited_start(&one, burn);
	f = watched(l, &one, &volume, 0);
	fine = is_within(f, RUN_FIGURE_THROTTLED, 0.8, 1) &&
	       is_within(f, RUN_FIGURE_QUOTA, 0.19, 0.21) &&
	       strstr(f->who[RUN_FIGURE_THROTTLED], one.group);
	limited_end(&one);
	assert_true(fine);
}

static void a_quota_that_is_not_used_up_holds_nobody_back(void **state)
{
	struct two_looks *l = *state;
	struct limited one = { 0 };
	struct filesystem volume;
	bool fine;

	if (!group_make(&one, "cpu", "cpu.cfs_quota_us", "20000")) {
		limited_end(&one);
		skip();
	}
	limited_start(&one, nap);
	fine = is_within(watched(l, &one, &volume, 0), RUN_FIGURE_THROTTLED, 0, 0.1);
	limited_end(&one);
	assert_true(fine);
}

static void memory_that_is_too_small_for_its_files_is_measured(void **state)
{
	struct two_looks *l = *state;
	struct limited one = { 0 };
	struct filesystem volume;
	const struct run_figures *f;
	bool fine;

	snprintf(one.file, sizeof(one.file), "%s/data", folder);
	if (!group_make(&one, "memory", "memory.limit_in_bytes", "16777216")) {
		limited_end(&one);
		skip();
	}
	limited_start(&one, read_for_ever);
	f = watched(l, &one, &volume, 0);
	fine = is_within(f, RUN_FIGURE_MEMORY_LIMIT, MEMORY_B, MEMORY_B) &&
	       is_within(f, RUN_FIGURE_MEMORY_USED, MEMORY_B / 2, MEMORY_B) &&
	       is_within(f, RUN_FIGURE_MEMORY_HITS, 10, 1e9) &&
	       is_within(f, RUN_FIGURE_MEMORY_REREAD, 1e6, 1e12) &&
	       is_within(f, RUN_FIGURE_MEMORY_KILLS, 0, 0) &&
	       strstr(f->who[RUN_FIGURE_MEMORY_LIMIT], one.group);
	limited_end(&one);
	assert_true(fine);
}

/* "254:0", of the disk that has the folder. */
static void device_limit(char *out, size_t len, unsigned int limit)
{
	struct filesystem volume;
	struct devices d;
	const struct devices_entry *e = NULL;

	filesystem_init(&volume, folder);
	filesystem_look(&volume, 1, getpid());
	assert_int_equal(devices_read(&d, ""), 0);
	for (size_t i = 0; i < volume.below.n && !e; i++)
		e = devices_find(&d, volume.below.name[i]);
	snprintf(out, len, "%u:%u %u", e ? e->major : 0, e ? e->minor : 0, limit);
	devices_fini(&d);
}

static void a_limit_of_a_device_is_measured(void (*work)(const char *path), struct two_looks *l,
					    double least, double most)
{
	struct limited one = { 0 };
	struct filesystem volume;
	const struct run_figures *f;
	char limit[64];
	bool fine = false;

	snprintf(one.file, sizeof(one.file), "%s/data", folder);
	device_limit(limit, sizeof(limit), WRITE_B_S);
	if (!group_make(&one, "blkio", "blkio.throttle.write_bps_device", limit)) {
		limited_end(&one);
		skip();
	}
	limited_start(&one, work);
	/*
	 * Others may keep the device busy for a while: then it is no limit that a writer waits for.
	 * A limit that is not there must not be found at all.
	 */
	for (int i = 0; i < (least > 0 ? 3 : 1) && !fine; i++) {
		f = watched(l, &one, &volume, 1);
		fine = is_within(f, RUN_FIGURE_IO_LIMIT, least, most) &&
		       strstr(f->who[RUN_FIGURE_IO_LIMIT], one.group) &&
		       is_within(f, RUN_FIGURE_DEVICE_BUSY, 0, 1) &&
		       is_within(f, RUN_FIGURE_DEVICE_OTHERS, 0, 1);
	}
	limited_end(&one);
	assert_true(fine);
}

static void a_writer_at_the_limit_of_its_device_is_measured(void **state)
{
	a_limit_of_a_device_is_measured(write_for_ever, *state, 0.8, 1);
}

static void a_limit_that_nobody_runs_into_is_none(void **state)
{
	a_limit_of_a_device_is_measured(nap, *state, 0, 0.01);
}

/* A folder on the disk, with the file that is read. */
static int setup(void **state)
{
	const char *cache = getenv("AFPSCOPE_CACHE"), *home = getenv("HOME");
	static char zeros[BLOCK_B];
	char path[PATH_LEN];
	FILE *f;

	(void)state;
	if (cache)
		snprintf(folder, sizeof(folder), "%s/limits-XXXXXX", cache);
	else
		snprintf(folder, sizeof(folder), "%s/.cache/limits-XXXXXX", home ? home : "/tmp");
	if (!mkdtemp(folder))
		strcpy(folder, "/tmp/afpscope-limits-XXXXXX");
	if (access(folder, F_OK) && !mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/data", folder);
	f = fopen(path, "w");
	for (size_t i = 0; f && i < FILE_B / BLOCK_B; i++)
		fwrite(zeros, 1, BLOCK_B, f);
	/* Pages that are in memory belong to the group that has read or written them first. */
	if (!f || fflush(f) || fsync(fileno(f)) ||
	    posix_fadvise(fileno(f), 0, 0, POSIX_FADV_DONTNEED))
		return -1;
	return fclose(f);
}

static int teardown(void **state)
{
	char path[PATH_LEN];

	(void)state;
	snprintf(path, sizeof(path), "%s/data", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, looks_begin, looks_end)
		EACH(a_quota_that_holds_a_process_back_is_measured),
		EACH(a_quota_that_is_not_used_up_holds_nobody_back),
		EACH(memory_that_is_too_small_for_its_files_is_measured),
		EACH(a_writer_at_the_limit_of_its_device_is_measured),
		EACH(a_limit_that_nobody_runs_into_is_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
