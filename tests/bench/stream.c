/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a transfer could be: the bytes of a file through TCP on loopback, no protocol around them.
 * One pass after the other over one connection; prints the microseconds of each but the first,
 * as the client sees them.
 *
 *	stream read|write FILE|- MIB PIECE_KIB PASSES CLIENT_CPU SERVER_CPU [REQUEST_KIB]
 *
 * PIECE_KIB, at most 1024: the buffer on both sides, the most that one system call moves.
 * REQUEST_KIB: so much is asked for, or sent, at a time, and waited for; default: the whole pass.
 * read: the server sends FILE from the page cache with sendfile, the client receives all of it
 * into one buffer. write: the client sends one buffer again and again, the server receives and
 * writes to FILE, over what stands there, and tells when all is written. Nothing is flushed.
 * FILE "-": no file, the server sends from, or receives to, a buffer. It makes FILE, so that what
 * the client costs are the bytes alone.
 */

#include "pair.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (1u << 20)

struct stream {
	char *buffer; /* CHUNK bytes */
	size_t len;   /* of a pass */
	size_t asked; /* at a time */
	size_t piece; /* of a system call */
	int fd;
	int file; /* -1: memory only */
};

static size_t at_most(const struct stream *s, size_t left)
{
	return left < s->piece ? left : s->piece;
}

static void send_buffer(const struct stream *s, size_t len)
{
	ssize_t n;

	for (size_t left = len; left; left -= (size_t)n) {
		n = send(s->fd, s->buffer, at_most(s, left), MSG_NOSIGNAL);
		if (n <= 0)
			die("send");
	}
}

static void send_file(const struct stream *s, size_t from, size_t len)
{
	off_t at = (off_t)from, end = (off_t)(from + len);

	while (at < end)
		if (sendfile(s->fd, s->file, &at, at_most(s, (size_t)(end - at))) <= 0)
			die("sendfile");
}

/* What comes; with a file, it goes there. */
static void receive(const struct stream *s, size_t at, size_t len)
{
	size_t end = at + len;
	ssize_t n;

	while (at < end) {
		n = recv(s->fd, s->buffer, at_most(s, end - at), 0);
		if (n <= 0)
			die("recv");
		if (s->file >= 0 && pwrite(s->file, s->buffer, (size_t)n, (off_t)at) != n)
			die("pwrite");
		at += (size_t)n;
	}
}

static size_t request_at(const struct stream *s, size_t at)
{
	return s->len - at < s->asked ? s->len - at : s->asked;
}

/*
 * When it is ready it sends a byte. Each request begins with a byte of the client, and a written
 * one ends with one of the server.
 */
static void serve(const struct stream *s, bool reads)
{
	size_t at = 0, len;
	char go = 'r';

	if (send(s->fd, &go, 1, MSG_NOSIGNAL) != 1)
		die("send");
	for (; recv(s->fd, &go, 1, 0) == 1; at = (at + len) % s->len) {
		len = request_at(s, at);
		if (!reads) {
			receive(s, at, len);
			if (send(s->fd, &go, 1, MSG_NOSIGNAL) != 1)
				die("send");
		} else if (s->file >= 0) {
			send_file(s, at, len);
		} else {
			send_buffer(s, len);
		}
	}
	_exit(0);
}

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static void one_pass(const struct stream *s, bool reads)
{
	char go = 'g';
	size_t len;

	for (size_t at = 0; at < s->len; at += len) {
		len = request_at(s, at);
		if (send(s->fd, &go, 1, MSG_NOSIGNAL) != 1)
			die("send");
		if (reads) {
			receive(s, at, len);
			continue;
		}
		send_buffer(s, len);
		if (recv(s->fd, &go, 1, 0) != 1)
			die("recv");
	}
}

/* The file with all its blocks, in the page cache. */
static int made(const char *name, struct stream *s)
{
	int file = open(name, O_RDWR | O_CREAT, 0600);

	if (file < 0)
		die(name);
	for (size_t at = 0; at < s->len; at += at_most(s, s->len - at))
		if (pwrite(file, s->buffer, at_most(s, s->len - at), (off_t)at) < 0)
			die(name);
	return file;
}

int main(int argc, char **argv)
{
	struct stream s = { .file = -1 };
	long long begun_us;
	bool reads;
	int fd[2];
	char ready;

	if (argc < 8 || argc > 9 || (strcmp(argv[1], "read") && strcmp(argv[1], "write")) ||
	    atoi(argv[3]) < 1 || atoi(argv[4]) < 1 || atoi(argv[4]) > 1024 || atoi(argv[5]) < 1) {
		fprintf(stderr, "usage: stream read|write FILE|- MIB PIECE_KIB PASSES CLIENT_CPU "
				"SERVER_CPU [REQUEST_KIB]\n");
		return 2;
	}
	reads = !strcmp(argv[1], "read");
	s.len = (size_t)atoi(argv[3]) << 20;
	s.asked = argc == 9 && atoi(argv[8]) > 0 ? (size_t)atoi(argv[8]) << 10 : s.len;
	s.piece = (size_t)atoi(argv[4]) << 10;
	s.buffer = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (s.buffer == MAP_FAILED)
		die("mmap");
	connected_pair(fd);
	if (!fork()) {
		close(fd[0]);
		pin(atoi(argv[7]));
		memset(s.buffer, 1, CHUNK); /* its own pages */
		s.fd = fd[1];
		if (strcmp(argv[2], "-"))
			s.file = made(argv[2], &s);
		serve(&s, reads);
	}
	close(fd[1]);
	pin(atoi(argv[6]));
	memset(s.buffer, 0, CHUNK);
	s.fd = fd[0];
	if (recv(s.fd, &ready, 1, 0) != 1)
		die("the server");
	for (int i = -1; i < atoi(argv[5]); i++) {
		begun_us = now_us();
		one_pass(&s, reads);
		if (i >= 0)
			printf("%lld\n", now_us() - begun_us);
	}
	return 0;
}
