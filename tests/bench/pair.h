/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

/* Two ends of a TCP connection on loopback, and a CPU for each; what fails ends the program. */

#include "../unit/loopback.h"

#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static inline void connected_pair(int fd[2])
{
	struct loopback l;
	int one = 1;

	if (!loopback_listen(&l, LOOPBACK_V4) || !loopback_connect(&l, LOOPBACK_V4, 0))
		die("connect");
	fd[0] = l.client;
	fd[1] = accept(l.listener, NULL, NULL);
	if (fd[1] < 0)
		die("accept");
	close(l.listener);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

#endif
