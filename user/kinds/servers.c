/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives who serves whom from a census. Reads nothing of /proc itself but the default config. */

#include "kinds/servers.h"

#include "host/filesystem.h"
#include "host/procfs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_AFPD  "afpd"
#define NAME_METAD "cnid_metad"

static const char *const names[] = { NAME_AFPD, NAME_METAD, NULL };

static bool same_program(const struct census_process *a, const struct census_process *b)
{
	if (a->exe[0] && b->exe[0])
		return a->root == b->root && !strcmp(a->exe, b->exe);
	return !strcmp(a->comm, b->comm);
}

/* The parent, if it is in the census and not init. */
static const struct census_process *parent_of(const struct census *c,
					      const struct census_process *p)
{
	size_t i = p->ppid > 1 ? census_find(c, p->ppid) : c->n_processes;

	return i < c->n_processes ? &c->process[i] : NULL;
}

/* Listens on a socket that it did not inherit from a listening parent of the same program. */
static bool is_master(const struct census *c, size_t i)
{
	const struct census_process *p = &c->process[i], *up = parent_of(c, p);

	for (size_t k = 0; k < c->n_holds; k++) {
		if (c->hold[k].process != i || !c->socket[c->hold[k].socket].listening)
			continue;
		if (!up || !same_program(p, up) ||
		    !census_holds(c, (size_t)(up - c->process), c->hold[k].socket))
			return true;
	}
	return false;
}

/* For processes that may not be inspected: judged by the names of process and parent only. */
static bool is_blind_master(const struct census *c, size_t i)
{
	const struct census_process *p = &c->process[i], *up = parent_of(c, p);

	return p->denied && !strcmp(p->comm, NAME_AFPD) && (!up || strcmp(up->comm, p->comm) != 0);
}

static bool listens_on(const struct census *c, size_t process, uint16_t port, uint64_t net)
{
	const struct census_socket *s;

	for (size_t i = 0; i < c->n_holds; i++) {
		s = &c->socket[c->hold[i].socket];
		if (c->hold[i].process == process && s->listening && s->tcp.local.port == port &&
		    s->net == net)
			return true;
	}
	return false;
}

/* The connection that a master's child serves; NULL: none. */
static const struct census_socket *served_by(const struct census *c, size_t child, size_t master)
{
	const struct census_socket *s;

	for (size_t i = 0; i < c->n_holds; i++) {
		s = &c->socket[c->hold[i].socket];
		if (c->hold[i].process == child && !s->listening &&
		    listens_on(c, master, s->tcp.local.port, s->net))
			return s;
	}
	return NULL;
}

/* A child that runs the same program, even without a connection (if its client has gone). */
static bool is_session(const struct census *c, size_t child, size_t master)
{
	const struct census_process *p = &c->process[child], *up = &c->process[master];

	return p->ppid == up->pid && child != master && same_program(p, up) && !is_master(c, child);
}

static bool has_listener(const struct census *c, uint16_t port, uint64_t net)
{
	for (size_t i = 0; i < c->n_sockets; i++)
		if (c->socket[i].listening && c->socket[i].tcp.local.port == port &&
		    c->socket[i].net == net)
			return true;
	return false;
}

/* A connection that was probably opened to this process; there is no master to confirm it. */
static const struct census_socket *accepted_by(const struct census *c, size_t process)
{
	const struct census_socket *s;

	for (size_t i = 0; i < c->n_holds; i++) {
		s = &c->socket[c->hold[i].socket];
		if (c->hold[i].process == process && !s->listening &&
		    !has_listener(c, s->tcp.remote.port, s->net))
			return s;
	}
	return NULL;
}

static void name_address(char *out, socklen_t len, const struct sockets_addr *addr)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool v4 = !memcmp(addr->ip, mapped, sizeof(mapped));

	inet_ntop(v4 ? AF_INET : AF_INET6, addr->ip + (v4 ? sizeof(mapped) : 0), out, len);
}

static void name_client(struct servers_session *s, const struct sockets_addr *addr)
{
	name_address(s->client, sizeof(s->client), addr);
	s->client_port = addr->port;
	s->client_from = "remote end of its connection, /proc/PID/net/tcp";
}

static int add_session(struct servers_entry *e, const struct census *c, size_t i,
		       const struct census_socket *connection)
{
	const struct census_process *p = &c->process[i];
	struct servers_session *more, *s;

	more = realloc(e->session, (e->n_sessions + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	e->session = more;
	s = &more[e->n_sessions++];
	*s = (struct servers_session) { .pid = p->pid, .started = p->started };
	if (p->has_uid) {
		s->uid = p->uid;
		s->uid_from = "effective user id, /proc/PID/status";
	}
	s->disconnected = !connection && !p->denied;
	if (connection)
		name_client(s, &connection->tcp.remote);
	if (p->cwd[0] && strcmp(p->cwd, "/") != 0) {
		snprintf(s->volume, sizeof(s->volume), "%s", p->cwd);
		s->volume_from = "working directory, /proc/PID/cwd";
	}
	return 0;
}

static void add_port(uint16_t *port, size_t *n, uint16_t one)
{
	for (size_t k = 0; k < *n; k++)
		if (port[k] == one)
			return;
	if (*n < SERVERS_PORTS)
		port[(*n)++] = one;
}

static void add_ports(uint16_t *port, size_t *n, const struct census *c, size_t process)
{
	const struct census_socket *s;

	for (size_t i = 0; i < c->n_holds; i++) {
		s = &c->socket[c->hold[i].socket];
		if (c->hold[i].process == process && s->listening)
			add_port(port, n, s->tcp.local.port);
	}
}

/* The parent of the holder of this connection's other end, if the parent listens there. */
static size_t forwarder_of(const struct census *c, const struct census_socket *s)
{
	const struct census_socket *end;
	const struct census_process *up;

	for (size_t i = 0; i < c->n_holds; i++) {
		end = &c->socket[c->hold[i].socket];
		if (end->listening || end->net != s->net ||
		    memcmp(&end->tcp.local, &s->tcp.remote, sizeof(end->tcp.local)) != 0 ||
		    memcmp(&end->tcp.remote, &s->tcp.local, sizeof(end->tcp.local)) != 0)
			continue;
		up = parent_of(c, &c->process[c->hold[i].process]);
		if (up && listens_on(c, (size_t)(up - c->process), s->tcp.remote.port, s->net))
			return (size_t)(up - c->process);
	}
	return c->n_processes;
}

static size_t metad_by_connection(const struct census *c, const struct servers_entry *e)
{
	size_t found, process;

	for (size_t i = 0; i < e->n_sessions; i++) {
		process = census_find(c, e->session[i].pid);
		for (size_t k = 0; k < c->n_holds; k++) {
			if (c->hold[k].process != process || c->socket[c->hold[k].socket].listening)
				continue;
			found = forwarder_of(c, &c->socket[c->hold[k].socket]);
			if (found < c->n_processes && c->process[found].pid != e->master)
				return found;
		}
	}
	return c->n_processes;
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

/* The only one to which the rule applies; c->n_processes: none or several. */
static size_t only_metad(const struct census *c, const struct census_process *server,
			 const struct rule *rule, size_t *n)
{
	size_t found = c->n_processes;

	*n = 0;
	for (size_t i = 0; i < c->n_processes; i++) {
		if (&c->process[i] == server || strcmp(c->process[i].comm, NAME_METAD) != 0 ||
		    !rule->fits(server, &c->process[i]))
			continue;
		found = i;
		++*n;
	}
	return *n == 1 ? found : c->n_processes;
}

static size_t find_metad(struct servers_entry *e, const struct census *c,
			 const struct census_process *server)
{
	size_t found = metad_by_connection(c, e), n = 0;

	e->cnid_from = "a session is connected to a child of it";
	for (size_t i = 0; found == c->n_processes && i < sizeof(rules) / sizeof(rules[0]); i++) {
		found = only_metad(c, server, &rules[i], &n);
		e->cnid_from = rules[i].told_by;
	}
	if (found == c->n_processes)
		e->cnid_from = n ? "several cnid_metad run here, and which one it uses is unknown"
				 : "no cnid_metad for it here: its CNID backend is inside afpd, or "
				   "on another host";
	return found;
}

static int add_cnid(struct servers_entry *e, const struct census *c,
		    const struct census_process *server)
{
	size_t metad = find_metad(e, c, server);
	pid_t *more;

	if (metad == c->n_processes)
		return 0;
	e->cnid_metad = c->process[metad].pid;
	add_ports(e->cnid_port, &e->n_cnid_ports, c, metad);
	for (size_t i = 0; i < c->n_processes; i++) {
		if (c->process[i].ppid != e->cnid_metad)
			continue;
		more = realloc(e->dbd, (e->n_dbd + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		e->dbd = more;
		more[e->n_dbd++] = c->process[i].pid;
	}
	return 0;
}

void servers_conf(struct servers_entry *e, const struct census_process *p)
{
	const char *file = "/etc/netatalk/afp.conf";
	struct stat st;
	char root[64];
	int r;

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

/* The address of the first port it listens on. */
static void name_listener(struct servers_entry *e, const struct census *c, size_t process)
{
	const struct census_socket *s;

	for (size_t i = 0; i < c->n_holds; i++) {
		s = &c->socket[c->hold[i].socket];
		if (c->hold[i].process != process || !s->listening)
			continue;
		name_address(e->address, sizeof(e->address), &s->tcp.local);
		return;
	}
}

/* A new entry for a process that listens or, with a connection, is a session without server. */
static int add_entry(struct servers *out, const struct census *c, size_t i,
		     const struct census_socket *lone)
{
	const struct census_process *p = &c->process[i];
	struct servers_entry *more, *e;
	int r = 0;

	more = realloc(out->entry, (out->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	out->entry = more;
	e = &more[out->n++];
	*e = (struct servers_entry) { .master = lone ? 0 : p->pid, .started = p->started };
	memcpy(e->comm, p->comm, sizeof(e->comm));
	memcpy(e->exe, p->exe, sizeof(e->exe));
	e->net = p->net;
	e->elsewhere = p->net && c->net && p->net != c->net;
	name_listener(e, c, i);
	e->denied = p->denied;
	servers_conf(e, p);
	if (lone) {
		add_port(e->port, &e->n_ports, lone->tcp.local.port);
		r = add_session(e, c, i, lone);
	}
	add_ports(e->port, &e->n_ports, c, i);
	for (size_t k = 0; !r && !lone && k < c->n_processes; k++)
		if (is_session(c, k, i))
			r = add_session(e, c, k, served_by(c, k, i));
	return r ? r : add_cnid(e, c, p);
}

/* The error when no server listens; it mentions processes of that name. */
static int none(const struct census *c, struct err *e)
{
	char text[ERR_TEXT_MAX] = "";

	for (size_t i = 0; i < c->n_processes; i++)
		if (!strcmp(c->process[i].comm, NAME_AFPD))
			servers_append(text, "%s%d", *text ? ", " : "", c->process[i].pid);
	if (*text)
		return err_set(e, -ENXIO,
			       "no afpd listens here, although there are processes of that name "
			       "(%.200s): starting, or sessions whose server has ended (--pid PID "
			       "watches one)",
			       text);
	if (census_find(c, 1) == c->n_processes)
		return err_set(e, -ENXIO,
			       "no afpd can be seen: /proc hides the processes of other users "
			       "(hidepid): run as root");
	return err_set(
	    e, -ENXIO,
	    "no afpd runs here, or it is in another PID namespace: start netatalk, or "
	    "run afpscope on the server's host; --pid PID and --port PORT watch a server "
	    "of another name");
}

int servers_choose(struct servers *out, const struct census *c, struct err *e)
{
	int r;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < c->n_processes; i++) {
		if (strcmp(c->process[i].comm, NAME_AFPD) != 0 ||
		    (!is_master(c, i) && !is_blind_master(c, i)))
			continue;
		r = add_entry(out, c, i, NULL);
		if (r)
			return err_set(e, r, "out of memory");
	}
	return out->n ? 0 : none(c, e);
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

static bool is_served(const struct census *c, size_t child, size_t master)
{
	return (is_master(c, master) || is_blind_master(c, master)) && is_session(c, child, master);
}

int servers_choose_pid(struct servers *out, const struct census *c, pid_t pid, struct err *e)
{
	const struct census_socket *connection;
	const struct census_process *p, *up;
	size_t i = census_find(c, pid);
	int r;

	memset(out, 0, sizeof(*out));
	if (i == c->n_processes)
		return err_set(e, -ESRCH, "there is no process %d, or it may not be seen%s", pid,
			       procfs_hides());
	p = &c->process[i];
	up = parent_of(c, p);
	if (is_master(c, i) || is_blind_master(c, i)) {
		r = add_entry(out, c, i, NULL);
		return r ? err_set(e, r, "out of memory") : 0;
	}
	if (up && is_served(c, i, (size_t)(up - c->process))) {
		r = add_entry(out, c, (size_t)(up - c->process), NULL);
		if (r)
			return err_set(e, r, "out of memory");
		keep_session(out, pid);
		return 0;
	}
	if (p->denied)
		return err_set(e, -EACCES,
			       "no right to see what process %d (%s) serves: run as root, or with "
			       "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
			       pid, p->comm);
	connection = accepted_by(c, i);
	if (!connection)
		return err_set(e, -ENXIO,
			       "process %d (%s) neither listens on a TCP port nor serves a TCP "
			       "connection",
			       pid, p->comm);
	out->session = pid;
	r = add_entry(out, c, i, connection);
	return r ? err_set(e, r, "out of memory") : 0;
}

/* The error for a port that is not an AFP server's; it lists those that are. */
static int not_afp(const struct census *c, uint16_t port, const char *why, struct err *e)
{
	char text[ERR_TEXT_MAX] = "";
	struct servers others;

	if (!servers_choose(&others, c, NULL))
		servers_list(text, &others);
	servers_fini(&others);
	return err_set(e, -ENXIO, "%s port %u here; AFP servers: %.300s", why, port,
		       *text ? text : "none");
}

static int no_port(const struct census *c, uint16_t port, struct err *e)
{
	for (size_t i = 0; i < c->n_sockets; i++)
		if (c->socket[i].listening && c->socket[i].tcp.local.port == port)
			return err_set(
			    e, -EACCES,
			    "port %u is open, but no right to see which process listens on it (user id %u): run as "
			    "root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH; or its process "
			    "is in another PID namespace%s",
			    port, c->socket[i].tcp.uid, procfs_hides());
	return not_afp(c, port, "nothing listens on", e);
}

int servers_choose_port(struct servers *out, const struct census *c, uint16_t port, struct err *e)
{
	const struct census_process *p;
	int r = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < c->n_processes && !r; i++) {
		p = &c->process[i];
		if (!listens_on(c, i, port, p->net ? p->net : c->net) || !is_master(c, i))
			continue;
		if (!strcmp(p->comm, NAME_METAD))
			return not_afp(c, port,
				       "netatalk's CNID server (" NAME_METAD ") listens on", e);
		r = add_entry(out, c, i, NULL);
	}
	if (r)
		return err_set(e, r, "out of memory");
	return out->n ? 0 : no_port(c, port, e);
}

int servers_find(struct servers *out, struct err *e)
{
	struct census c;
	int r;

	memset(out, 0, sizeof(*out));
	r = census_read(&c, names, 0, 0, e);
	if (!r)
		r = servers_choose(out, &c, e);
	census_fini(&c);
	return r;
}

int servers_of_pid(struct servers *out, pid_t pid, struct err *e)
{
	struct census c;
	int r;

	memset(out, 0, sizeof(*out));
	r = census_read(&c, names, pid, 0, e);
	if (!r)
		r = servers_choose_pid(out, &c, pid, e);
	census_fini(&c);
	return r;
}

int servers_of_port(struct servers *out, uint16_t port, struct err *e)
{
	struct census c;
	int r;

	memset(out, 0, sizeof(*out));
	r = census_read(&c, names, 0, port, e);
	if (!r)
		r = servers_choose_port(out, &c, port, e);
	census_fini(&c);
	return r;
}

void servers_fini(struct servers *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->entry[i].session);
		free(s->entry[i].dbd);
	}
	free(s->entry);
	memset(s, 0, sizeof(*s));
}

const struct servers_session *servers_session(const struct servers_entry *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_sessions; i++)
		if (s->session[i].pid == pid)
			return &s->session[i];
	return NULL;
}

int servers_named(struct servers *out, unsigned int port, pid_t pid, struct err *e)
{
	char text[ERR_TEXT_MAX];
	int r;

	if (pid)
		return servers_of_pid(out, pid, e);
	if (!port)
		return servers_find(out, e);
	r = servers_of_port(out, (uint16_t)port, e);
	if (r == -ENXIO && (!kill((pid_t)port, 0) || errno == EPERM)) {
		snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 100, e->text);
		return err_set(e, r, "%s (for the process with this number: --pid %u)", text, port);
	}
	return r;
}
