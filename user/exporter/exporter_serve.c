/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that serves: it has no rights, adds up readings, and answers by HTTP. */
#include "app/cmd.h"
#include "attach/guard.h"
#include "base/clock.h"
#include "exporter/exporter.h"
#include "exporter/exporter_http.h"
#include "exporter/openmetrics.h"
#include "host/rights.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S    1000000000u
#define NS_PER_MS   1000000u
#define POLL_MS     500
#define PAUSE_NS    20000000u          /* between two readings, however many ask */
#define ANSWER_NS   (2ull * NS_PER_S)  /* the longest wait for a reading */
#define SELDOM_NS   (15ull * NS_PER_S) /* a reading without being asked: what a crash can cost */
#define NO_WATCH_NS (10ull * NS_PER_S) /* --once: the longest wait for a server */

struct serve {
	const struct exporter_cfg *cfg;
	struct tally tally;
	struct http *http;  /* NULL: --listen was not given */
	int control, watch; /* watch -1: nothing is watched */
	int file;           /* the process that writes; -1: none */
	struct exporter_inbox inbox;
	uint64_t created_ms, begun_ns;
	uint64_t asked_ns; /* for a reading that has not come yet; 0: none */
	uint64_t last_ns;  /* asked at last */
	uint64_t read_ns, written_ns, up_ns;
	bool due;     /* the file is to be written */
	bool refused; /* the file could not be */
	enum outcome outcome;
	bool over;
};

/* Text */

static char *exporter_serve_text_of(struct serve *s, bool openmetrics, size_t *len)
{
	const struct openmetrics_style style = {
		.openmetrics = openmetrics,
		.created_ms = s->created_ms,
		.own_ns = guard_own_ns(),
		.age_ns = clock_now_ns() - s->read_ns,
		.port = s->cfg->whom.port,
		.name = s->cfg->label,
	};
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	int e = out ? openmetrics_write(out, &s->tally, &style) : -ENOMEM;

	if (out && fclose(out))
		e = -ENOMEM;
	if (!e)
		return text;
	free(text);
	return NULL;
}

static char *http_text(void *user, bool openmetrics, size_t *len)
{
	return exporter_serve_text_of(user, openmetrics, len);
}

/* While no server is watched nothing changes. */
static bool is_fresh(void *user)
{
	const struct serve *s = user;

	return !s->tally.up;
}

/* --once without a file. */
static void exporter_serve_print(struct serve *s)
{
	size_t len;
	char *text = exporter_serve_text_of(s, false, &len);

	s->refused = !text || fwrite(text, 1, len, stdout) != len || fflush(stdout);
	if (s->refused)
		cmd_say("cannot write the metrics to standard output");
	free(text);
}

/* Readings */

static void exporter_serve_fail(struct serve *s, const char *why)
{
	cmd_say("%s", why);
	s->outcome = OUTCOME_FAILED;
	s->over = true;
}

static void write_file(struct serve *s)
{
	size_t len;
	char *text = exporter_serve_text_of(s, false, &len);
	int r = text ? exporter_file_write(s->file, text, len) : -ENOMEM;

	free(text);
	if (r == -EPIPE)
		exporter_serve_fail(s, "the process that writes the file has ended");
	s->refused = r;
	s->written_ns = clock_now_ns();
}

/* For who has waited since before then: what was waited for is here, or will not come. */
static void exporter_serve_go_on(struct serve *s, uint64_t before_ns)
{
	s->asked_ns = 0;
	if (s->due && s->cfg->textfile)
		write_file(s);
	else if (s->due)
		exporter_serve_print(s);
	if (s->due && s->cfg->once) {
		s->outcome = s->refused    ? OUTCOME_FAILED
			     : s->tally.up ? OUTCOME_OK
					   : OUTCOME_NO_SESSION;
		s->over = true;
	}
	s->due = false;
	if (s->http)
		http_answer(s->http, before_ns);
}

static void exporter_serve_ask(struct serve *s)
{
	const struct exporter_ask ask = { .own_ns = guard_own_ns() };

	if (send(s->watch, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(ask))
		s->asked_ns = s->last_ns = clock_now_ns();
}

static void watch_ended(struct serve *s)
{
	close(s->watch);
	s->watch = -1;
	s->inbox.len = 0;
	if (tally_end(&s->tally))
		exporter_serve_fail(s, "out of memory");
	exporter_serve_go_on(s, UINT64_MAX);
}

static void exporter_serve_receive(struct serve *s)
{
	struct tally_reading *r = malloc(sizeof(*r));
	int e = r ? exporter_receive(&s->inbox, s->watch, r) : -ENOMEM;

	if (e > 0) {
		s->read_ns = clock_now_ns();
		s->up_ns = s->tally.up ? s->up_ns : s->read_ns;
		if (tally_take(&s->tally, r))
			exporter_serve_fail(s, "out of memory");
		ledger_fini(&r->ledger);
		exporter_serve_go_on(s, s->asked_ns);
	} else if (e == -ENOMEM) {
		exporter_serve_fail(s, "out of memory");
	} else if (e) {
		watch_ended(s);
	}
	free(r);
}

/* The socket of a new watch; -1: there will be none any more. */
static int accept_watch(int control)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	char byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)
	};
	ssize_t n = recvmsg(control, &m, MSG_CMSG_CLOEXEC);
	int fd = -1;

	if (n == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void next_watch(struct serve *s)
{
	int fd = accept_watch(s->control);

	while (s->watch >= 0 && fd >= 0) /* the last one has ended: what it sent is all here */
		exporter_serve_receive(s);
	if (fd < 0)
		s->over = true;
	else
		s->watch = fd;
}

/* Time */

/* By a client, or for the file. */
static bool exporter_serve_is_wanted(const struct serve *s)
{
	return s->due || (s->http && http_waits(s->http));
}

static void look_at_clock(struct serve *s)
{
	uint64_t now = clock_now_ns(), interval_ns = (uint64_t)s->cfg->interval_s * NS_PER_S;

	if (s->cfg->textfile && !s->cfg->once && now - s->written_ns >= interval_ns)
		s->due = true;
	if (s->cfg->once &&
	    (s->up_ns ? now - s->up_ns >= interval_ns : now - s->begun_ns >= NO_WATCH_NS))
		s->due = true;
	if (!s->tally.up || (s->asked_ns && now - s->asked_ns >= ANSWER_NS)) {
		if (s->due || s->asked_ns)
			exporter_serve_go_on(s, UINT64_MAX);
	} else if (!s->asked_ns && now - s->last_ns >= PAUSE_NS &&
		   (exporter_serve_is_wanted(s) || now - s->last_ns >= SELDOM_NS)) {
		exporter_serve_ask(s);
	}
}

static int timeout_ms(const struct serve *s)
{
	int most = exporter_serve_is_wanted(s) && !s->asked_ns ? PAUSE_NS / NS_PER_MS : POLL_MS;

	return s->http ? http_timeout_ms(s->http, most) : most;
}

static void wait_for_input(struct serve *s)
{
	struct pollfd fd[] = {
		{ .fd = s->control, .events = POLLIN },
		{ .fd = s->watch, .events = POLLIN },
		{ .fd = s->http ? http_fd(s->http) : -1, .events = POLLIN },
	};

	if (poll(fd, 3, timeout_ms(s)) < 0)
		return;
	if (fd[1].revents)
		exporter_serve_receive(s);
	if (fd[0].revents)
		next_watch(s);
	if (s->http)
		http_run(s->http);
}

/* Begin */

static void say_where(int listener)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	const struct sockaddr_in6 *six = (void *)&a;
	const struct sockaddr_in *four = (void *)&a;
	char text[INET6_ADDRSTRLEN] = "";
	bool is_six;

	if (getsockname(listener, (void *)&a, &len))
		return;
	is_six = a.ss_family == AF_INET6;
	inet_ntop(a.ss_family, is_six ? (void *)&six->sin6_addr : (void *)&four->sin_addr, text,
		  sizeof(text));
	cmd_say("listening: http://%s%s%s:%u/metrics", is_six ? "[" : "", text, is_six ? "]" : "",
		ntohs(is_six ? six->sin6_port : four->sin_port));
}

static int exporter_serve_begin(struct serve *s, int listener)
{
	const struct http_source source = { s, is_fresh, http_text };
	struct timespec wall;
	struct err e = { 0 };

	umask(022);
	clock_gettime(CLOCK_REALTIME, &wall);
	s->created_ms = (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / NS_PER_MS;
	s->begun_ns = s->read_ns = clock_now_ns();
	if (s->cfg->textfile) {
		s->file = exporter_file_open(s->cfg->textfile, s->control, listener);
		if (s->file < 0) {
			cmd_say("cannot begin: %s", strerror(-s->file));
			return -1;
		}
	}
	if (listener >= 0 && http_open(&s->http, listener, &source, &e)) {
		cmd_say("%s", e.text);
		return -1;
	}
	cmd_note_rights(rights_drop_all(EXPORTER_NOBODY, EXPORTER_NOBODY), NULL);
	if (listener >= 0)
		say_where(listener);
	return 0;
}

static void exporter_serve_end(struct serve *s)
{
	s->due = false;
	if (s->watch >= 0)
		watch_ended(s);
	if (s->cfg->textfile && !s->cfg->once)
		write_file(s);
	http_close(s->http);
	tally_fini(&s->tally);
	free(s->inbox.data);
}

int exporter_serve(const struct exporter_cfg *cfg, int control, int listener)
{
	struct serve s = { .cfg = cfg, .control = control, .watch = -1, .file = -1 };

	if (exporter_serve_begin(&s, listener))
		return OUTCOME_FAILED;
	while (!s.over && !cmd_stop) {
		wait_for_input(&s);
		look_at_clock(&s);
	}
	exporter_serve_end(&s);
	return (int)s.outcome;
}
