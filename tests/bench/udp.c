/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Rx could be: datagrams on loopback and no protocol but a window. The sender has at most
 * WINDOW datagrams under way, and the receiver tells it after each half of them. Prints seconds,
 *and the CPU seconds of the receiver and of the sender.
 *
 *	udp MIB DATAGRAM_BYTES WINDOW RECEIVER_CPU SENDER_CPU
 */

#include "pair.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define BATCH       32u
#define DATAGRAM    65000u
#define BUFFER_SIZE (16 << 20)

struct batch {
	struct mmsghdr message[BATCH];
	struct iovec iov[BATCH];
	char (*data)[DATAGRAM];
};

static void batch_make(struct batch *b, size_t len)
{
	b->data = calloc(BATCH, DATAGRAM);
	if (!b->data)
		die("calloc");
	memset(b->message, 0, sizeof(b->message));
	for (unsigned int i = 0; i < BATCH; i++) {
		b->iov[i] = (struct iovec) { b->data[i], len };
		b->message[i].msg_hdr.msg_iov = &b->iov[i];
		b->message[i].msg_hdr.msg_iovlen = 1;
	}
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static void udp_pair(int fd[2])
{
	struct sockaddr_in at[2] = { 0 };
	socklen_t len = sizeof(at[0]);
	int size = BUFFER_SIZE;

	for (int i = 0; i < 2; i++) {
		at[i].sin_family = AF_INET;
		at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (fd[i] < 0 || bind(fd[i], (struct sockaddr *)&at[i], len) ||
		    getsockname(fd[i], (struct sockaddr *)&at[i], &len))
			die("socket");
		if (setsockopt(fd[i], SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
			die("SO_RCVBUFFORCE");
	}
	for (int i = 0; i < 2; i++)
		if (connect(fd[i], (struct sockaddr *)&at[!i], len))
			die("connect");
}

static void send_all(int fd, unsigned long n, size_t len, unsigned int window)
{
	struct batch b;
	unsigned int free_now = window;
	char answer;
	int sent;

	batch_make(&b, len);
	while (n) {
		while (!free_now || recv(fd, &answer, 1, MSG_DONTWAIT) == 1) {
			if (!free_now && recv(fd, &answer, 1, 0) != 1)
				die("recv");
			free_now += window / 2;
		}
		sent = sendmmsg(fd, b.message,
				least(least(BATCH, free_now), n > BATCH ? BATCH : (unsigned int)n),
				0);
		if (sent < 1)
			die("sendmmsg");
		free_now -= (unsigned int)sent;
		n -= (unsigned int)sent;
	}
	exit(0);
}

static void receive_all(int fd, unsigned long n, unsigned int window)
{
	struct batch b;
	unsigned int since = 0;
	int got;

	batch_make(&b, DATAGRAM);
	while (n) {
		got = recvmmsg(fd, b.message, BATCH, MSG_WAITFORONE, NULL);
		if (got < 1)
			die("recvmmsg");
		n -= (unsigned int)got;
		for (since += (unsigned int)got; since >= window / 2; since -= window / 2)
			if (send(fd, "", 1, 0) != 1 && n)
				die("send");
	}
}

static double cpu_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	unsigned int len = argc == 6 ? (unsigned int)atoi(argv[2]) : 0;
	unsigned int window = len ? (unsigned int)atoi(argv[3]) : 0;
	unsigned long n;
	double begun;
	int fd[2];

	if (!len || len > DATAGRAM || window < 2 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: udp MIB DATAGRAM_BYTES WINDOW RECEIVER_CPU SENDER_CPU\n");
		return 2;
	}
	n = ((unsigned long)atoi(argv[1]) << 20) / len;
	udp_pair(fd);
	begun = now_s();
	if (!fork()) {
		close(fd[0]);
		pin(atoi(argv[5]));
		send_all(fd[1], n, len, window);
	}
	close(fd[1]);
	pin(atoi(argv[4]));
	receive_all(fd[0], n, window);
	wait(NULL);
	printf("%.6f %.6f %.6f\n", now_s() - begun, cpu_s(RUSAGE_SELF), cpu_s(RUSAGE_CHILDREN));
	return 0;
}
