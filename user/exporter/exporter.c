/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope exporter: what a server's requests cost, all the time, for Prometheus. Options, and the
 * process that begins the other two.
 */
#include "exporter/exporter.h"

#include "app/cmd.h"
#include "attach/guard.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/opt.h"
#include "host/rights.h"
#include "watch/watch.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTEN      "127.0.0.1:9548"
#define INTERVAL_S  15
#define BACKLOG     64
#define PAUSE_MS    1000 /* before a watch is begun again */
#define PATIENCE_MS 3000

static const char *const watch_choices[] = { "auto", "bpf", "proc", NULL };

/* clang-format off */
#define OFFSET(m) offsetof(struct exporter_cfg, m)
const struct opt exporter_options[] = {
	{ .type = OPT_HEADING, .help = "Where the metrics go (default: --listen " LISTEN "):" },
	{ .name = "listen", .arg = "ADDRESS:PORT", .type = OPT_STRING, .offset = OFFSET(listen),
	  .help = "answer GET /metrics by HTTP; whoever reaches this address can read them" },
	{ .name = "textfile", .arg = "FILE.prom", .type = OPT_STRING, .offset = OFFSET(textfile),
	  .help = "write them to a file, for node_exporter's textfile collector" },
	{ .name = "interval", .arg = "SECONDS", .type = OPT_UINT, .offset = OFFSET(interval_s), .min = 1, .max = 3600,
	  .help = "how often the file is written (default: 15)" },
	{ .name = "once", .type = OPT_FLAG, .offset = OFFSET(once),
	  .help = "watch for one interval, write the metrics to the file or to standard output, and end" },
	{ .name = "name", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(label),
	  .help = "a label 'name' of all metrics besides 'port', for servers of one host that have the same port" },
	{ .type = OPT_HEADING, .help = "Which server (default: the only one of this host):" },
	WHOM_OPTIONS(struct exporter_cfg, whom),
	{ .type = OPT_HEADING, .help = "How:" },
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE, .offset = OFFSET(watch), .choice = watch_choices,
	  .help = "how the server is observed (default: auto, the best that works here)" },
	GUARD_OPTION(struct exporter_cfg, max_cpu),
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

struct exporter {
	const struct exporter_cfg *cfg;
	int listener, control;           /* control: to the process that serves */
	pid_t parent, serving, watching; /* 0: none */
};

/* "127.0.0.1:9548", "[::1]:9548". A socket, or -errno. */
static int listen_at(const char *where, struct err *e)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(where, ':');
	struct addrinfo *a = NULL;
	char host[64];
	int fd, r = 0, yes = 1;
	size_t len;

	len = colon ? (size_t)(colon - where) : 0;
	if (len > 1 && where[0] == '[' && where[len - 1] == ']') {
		where++;
		len -= 2;
	}
	snprintf(host, sizeof(host), "%.*s", (int)len, where);
	if (!len || len >= sizeof(host) || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    atol(colon + 1) > UINT16_MAX || getaddrinfo(host, colon + 1, &hints, &a))
		return err_set(e, -EINVAL,
			       "--listen: '%s' is not an address and a port such as " LISTEN,
			       where);
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, BACKLOG))
		r = -errno;
	freeaddrinfo(a);
	if (!r)
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(e, r, "--listen: cannot listen on %s: %s", where, strerror(-r));
}

/* A child of the process that waits: signals reach it through that one only. */
static void exporter_be_child(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

static void exporter_leave(int status)
{
	fflush(stdout);
	_exit(status);
}

static int start_serving(struct exporter *x, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "cannot begin: %s", strerror(errno));
	x->serving = fork();
	if (!x->serving) {
		exporter_be_child();
		close(pair[0]);
		exporter_leave(exporter_serve(x->cfg, pair[1], x->listener));
	}
	close(pair[1]);
	x->control = pair[0];
	if (x->listener >= 0)
		close(x->listener);
	x->listener = -1;
	return x->serving < 0 ? err_set(e, -errno, "cannot begin: %s", strerror(errno)) : 0;
}

/* Hands a descriptor to the process that serves. */
static int exporter_hand_over(int control, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} u = { .room = { 0 } };
	char byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)
	};

	u.head.cmsg_level = SOL_SOCKET;
	u.head.cmsg_type = SCM_RIGHTS;
	u.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&u.head), &fd, sizeof(fd));
	return sendmsg(control, &m, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int start_watching(struct exporter *x, struct err *e)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "cannot watch: %s", strerror(errno));
	x->watching = fork();
	if (!x->watching) {
		exporter_be_child();
		signal(SIGTERM, SIG_IGN);
		/* It may look for a server for long, and hears of nothing then. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != x->parent)
			_exit(OUTCOME_FAILED);
		close(x->control);
		close(pair[0]);
		exporter_leave(exporter_watch(x->cfg, pair[1]));
	}
	r = x->watching < 0 ? -errno : exporter_hand_over(x->control, pair[0]);
	r = r == -EPIPE ? 0 : r; /* the other has ended, and said why */
	close(pair[0]);
	close(pair[1]);
	return r ? err_set(e, r, "cannot watch: %s", strerror(-r)) : 0;
}

static void on_child(int sig)
{
	(void)sig;
}

/* Which of the two has ended; 0: a signal came. No signal is missed just before the wait. */
static pid_t exporter_wait_for_any(int *status)
{
	const struct sigaction wake = { .sa_handler = on_child };
	sigset_t held, before;
	pid_t pid = 0;

	sigaction(SIGCHLD, &wake, NULL);
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGCHLD);
	sigprocmask(SIG_BLOCK, &held, &before);
	while (!cmd_stop && !(pid = waitpid(-1, status, WNOHANG)))
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? 0 : pid;
}

/* Whether it is to be begun again. */
static bool goes_on(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == EXPORTER_AGAIN;
	cmd_say("the process that watches was ended by signal %d: what was counted since its "
		"last reading is lost; it is begun again",
		WTERMSIG(status));
	return true;
}

static enum outcome exporter_outcome_of(int status)
{
	switch (WEXITSTATUS(status)) {
	case EXPORTER_COSTLY:
	case EXPORTER_GONE:
		return OUTCOME_OK;
	case EXPORTER_NONE:
		return OUTCOME_NO_SESSION;
	default:
		return OUTCOME_FAILED;
	}
}

/* Begins watches, one after the other. */
static enum outcome supervise(struct exporter *x, struct err *e)
{
	uint64_t begun_ns = 0;
	int status = 0;
	pid_t pid;

	while (!cmd_stop) {
		if (clock_now_ns() - begun_ns < PAUSE_MS * 1000000ull)
			poll(NULL, 0, PAUSE_MS);
		begun_ns = clock_now_ns();
		if (start_watching(x, e))
			return OUTCOME_FAILED;
		pid = exporter_wait_for_any(&status);
		if (pid && pid == x->serving) {
			x->serving = 0;
			return WIFEXITED(status) ? (enum outcome)WEXITSTATUS(status)
						 : OUTCOME_FAILED;
		}
		if (!pid)
			break;
		x->watching = 0;
		if (!goes_on(status))
			return exporter_outcome_of(status);
	}
	return OUTCOME_OK;
}

/* Ends both, the one that serves in its own time. */
static void exporter_end(struct exporter *x)
{
	int status;

	if (x->watching > 0) {
		kill(x->watching, SIGKILL);
		waitpid(x->watching, &status, 0);
	}
	if (x->control >= 0)
		close(x->control);
	for (int ms = 0; x->serving > 0 && ms < PATIENCE_MS; ms++) {
		if (waitpid(x->serving, &status, WNOHANG) == x->serving)
			x->serving = 0;
		else
			poll(NULL, 0, 1);
	}
	if (x->serving <= 0)
		return;
	kill(x->serving, SIGKILL);
	waitpid(x->serving, &status, 0);
}

static int exporter_run(const struct exporter_cfg *cfg)
{
	struct exporter x = { .cfg = cfg, .listener = -1, .control = -1, .parent = getpid() };
	enum outcome o = OUTCOME_FAILED;
	struct err e = { 0 };

	if (cfg->listen)
		x.listener = listen_at(cfg->listen, &e);
	if (!e.code && cfg->textfile)
		file_check(cfg->textfile, FILE_STATUS, &e);
	if (e.code == -EINVAL)
		return cmd_usage_error("exporter", &e);
	if (!e.code && !start_serving(&x, &e)) {
		cmd_note_rights(rights_drop(RIGHTS_WATCH), NULL);
		o = supervise(&x, &e);
	}
	exporter_end(&x);
	if (*e.text)
		cmd_say("%s", e.text);
	return (int)o;
}

int cmd_exporter(int argc, char **argv)
{
	struct exporter_cfg cfg = { .interval_s = INTERVAL_S };
	struct err e = { 0 };

	if (whom_check(&cfg.whom, opt_parse(exporter_options, &cfg, argc, argv, NULL, &e), &e))
		return cmd_usage_error("exporter", &e);
	if (cfg.help) {
		fputs(
		    "Usage: afpscope exporter [OPTIONS]\n"
		    "Watches a running AFP server all the time and gives Prometheus what its requests\n"
		    "cost: how many, how long, and where the time went. Changes nothing.\n\n",
		    stdout);
		opt_help(stdout, exporter_options);
		return OUTCOME_OK;
	}
	if (!cfg.listen && !cfg.textfile && !cfg.once)
		cfg.listen = LISTEN;
	cfg.owner = mmap(NULL, sizeof(*cfg.owner), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cfg.owner == MAP_FAILED)
		return OUTCOME_FAILED;
	cmd_catch_signals();
	return exporter_run(&cfg);
}
