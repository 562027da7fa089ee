/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A relay writes to the server what it reads from another connection, and the other way round: so
 * many bytes more or less went through both. Encryption adds to them, most of all to small ones.
 */
#include "kinds/afp/looks.h"

#include "base/vec.h"
#include "host/net/sockets.h"
#include "host/proc/procfs.h"
#include "kinds/way.h"

#include <stdlib.h>
#include <unistd.h>

#define CLIENTS_MAX 256 /* of this machine: more are not looked at */
#define BYTES_LEAST 500 /* both ways: a login has more */

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
	bool unclear;              /* several sockets may be a client's end */
	struct client_end *client; /* owned */
	struct sockets_held its;   /* of the process that is looked at */
	/* Of what was found. */
	uint64_t found, requests, most;
	struct run_figures *out;
};

static void add_client(struct relays *x, const struct run_session *s)
{
	const struct sockets_entry *end = NULL;
	struct sockets_addr client;

	if (!s->address || s->ended_ns || x->n == CLIENTS_MAX ||
	    !sockets_addr_parse(&client, s->address))
		return;
	/* In another network namespace 127.0.0.1 is another machine's, and interfaces have other
	 * numbers. */
	if (x->server->elsewhere && sockets_is_loopback(&client))
		return;
	if (x->server->elsewhere)
		client.scope = 0;
	for (size_t i = 0; i < x->all.n; i++) {
		const struct sockets_entry *e = &x->all.entry[i];

		if (!e->ino || !sockets_same(&e->local, &client) ||
		    !servers_has_port(x->server->port, x->server->n_ports, e->remote.port))
			continue;
		if (end) {
			x->unclear = true;
			return;
		}
		end = e;
	}
	if (end)
		x->client[x->n++] = (struct client_end) { .socket = end, .session = s };
}

static void found_relay(struct relays *x, const struct client_end *c, pid_t pid,
			const struct sockets_entry *from)
{
	char name[32] = "?", ip[SOCKETS_IP_LEN];

	x->requests += c->session->requests;
	if (x->found++ && c->session->requests <= x->most)
		return;
	x->most = c->session->requests;
	procfs_thread_name(name, sizeof(name), pid, pid);
	sockets_ip_text(ip, &from->remote);
	run_figure_who(x->out, RUN_FIGURE_RELAY, "%s (pid %d) from %s", name, pid, ip);
}

static void look_at_end(struct relays *x, struct client_end *c, pid_t pid)
{
	struct way_onward o;

	c->held = true;
	/* A load of this program is a client, whatever it is connected to besides. */
	if (c->relayed || pid == getpid())
		return;
	way_look_onward(&o, &x->all, &x->its, c->socket);
	c->relayed = o.is_told && o.bytes >= BYTES_LEAST;
	if (c->relayed)
		found_relay(x, c, pid, &o.best);
}

static void look_process(struct relays *x, pid_t pid)
{
	x->its.n = 0;
	sockets_hold(&x->its, pid);
	for (size_t k = 0; k < x->its.n; k++)
		for (size_t i = 0; i < x->n; i++)
			if (x->client[i].socket->ino == x->its.socket[k].ino)
				look_at_end(x, &x->client[i], pid);
}

static double requests_of(const struct run *r)
{
	double n = (double)r->rest.requests;

	for (size_t i = 0; i < r->n_sessions; i++)
		n += (double)r->session[i].requests;
	return n;
}

void relays_look(struct run_figures *out, const struct run *r, const struct servers_entry *s,
		 const pid_t *own, size_t n)
{
	struct relays x = { .server = s, .out = out };
	struct procfs_numbers process;

	x.client = calloc(CLIENTS_MAX, sizeof(*x.client));
	if (!x.client || sockets_read(&x.all, NULL))
		goto end;
	for (size_t i = 0; i < r->n_sessions; i++)
		add_client(&x, &r->session[i]);
	procfs_others(&process, own, n);
	while (x.n && procfs_next(&process))
		look_process(&x, process.number);
	procfs_end(&process);
	/* Who holds a client's end may not be known: its files may not be readable, or it is not
	 * visible. */
	if (!x.found && (x.n == CLIENTS_MAX || x.unclear || VEC_FIND(c, x.client, x.n, !c->held)))
		goto end;
	run_figure_set(out, RUN_FIGURE_RELAY, (double)x.found);
	run_figure_share(out, RUN_FIGURE_RELAY_REQUESTS, (double)x.requests, requests_of(r));
end:
	sockets_fini(&x.all);
	free(x.client);
}
