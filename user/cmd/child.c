/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork, wait at a pipe, exec. */
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 5000 /* from SIGTERM to SIGKILL */

static void be_child(int gate, char *const argv[])
{
	char go;

	/* Nobody opens the gate when the parent has ended. */
	if (read(gate, &go, 1) != 1)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	fprintf(stderr, "afpscope: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int child_start(struct child *c, char *const argv[], struct err *e)
{
	int gate[2];

	if (pipe2(gate, O_CLOEXEC))
		return err_set(e, -errno, "cannot start %s: %s", argv[0], strerror(errno));
	c->pid = fork();
	if (!c->pid) {
		close(gate[1]);
		be_child(gate[0], argv);
	}
	close(gate[0]);
	c->gate = gate[1];
	if (c->pid > 0)
		return 0;
	c->pid = 0;
	close(gate[1]);
	return err_set(e, -errno, "cannot start %s: %s", argv[0], strerror(errno));
}

void child_go(struct child *c)
{
	if (c->gate < 0)
		return;
	while (write(c->gate, "g", 1) < 0 && errno == EINTR)
		;
	close(c->gate);
	c->gate = -1;
}

bool child_ended(struct child *c)
{
	if (c->pid && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	return !c->pid;
}

void child_end(struct child *c)
{
	if (!c->pid)
		return;
	if (c->gate >= 0)
		close(c->gate);
	c->gate = -1;
	kill(c->pid, SIGTERM);
	for (int i = 0; i < PATIENCE_MS && !child_ended(c); i++)
		usleep(1000);
	if (!c->pid)
		return;
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}
