/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded in afpd or cnid_dbd (AFPD_PRELOAD of up.sh): library calls that take longer, by the
 * environment, while there is a file "slow" beside this library.
 *
 * SLOW_GETCWD_MS  getcwd(3) sleeps so long before
 * SPIN_RECV_US    recv(3) computes so long after
 *
 * getpwnam(3) and getpwuid(3) first ask a name service: while there is a socket "names" beside this
 * library they wait until it has hung up.
 *
 * Built with -nostdlib and unversioned symbols, so it loads with any glibc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The path of a file beside this library; false: it cannot be told. */
static bool beside(char out[100], const char *name)
{
	const char *here = getenv("LD_PRELOAD"), *slash = here ? strrchr(here, '/') : NULL;

	*out = '\0';
	if (!slash || slash - here > 80)
		return false;
	strncat(out, here, (size_t)(slash - here));
	strcat(out, name);
	return true;
}

static long number_of(const char *name)
{
	const char *value = getenv(name);
	char path[100];

	if (!value || !beside(path, "/slow") || access(path, F_OK))
		return 0;
	return strtol(value, NULL, 10);
}

static void ask_name_service(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char path[100], answer;
	int fd;

	if (!beside(path, "/names") || access(path, F_OK))
		return;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)))
		syscall(SYS_read, fd, &answer, 1);
	close(fd);
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

	ask_name_service();
	return real(name);
}

struct passwd *getpwuid(uid_t uid)
{
	struct passwd *(*real)(uid_t) = dlsym(RTLD_NEXT, "getpwuid");

	ask_name_service();
	return real(uid);
}
