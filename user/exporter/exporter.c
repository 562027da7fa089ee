/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope exporter: what a server's requests cost, all the time, for Prometheus. Options, and the
 * processes.
 */
#include "exporter/exporter.h"

#include "app/cmd.h"
#include "attach/guard.h"
#include "base/file.h"
#include "base/opt.h"
#include "host/rights.h"
#include "kinds/kind.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTEN      "127.0.0.1:9548"
#define INTERVAL_S  15
#define BACKLOG     64
#define PATIENCE_MS 3000 /* with a process that does not read or end */

static const char *const watch_choices[] = { "auto", "bpf", "proc", NULL };

/* clang-format off */
#define OFFSET(m) offsetof(struct exporter_cfg, m)
const struct opt exporter_options[] = {
	{ .type = OPT_HEADING, .help = "Where the metrics go (default: --listen " LISTEN "):" },
	{ .name = "listen", .arg = "ADDRESS:PORT", .type = OPT_STRING, .offset = OFFSET(listen),
	  .help = "answer GET /metrics by HTTP; whoever reaches this address can read them",
	  .more = "There is no password and no encryption. IPv6: `[::1]:9548`; port 0: any free one, which is "
	 	"printed. With --textfile the default is not to answer." },
	{ .name = "textfile", .arg = "FILE.prom", .type = OPT_STRING, .offset = OFFSET(textfile),
	  .help = "write them to a file, for node_exporter's textfile collector",
	  .more = "A new file with mode 0644 replaces it each time, so a reader never sees a part of one; until "
	 	"then it has a name of its own, `.afpscope.*.tmp`, in the same folder. What is there and is no "
	 	"regular file (a device, a pipe, /dev/stdout) is refused and stays as it is; of a symbolic link "
	 	"of yours or root's the target is replaced. It is not waited for until the file is on the disk. "
	 	"At the end it is written once more, with afpscope_up 0." },
	{ .name = "interval", .arg = "SECONDS", .type = OPT_SECONDS, .offset = OFFSET(interval_s), .min = 1, .max = 3600,
	  .help = "how often the file is written (default: " OPT_TEXT(INTERVAL_S) ")" },
	{ .name = "once", .type = OPT_FLAG, .offset = OFFSET(once),
	  .help = "watch for one interval, write the metrics to the file or to standard output, and end" },
	{ .name = "name", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(label),
	  .help = "a label 'name' of all metrics besides 'port', for servers of one host that have the same port",
	  .more = "Such servers are in containers, and in one Prometheus by one node_exporter. `port` is the "
	 	"server's TCP port." },
	{ .type = OPT_HEADING, .help = "Which server (default: the only one of this host):" },
	WHOM_OPTIONS(struct exporter_cfg, whom),
	{ .type = OPT_HEADING, .help = "How:" },
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE, .offset = OFFSET(watch), .choice = watch_choices,
	  .help = "how the server is observed (default: auto, the best that works here)",
	  .more = "`bpf`: exact counts or none; `proc`: what /proc shows." },
	GUARD_OPTION(struct exporter_cfg, max_cpu),
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

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

static int exporter_start(struct exporter_child child[], enum exporter_helper which,
			  const struct exporter_cfg *cfg, int listener, struct err *e)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	struct exporter_child *c = &child[which];
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "cannot start a process of the exporter: %s",
			       strerror(errno));
	c->socket = pair[0];
	setsockopt(c->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	c->pid = fork();
	if (!c->pid) {
		/* Signals of a terminal reach it through the process that watches only. */
		signal(SIGINT, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		for (unsigned int i = 0; i < EXPORTER_HELPERS; i++)
			if (child[i].socket >= 0)
				close(child[i].socket);
		status = which == EXPORTER_HTTP ? exporter_serve(pair[1], listener)
						: exporter_file(cfg, pair[1]);
		_exit(status);
	}
	close(pair[1]);
	return c->pid < 0 ? err_set(e, -errno, "cannot start a process of the exporter: %s",
				    strerror(errno))
			  : 0;
}

/* Ends it in its own time, but not for ever. How it has ended. */
static enum outcome exporter_end(struct exporter_child *c, bool patient)
{
	enum outcome o = OUTCOME_FAILED;
	int status;

	if (c->socket >= 0)
		close(c->socket);
	if (c->pid <= 0)
		return OUTCOME_OK;
	for (int ms = 0; ms < PATIENCE_MS || (patient && !cmd_stop); ms++) {
		if (waitpid(c->pid, &status, WNOHANG) == c->pid)
			return WIFEXITED(status) ? (enum outcome)WEXITSTATUS(status) : o;
		poll(NULL, 0, 1);
	}
	kill(c->pid, SIGKILL);
	waitpid(c->pid, &status, 0);
	return o;
}

static int exporter_begin(struct exporter_child child[], const struct exporter_cfg *cfg,
			  struct err *e)
{
	int listener = cfg->listen ? listen_at(cfg->listen, e) : -1;

	if (!e->code && cfg->textfile)
		file_check(cfg->textfile, FILE_STATUS, e);
	if (!e->code && cfg->listen)
		exporter_start(child, EXPORTER_HTTP, cfg, listener, e);
	if (listener >= 0)
		close(listener);
	if (!e->code && (cfg->textfile || cfg->once))
		exporter_start(child, EXPORTER_FILE, cfg, -1, e);
	return e->code;
}

static int exporter_run(const struct exporter_cfg *cfg)
{
	struct exporter_child child[EXPORTER_HELPERS] = { { .socket = -1 }, { .socket = -1 } };
	enum outcome o = OUTCOME_FAILED, ended;
	struct err e = { 0 };
	bool by_itself;

	if (exporter_begin(child, cfg, &e) == -EINVAL)
		return cmd_usage_error("exporter", &e);
	if (!e.code) {
		cmd_note_rights(rights_drop(RIGHTS_WATCH), NULL);
		o = exporter_watch(cfg, child);
	}
	by_itself = child[EXPORTER_HTTP].pid > 0 && child[EXPORTER_HTTP].socket < 0;
	ended = exporter_end(&child[EXPORTER_HTTP], false);
	o = by_itself ? ended : o;
	ended = exporter_end(&child[EXPORTER_FILE], cfg->once);
	o = cfg->once && ended ? OUTCOME_FAILED : o;
	if (*e.text)
		cmd_say("%s", e.text);
	return (int)o;
}

int exporter_parse(struct exporter_cfg *cfg, int argc, char **argv, struct err *e)
{
	int r;

	*cfg = (struct exporter_cfg) { .interval_s = INTERVAL_S };
	r = whom_check(&cfg->whom, opt_parse(exporter_options, cfg, argc, argv, NULL, e), e);
	if (!cfg->listen && !cfg->textfile && !cfg->once)
		cfg->listen = LISTEN;
	return r;
}

int cmd_exporter(int argc, char **argv)
{
	struct exporter_cfg cfg;
	struct err e = { 0 };
	char live[ERR_TEXT_MAX];

	if (exporter_parse(&cfg, argc, argv, &e))
		return cmd_usage_error("exporter", &e);
	if (cfg.help)
		return cmd_help(
		    exporter_options,
		    "Usage: afpscope exporter [OPTIONS]\n"
		    "Watches a running AFP server (%s) all the time and gives\n"
		    "Prometheus what its requests cost: how many, how long, and where the time went.\n"
		    "Changes nothing.\n\n",
		    kind_live_others(live));
	cmd_catch_signals();
	return exporter_run(&cfg);
}
