/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork, wait at a socket, exec. */
#include "app/child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 5000 /* from SIGTERM to SIGKILL */

/* exec closes gate; if it fails, the errno is written to it. */
static void child_run_command(int gate, char *const argv[])
{
	int failure;
	char go;

	/* The parent's end of the gate can outlive it, in its warden. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* End of file: the parent has ended and will never open the gate. */
	if (read(gate, &go, 1) != 1)
		_exit(127);
	prctl(PR_SET_PDEATHSIG, 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	failure = errno;
	if (write(gate, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

/* 0: it can be run; else an errno, as execvp would set it. */
static int child_why_not(const char *name)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];
	int why = ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) ? errno : 0;
	at = at ? at : "/bin:/usr/bin";
	do {
		end = strchrnul(at, ':');
		snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "",
			 name);
		if (!access(path, X_OK))
			return 0;
		if (errno == EACCES)
			why = errno;
		at = end + 1;
	} while (*end);
	return why;
}

int child_check(const char *name, struct err *e)
{
	int why = child_why_not(name);

	return why ? err_set(e, -why, "cannot run %s: %s", name, strerror(why)) : 0;
}

int child_start(struct child *c, char *const argv[], struct err *e)
{
	int gate[2];

	c->name = argv[0];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate))
		return err_set(e, -errno, "cannot start %s: %s", argv[0], strerror(errno));
	c->pid = fork();
	if (!c->pid) {
		close(gate[1]);
		child_run_command(gate[0], argv);
	}
	close(gate[0]);
	c->gate = gate[1];
	if (c->pid > 0)
		return 0;
	c->pid = 0;
	return err_set(e, -errno, "cannot start %s: %s", argv[0], strerror(errno));
}

static void close_gate(struct child *c)
{
	if (c->gate >= 0)
		close(c->gate);
	c->gate = -1;
}

int child_go(struct child *c, struct err *e)
{
	int failure = 0;
	ssize_t n;

	if (c->gate < 0)
		return 0;
	if (send(c->gate, "g", 1, MSG_NOSIGNAL) < 0)
		failure = errno;
	do {
		n = failure ? 0 : read(c->gate, &failure, sizeof(failure));
	} while (n < 0 && errno == EINTR);
	close_gate(c);
	return failure ? err_set(e, -failure, "cannot run %s: %s", c->name, strerror(failure)) : 0;
}

/* Whether it has ended. */
static bool child_reap(struct child *c, int flags)
{
	struct rusage r;
	pid_t pid;

	do
		pid = wait4(c->pid, &c->status, flags, &r);
	while (pid < 0 && errno == EINTR);
	if (pid != c->pid)
		return false;
	c->cpu_ns = (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000u +
		    (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
	return true;
}

bool child_ended(struct child *c)
{
	if (c->pid && child_reap(c, WNOHANG))
		c->pid = 0;
	return !c->pid;
}

void child_end(struct child *c)
{
	close_gate(c);
	if (!c->pid)
		return;
	kill(c->pid, SIGTERM);
	for (int i = 0; i < PATIENCE_MS && !child_ended(c); i++)
		usleep(1000);
	if (!c->pid)
		return;
	kill(c->pid, SIGKILL);
	child_reap(c, 0);
	c->pid = 0;
}
