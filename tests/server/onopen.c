/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded in afpd (AFPD_PRELOAD of up.sh): what an open does in addition. One of a file that
 * exists, by the begin of the file's name:
 *
 * slow-sleep-MS  sleeps so long
 * slow-spin-MS   computes so long; no system call
 * slow-lock      waits for a lock (flock) on the file, and releases it
 * slow-fifo      waits until someone opens the FIFO fifo, beside it, for writing
 *
 * One that must make its file, by the environment; of AFP's commands only FPCreateFile opens so:
 *
 * ONCREATE_SPIN_NS    computes so long; no system call
 * ONCREATE_LGETXATTR  calls lgetxattr(2) so often
 *
 * Built with -nostdlib and unversioned symbols, so it loads with any glibc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* The milliseconds behind a word that the name begins with; 0: it does not. */
static long ms_behind(const char *name, const char *word)
{
	size_t len = strlen(word);

	return strncmp(name, word, len) ? 0 : strtol(name + len, NULL, 10);
}

static void delay(const char *path, int fd)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	long ms = ms_behind(name, "slow-sleep-");
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	long end = now_ns() + ms_behind(name, "slow-spin-") * 1000000;

	if (ms)
		syscall(SYS_nanosleep, &pause, NULL);
	while (now_ns() < end)
		;
	if (!strncmp(name, "slow-lock", 9)) {
		flock(fd, LOCK_EX);
		flock(fd, LOCK_UN);
	}
	if (!strncmp(name, "slow-fifo", 9))
		close(syscall(SYS_openat, AT_FDCWD, "fifo", O_RDONLY, 0));
}

static long number_of(const char *name)
{
	const char *value = getenv(name);

	return value ? strtol(value, NULL, 10) : 0;
}

static void created(const char *path)
{
	long end = now_ns() + number_of("ONCREATE_SPIN_NS");
	long calls = number_of("ONCREATE_LGETXATTR");

	while (calls-- > 0)
		lgetxattr(path, "user.oncreate", NULL, 0);
	while (now_ns() < end)
		;
}

static int opened(int dir, const char *path, int flags, va_list more)
{
	int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
	int fd = syscall(SYS_openat, dir, path, flags, mode), saved = errno;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		created(path);
	else if (fd >= 0 && !(flags & O_CREAT))
		delay(path, fd);
	errno = saved;
	return fd;
}

int open64(const char *path, int flags, ...)
{
	va_list more;
	int fd;

	va_start(more, flags);
	fd = opened(AT_FDCWD, path, flags, more);
	va_end(more);
	return fd;
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list more;
	int fd;

	va_start(more, flags);
	fd = opened(dir, path, flags, more);
	va_end(more);
	return fd;
}
