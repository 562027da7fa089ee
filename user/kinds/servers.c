/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives who serves whom from a census. Reads nothing of /proc itself but the default config. */

#include "kinds/servers.h"

#include "base/text.h"
#include "base/vec.h"
#include "host/filesystem.h"
#include "host/owner.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_AFPD SERVERS_AFPD

/* Their sockets are found in other network namespaces, too. */
static const char *const names[] = { NAME_AFPD, SERVERS_METAD, "glusterd", "glusterfsd", NULL };

static bool same_program(const struct census_process *a, const struct census_process *b)
{
	if (a->exe[0] && b->exe[0])
		return a->root == b->root && !strcmp(a->exe, b->exe);
	return !strcmp(a->comm, b->comm);
}

static const struct census_process *servers_process_of(const struct census *c, pid_t pid)
{
	size_t i = census_find(c, pid);

	return i < c->n_processes ? &c->process[i] : NULL;
}

/* The parent, if it is in the census and not init. */
static const struct census_process *parent_of(const struct census *c,
					      const struct census_process *p)
{
	return p->ppid > 1 ? servers_process_of(c, p->ppid) : NULL;
}

/* The next socket that a process holds, the first for *at 0; NULL: no more. */
static const struct census_socket *next_held(const struct census *c, const struct census_process *p,
					     bool listening, size_t *at)
{
	const struct census_socket *s;

	while (*at < c->n_holds) {
		s = &c->socket[c->hold[*at].socket];
		if (c->hold[(*at)++].process == (size_t)(p - c->process) &&
		    s->tcp.listens == listening)
			return s;
	}
	return NULL;
}

/* Holds sockets for servers that it starts, and passes them on. */
static bool is_starter(const struct census_process *p)
{
	return text_has_word("systemd inetd xinetd", ' ', p->comm);
}

/*
 * Listens on a socket that it did not inherit from a listening parent of the same program; a
 * process that may not be inspected is judged by its name and its parent's only.
 */
static bool is_master(const struct census *c, const struct census_process *p)
{
	const struct census_process *up = parent_of(c, p);
	const struct census_socket *s;

	if (is_starter(p))
		return false;
	for (size_t at = 0; (s = next_held(c, p, true, &at));)
		if (!up || !same_program(p, up) ||
		    !VEC_FIND(h, c->hold, c->n_holds,
			      &c->process[h->process] == up && &c->socket[h->socket] == s))
			return true;
	return p->denied && !strcmp(p->comm, NAME_AFPD) && (!up || strcmp(up->comm, p->comm) != 0);
}

static bool listens_on(const struct census *c, const struct census_process *p, uint16_t port,
		       uint64_t net)
{
	const struct census_socket *s;

	for (size_t at = 0; (s = next_held(c, p, true, &at));)
		if (s->tcp.local.port == port && s->net == net)
			return true;
	return false;
}

/* The connection that a master's child serves; NULL: none. */
static const struct census_socket *servers_served_by(const struct census *c,
						     const struct census_process *child,
						     const struct census_process *master)
{
	const struct census_socket *s;

	for (size_t at = 0; (s = next_held(c, child, false, &at));)
		if (listens_on(c, master, s->tcp.local.port, s->net))
			return s;
	return NULL;
}

/* A child that runs the same program, even without a connection (if its client has gone). */
static bool is_session(const struct census *c, const struct census_process *child,
		       const struct census_process *master)
{
	return child->ppid == master->pid && child != master && same_program(child, master) &&
	       !is_master(c, child);
}

/*
 * A session of an earlier server of that user: its connection is on a port of this one, and what it
 * was started by has ended.
 */
static bool is_left(const struct census *c, const struct census_process *child,
		    const struct census_process *master)
{
	const struct census_process *up = parent_of(c, child);

	return child != master && !strcmp(child->comm, master->comm) &&
	       child->owner == master->owner && (!up || strcmp(up->comm, child->comm) != 0) &&
	       !is_master(c, child) && servers_served_by(c, child, master);
}

/* A connection that was probably opened to this process; there is no master to confirm it. */
static const struct census_socket *accepted_by(const struct census *c,
					       const struct census_process *p)
{
	const struct census_socket *s;

	for (size_t at = 0; (s = next_held(c, p, false, &at));)
		if (!VEC_FIND(one, c->socket, c->n_sockets,
			      one->tcp.listens && one->tcp.local.port == s->tcp.remote.port &&
				  one->net == s->net))
			return s;
	return NULL;
}

static int servers_add_session(struct servers_entry *e, const struct census_process *p,
			       const struct census_socket *connection)
{
	struct servers_session *s = VEC_ADD(e->session, e->n_sessions);

	if (!s)
		return -ENOMEM;
	*s = (struct servers_session) { .pid = p->pid, .started = p->started };
	if (p->has_uid) {
		s->uid = p->uid;
		s->uid_from = "effective user id, /proc/PID/status";
	}
	s->disconnected = !connection && !p->denied;
	if (connection) {
		s->client = connection->tcp.remote;
		s->client_from =
		    "remote end of its connection, socket diagnostics or /proc/PID/net/tcp";
	}
	if (p->cwd[0] && strcmp(p->cwd, "/") != 0) {
		snprintf(s->volume, sizeof(s->volume), "%s", p->cwd);
		s->volume_from = "working directory, /proc/PID/cwd";
	}
	return 0;
}

bool servers_has_port(const uint16_t *port, size_t n, uint16_t one)
{
	return VEC_FIND(known, port, n, *known == one);
}

void servers_add_port(uint16_t *port, size_t *n, uint16_t one)
{
	if (*n < SERVERS_PORTS && !servers_has_port(port, *n, one))
		port[(*n)++] = one;
}

static void add_ports(uint16_t *port, size_t *n, const struct census *c,
		      const struct census_process *p)
{
	const struct census_socket *s;

	for (size_t at = 0; (s = next_held(c, p, true, &at));)
		servers_add_port(port, n, s->tcp.local.port);
}

/* The parent of the holder of this connection's other end, if the parent listens there. */
static const struct census_process *forwarder_of(const struct census *c,
						 const struct census_socket *s)
{
	const struct census_socket *end;
	const struct census_process *up;

	for (size_t i = 0; i < c->n_holds; i++) {
		end = &c->socket[c->hold[i].socket];
		if (end->tcp.listens || end->net != s->net ||
		    !sockets_same(&end->tcp.local, &s->tcp.remote) ||
		    !sockets_same(&end->tcp.remote, &s->tcp.local))
			continue;
		up = parent_of(c, &c->process[c->hold[i].process]);
		if (up && listens_on(c, up, s->tcp.remote.port, s->net))
			return up;
	}
	return NULL;
}

/* By one that a session has opened, not a client of its. */
static const struct census_process *metad_by_connection(const struct census *c,
							const struct servers_entry *e)
{
	const struct census_process *found;
	const struct census_socket *s;

	for (size_t i = 0; i < e->n_sessions; i++)
		for (size_t at = 0;
		     (s = next_held(c, servers_process_of(c, e->session[i].pid), false, &at));) {
			if (servers_has_port(e->port, e->n_ports, s->tcp.local.port))
				continue;
			found = forwarder_of(c, s);
			if (found && found->pid != e->master)
				return found;
		}
	return NULL;
}

/* Rules for when no connection shows it. */
static bool same_parent(const struct census_process *server, const struct census_process *metad)
{
	return server->ppid > 1 && server->ppid == metad->ppid;
}

static bool same_conf(const struct census_process *server, const struct census_process *metad)
{
	return server->conf[0] && server->root == metad->root && !strcmp(server->conf, metad->conf);
}

static bool same_net(const struct census_process *server, const struct census_process *metad)
{
	bool other = server->conf[0] && metad->conf[0] && !same_conf(server, metad);

	/* A server with another name may have no CNID server at all. */
	return server->net == metad->net && !other && !strcmp(server->comm, NAME_AFPD);
}

struct rule {
	bool (*fits)(const struct census_process *server, const struct census_process *metad);
	const char *told_by;
};

static const struct rule rules[] = {
	{ same_parent, "same parent process" },
	{ same_conf, "same configuration file (-F)" },
	{ same_net, "the only cnid_metad for it in its network namespace" },
};

/* The last of those to which the rule applies, and how many there are. */
static const struct census_process *metad_by_rule(const struct census *c,
						  const struct census_process *server,
						  const struct rule *rule, size_t *n)
{
	const struct census_process *found = NULL;

	*n = 0;
	for (const struct census_process *p = c->process; p < c->process + c->n_processes; p++) {
		if (p == server || strcmp(p->comm, SERVERS_METAD) != 0 ||
		    (p->owner && p->owner != server->owner) || !rule->fits(server, p))
			continue;
		found = p;
		++*n;
	}
	return found;
}

/* NULL: none, or several. */
static const struct census_process *find_metad(struct servers_entry *e, const struct census *c,
					       const struct census_process *server)
{
	const struct census_process *found = metad_by_connection(c, e);
	size_t n = 0;

	e->cnid_from = "a session is connected to a child of it";
	for (size_t i = 0; !found && i < sizeof(rules) / sizeof(rules[0]); i++) {
		found = metad_by_rule(c, server, &rules[i], &n);
		e->cnid_from = rules[i].told_by;
		found = n == 1 ? found : NULL;
	}
	if (!found)
		e->cnid_from = n ? "several cnid_metad run here, and which one it uses is unknown"
				 : "no cnid_metad for it here: its CNID backend is inside afpd, on "
				   "another host, or does not run";
	return found;
}

static int servers_add_cnid(struct servers_entry *e, const struct census *c,
			    const struct census_process *server)
{
	const struct census_process *metad = find_metad(e, c, server);
	int r = 0;

	if (!metad)
		return 0;
	e->cnid_metad = metad->pid;
	add_ports(e->cnid_port, &e->n_cnid_ports, c, metad);
	for (size_t i = 0; i < c->n_processes && !r; i++)
		if (c->process[i].ppid == e->cnid_metad)
			r = VEC_PUSH(e->dbd, e->n_dbd, c->process[i].pid);
	return r;
}

void servers_conf(struct servers_entry *e, const struct census_process *p)
{
	const char *file = "/etc/netatalk/afp.conf";
	struct stat st;
	char root[64];
	int r;

	/* As root this program could read what that user may not. */
	if (!owner_counts(p->owner))
		return;
	if (p->conf[0]) {
		snprintf(e->conf, sizeof(e->conf), "%s", p->conf);
		e->conf_from = "its argument -F";
		return;
	}
	if (strcmp(p->comm, NAME_AFPD) != 0)
		return;
	if (!strncmp(p->exe, "/usr/local/", 11))
		file = "/usr/local/etc/afp.conf";
	procfs_inside(root, sizeof(root), p->pid, "");
	r = filesystem_stat(&st, root, file);
	if (r && r != -EACCES)
		return;
	snprintf(e->conf, sizeof(e->conf), "%s", file);
	e->conf_from = "the usual place: it was started without -F";
}

/* A new entry for a process that listens or, with a connection, is a session without server. */
static int add_entry(struct servers *out, const struct census *c, const struct census_process *p,
		     const struct census_socket *lone, struct err *err)
{
	struct servers_entry *e = VEC_ADD(out->entry, out->n);
	const struct census_socket *first;
	size_t at = 0;
	bool left;
	int r = 0;

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	*e = (struct servers_entry) { .master = lone ? 0 : p->pid,
				      .started = p->started,
				      .owner = p->owner,
				      .net = p->net,
				      .elsewhere = p->net && c->net && p->net != c->net,
				      .denied = p->denied };
	memcpy(e->comm, p->comm, sizeof(e->comm));
	memcpy(e->exe, p->exe, sizeof(e->exe));
	first = next_held(c, p, true, &at);
	if (first)
		sockets_ip_text(e->address, &first->tcp.local);
	servers_conf(e, p);
	if (lone) {
		servers_add_port(e->port, &e->n_ports, lone->tcp.local.port);
		r = servers_add_session(e, p, lone);
	}
	add_ports(e->port, &e->n_ports, c, p);
	for (size_t k = 0; !r && !lone && k < c->n_processes; k++) {
		const struct census_process *child = &c->process[k];

		left = is_left(c, child, p);
		e->n_left += left;
		if (!left && !is_session(c, child, p))
			continue;
		r = servers_add_session(e, child, servers_served_by(c, child, p));
		if (!r)
			e->session[e->n_sessions - 1].left = left;
	}
	r = r ? r : servers_add_cnid(e, c, p);
	return r ? err_set(err, r, "out of memory") : 0;
}

int servers_choose(struct servers *out, const struct census *c, struct err *e)
{
	int r = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < c->n_processes && !r; i++)
		if (!strcmp(c->process[i].comm, NAME_AFPD) && owner_counts(c->process[i].owner) &&
		    is_master(c, &c->process[i]))
			r = add_entry(out, c, &c->process[i], NULL, e);
	return r || out->n ? r : servers_none(c, e);
}

static void keep_session(struct servers *s, pid_t pid)
{
	struct servers_entry *e = &s->entry[0];

	for (size_t i = 0; i < e->n_sessions; i++)
		if (e->session[i].pid == pid)
			e->session[0] = e->session[i];
	e->n_sessions = 1;
	s->session = pid;
}

int servers_choose_pid(struct servers *out, const struct census *c, pid_t pid, struct err *e)
{
	const struct census_process *p = servers_process_of(c, pid), *up;
	const struct census_socket *connection;
	int r;

	memset(out, 0, sizeof(*out));
	if (!p)
		return err_set(e, -ESRCH, "there is no process %d, or it may not be seen%s", pid,
			       procfs_hides());
	up = parent_of(c, p);
	if (is_master(c, p))
		return add_entry(out, c, p, NULL, e);
	if (up && is_master(c, up) && is_session(c, p, up)) {
		r = add_entry(out, c, up, NULL, e);
		if (!r)
			keep_session(out, pid);
		return r;
	}
	connection = accepted_by(c, p);
	if (!connection)
		return servers_serves_nobody(p, e);
	out->session = pid;
	return add_entry(out, c, p, connection, e);
}

/* With any: also those of users that do not count. */
static int add_listeners(struct servers *out, const struct census *c, uint16_t port, bool any,
			 struct err *e)
{
	const struct census_process *p;
	int r = 0;

	for (size_t i = 0; i < c->n_processes && !r; i++) {
		p = &c->process[i];
		if ((any || owner_counts(p->owner)) && is_master(c, p) &&
		    listens_on(c, p, port, p->net ? p->net : c->net))
			r = add_entry(out, c, p, NULL, e);
	}
	return r;
}

/* The program that holds a port for a server that it will start; NULL: none does. */
static const char *starter_at(const struct census *c, uint16_t port)
{
	const struct census_process *found = VEC_FIND(
	    p, c->process, c->n_processes, is_starter(p) && listens_on(c, p, port, c->net));

	return found ? found->comm : NULL;
}

int servers_choose_port(struct servers *out, const struct census *c, uint16_t port, struct err *e)
{
	struct servers others;
	int r;

	memset(out, 0, sizeof(*out));
	r = add_listeners(out, c, port, false, e);
	if (!r && !out->n)
		r = add_listeners(out, c, port, true, e);
	if (r)
		return r;
	if (out->n && strcmp(out->entry[0].comm, SERVERS_METAD) != 0)
		return 0;
	servers_choose(&others, c, NULL);
	if (out->n)
		r = servers_not_afp(&others, port,
				    "netatalk's CNID server (" SERVERS_METAD ") listens on", e);
	else
		r = servers_no_port(c, port, starter_at(c, port), &others, e);
	servers_fini(&others);
	servers_fini(out);
	return r;
}

int servers_look(struct servers *out, pid_t pid, uint16_t port, struct err *e)
{
	struct census c;
	int r;

	memset(out, 0, sizeof(*out));
	r = census_read(&c, names, pid, port, e);
	if (!r && pid)
		r = servers_choose_pid(out, &c, pid, e);
	else if (!r)
		r = port ? servers_choose_port(out, &c, port, e) : servers_choose(out, &c, e);
	census_fini(&c);
	return r;
}

static void servers_entry_fini(struct servers_entry *s)
{
	free(s->session);
	free(s->dbd);
}

void servers_fini(struct servers *s)
{
	for (size_t i = 0; i < s->n; i++)
		servers_entry_fini(&s->entry[i]);
	free(s->entry);
	memset(s, 0, sizeof(*s));
}

pid_t servers_process(const struct servers_entry *s)
{
	return s->master ? s->master : s->n_sessions ? s->session[0].pid : 0;
}

const struct servers_session *servers_session(const struct servers_entry *s, pid_t pid)
{
	return VEC_FIND(one, s->session, s->n_sessions, one->pid == pid);
}

/* Where what listens on the port carries on: the server behind it. */
static int go_behind(struct servers *s, uint16_t port, struct err *e)
{
	struct way way;
	int r = way_behind(&way, s->entry[0].master, port, e);

	/* First a session, then the server whose session it is. */
	for (pid_t pid = way.server; !r && pid; pid = s->session ? s->entry[0].master : 0) {
		servers_fini(s);
		r = servers_look(s, pid, 0, e);
		s->way = way;
	}
	return r;
}

static bool is_relay(const struct servers_entry *s)
{
	struct err e = { 0 };
	struct way way;

	return s->n_ports && (way_behind(&way, s->master, s->port[0], &e) || way.server);
}

/* What only is called as a server is, beside others. */
static void drop_relays(struct servers *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if ((n || i + 1 < s->n) && is_relay(&s->entry[i]))
			servers_entry_fini(&s->entry[i]);
		else
			s->entry[n++] = s->entry[i];
	}
	s->n = n;
}

int servers_named(struct servers *out, unsigned int port, pid_t pid, struct err *e)
{
	int r = servers_look(out, pid, pid ? 0 : (uint16_t)port, e);

	if (!r && !pid && !port)
		drop_relays(out);
	if (!r && !pid && out->n == 1 && out->entry[0].n_ports)
		return go_behind(out, port ? (uint16_t)port : out->entry[0].port[0], e);
	if (r == -ENXIO && !pid && port && (!kill((pid_t)port, 0) || errno == EPERM)) {
		e->text[sizeof(e->text) - 100] = '\0';
		err_append(e->text, " (for the process with this number: --pid %u)", port);
	}
	return r;
}
