/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live watch for days, in minutes: a server that forks for each connection, a client that logs in
 * and out again and again, and the watch of "afpscope top" in this process. Prints a JSON line for
 * each tenth: logins made, logins counted, what was lost, memory and CPU time of this process.
 *
 *	bench_logins [LOGINS]
 *
 * Exits with 1 if a login was not counted, or anything was lost.
 */
#include "base/clock.h"
#include "fake/wire.h"
#include "live/live.h"
#include "watch/bpf/rung.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOGINS  1000000
#define CLIENTS 4 /* processes that log in */
#define LOGIN   18
#define LOGOUT  20
#define STEP_MS 100

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(1);
}

/* Server */

/* Answers each frame with an empty one, until the client closes the session. */
static void serve(int fd)
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

static void listen_for_ever(int listener)
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

static void ask(int fd, uint8_t dsi, uint8_t command)
{
	uint8_t frame[WIRE_HEAD + 2] = { 0, dsi, 0, dsi };
	size_t len = WIRE_HEAD + (command ? 2 : 0);

	frame[11] = command ? 2 : 0;
	frame[WIRE_HEAD] = command;
	must(send(fd, frame, len, 0) == (ssize_t)len, "send");
	if (dsi != WIRE_CLOSE)
		must(recv(fd, frame, WIRE_HEAD, MSG_WAITALL) == WIRE_HEAD, "recv");
}

static void log_in(const struct sockaddr_in *to)
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
static void clients(const struct sockaddr_in *to, uint64_t n, uint64_t *made)
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

static pid_t child(void)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Watch */

static uint64_t rss_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long kib = 0;
	char line[128];

	must(f != NULL, "/proc/self/status");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %llu", &kib) == 1)
			break;
	fclose(f);
	return kib;
}

static uint64_t logins_in(const struct live *l)
{
	return live_last(l)->logins;
}

/* All table rows agree with the ledger. */
static uint64_t rows_in(const struct live *l, enum live_by by)
{
	const struct live_table *t = live_rows(l, by);
	uint64_t n = t->rest.requests;

	for (size_t i = 0; i < t->n; i++)
		n += t->row[i]->sum.requests;
	return n;
}

struct watching {
	struct live *live;
	struct watch *w;
	uint64_t counted, requests, rows, begun_ns;
};

static void step(struct watching *x)
{
	must(!live_wait(x->live, STEP_MS) && !live_step(x->live), "step");
	x->counted += logins_in(x->live);
	x->requests += live_last(x->live)->all.requests;
	x->rows += rows_in(x->live, LIVE_SESSION);
}

static void say(const struct watching *x, uint64_t made)
{
	printf("{\"logins\": %" PRIu64 ", \"counted\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"rss_kib\": %" PRIu64 ", \"s\": %.1f, \"cpu_s\": %.2f}\n",
	       made, x->counted, live_last(x->live)->lost, rss_kib(),
	       (double)(clock_now_ns() - x->begun_ns) / 1e9, (double)clock() / CLOCKS_PER_SEC);
	fflush(stdout);
}

static void say_losses(struct watch *w)
{
	struct run r;

	must(!run_init(&r, "bench", "bench") && !watch_losses(w, &r), "losses");
	for (size_t i = 0; i < r.n_losses; i++)
		if (r.loss[i].n)
			fprintf(stderr, "%s: %" PRIu64 "\n", r.loss[i].what, r.loss[i].n);
	run_fini(&r);
}

static void open_watch(struct watching *x, pid_t server, uint16_t port)
{
	const struct live_opts opts = { 0 };
	struct watch_opts watch = { .mode = WATCH_BPF };
	struct target t = { .server = server, .whole = true, .decoder = AFS_DECODER_DSI };
	struct err e = { 0 };

	t.port[0].port = port;
	t.port[0].object = AFS_OBJECT_CLIENT;
	t.n_ports = 1;
	x->live = live_new(&opts, &e);
	must(x->live != NULL, "live");
	watch.sink = live_sink(x->live);
	if (watch_open_traced(&x->w, &watch, &t, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	must(!live_begin(x->live, x->w), "begin");
	x->begun_ns = clock_now_ns();
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : LOGINS, due = n / 10;
	uint64_t *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);
	struct watching x = { 0 };
	pid_t server, client;
	bool right;

	must(made != MAP_FAILED && listener >= 0, "begin");
	must(!bind(listener, (void *)&at, len) && !listen(listener, 128), "listen");
	must(!getsockname(listener, (void *)&at, &len), "getsockname");
	server = child();
	if (!server)
		listen_for_ever(listener);
	close(listener);
	open_watch(&x, server, ntohs(at.sin_port));
	client = child();
	if (!client)
		clients(&at, n, made);
	while (waitpid(client, NULL, WNOHANG) != client) {
		step(&x);
		if (*made < due)
			continue;
		say(&x, *made);
		due += n / 10;
	}
	for (int i = 0; i < 50 && (x.counted < n || live_last(x.live)->sessions); i++)
		step(&x);
	say(&x, *made);
	say_losses(x.w);
	right = *made == n && x.counted == n && x.rows == x.requests && !live_last(x.live)->lost;
	if (!right)
		fprintf(stderr,
			"%" PRIu64 " logins, %" PRIu64 " counted; %" PRIu64 " requests, %" PRIu64
			" by session\n",
			*made, x.counted, x.requests, x.rows);
	watch_free(x.w);
	live_free(x.live);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return !right;
}
