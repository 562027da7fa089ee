// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How near client/dsi comes to bare TCP. The same peer (reads are answered with zeros, writes
 * thrown away) is asked through dsi.h and, with the same bytes in the same messages, by a client
 * that only sends and receives. Both in turn, medians of the rounds; client and peer on a CPU each.
 *
 *	make build/tests/bench/dsi_rate && build/tests/bench/dsi_rate [ROUNDS [MS]]
 *	dsi_rate dsi|raw read|write BYTES WINDOW REQUESTS	one of them only, for strace and
 *perf
 */
#include "base/clock.h"
#include "dsi/dsi.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define LONGEST     (1u << 20)
#define PAGE        4096
#define WINDOW_MAX  64
#define ROUNDS_MAX  101
#define COMMAND_LEN 20 /* of FPReadExt and FPWriteExt */
#define ANSWER_LEN  8  /* to a write */

struct setting {
	bool write;
	size_t bytes;
	unsigned int window;
};

struct cost {
	double mb_s, cpu_s_gb;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void no_delay(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* ---- the peer ---- */

static bool skip(int fd, size_t n)
{
	ssize_t got;

	for (; n; n -= (size_t)got) {
		got = recv(fd, NULL, n, MSG_TRUNC);
		if (got <= 0)
			return false;
	}
	return true;
}

static bool answer(int fd, const struct dsi_frame *f, size_t n)
{
	static uint8_t zeros[LONGEST];
	static const uint8_t quantum[] = { 0, 4, 0, 0x20, 0, 0 };
	const struct dsi_frame reply = { DSI_REPLY, f->command, f->id, 0, (uint32_t)n };
	const uint8_t *payload = f->command == DSI_OPEN ? quantum : zeros;
	uint8_t raw[DSI_HEADER_LEN];
	struct iovec iov[2] = { { raw, sizeof(raw) }, { (void *)(uintptr_t)payload, n } };
	ssize_t sent;

	dsi_frame_put(raw, &reply);
	sent = writev(fd, iov, 2);
	return sent == (ssize_t)(sizeof(raw) + n);
}

static void serve(int fd)
{
	uint8_t raw[DSI_HEADER_LEN + COMMAND_LEN];
	struct dsi_frame f;
	struct rbuf b;
	size_t n, len;
	bool go_on = true;

	no_delay(fd);
	while (go_on && recv(fd, raw, DSI_HEADER_LEN, MSG_WAITALL) == DSI_HEADER_LEN) {
		if (dsi_frame_parse(&f, raw) || f.command == DSI_CLOSE)
			break;
		n = f.len < COMMAND_LEN ? f.len : COMMAND_LEN;
		if (recv(fd, raw, n, MSG_WAITALL) != (ssize_t)n)
			break;
		b = rbuf_of(raw, n);
		len = f.command == DSI_COMMAND ? rbuf_u32(&b) : ANSWER_LEN;
		go_on = skip(fd, f.len - n) && answer(fd, &f, f.command == DSI_OPEN ? 6 : len);
	}
	close(fd);
}

static void peer(int listening)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	for (;;) {
		fd = accept(listening, NULL, NULL);
		if (fd < 0)
			_exit(1);
		if (fork()) {
			close(fd);
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
		_exit(0);
	}
}

static struct sockaddr_in start_peer(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	signal(SIGCHLD, SIG_IGN);
	if (bind(listening, (struct sockaddr *)&at, len) || listen(listening, 4) ||
	    getsockname(listening, (struct sockaddr *)&at, &len))
		die("listen");
	if (!fork())
		peer(listening);
	close(listening);
	return at;
}

/* ---- the clients: n requests each ---- */

struct client {
	struct setting s;
	struct dsi *d; /* NULL: bare */
	int fd;
	struct dsi_request req[WINDOW_MAX];
	uint8_t *room[WINDOW_MAX], *data;
};

static void prepare(struct client *c, unsigned int i)
{
	struct dsi_request *r = &c->req[i];
	struct wbuf b = wbuf_of(r->wire + DSI_HEADER_LEN, COMMAND_LEN);

	r->command = c->s.write ? DSI_WRITE : DSI_COMMAND;
	r->len = COMMAND_LEN;
	r->data = c->data;
	r->data_len = c->s.write ? c->s.bytes : 0;
	r->reply = c->room[i] + PAGE; /* where the kernel copies fast; see dsi.h */
	r->reply_cap = c->s.write ? ANSWER_LEN : c->s.bytes;
	wbuf_u32(&b, (uint32_t)c->s.bytes);
}

static void run_dsi(struct client *c, uint64_t n)
{
	struct dsi_request *r;
	struct err e;
	uint64_t sent = 0;

	for (; sent < c->s.window && sent < n; sent++)
		if (dsi_submit(c->d, &c->req[sent], &e))
			goto fail;
	for (uint64_t done = 0; done < n; done++) {
		if (dsi_reap(c->d, &r, &e) || r->reply_len != r->reply_cap)
			goto fail;
		if (sent++ < n && dsi_submit(c->d, r, &e))
			goto fail;
	}
	return;
fail:
	fprintf(stderr, "dsi: %s\n", e.text);
	exit(1);
}

static void raw_send(struct client *c, struct dsi_request *r)
{
	const struct dsi_frame f = { .command = r->command,
				     .code = r->data_len ? COMMAND_LEN : 0,
				     .len = (uint32_t)(COMMAND_LEN + r->data_len) };
	struct iovec iov[2] = { { r->wire, DSI_HEADER_LEN + COMMAND_LEN },
				{ c->data, r->data_len } };
	size_t want = iov[0].iov_len + iov[1].iov_len;
	ssize_t sent;

	dsi_frame_put(r->wire, &f);
	sent = r->data_len ? writev(c->fd, iov, 2)
			   : send(c->fd, r->wire, iov[0].iov_len, MSG_NOSIGNAL);
	if (sent != (ssize_t)want)
		die("raw send");
}

static void raw_receive(struct client *c, struct dsi_request *r)
{
	uint8_t *to = (uint8_t *)r->reply - DSI_HEADER_LEN;
	size_t want = DSI_HEADER_LEN + r->reply_cap, have = 0;
	ssize_t got;

	for (; have < want; have += (size_t)got) {
		got = recv(c->fd, to + have, want - have, 0);
		if (got <= 0)
			die("raw recv");
	}
}

static void run_raw(struct client *c, uint64_t n)
{
	uint64_t sent = 0;

	for (; sent < c->s.window && sent < n; sent++)
		raw_send(c, &c->req[sent]);
	for (uint64_t done = 0; done < n; done++) {
		raw_receive(c, &c->req[done % c->s.window]);
		if (sent++ < n)
			raw_send(c, &c->req[done % c->s.window]);
	}
}

static struct client *connected(const struct setting *s, bool bare, const struct sockaddr_in *at)
{
	struct client *c = calloc(1, sizeof(*c));
	struct dsi_opts opts = { .host = "127.0.0.1", .window = s->window, .timeout_ms = 10000 };
	char port[8];
	struct err e;

	snprintf(port, sizeof(port), "%u", ntohs(at->sin_port));
	opts.port = port;
	c->s = *s;
	c->data = aligned_alloc(PAGE, LONGEST);
	memset(c->data, 0, LONGEST);
	for (unsigned int i = 0; i < s->window; i++) {
		c->room[i] = aligned_alloc(PAGE, PAGE + LONGEST);
		memset(c->room[i], 1, PAGE + LONGEST);
		prepare(c, i);
	}
	if (bare) {
		c->fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(c->fd, (const struct sockaddr *)at, sizeof(*at)))
			die("connect");
		no_delay(c->fd);
	} else if (dsi_connect(&c->d, &opts, &e) || dsi_open(c->d, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	return c;
}

static void disconnected(struct client *c)
{
	dsi_close(c->d);
	if (!c->d)
		close(c->fd);
	for (unsigned int i = 0; i < c->s.window; i++)
		free(c->room[i]);
	free(c->data);
	free(c);
}

/* ---- measuring ---- */

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void run(struct client *c, uint64_t n)
{
	if (c->d)
		run_dsi(c, n);
	else
		run_raw(c, n);
}

static struct cost measure(struct client *c, uint64_t n)
{
	double cpu = cpu_s(), bytes = (double)c->s.bytes * (double)n;
	uint64_t start_ns = clock_now_ns();

	run(c, n);
	return (struct cost) { bytes / 1e6 / (1e-9 * (double)(clock_now_ns() - start_ns)),
			       (cpu_s() - cpu) / (bytes / 1e9) };
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void compare(const struct setting *s, const struct sockaddr_in *at, unsigned int rounds,
		    unsigned int ms)
{
	struct client *dsi = connected(s, false, at), *raw = connected(s, true, at);
	double rate[3][ROUNDS_MAX], cpu[3][ROUNDS_MAX];
	struct cost a, b;
	uint64_t n;

	run(dsi, 16 + (64 << 20) / s->bytes);
	b = measure(raw, 16 + (64 << 20) / s->bytes);
	n = 1 + (uint64_t)(b.mb_s * 1000 * ms / (double)s->bytes);
	for (unsigned int i = 0; i < rounds; i++) {
		/* who is first changes */
		if (i % 2)
			b = measure(raw, n);
		a = measure(dsi, n);
		if (!(i % 2))
			b = measure(raw, n);
		rate[0][i] = a.mb_s;
		rate[1][i] = b.mb_s;
		rate[2][i] = a.mb_s / b.mb_s;
		cpu[0][i] = a.cpu_s_gb;
		cpu[1][i] = b.cpu_s_gb;
		cpu[2][i] = a.cpu_s_gb / b.cpu_s_gb;
	}
	printf("%-5s %7zu %3u  %7.0f %7.0f  %5.3f   %6.3f %6.3f  %5.3f\n",
	       s->write ? "write" : "read", s->bytes, s->window, median(rate[0], rounds),
	       median(rate[1], rounds), median(rate[2], rounds), median(cpu[0], rounds),
	       median(cpu[1], rounds), median(cpu[2], rounds));
	fflush(stdout);
	disconnected(dsi);
	disconnected(raw);
}

static int one(char **argv, const struct sockaddr_in *at)
{
	struct setting s = { !strcmp(argv[2], "write"), (size_t)atol(argv[3]),
			     (unsigned int)atoi(argv[4]) };
	struct client *c;
	struct cost cost;

	if (!s.bytes || s.bytes > LONGEST || !s.window || s.window > WINDOW_MAX)
		return 2;
	c = connected(&s, !strcmp(argv[1], "raw"), at);
	cost = measure(c, (uint64_t)atol(argv[5]));
	printf("%.0f MB/s, %.3f client CPU s/GB\n", cost.mb_s, cost.cpu_s_gb);
	disconnected(c);
	return 0;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 4096, 65536, LONGEST };
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 11;
	unsigned int ms = argc > 2 ? (unsigned int)atoi(argv[2]) : 150;
	struct sockaddr_in at = start_peer();
	struct setting s;

	pin(0);
	if (argc == 6)
		return one(argv, &at);
	if (!rounds || rounds > ROUNDS_MAX || !ms)
		return 2;
	printf("                   MB/s                   client CPU s/GB\n"
	       "          bytes  -r      dsi    bare  ratio      dsi   bare  ratio\n");
	for (unsigned int i = 0; i < 12; i++) {
		s = (struct setting) { i / 6, sizes[i % 6 / 2], i % 2 ? 8 : 1 };
		compare(&s, &at, rounds, ms);
	}
	return 0;
}
