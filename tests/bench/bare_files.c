/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls of afpscope smallfile -l create,mkdir,rename,rmdir,delete on a directory, and
 * nothing else: "bare_files DIRECTORY FILES BYTES" prints for each load its operations a second.
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

static void do_one(int load, int i)
{
	char name[64], to[64];
	int dir = home[i / PER_DIR], fd, r = 0;

	snprintf(name, sizeof(name),
		 load == 1 || load == 3 ? "f.%07d.d"
		 : load == 4            ? "f.%07d.r"
					: "f.%07d",
		 i);
	if (load == 0) {
		fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0640);
		r = fd < 0 || pwrite(fd, data, len, 0) != (ssize_t)len || close(fd);
	} else if (load == 1) {
		r = mkdirat(dir, name, 0750);
	} else if (load == 2) {
		snprintf(to, sizeof(to), "f.%07d.r", i);
		r = renameat2(dir, name, dir, to, RENAME_NOREPLACE);
	} else {
		r = unlinkat(dir, name, load == 3 ? AT_REMOVEDIR : 0);
	}
	if (r)
		err(1, "%s", name);
}

int main(int argc, char **argv)
{
	static const char *const loads[] = { "create", "mkdir", "rename", "rmdir", "delete" };
	int n = argc > 3 ? atoi(argv[2]) : 0;
	struct timespec a, b;
	char name[64];

	if (!n || chdir(argv[1]))
		err(1, "bare_files DIRECTORY FILES BYTES");
	len = (size_t)atol(argv[3]);
	for (int i = 0; i <= (n - 1) / PER_DIR; i++) {
		snprintf(name, sizeof(name), "bare-%d-d%04d", (int)getpid(), i);
		if (mkdir(name, 0750) || (home[i] = open(name, O_RDONLY | O_DIRECTORY)) < 0)
			err(1, "%s", name);
	}
	for (int load = 0; load < 5; load++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < n; i++)
			do_one(load, i);
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%s %.0f\n", loads[load],
		       n / ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9));
	}
	for (int i = 0; i <= (n - 1) / PER_DIR; i++) {
		snprintf(name, sizeof(name), "bare-%d-d%04d", (int)getpid(), i);
		rmdir(name);
	}
	return 0;
}
