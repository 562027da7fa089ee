/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor of a synchronous client: small requests and replies over TCP on loopback, and
 * nothing else. Prints the CPU time (user and system) of the client's side in us per exchange.
 *
 *	pingpong lean|split EXCHANGES CLIENT_CPU SERVER_CPU
 *
 * lean: send, recv: two system calls, fewer cannot do it. split: writev of header and command,
 * read of the header, read of the payload, like afp_lantest. Sizes are lantest's usual ones.
 */

#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER  16
#define REQUEST 60
#define REPLY   46
#define WARM_UP 1000

/* Answers like afpd: one recv with room to spare, header and payload in one writev. */
static void serve(int fd)
{
	char in[8192], out[REPLY] = { 0 };
	struct iovec iov[2] = { { out, HEADER }, { out + HEADER, REPLY - HEADER } };

	while (recv(fd, in, sizeof(in), 0) == REQUEST)
		if (writev(fd, iov, 2) != REPLY)
			break;
	_exit(0);
}

static int lean(int fd)
{
	char out[REQUEST] = { 0 }, in[8192];

	return send(fd, out, REQUEST, MSG_NOSIGNAL) == REQUEST &&
	       recv(fd, in, sizeof(in), 0) == REPLY;
}

static int split(int fd)
{
	char out[REQUEST] = { 0 }, in[REPLY];
	struct iovec iov[2] = { { out, HEADER }, { out + HEADER, REQUEST - HEADER } };

	return writev(fd, iov, 2) == REQUEST && read(fd, in, HEADER) == HEADER &&
	       read(fd, in + HEADER, REPLY - HEADER) == REPLY - HEADER;
}

static double cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	int (*exchange)(int fd);
	double before = 0;
	int fd[2], n;

	if (argc != 5 || (strcmp(argv[1], "lean") && strcmp(argv[1], "split")) ||
	    atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: pingpong lean|split EXCHANGES CLIENT_CPU SERVER_CPU\n");
		return 2;
	}
	exchange = strcmp(argv[1], "lean") ? split : lean;
	n = atoi(argv[2]);
	connected_pair(fd);
	if (!fork()) {
		close(fd[0]);
		pin(atoi(argv[4]));
		serve(fd[1]);
	}
	close(fd[1]);
	pin(atoi(argv[3]));
	for (int i = -WARM_UP; i < n; i++) {
		if (!i)
			before = cpu_us();
		if (!exchange(fd[0]))
			die(argv[1]);
	}
	printf("%.3f\n", (cpu_us() - before) / n);
	return 0;
}
