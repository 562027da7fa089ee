/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

/* Two ends of a TCP connection on loopback, and a CPU for each; what fails ends the program. */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listening, (struct sockaddr *)&at, len) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&at, &len) ||
	    connect(fd[0], (struct sockaddr *)&at, len))
		die("connect");
	fd[1] = accept(listening, NULL, NULL);
	if (fd[1] < 0)
		die("accept");
	close(listening);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

#endif
