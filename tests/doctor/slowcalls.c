/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded in afpd or cnid_dbd (AFPD_PRELOAD of up.sh): library calls that take longer, by the
 * environment, while there is a file "slow" beside this library.
 *
 * SLOW_GETCWD_MS    getcwd(3) sleeps so long before
 * SLOW_GETPWNAM_MS  getpwnam(3) of the user bench2 does, as if a name service had to be asked
 * SPIN_RECV_US      recv(3) computes so long after
 *
 * Built with -nostdlib and unversioned symbols, so it loads with any glibc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long number_of(const char *name)
{
	const char *value = getenv(name), *here = getenv("LD_PRELOAD"), *slash;
	char path[256] = "";

	slash = here ? strrchr(here, '/') : NULL;
	if (!value || !slash || slash - here > 200)
		return 0;
	strncat(path, here, (size_t)(slash - here));
	strcat(path, "/slow");
	return access(path, F_OK) ? 0 : strtol(value, NULL, 10);
}

static void pause_for(const char *name)
{
	long ms = number_of(name);
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (ms)
		syscall(SYS_nanosleep, &t, NULL);
}

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t n = syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
	int saved = errno;
	long end = now_us() + number_of("SPIN_RECV_US");

	while (n > 0 && now_us() < end)
		;
	errno = saved;
	return n;
}

char *getcwd(char *buf, size_t size)
{
	char *(*real)(char *, size_t) = dlsym(RTLD_NEXT, "getcwd");

	pause_for("SLOW_GETCWD_MS");
	return real(buf, size);
}

struct passwd *getpwnam(const char *name)
{
	struct passwd *(*real)(const char *) = dlsym(RTLD_NEXT, "getpwnam");

	if (!strcmp(name, "bench2"))
		pause_for("SLOW_GETPWNAM_MS");
	return real(name);
}
