/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A relay writes to the server what it reads from another connection, and the other way round: so
 * many bytes more or less went through both. Encryption adds to them, most of all to small ones.
 */
#include "kinds/relays.h"

#include "host/procfs.h"
#include "host/sockets.h"
#include "host/tcpdiag.h"

#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 256  /* of this machine: more are not looked at */
#define HELD_MAX    4096 /* connections of one process */
#define BYTES_LEAST 500  /* both ways: a login has more */
#define LESS        0.8  /* of what was read, what was written may be still to come */
#define MORE        3.0

/* A client's end of a connection to the server. */
struct client_end {
	const struct sockets_entry *socket;
	const struct run_session *session;
	bool held, relayed; /* some process holds it; one that is a relay */
};

struct relays {
	const struct servers_entry *server;
	struct sockets all;
	size_t n;
	struct client_end *client; /* owned */
	/* The process that is looked at. */
	size_t n_held;
	const struct sockets_entry **held; /* owned */
	bool holds;                        /* a client's end */
	/* Of what was found. */
	uint64_t found, requests, most;
	struct run_figures *out;
};

static bool is_server_port(const struct relays *x, uint16_t port)
{
	for (size_t i = 0; i < x->server->n_ports; i++)
		if (x->server->port[i] == port)
			return true;
	return false;
}

/* In another network namespace 127.0.0.1 is another machine's. */
static bool may_be_here(const struct relays *x, const struct sockets_addr *client)
{
	return !x->server->elsewhere || !sockets_is_loopback(client);
}

static void add_client(struct relays *x, const struct run_session *s)
{
	struct sockets_addr client;

	if (!s->address || s->ended_ns || x->n == CLIENTS_MAX ||
	    !sockets_addr_parse(&client, s->address) || !may_be_here(x, &client))
		return;
	for (size_t i = 0; i < x->all.n; i++) {
		const struct sockets_entry *e = &x->all.entry[i];

		if (!e->ino || !sockets_same(&e->local, &client) ||
		    !is_server_port(x, e->remote.port))
			continue;
		x->client[x->n++] = (struct client_end) { .socket = e, .session = s };
		return;
	}
}

struct carried {
	uint64_t read, written; /* by the process, in bytes */
};

static bool carried_by(struct carried *out, const struct sockets_entry *e)
{
	return tcpdiag_carried(e, &out->read, &out->written);
}

static bool is_as_many(uint64_t n, uint64_t of)
{
	return (double)n >= LESS * (double)of && (double)n <= MORE * (double)of;
}

/* A connection that is not to the server, nor the server's end of this one. */
static bool may_be_other(const struct relays *x, const struct client_end *c,
			 const struct sockets_entry *e)
{
	return !is_server_port(x, e->remote.port) &&
	       !(sockets_same(&e->local, &c->socket->remote) &&
		 sockets_same(&e->remote, &c->socket->local));
}

/* Another connection of the process through which went what goes to the server and comes back. */
static const struct sockets_entry *other_end(const struct relays *x, const struct client_end *c)
{
	struct carried to, other;

	if (!carried_by(&to, c->socket) || to.read + to.written < BYTES_LEAST)
		return NULL;
	for (size_t i = 0; i < x->n_held; i++)
		if (may_be_other(x, c, x->held[i]) && carried_by(&other, x->held[i]) &&
		    is_as_many(other.read, to.written) && is_as_many(other.written, to.read))
			return x->held[i];
	return NULL;
}

static void found_relay(struct relays *x, const struct client_end *c, pid_t pid,
			const struct sockets_entry *from)
{
	char name[32] = "?", ip[INET6_ADDRSTRLEN];

	x->requests += c->session->requests;
	if (x->found++ && c->session->requests <= x->most)
		return;
	x->most = c->session->requests;
	procfs_thread_name(name, sizeof(name), pid, pid);
	sockets_ip_text(ip, &from->remote);
	run_figure_who(x->out, RUN_FIGURE_RELAY, "%s (pid %d) from %s", name, pid, ip);
}

static int seek(void *arg, pid_t pid, int fd, const char *name)
{
	struct relays *x = arg;
	uint64_t ino = procfs_socket(name);

	(void)pid;
	(void)fd;
	for (size_t i = 0; ino && i < x->n; i++)
		if (x->client[i].socket->ino == ino)
			x->client[i].held = x->holds = true;
	return 0;
}

static int hold(void *arg, pid_t pid, int fd, const char *name)
{
	struct relays *x = arg;
	uint64_t ino = procfs_socket(name);
	const struct sockets_entry *e = ino ? sockets_of_inode(&x->all, ino) : NULL;

	(void)pid;
	(void)fd;
	if (e && e->local.port && e->remote.port && x->n_held < HELD_MAX)
		x->held[x->n_held++] = e;
	return 0;
}

static bool holds(const struct relays *x, const struct sockets_entry *e)
{
	for (size_t i = 0; i < x->n_held; i++)
		if (x->held[i] == e)
			return true;
	return false;
}

static int look_process(void *arg, pid_t pid)
{
	struct relays *x = arg;
	const struct sockets_entry *from;

	x->n_held = 0;
	x->holds = false;
	procfs_each_fd(pid, seek, x);
	if (x->holds)
		procfs_each_fd(pid, hold, x);
	for (size_t i = 0; i < x->n && x->n_held; i++) {
		struct client_end *c = &x->client[i];

		from = c->relayed || !holds(x, c->socket) ? NULL : other_end(x, c);
		if (!from)
			continue;
		c->relayed = true;
		found_relay(x, c, pid, from);
	}
	return 0;
}

/* Who holds each client's end is known: its files may not be readable, or it is not visible. */
static bool is_complete(const struct relays *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (!x->client[i].held)
			return false;
	return x->n < CLIENTS_MAX;
}

static double requests_of(const struct run *r)
{
	double n = (double)r->rest.requests;

	for (size_t i = 0; i < r->n_sessions; i++)
		n += (double)r->session[i].requests;
	return n;
}

void relays_look(struct run_figures *out, const struct run *r, const struct servers_entry *s)
{
	struct relays x = { .server = s, .out = out };
	struct err e = { 0 };

	x.client = calloc(CLIENTS_MAX, sizeof(*x.client));
	x.held = calloc(HELD_MAX, sizeof(*x.held));
	if (!x.client || !x.held || sockets_read(&x.all, &e))
		goto end;
	for (size_t i = 0; i < r->n_sessions; i++)
		add_client(&x, &r->session[i]);
	if (x.n)
		procfs_each(look_process, &x);
	if (!x.found && !is_complete(&x))
		goto end;
	run_figure_set(out, RUN_FIGURE_RELAY, (double)x.found);
	run_figure_share(out, RUN_FIGURE_RELAY_REQUESTS, (double)x.requests, requests_of(r));
end:
	sockets_fini(&x.all);
	free(x.held);
	free(x.client);
}
