/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded in afpd (AFPD_PRELOAD of up.sh): what an open does in addition that
 * must make its file. Of AFP's commands only FPCreateFile opens so.
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
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static long number_of(const char *name)
{
	const char *value = getenv(name);

	return value ? strtol(value, NULL, 10) : 0;
}

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int opened(int dir, const char *path, int flags, va_list more)
{
	int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0;
	int fd = syscall(SYS_openat, dir, path, flags, mode), saved = errno;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		long end = now_ns() + number_of("ONCREATE_SPIN_NS");
		long calls = number_of("ONCREATE_LGETXATTR");

		while (calls-- > 0)
			lgetxattr(path, "user.oncreate", NULL, 0);
		while (now_ns() < end)
			;
	}
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
