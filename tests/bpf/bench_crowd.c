/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host with many processes: so many that sleep, and a command beside them, whose exit code is
 * passed on. They share their memory, and end with this program.
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
static unsigned long begin(unsigned long n)
{
	char *stacks = calloc(n, STACK_BYTES);
	unsigned long i = 0;

	while (stacks && i < n && clone(sleeps, stacks + (i + 1) * STACK_BYTES, CLONE_VM, NULL) > 0)
		i++;
	return i;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, there;
	int status = 1;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_crowd PROCESSES COMMAND...\n");
		return 2;
	}
	there = begin(n);
	if (there < n) {
		fprintf(stderr, "only %lu of %lu processes could be started\n", there, n);
		return 1;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
