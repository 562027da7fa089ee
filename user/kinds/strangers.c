/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was said last on a connection: if the client did, and then nobody, the server has a request
 * to answer. The kernel keeps when data was last received and sent.
 */
#include "kinds/strangers.h"

#include "base/clock.h"
#include "host/procfs.h"
#include "host/sockets.h"
#include "host/tcpdiag.h"

#include <netinet/in.h>

#define LEAST_NS  2000000000u
#define NS_PER_MS 1000000u
/* DSIOpenSession has at most about 30 bytes, FPLogin at least 50 more. */
#define LOGIN_BYTES 64

struct strangers {
	const struct sockets *all;
	const struct servers_entry *server;
	const struct sockets_entry *found; /* the client's connection; NULL: none */
};

/* A session without a user that is at least so old, and lives. */
static bool is_stranger(const struct run *r, const struct run_session *s, uint64_t now_ns)
{
	uint64_t begun_ns = s->begun_ns ? s->begun_ns : r->phase[0]->start_ns;

	return !s->user && !s->ended_ns && s->pid && now_ns >= begun_ns + LEAST_NS;
}

static int look_fd(void *arg, pid_t pid, int fd, const char *name)
{
	struct strangers *s = arg;
	uint64_t ino = procfs_socket(name);
	const struct sockets_entry *e = ino ? sockets_of_inode(s->all, ino) : NULL;

	(void)pid;
	(void)fd;
	for (size_t i = 0; e && i < s->server->n_ports; i++)
		if (!e->peer && e->local.port == s->server->port[i])
			s->found = e;
	return s->found != NULL;
}

/* For how long the server has owed an answer; 0: it does not. */
static uint64_t owed_ns(const struct sockets_entry *e)
{
	struct sockaddr_storage client = sockets_sockaddr(&e->remote);
	struct sockaddr_storage server = sockets_sockaddr(&e->local);
	struct tcpdiag d;
	uint32_t ms = 0;

	if (tcpdiag_open(&d, &client, &server))
		return 0;
	if (!tcpdiag_owed(&d, LOGIN_BYTES, &ms))
		ms = 0;
	tcpdiag_close(&d);
	return (uint64_t)ms * NS_PER_MS;
}

static void who(struct run_figures *out, const struct sockets_entry *e, pid_t pid)
{
	char text[INET6_ADDRSTRLEN];

	sockets_ip_text(text, &e->remote);
	run_figure_who(out, RUN_FIGURE_NO_LOGIN, "%s port %u (pid %d)", text, e->remote.port, pid);
}

struct count {
	double strangers, logins, longest_ns;
};

static void look(struct count *n, struct run_figures *out, struct strangers *s, pid_t pid)
{
	double ns;

	s->found = NULL;
	procfs_each_fd(pid, look_fd, s);
	if (!s->found)
		return;
	ns = (double)owed_ns(s->found);
	if (ns > 0) {
		n->logins++;
		n->longest_ns = ns > n->longest_ns ? ns : n->longest_ns;
		return;
	}
	if (!n->strangers++)
		who(out, s->found, pid);
}

static void most(struct run_figures *out, enum run_figure which, double value)
{
	if (!out->known[which] || out->value[which] < value)
		run_figure_set(out, which, value);
}

void strangers_look(struct run_figures *out, const struct run *r, const struct servers_entry *s)
{
	struct sockets all = { 0 };
	struct strangers search = { .all = &all, .server = s };
	struct count n = { 0 };
	struct err e = { 0 };
	uint64_t now_ns = clock_now_ns();

	if (r->n_phases && !sockets_read(&all, &e)) {
		for (size_t i = 0; i < r->n_sessions; i++)
			if (is_stranger(r, &r->session[i], now_ns))
				look(&n, out, &search, r->session[i].pid);
		run_figure_set(out, RUN_FIGURE_NO_LOGIN, n.strangers);
		most(out, RUN_FIGURE_LOGIN_PENDING, n.logins);
		if (n.logins > 0)
			most(out, RUN_FIGURE_LOGIN, n.longest_ns);
	}
	sockets_fini(&all);
}
