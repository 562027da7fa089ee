/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_STORAGE_WORKS_H
#define TESTS_BPF_STORAGE_WORKS_H

/* What the watched child of test_storage does to "file" and "new" in its folder. */
#include "watched.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE     4096u
#define FILE_LEN (1024 * PAGE)
#define CHUNK    (16 * PAGE)
#define N_CHUNKS (FILE_LEN / CHUNK)
#define N_WRITES 64

enum work {
	READ,
	READV,
	READ_DIRECT,
	READ_MAPPED,
	READ_SCATTERED,
	SEND,
	COPY,
	WRITE,
	WRITE_SYNC,
	NOTHING
};

static char *buffer(void)
{
	static char b[CHUNK] __attribute__((aligned(PAGE)));

	return b;
}

#define CHILD_NEEDS(condition)                                                                     \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(1);                                                                  \
	} while (0)

static void work_read(int fd, enum work what)
{
	struct iovec iov[2] = { { buffer(), CHUNK / 2 }, { buffer() + CHUNK / 2, CHUNK / 2 } };

	for (unsigned int i = 0; i < N_CHUNKS; i++) {
		off_t at = i * CHUNK;
		ssize_t n = what == READV ? preadv(fd, iov, 2, at) : pread(fd, buffer(), CHUNK, at);

		CHILD_NEEDS(n == CHUNK);
	}
}

static void work_mapped(int fd)
{
	const volatile char *at = mmap(NULL, FILE_LEN, PROT_READ, MAP_SHARED, fd, 0);
	unsigned int sum = 0;

	CHILD_NEEDS(at != MAP_FAILED);
	for (unsigned int i = 0; i < FILE_LEN; i += PAGE)
		sum += (unsigned char)at[i];
	CHILD_NEEDS(sum);
	munmap((void *)at, FILE_LEN);
}

static void work_scattered(int fd)
{
	CHILD_NEEDS(!posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	for (unsigned int i = 0; i < FILE_LEN / PAGE; i += 7)
		CHILD_NEEDS(pread(fd, buffer(), 100, i * PAGE) == 100);
}

static void work_send(int fd)
{
	int to = open("/dev/null", O_WRONLY);
	off_t at = 0;

	CHILD_NEEDS(to >= 0);
	for (unsigned int i = 0; i < N_CHUNKS; i++)
		CHILD_NEEDS(sendfile(to, fd, &at, CHUNK) == CHUNK);
	close(to);
}

static void work_copy(int fd)
{
	int to = open("new", O_CREAT | O_TRUNC | O_WRONLY, 0644);

	CHILD_NEEDS(to >= 0);
	for (unsigned int i = 0; i < N_CHUNKS; i++)
		CHILD_NEEDS(copy_file_range(fd, NULL, to, NULL, CHUNK, 0) == CHUNK);
	close(to);
}

static void work_write(int flags)
{
	int fd = open("new", O_CREAT | O_TRUNC | O_WRONLY | flags, 0644);

	CHILD_NEEDS(fd >= 0);
	for (unsigned int i = 0; i < N_WRITES; i++)
		CHILD_NEEDS(pwrite(fd, buffer(), PAGE, i * PAGE) == PAGE);
	CHILD_NEEDS(flags || !fsync(fd));
	close(fd);
}

static void do_work(struct watched_shared *s)
{
	enum work what = s->value[0];
	int fd;

	if (what == NOTHING)
		return;
	if (what == WRITE || what == WRITE_SYNC) {
		work_write(what == WRITE ? 0 : O_DSYNC);
		return;
	}
	fd = open("file", O_RDONLY | (what == READ_DIRECT ? O_DIRECT : 0));
	CHILD_NEEDS(fd >= 0);
	if (what == READ_MAPPED)
		work_mapped(fd);
	else if (what == READ_SCATTERED)
		work_scattered(fd);
	else if (what == SEND)
		work_send(fd);
	else if (what == COPY)
		work_copy(fd);
	else
		work_read(fd, what);
	close(fd);
}

#endif
