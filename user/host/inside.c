/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child enters the namespaces, its child runs the program: only that is in the pid namespace. */
#include "host/inside.h"

#include "base/clock.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "host/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the children end with where they have not run the program. */
#define NOT_IN    125
#define NOT_FOUND 127

static const struct {
	const char *name;
	int flag;
} inside_spaces[] = {
	{ "ns/ipc", CLONE_NEWIPC }, { "ns/uts", CLONE_NEWUTS }, { "ns/cgroup", CLONE_NEWCGROUP },
	{ "ns/net", CLONE_NEWNET }, { "ns/pid", CLONE_NEWPID }, { "ns/mnt", CLONE_NEWNS },
};

/* Where a process is. Descriptors are closed when a program is run. */
struct inside_place {
	int root, process;
	int flags; /* of namespaces other than ours */
	bool other_root;
};

static int inside_look(struct inside_place *out, pid_t pid)
{
	char path[64];

	*out = (struct inside_place) { .root = -1, .process = -1 };
	if (procfs_identity(pid, "ns/user") != procfs_identity(0, "ns/user"))
		return -EPERM;
	for (size_t i = 0; i < sizeof(inside_spaces) / sizeof(inside_spaces[0]); i++)
		if (procfs_identity(pid, inside_spaces[i].name) !=
		    procfs_identity(0, inside_spaces[i].name))
			out->flags |= inside_spaces[i].flag;
	out->other_root = procfs_identity(pid, "root") != procfs_identity(0, "root");
	procfs_inside(path, sizeof(path), pid, "/");
	out->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	out->process = (int)syscall(SYS_pidfd_open, pid, 0);
	return out->root < 0 || (out->flags && out->process < 0) ? -errno : 0;
}

static void inside_leave(const struct inside_place *p)
{
	if (p->root >= 0)
		close(p->root);
	if (p->process >= 0)
		close(p->process);
}

static bool inside_enter(const struct inside_place *p)
{
	if (p->flags && setns(p->process, p->flags))
		return false;
	if (!p->flags && !p->other_root)
		return true;
	return !fchdir(p->root) && !chroot(".") && !chdir("/");
}

/* Never returns. */
static void inside_exec(char *const argv[])
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", language[] = "LC_ALL=C";
	char *const environment[] = { path, language, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	if (rights_drop_all(geteuid(), getegid()))
		_exit(NOT_IN);
	execve(argv[0], argv, environment);
	_exit(NOT_FOUND);
}

/* Never returns: the status of the program becomes that of this child. */
static void inside_child(const struct inside_place *p, int out, char *const argv[])
{
	int null = open("/dev/null", O_RDWR), status = 0;
	sigset_t none;
	pid_t child;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, 0);
	dup2(out, 1);
	dup2(null, 2);
	if (null < 0 || !inside_enter(p))
		_exit(NOT_IN);
	child = fork();
	if (!child)
		inside_exec(argv);
	close(1);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		_exit(NOT_IN);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* All that comes until the end. 0, -ETIMEDOUT, -EFBIG or -ENOMEM. */
static int inside_receive(char **out, int fd, int ms)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)ms * 1000000, now;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	*out = malloc(INSIDE_MAX);
	while (*out && n > 0 && len < INSIDE_MAX - 1) {
		now = clock_now_ns();
		if (now >= until_ns || poll(&wait, 1, (int)((until_ns - now) / 1000000) + 1) <= 0)
			return -ETIMEDOUT;
		n = read(fd, *out + len, INSIDE_MAX - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (*out)
		(*out)[len] = '\0';
	return !*out ? -ENOMEM : n > 0 ? -EFBIG : 0;
}

static int inside_reap(pid_t child, int r)
{
	int status = 0;

	if (r)
		kill(-child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (r || (WIFEXITED(status) && !WEXITSTATUS(status)))
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_IN)
		return -EPERM;
	return WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND ? -ENOENT : -EIO;
}

static int inside_say(int r, const char *program, pid_t pid, struct err *e)
{
	const char *why = r == -EPERM       ? "is not allowed to run where the server is"
			  : r == -ENOENT    ? "is not there"
			  : r == -ETIMEDOUT ? "does not answer"
			  : r == -EIO       ? "failed"
					    : strerror(-r);

	return r ? err_set(e, r, "%s of process %d %s", program, pid, why) : 0;
}

int inside_run(char **out, pid_t pid, char *const argv[], int ms, struct err *e)
{
	struct inside_place place;
	int ends[2], r;
	pid_t child;

	*out = NULL;
	if (owner_of(pid) != geteuid())
		return inside_say(-EPERM, argv[0], pid, e);
	r = inside_look(&place, pid);
	if (!r && pipe2(ends, O_CLOEXEC))
		r = -errno;
	if (r) {
		inside_leave(&place);
		return inside_say(r, argv[0], pid, e);
	}
	child = fork();
	if (!child)
		inside_child(&place, ends[1], argv);
	r = child < 0 ? -errno : 0;
	/* Both do it: neither knows which comes first. */
	if (child > 0)
		setpgid(child, child);
	close(ends[1]);
	inside_leave(&place);
	r = r ? r : inside_receive(out, ends[0], ms);
	close(ends[0]);
	r = child > 0 ? inside_reap(child, r) : r;
	if (r) {
		free(*out);
		*out = NULL;
	}
	return inside_say(r, argv[0], pid, e);
}
