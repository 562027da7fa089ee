/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_LOGINS_H
#define TESTS_BPF_LOGINS_H

/*
 * A server that forks for each connection, and clients that log in and out again and again, each
 * in processes of its own.
 */
#include "fake/wire.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 4 /* processes that log in */
#define LOGIN   18
#define LOGOUT  20

struct logins {
	struct sockaddr_in at;
	pid_t server, client;
	uint64_t *made; /* shared memory */
};

static inline void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(1);
}

/* Server */

/* Answers each frame with an empty one, until the client closes the session. */
static inline void serve(int fd)
{
	uint8_t frame[WIRE_HEAD + 2];
	ssize_t n;

	while ((n = recv(fd, frame, sizeof(frame), 0)) >= WIRE_HEAD) {
		if (frame[1] == WIRE_CLOSE)
			break;
		frame[0] = 1;
		memset(frame + 4, 0, 12);
		must(send(fd, frame, WIRE_HEAD, 0) == WIRE_HEAD, "send");
	}
	_exit(0);
}

static inline void listen_for_ever(int listener)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		pid_t pid;

		must(fd >= 0, "accept");
		pid = fork();
		must(pid >= 0, "fork");
		if (!pid)
			serve(fd);
		close(fd);
	}
}

/* Clients */

static inline void ask(int fd, uint8_t dsi, uint8_t command)
{
	uint8_t frame[WIRE_HEAD + 2] = { 0, dsi, 0, dsi };
	size_t len = WIRE_HEAD + (command ? 2 : 0);

	frame[11] = command ? 2 : 0;
	frame[WIRE_HEAD] = command;
	must(send(fd, frame, len, 0) == (ssize_t)len, "send");
	if (dsi != WIRE_CLOSE)
		must(recv(fd, frame, WIRE_HEAD, MSG_WAITALL) == WIRE_HEAD, "recv");
}

static inline void log_in(const struct sockaddr_in *to)
{
	const struct linger now = { .l_onoff = 1 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0 && !connect(fd, (const void *)to, sizeof(*to)), "connect");
	ask(fd, WIRE_OPEN, 0);
	ask(fd, WIRE_COMMAND, LOGIN);
	ask(fd, WIRE_COMMAND, LOGOUT);
	ask(fd, WIRE_CLOSE, 0);
	/* Ports are used again at once. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* "made" is shared memory. */
static inline void clients(const struct sockaddr_in *to, uint64_t n, uint64_t *made)
{
	for (int i = 0; i < CLIENTS; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (uint64_t k = (uint64_t)i; k < n; k += CLIENTS) {
			log_in(to);
			__atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	_exit(0);
}

static inline pid_t child(void)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Starts the server. */
static inline void logins_serve(struct logins *l)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(l->at);

	l->made = mmap(NULL, sizeof(*l->made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	l->at = (struct sockaddr_in) { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	must(l->made != MAP_FAILED && listener >= 0, "begin");
	must(!bind(listener, (void *)&l->at, len) && !listen(listener, 128), "listen");
	must(!getsockname(listener, (void *)&l->at, &len), "getsockname");
	l->server = child();
	if (!l->server)
		listen_for_ever(listener);
	close(listener);
}

static inline void logins_begin(struct logins *l, uint64_t n)
{
	l->client = child();
	if (!l->client)
		clients(&l->at, n, l->made);
}

/* Whether all logins were made. */
static inline bool logins_ended(const struct logins *l)
{
	return waitpid(l->client, NULL, WNOHANG) == l->client;
}

static inline void logins_stop(const struct logins *l)
{
	kill(l->server, SIGKILL);
	waitpid(l->server, NULL, 0);
}

/* Resident memory of a process. */
static inline uint64_t logins_rss_kib(pid_t pid)
{
	unsigned long long kib = 0;
	char text[128];
	FILE *f;

	snprintf(text, sizeof(text), "/proc/%d/status", pid);
	f = fopen(text, "re");
	must(f != NULL, text);
	while (fgets(text, sizeof(text), f))
		if (sscanf(text, "VmRSS: %llu", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

#endif
