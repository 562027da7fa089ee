/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fork with a deadline. */
#include "host/patient.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Closes everything but one pipe end, which becomes 3: no server connection, no maps. */
static void close_others(int fd)
{
	long max = sysconf(_SC_OPEN_MAX);

	int null;

	dup2(fd, 3);
	/* Who reads what we print waits until nobody has that open. */
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 4, ~0u, 0))
		return;
#endif
	for (int i = 4; i < max && i < 65536; i++)
		close(i);
}

static int receive(int fd, void *out, size_t len, int ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int n = poll(&wait, 1, ms);

	if (n < 0)
		return -errno;
	if (!n)
		return -ETIMEDOUT;
	return read(fd, out, len) == (ssize_t)len ? 0 : -EIO;
}

/* The end of a pipe on which the answer comes, or a negative errno. */
static int patient_start(void (*fn)(void *arg), void *arg, const void *out, size_t len)
{
	int ends[2], r;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	/* The grandchild is reparented to init, so we need not wait for it. */
	child = fork();
	if (!child) {
		child = fork();
		if (child)
			_exit(child < 0);
		close_others(ends[1]);
		fn(arg);
		_exit(write(3, out, len) != (ssize_t)len);
	}
	r = child < 0 ? -errno : ends[0];
	close(ends[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		close(ends[0]);
	return r;
}

int patient_ask(int *pending, void (*fn)(void *arg), void *arg, void *out, size_t len, int ms)
{
	int r;

	if (len > PATIENT_MAX)
		return -EINVAL;
	if (*pending < 0)
		*pending = patient_start(fn, arg, out, len);
	if (*pending < 0) {
		r = *pending;
		*pending = -1;
		return r;
	}
	r = receive(*pending, out, len, ms);
	if (r != -ETIMEDOUT) {
		close(*pending);
		*pending = -1;
	}
	return r;
}

int patient_call(void (*fn)(void *arg), void *arg, void *out, size_t len, int ms)
{
	int pending = -1, r = patient_ask(&pending, fn, arg, out, len, ms);

	if (pending >= 0)
		close(pending);
	return r;
}
