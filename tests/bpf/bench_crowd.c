/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host with many processes: so many that sleep, and a command beside them, whose exit code is
 * passed on. They share their memory. They have ended when this program ends: what is measured
 * next is not slowed by their ends.
 *
 *	bench_crowd PROCESSES COMMAND...
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 2048

static int sleeps(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pause())
		;
	return 0;
}

/* How many there are: the kernel may refuse more. */
static unsigned long begin_crowd(pid_t *crowd, unsigned long n)
{
	char *stacks = calloc(n, STACK_BYTES);
	unsigned long i = 0;

	while (stacks && i < n) {
		crowd[i] = clone(sleeps, stacks + (i + 1) * STACK_BYTES, CLONE_VM, NULL);
		if (crowd[i] < 0)
			break;
		i++;
	}
	return i;
}

static void end_crowd(const pid_t *crowd, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		kill(crowd[i], SIGKILL);
	for (unsigned long i = 0; i < n; i++)
		waitpid(crowd[i], NULL, __WALL);
}

/* Its exit code; 1 if it has none. */
static int run_beside(char **command)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		execvp(*command, command);
		perror(*command);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, there;
	pid_t *crowd = calloc(n + 1, sizeof(*crowd));
	int code = 1;

	if (argc < 3 || !crowd) {
		fprintf(stderr, "usage: bench_crowd PROCESSES COMMAND...\n");
		return 2;
	}
	there = begin_crowd(crowd, n);
	if (there < n)
		fprintf(stderr, "only %lu of %lu processes could be started\n", there, n);
	else
		code = run_beside(argv + 2);
	end_crowd(crowd, there);
	return code;
}
