/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An AFP server whose answer is known in advance, for tests of "afpscope load": any number of
 * sessions in one thread; one command (the look of a file, FPGetFileDirParms) waits in a station of
 * fake/station.h, all others are answered at once. With --http it is a web server instead, whose
 * requests all wait there, with the same calls for each: the scale for what a client costs, and for
 * what another program measures.
 *
 * Prints "port N" once it listens. At SIGTERM it ends and prints what it did as JSON: also how late
 * its own answers were, so that its error is known from the client's.
 */
#include "fake/facade.h"
#include "fake/station.h"
#include "fake/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RX_LEN    2048
#define EVENTS    256
#define ZEROS     65536
#define SCAN_NS   1000000000u
#define TICKLE_NS 30000000000u /* as afpd: to a session that asked for nothing for so long */
#define HTTP_MAX  4096
#define BACKLOG   4096

struct session {
	uint32_t serial; /* tells it from later ones of the same descriptor */
	bool open, greeted;
	uint64_t heard_ns, tickled_ns;
	uint64_t skip; /* bytes of data still to be dropped */
	size_t len;
	uint8_t rx[RX_LEN];
};

/* An answer that waits for its time. */
struct pending {
	uint64_t due_ns, arrived_ns, service_ns;
	int fd;
	uint32_t serial;
	uint16_t id;
};

/* A line of --log; a tickle has only arrived. */
struct entry {
	uint64_t arrived_ns, service_ns, due_ns, sent_ns;
};

struct opts {
	struct station_opts station;
	uint16_t port;
	uint64_t expect_ns; /* a session that is not heard for so long is ended; 0: none */
	const char *log;
	size_t http; /* bytes of a reply; 0: AFP */
};

struct server {
	struct opts o;
	struct station station;
	int listener, epoll;
	size_t n_fds;
	struct session **session; /* by descriptor */
	uint32_t serial;
	struct pending *heap; /* the earliest first, from 1 */
	size_t n_pending, room;
	struct entry *log;
	size_t n_log, log_room;
	uint64_t scan_ns;
	uint64_t n_requests, n_sessions, n_now, n_most, n_closed, n_dropped, n_expired, n_tickles;
	char http[HTTP_MAX];
};

static const uint8_t zeros[ZEROS];

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what it remembers ---- */

static void note(struct server *s, const struct entry *e)
{
	if (!s->o.log)
		return;
	if (s->n_log == s->log_room) {
		s->log_room = s->log_room ? 2 * s->log_room : 1u << 16;
		s->log = realloc(s->log, s->log_room * sizeof(*s->log));
		require(s->log, "realloc");
	}
	s->log[s->n_log++] = *e;
}

static void put_off(struct server *s, const struct pending *p)
{
	size_t at;

	if (s->n_pending + 2 > s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->heap = realloc(s->heap, s->room * sizeof(*s->heap));
		require(s->heap, "realloc");
	}
	for (at = ++s->n_pending; at > 1 && s->heap[at / 2].due_ns > p->due_ns; at /= 2)
		s->heap[at] = s->heap[at / 2];
	s->heap[at] = *p;
}

static struct pending take_first(struct server *s)
{
	struct pending first = s->heap[1], last = s->heap[s->n_pending--];
	size_t at = 1, next;

	for (; (next = 2 * at) <= s->n_pending; at = next) {
		next += next < s->n_pending && s->heap[next + 1].due_ns < s->heap[next].due_ns;
		if (s->heap[next].due_ns >= last.due_ns)
			break;
		s->heap[at] = s->heap[next];
	}
	s->heap[at] = last;
	return first;
}

/* ---- out ---- */

/* Waits where it must: a client of ours always reads. */
static bool send_all(int fd, const void *data, size_t len, int flags)
{
	const uint8_t *at = data;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = send(fd, at, len, flags | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return false;
	}
	return true;
}

static bool reply(int fd, uint8_t command, uint16_t id, const struct facade_reply *r)
{
	uint8_t raw[WIRE_HEAD + FACADE_REPLY];
	const struct wire_head h = { .flags = 1,
				     .command = command,
				     .id = id,
				     .code = (uint32_t)r->result,
				     .len = (uint32_t)(r->len + r->zeros) };
	uint64_t left = r->zeros;
	bool ok;

	wire_put(raw, &h);
	memcpy(raw + WIRE_HEAD, r->payload, r->len);
	ok = send_all(fd, raw, WIRE_HEAD + r->len, left ? MSG_MORE : 0);
	for (size_t n; ok && left; left -= n) {
		n = left < ZEROS ? left : ZEROS;
		ok = send_all(fd, zeros, n, 0);
	}
	return ok;
}

static bool send_tickle(int fd)
{
	uint8_t raw[WIRE_HEAD];

	wire_put(raw, &(struct wire_head) { .command = WIRE_TICKLE });
	return send_all(fd, raw, sizeof(raw), MSG_DONTWAIT);
}

/* ---- sessions ---- */

static void begin_session(struct server *s, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	const int on = 1;
	struct session *n;

	require((size_t)fd < s->n_fds, "descriptors");
	if (!s->session[fd])
		s->session[fd] = malloc(sizeof(struct session));
	n = s->session[fd];
	require(n, "malloc");
	n->serial = ++s->serial;
	n->open = true;
	n->greeted = false;
	n->heard_ns = n->tickled_ns = now_ns();
	n->skip = n->len = 0;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	require(!epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
	s->n_sessions++;
	if (++s->n_now > s->n_most)
		s->n_most = s->n_now;
}

static void end_session(struct server *s, int fd, uint64_t *why)
{
	s->session[fd]->open = false;
	s->n_now--;
	++*why;
	close(fd);
}

static void accept_all(struct server *s)
{
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		begin_session(s, fd);
}

static void scan(struct server *s, uint64_t now)
{
	struct session *n;

	if (!s->o.expect_ns || now < s->scan_ns)
		return;
	s->scan_ns = now + SCAN_NS;
	for (size_t fd = 0; fd < s->n_fds; fd++) {
		n = s->session[fd];
		if (!n || !n->open)
			continue;
		if (now - n->heard_ns > s->o.expect_ns) {
			end_session(s, (int)fd, &s->n_expired);
		} else if (now - n->tickled_ns > TICKLE_NS) {
			n->tickled_ns = now;
			if (!send_tickle((int)fd))
				end_session(s, (int)fd, &s->n_dropped);
		}
	}
}

/* ---- in ---- */

/* The answer to a request of the station. */
static bool answer(struct server *s, int fd, uint16_t id, const struct facade_reply *r)
{
	return s->o.http ? send_all(fd, s->http, s->o.http, 0) : reply(fd, WIRE_COMMAND, id, r);
}

static bool look(struct server *s, int fd, uint16_t id, const struct facade_reply *r)
{
	struct pending p = { .fd = fd, .serial = s->session[fd]->serial, .id = id };

	p.arrived_ns = now_ns();
	p.due_ns = station_arrive(&s->station, p.arrived_ns, &p.service_ns);
	if (p.due_ns > p.arrived_ns) {
		put_off(s, &p);
		return true;
	}
	if (!answer(s, fd, id, r))
		return false;
	if (s->o.log)
		note(s, &(struct entry) { p.arrived_ns, 0, p.due_ns, now_ns() });
	return true;
}

static bool command(struct server *s, int fd, const struct wire_head *h, const uint8_t *at,
		    size_t len)
{
	struct facade_reply r;

	facade_answer(&r, at, len);
	s->n_requests++;
	s->session[fd]->tickled_ns = s->session[fd]->heard_ns;
	return r.is_look ? look(s, fd, h->id, &r) : reply(fd, h->command, h->id, &r);
}

/* One frame whose first len bytes (without data) are there; false: the session is over. */
static bool serve(struct server *s, int fd, const struct wire_head *h, const uint8_t *at,
		  size_t len)
{
	struct facade_reply r;

	switch (h->command) {
	case WIRE_TICKLE:
		s->n_tickles++;
		note(s, &(struct entry) { .arrived_ns = s->session[fd]->heard_ns });
		return true;
	case WIRE_OPEN:
		s->session[fd]->greeted = true;
		facade_welcome(&r);
		return reply(fd, WIRE_OPEN, h->id, &r);
	case WIRE_STATUS:
		facade_status(&r);
		return reply(fd, WIRE_STATUS, h->id, &r);
	case WIRE_COMMAND:
	case WIRE_WRITE:
		return len && command(s, fd, h, at, len);
	default:
		return false;
	}
}

/* The complete frames of what has come; false: the session is over. */
static bool serve_all(struct server *s, int fd)
{
	struct session *n = s->session[fd];
	struct wire_head h;
	size_t at = 0, len;
	bool ok = true;

	while (ok && n->len - at >= WIRE_HEAD) {
		h = wire_get(n->rx + at);
		len = h.command == WIRE_WRITE ? h.code : h.len;
		if (len > h.len || len > RX_LEN - WIRE_HEAD)
			return false;
		if (n->len - at < WIRE_HEAD + len)
			break;
		n->skip = h.len - len;
		ok = serve(s, fd, &h, n->rx + at + WIRE_HEAD, len);
		at += WIRE_HEAD + len;
		if (n->skip) {
			len = n->len - at < n->skip ? n->len - at : (size_t)n->skip;
			at += len;
			n->skip -= len;
		}
	}
	n->len -= at;
	memmove(n->rx, n->rx + at, n->len);
	return ok;
}

static bool serve_web(struct server *s, int fd)
{
	struct session *n = s->session[fd];
	const uint8_t *end;
	size_t at = 0;
	bool ok = true;

	while (ok && (end = memmem(n->rx + at, n->len - at, "\r\n\r\n", 4))) {
		at = (size_t)(end - n->rx) + 4;
		s->n_requests++;
		ok = look(s, fd, 0, NULL);
	}
	n->len -= at;
	memmove(n->rx, n->rx + at, n->len);
	return ok && n->len < RX_LEN;
}

static void receive(struct server *s, int fd)
{
	struct session *n = s->session[fd];
	ssize_t got;
	bool ok;

	if (n->skip) {
		got = recv(fd, NULL, n->skip, MSG_DONTWAIT | MSG_TRUNC);
		n->skip -= got > 0 ? (size_t)got : 0;
	} else {
		got = recv(fd, n->rx + n->len, RX_LEN - n->len, MSG_DONTWAIT);
		n->len += got > 0 ? (size_t)got : 0;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	n->heard_ns = now_ns();
	ok = got > 0;
	if (ok && n->len)
		ok = s->o.http ? serve_web(s, fd) : serve_all(s, fd);
	if (!ok)
		end_session(s, fd, &s->n_closed);
}

/* ---- the loop ---- */

static void answer_due(struct server *s)
{
	struct facade_reply r;
	struct session *n;
	struct pending p;

	/* FPGetFileDirParms of a file: volume, directory, both bitmaps with the long name */
	static const uint8_t asked[] = { 34, 0, 0, 1, 0, 0, 0, 2, 0, 0x42, 0, 0x42 };

	while (s->n_pending && s->heap[1].due_ns <= now_ns()) {
		p = take_first(s);
		n = s->session[p.fd];
		if (!n->open || n->serial != p.serial)
			continue;
		facade_answer(&r, asked, sizeof(asked));
		if (!answer(s, p.fd, p.id, &r))
			end_session(s, p.fd, &s->n_dropped);
		note(s, &(struct entry) { p.arrived_ns, p.service_ns, p.due_ns, now_ns() });
	}
}

static int wait_for_events(struct server *s, struct epoll_event *event)
{
	uint64_t now = now_ns(), due = now + SCAN_NS / 2;
	struct timespec t;

	if (s->n_pending && s->heap[1].due_ns < due)
		due = s->heap[1].due_ns;
	t = (struct timespec) { 0, due > now ? (long)(due - now) : 0 };
	return epoll_pwait2(s->epoll, event, EVENTS, &t, NULL);
}

static void run(struct server *s)
{
	struct epoll_event event[EVENTS];
	int n;

	while (!ended) {
		answer_due(s);
		scan(s, now_ns());
		n = wait_for_events(s, event);
		for (int i = 0; i < n; i++) {
			/* in between, so that one batch of arrivals holds up no answer */
			answer_due(s);
			if (event[i].data.fd == s->listener)
				accept_all(s);
			else if (s->session[event[i].data.fd]->open)
				receive(s, event[i].data.fd);
		}
	}
}

static void listen_at(struct server *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(s->o.port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event event = { .events = EPOLLIN };
	struct rlimit limit;
	socklen_t len = sizeof(at);
	const int on = 1;

	require(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	require(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
	s->n_fds = limit.rlim_cur < 100000 ? limit.rlim_cur : 100000;
	s->session = calloc(s->n_fds, sizeof(struct session *));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	require(s->session && s->epoll >= 0 && s->listener >= 0, "socket");
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	require(!bind(s->listener, (struct sockaddr *)&at, len), "bind");
	require(!listen(s->listener, BACKLOG), "listen");
	require(!getsockname(s->listener, (struct sockaddr *)&at, &len), "getsockname");
	event.data.fd = s->listener;
	require(!epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &event), "epoll_ctl");
	printf("port %u\n", ntohs(at.sin_port));
	fflush(stdout);
}

static void make_page(struct server *s)
{
	char head[96];
	size_t n, body = s->o.http;

	if (!s->o.http)
		return;
	do
		n = (size_t)snprintf(head, sizeof(head),
				     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", --body);
	while (body && n + body > s->o.http);
	require(n + body == s->o.http && s->o.http <= HTTP_MAX, "--http: not possible");
	memset(s->http, 'x', sizeof(s->http));
	memcpy(s->http, head, n);
}

static void finish(struct server *s)
{
	FILE *f = s->o.log ? fopen(s->o.log, "we") : NULL;

	if (s->o.log)
		require(f && fwrite(s->log, sizeof(*s->log), s->n_log, f) == s->n_log && !fclose(f),
			s->o.log);
	printf("{\"requests\": %llu, \"delayed\": %llu, \"service_ns\": %.0f, \"sessions\": %llu, "
	       "\"most\": %llu, \"closed\": %llu, \"dropped\": %llu, \"expired\": %llu, "
	       "\"tickles\": %llu, \"begin_ns\": %llu}\n",
	       (unsigned long long)s->n_requests, (unsigned long long)s->station.n,
	       s->station.n ? s->station.sum_ns / (double)s->station.n : 0.0,
	       (unsigned long long)s->n_sessions, (unsigned long long)s->n_most,
	       (unsigned long long)s->n_closed, (unsigned long long)s->n_dropped,
	       (unsigned long long)s->n_expired, (unsigned long long)s->n_tickles,
	       (unsigned long long)s->station.begin_ns);
	fflush(stdout);
	station_fini(&s->station);
}

static const struct option options[] = {
	{ "port", required_argument, NULL, 'p' },
	{ "workers", required_argument, NULL, 'k' },
	{ "service", required_argument, NULL, 's' },
	{ "fixed", no_argument, NULL, 'f' },
	{ "seed", required_argument, NULL, 'r' },
	{ "stall", required_argument, NULL, 'x' },
	{ "every", required_argument, NULL, 'y' },
	{ "expect", required_argument, NULL, 'e' },
	{ "log", required_argument, NULL, 'l' },
	{ "http", required_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
    "server [--port N] [--workers K] [--service MS] [--fixed] [--seed N] [--stall MS --every MS]\n"
    "       [--expect SECONDS] [--log FILE] [--http BYTES]\n"
    "workers: 0 (default): as many as there are requests; log: arrived, service, due, sent, each\n"
    "a native uint64_t of ns; expect: a session that is not heard for so long is ended\n";

static void parse(struct opts *o, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		double v = optarg ? atof(optarg) : 0;

		switch (c) {
		case 'p':
			o->port = (uint16_t)v;
			break;
		case 'k':
			o->station.workers = (unsigned int)v;
			break;
		case 's':
			o->station.service_ns = v * 1e6;
			break;
		case 'f':
			o->station.fixed = true;
			break;
		case 'r':
			o->station.seed = (uint64_t)v;
			break;
		case 'x':
			o->station.stall_ns = (uint64_t)(v * 1e6);
			break;
		case 'y':
			o->station.every_ns = (uint64_t)(v * 1e6);
			break;
		case 'e':
			o->expect_ns = (uint64_t)(v * 1e9);
			break;
		case 'l':
			o->log = optarg;
			break;
		case 'h':
			o->http = (size_t)v;
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct server s = { 0 };
	const struct sigaction end = { .sa_handler = on_signal };

	parse(&s.o, argc, argv);
	make_page(&s);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
	listen_at(&s);
	station_init(&s.station, &s.o.station, now_ns());
	run(&s);
	finish(&s);
	return 0;
}
