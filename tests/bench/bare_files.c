/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of afpscope smallfile on a directory, and nothing else: "bare_files DIRECTORY
 * FILES BYTES LOAD..." prints for each load its operations a second, and CPU time of one in us.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PER_DIR 1000

static char data[1 << 20];
static int home[1 << 10];
static size_t len;

static double seconds(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int move(int fd, char load)
{
	ssize_t n = (ssize_t)len;

	if (len)
		n = load == 'c' ? pwrite(fd, data, len, 0) : pread(fd, data, len, 0);
	return fd < 0 || n != (ssize_t)len || close(fd);
}

/* By the load's first letters: c(reate), s(tat), rea(d), ren(ame), del(ete), m(kdir), rm(dir). */
static int do_one(const char *load, int dir, int i)
{
	char name[64], to[64];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), strstr(load, "dir") ? "f.%07d.d" : "f.%07d", i);
	snprintf(to, sizeof(to), "f.%07d.r", i);
	switch (*load == 'r' ? load[2] : *load) {
	case 'c':
		fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0640);
		return move(fd, *load);
	case 's':
		return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
	case 'a':
		return move(openat(dir, name, O_RDONLY | O_CLOEXEC), *load);
	case 'n':
		return renameat2(dir, name, dir, to, RENAME_NOREPLACE);
	case 'm':
		return mkdirat(dir, name, 0750);
	case 'd':
		return unlinkat(dir, *load == 'd' ? to : name, *load == 'd' ? 0 : AT_REMOVEDIR);
	default:
		return -1;
	}
}

int main(int argc, char **argv)
{
	int n = argc > 4 ? atoi(argv[2]) : 0;
	double wall, cpu;
	char name[64];

	if (!n || n > PER_DIR << 10 || chdir(argv[1]))
		err(1, "bare_files DIRECTORY FILES BYTES LOAD...");
	len = (size_t)atol(argv[3]);
	for (int i = 0; i <= (n - 1) / PER_DIR; i++) {
		snprintf(name, sizeof(name), "bare-%d-d%04d", (int)getpid(), i);
		if (mkdir(name, 0750) || (home[i] = open(name, O_RDONLY | O_DIRECTORY)) < 0)
			err(1, "%s", name);
	}
	for (char **load = argv + 4; *load; load++) {
		wall = seconds(CLOCK_MONOTONIC);
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < n; i++)
			if (do_one(*load, home[i / PER_DIR], i))
				err(1, "%s of file %d", *load, i);
		printf("%s %.0f %.3f\n", *load, n / (seconds(CLOCK_MONOTONIC) - wall),
		       1e6 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / n);
	}
	for (int i = 0; i <= (n - 1) / PER_DIR; i++) {
		snprintf(name, sizeof(name), "bare-%d-d%04d", (int)getpid(), i);
		rmdir(name);
	}
	return 0;
}
