/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fork with a deadline. */
#include "host/patient.h"

#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the first questions without an answer, all together, and each later one are waited for:
 * 500 ms and 16 times 20 ms are less than a second. */
#define PATIENCE_MS 500
#define LEAST_MS    20

struct patient_stuck {
	uint64_t what; /* 0: this place is free */
	unsigned int mount;
	int fd;
};

/* The one state here that belongs to no caller: a mount that is dead is so for all. */
static struct patient_memory {
	struct patient_stuck stuck[PATIENT_STUCK_MAX];
	uint64_t waited_ns;
} patient_memory;

/* Closes everything but one pipe end, which becomes 3: no server connection, no maps. */
static void close_others(int fd)
{
	int null;

	dup2(fd, 3);
	/* Who reads what we print waits until nobody has that open. */
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	closefrom(4);
}

/* The kernel kills it when nobody can read what it writes: nobody wants that, or we have ended. */
static void end_with_reader(void)
{
	struct pollfd out = { .fd = 3 };

	fcntl(3, F_SETOWN, getpid());
	fcntl(3, F_SETSIG, SIGKILL);
	fcntl(3, F_SETFL, O_WRONLY | O_ASYNC);
	if (poll(&out, 1, 0) && out.revents & POLLERR)
		_exit(1);
}

static int patient_receive(int fd, void *out, size_t len, int ms)
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
		end_with_reader();
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

static bool has_answer(const struct patient_stuck *at)
{
	struct pollfd wait = { .fd = at->fd, .events = POLLIN };

	return poll(&wait, 1, 0) > 0;
}

/* The place of what is stuck, else a free one; NULL: all are in use, or its mount is stuck. */
static struct patient_stuck *patient_place_of(uint64_t what, unsigned int mount)
{
	struct patient_stuck *unused = NULL, *late = NULL, *at;
	bool dead = false;

	for (size_t i = 0; i < PATIENT_STUCK_MAX; i++) {
		at = &patient_memory.stuck[i];
		if (at->what == what)
			return at;
		if (!at->what)
			unused = at;
		else if (has_answer(at))
			late = at;
		else
			dead |= mount && at->mount == mount;
	}
	/* Nobody may ask again for an answer that came too late. */
	if (!unused && late) {
		close(late->fd);
		late->what = 0;
		unused = late;
	}
	return dead ? NULL : unused;
}

int patient_ask(struct patient_what what, void (*fn)(void *arg), void *arg, void *out, size_t len)
{
	/* Of its name and of what is to be done. */
	uint64_t hash = hash_text(HASH_TEXT ^ (uint64_t)(uintptr_t)fn, what.name) | 1;
	uint64_t begun_ns = clock_now_ns(), waited_ms = patient_memory.waited_ns / 1000000;
	struct patient_stuck *at = patient_place_of(hash, what.mount);
	int ms = 0, r;

	if (!at || len > PATIENT_MAX)
		return at ? -EINVAL : -ETIMEDOUT;
	if (!at->what) {
		*at = (struct patient_stuck) { .what = hash,
					       .mount = what.mount,
					       .fd = patient_start(fn, arg, out, len) };
		ms = waited_ms < PATIENCE_MS - LEAST_MS ? (int)(PATIENCE_MS - waited_ms) : LEAST_MS;
	}
	r = at->fd < 0 ? at->fd : patient_receive(at->fd, out, len, ms);
	if (r == -ETIMEDOUT) {
		patient_memory.waited_ns += clock_now_ns() - begun_ns;
		return r;
	}
	if (at->fd >= 0)
		close(at->fd);
	at->what = 0;
	return r;
}
