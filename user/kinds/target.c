/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds who serves the client's connection, and its CNID server. */

#include "kinds/target.h"

#include "base/vec.h"
#include "host/net/sockets.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "kinds/servers.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MYSQL_PORT 3306

void backend_read(struct backend *out, pid_t pid)
{
	unsigned long port;
	char text[32];

	*out = (struct backend) { .port = MYSQL_PORT };
	procfs_variable(out->path, sizeof(out->path), pid, "MYSQL_UNIX_PORT");
	procfs_variable(text, sizeof(text), pid, "MYSQL_TCP_PORT");
	port = strtoul(text, NULL, 10);
	if (port && port <= UINT16_MAX)
		out->port = (uint16_t)port;
}

bool backend_is_socket(const struct backend *b, const char *path)
{
	static const char *const usual[] = { "mysqld.sock", "mysql.sock", "mariadb.sock" };
	const char *name = strrchr(path, '/');
	size_t len = strlen(path), own = strlen(b->path);

	/* The database server may have another root: then afpd's path is the end of its path. */
	if (own && len >= own && !strcmp(path + len - own, b->path))
		return true;
	return name &&
	       VEC_FIND(one, usual, sizeof(usual) / sizeof(usual[0]), !strcmp(*one, name + 1));
}

int target_find(struct target *out, const struct sockaddr_storage *local,
		const struct sockaddr_storage *peer, struct err *e)
{
	int r;

	memset(out, 0, sizeof(*out));
	out->decoder = AFS_DECODER_DSI; /* the client speaks AFP */
	r = way_find(&out->way, &way_afp, local, peer, e);
	out->server = out->way.server;
	out->client = out->way.end.ino;
	out->foreign = r ? NULL : way_foreign(out->server);
	return r;
}

struct target_end {
	uint64_t own, peer;
	bool database; /* a database server's */
	bool told;     /* the programs recognize it without its inode */
	uint16_t port; /* of its other end, of TCP; 0: of another kind */
};

struct ends {
	struct target *t;
	const struct sockets *all;
	struct backend backend;
	size_t n, n_database;
	struct target_end end[64];
	bool named; /* the process looked at has the name of a CNID server */
};

static bool target_is_port(const struct target *t, uint16_t port, enum afs_object of)
{
	return VEC_FIND(p, t->known.port, t->known.n_ports, p->object == of && p->port == port);
}

/* The other end is not on this host. */
static void note_far(struct target *t, const struct sockets_entry *own)
{
	char ip[SOCKETS_IP_LEN];

	if (!own || !target_is_port(t, own->remote.port, AFS_OBJECT_BACKEND))
		return;
	sockets_ip_text(ip, &own->remote);
	snprintf(t->far, sizeof(t->far), "%s port %u", ip, own->remote.port);
}

static void target_note_end(struct ends *ends, uint64_t own)
{
	const struct sockets_entry *here, *there;
	bool database, file, told;
	uint64_t peer;

	if (!own || own == ends->t->client || ends->n == sizeof(ends->end) / sizeof(ends->end[0]))
		return;
	here = sockets_of_inode(ends->all, own);
	peer = sockets_peer(ends->all, own);
	if (!peer) {
		note_far(ends->t, here);
		return;
	}
	/* A client of this host may be called as a CNID server is. */
	if (target_is_port(ends->t, here->local.port, AFS_OBJECT_CLIENT))
		return;
	there = sockets_of_inode(ends->all, peer);
	file = there && there->path[0] && backend_is_socket(&ends->backend, there->path);
	database = file || here->remote.port == ends->backend.port;
	told = file || target_is_port(ends->t, here->remote.port, AFS_OBJECT_BACKEND);
	ends->end[ends->n++] = (struct target_end) { own, peer, database, told, here->remote.port };
	ends->n_database += database;
}

static void add_inode(struct target *t, uint64_t ino, uint32_t dev, enum afs_object object)
{
	struct afs_inodes *known = &t->known;

	if (VEC_FIND(i, known->inode, known->n, i->ino == ino && i->dev == dev))
		return;
	if (known->n < AFS_N_INODES)
		known->inode[known->n++] = (struct afs_inode) { ino, dev, object };
	else
		t->crowded = true;
}

/* All roles but those of servers and backends are as one. */
static enum afs_role target_group(enum afs_role role)
{
	return role > AFS_ROLE_BACKEND ? AFS_ROLE_OTHER : role;
}

const struct target_process *target_next(const struct target *t, enum afs_role role, size_t *at)
{
	while (*at < t->n)
		if (t->process[(*at)++].role == role)
			return &t->process[*at - 1];
	return NULL;
}

size_t target_count(const struct target *t, enum afs_role role)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += target_group(t->process[i].role) == role;
	return n;
}

static void place_server(struct target *t)
{
	if (!t->n)
		t->process[t->n++] = (struct target_process) { .pid = t->server };
}

struct target_process *target_add(struct target *t, pid_t pid, enum afs_role role)
{
	static const size_t room[] = { [AFS_ROLE_SERVER] = 1 + AFS_N_PROCESSES,
				       [AFS_ROLE_BACKEND] = TARGET_BACKENDS_MAX,
				       [AFS_ROLE_OTHER] = TARGET_OTHERS_MAX };
	enum afs_role group = target_group(role);
	struct target_process *p, *at = NULL;
	struct procstat st;

	place_server(t);
	for (size_t i = 0; i < t->n; i++) {
		p = &t->process[i];
		if (p->role == role && p->pid == pid && !p->ended)
			return p;
		if (p->role == role && p->ended && i)
			at = p;
	}
	if (procstat_read(&st, pid))
		return NULL;
	if (!at && target_count(t, group) == room[group]) {
		if (role == AFS_ROLE_SERVER)
			t->n_more++;
		else
			t->crowded = true;
		return NULL;
	}
	at = at ? at : &t->process[t->n++];
	*at = (struct target_process) { .pid = pid, .role = (uint8_t)role, .started = st.started };
	return at;
}

/* Not if it cannot be determined, as when no descriptor is left. */
static void mark_if_ended(struct target_process *p)
{
	struct procstat st;
	int r;

	if (p->ended)
		return;
	r = procstat_read(&st, p->pid);
	if (!r && !p->started)
		p->started = st.started;
	p->ended = r == -ESRCH || r == -ENOENT || (!r && st.started != p->started);
}

void target_add_port(struct target *t, uint16_t port, enum afs_object object)
{
	struct afs_inodes *known = &t->known;

	if (known->n_ports == AFS_N_PORTS) {
		t->crowded = true;
		return;
	}
	known->port[known->n_ports].port = port;
	known->port[known->n_ports++].object = (uint16_t)object;
}

void target_server(struct target *out, const struct servers_entry *s, pid_t session)
{
	memset(out, 0, sizeof(*out));
	out->server = session ? session : s->master;
	out->serves = session;
	out->whole = !session;
	for (size_t i = 0; i < s->n_ports; i++)
		target_add_port(out, s->port[i], AFS_OBJECT_CLIENT);
	for (size_t i = 0; i < s->n_cnid_ports; i++)
		target_add_port(out, s->cnid_port[i], AFS_OBJECT_BACKEND);
	for (size_t i = 0; i < s->n_sessions && !session; i++)
		target_add(out, s->session[i].pid, AFS_ROLE_SERVER);
	out->metad = s->cnid_metad;
	if (s->cnid_metad)
		target_add(out, s->cnid_metad, AFS_ROLE_BACKEND);
	for (size_t i = 0; i < s->n_dbd; i++)
		target_add(out, s->dbd[i], AFS_ROLE_BACKEND);
}

void target_processes(struct target *out, const pid_t *pid, size_t n)
{
	memset(out, 0, sizeof(*out));
	out->server = pid[0];
	out->plain = true;
	place_server(out);
	for (size_t i = 1; i < n; i++)
		target_add(out, pid[i], AFS_ROLE_SERVER);
}

/*
 * The port of a CNID server that was found by a connection to it: after a timeout, afpd opens
 * another, whose inode nobody knows.
 */
static void learn_port(struct target *t, uint16_t port)
{
	if (port && !target_is_port(t, port, AFS_OBJECT_BACKEND))
		target_add_port(t, port, AFS_OBJECT_BACKEND);
}

static void target_take_end(struct ends *ends, pid_t pid, uint64_t ino)
{
	struct target_process *p;

	for (const struct target_end *end = ends->end; ino && end < ends->end + ends->n; end++) {
		if (end->peer != ino || (!ends->named && !end->database))
			continue;
		p = target_add(ends->t, pid, AFS_ROLE_BACKEND);
		if (p && end->database)
			p->foreign = true;
		if (end->told)
			continue;
		if (ends->named && !end->database)
			learn_port(ends->t, end->port);
		add_inode(ends->t, end->own, 0, AFS_OBJECT_BACKEND);
		add_inode(ends->t, ino, 0, AFS_OBJECT_BACKEND);
	}
}

static void look_for_cnid(struct ends *ends)
{
	struct procfs_numbers process, fd;
	struct procstat st;

	procfs_processes(&process);
	while (procfs_next(&process)) {
		if (procstat_read(&st, process.number))
			continue;
		ends->named = !strcmp(st.comm, "cnid_dbd");
		if (!ends->named && !ends->n_database)
			continue;
		procfs_fds(&fd, process.number);
		while (procfs_next(&fd))
			target_take_end(ends, process.number,
					procfs_fd_socket(process.number, fd.number));
	}
}

/* Whether a process accepts connections to a CNID server of the target. */
static bool is_asked_at(const struct target *t, pid_t pid)
{
	struct sockets_held its = { 0 };
	struct sockets all;
	bool found;

	sockets_hold(&its, pid);
	found = !sockets_read_of(&all, pid, NULL) &&
		VEC_FIND(s, all.entry, all.n,
			 s->listens && target_is_port(t, s->local.port, AFS_OBJECT_BACKEND) &&
			     VEC_FIND(held, its.socket, its.n, held->ino == s->ino));
	sockets_fini(&all);
	return found;
}

static bool is_metad_of(const struct target *t, pid_t pid)
{
	struct procstat st;

	return !procstat_read(&st, pid) && procstat_lives(&st) && !strcmp(st.comm, SERVERS_METAD) &&
	       owner_counts(owner_of(pid)) && is_asked_at(t, pid);
}

/* Nobody may have asked yet how it ended. */
static bool has_metad(struct target *t)
{
	struct target_process *is = VEC_FIND(p, t->process, t->n, p->pid == t->metad);
	struct procstat st;

	if (is)
		mark_if_ended(is);
	return is && !is->ended && (procstat_read(&st, is->pid) || procstat_lives(&st));
}

static pid_t metad_anew(const struct target *t)
{
	struct procfs_numbers process;
	pid_t found = 0;

	procfs_processes(&process);
	while (procfs_next(&process))
		if (!found && is_metad_of(t, process.number))
			found = process.number;
	return found;
}

/* It was down, or not known, when its server was looked for. */
static pid_t metad_of_backends(const struct target *t)
{
	const struct target_process *p;
	struct procstat st;

	for (size_t at = 0; (p = target_next(t, AFS_ROLE_BACKEND, &at));)
		if (!p->ended && !p->foreign && !procstat_read(&st, p->pid) &&
		    is_metad_of(t, st.ppid))
			return st.ppid;
	return 0;
}

bool target_look_metad(struct target *t)
{
	pid_t found = 0;

	if (!t->metad && t->whole)
		found = metad_of_backends(t);
	else if (t->metad && !has_metad(t))
		found = metad_anew(t);
	if (!found)
		return false;
	t->metad = found;
	target_add(t, found, AFS_ROLE_BACKEND);
	return true;
}

/* Helpers run another program: the programs see them fork. */
static int target_add_child(void *arg, pid_t pid)
{
	struct procstat st, parent;
	struct target *t = arg;

	if (!procstat_read(&st, pid) && !procstat_read(&parent, t->server) &&
	    !strcmp(st.comm, parent.comm))
		target_add(t, pid, AFS_ROLE_SERVER);
	return 0;
}

static int add_descendant(void *arg, pid_t pid)
{
	if (pid != getpid())
		target_add(arg, pid, AFS_ROLE_SERVER);
	return 0;
}

static void look_descendants(struct target *t)
{
	const struct target_process *p;
	size_t before;

	/* Children of children, too: until there are no more. */
	do {
		before = t->n;
		t->n_more = 0;
		for (size_t at = 0; (p = target_next(t, AFS_ROLE_SERVER, &at));)
			if (!p->ended)
				procfs_each_child(p->pid, add_descendant, t);
	} while (t->n != before);
}

void target_look_children(struct target *t)
{
	size_t most = t->n_more;

	t->n_more = 0;
	if (t->whole && !t->process[0].ended)
		procfs_each_child(t->server, target_add_child, t);
	if (t->plain)
		look_descendants(t);
	t->n_more = t->n_more < most ? most : t->n_more;
}

void target_set_sessions(struct target *t, pid_t *pid, size_t n)
{
	struct target_process *p;

	if (!t->whole && !t->plain)
		return;
	qsort(pid, n, sizeof(*pid), procstat_by_pid);
	for (size_t i = 1; i < t->n; i++) {
		p = &t->process[i];
		p->ended |= p->role == AFS_ROLE_SERVER &&
			    !bsearch(&p->pid, pid, n, sizeof(*pid), procstat_by_pid);
	}
	for (size_t i = 0; i < n; i++)
		if (pid[i] != t->server)
			target_add(t, pid[i], AFS_ROLE_SERVER);
}

/* Adds the address of a database server before anything is connected to it. */
static void know_backend(struct ends *ends)
{
	const struct sockets_entry *s;

	learn_port(ends->t, ends->backend.port);
	for (size_t i = 0; i < ends->all->n; i++) {
		s = &ends->all->entry[i];
		if (s->file_ino && !s->peer && backend_is_socket(&ends->backend, s->path))
			add_inode(ends->t, s->file_ino, s->file_dev, AFS_OBJECT_BACKEND);
	}
}

static void look_at_connections(struct ends *ends)
{
	const struct target_process *p;
	struct procfs_numbers fd;

	know_backend(ends);
	for (size_t at = 0; (p = target_next(ends->t, AFS_ROLE_SERVER, &at));) {
		if (p->ended)
			continue;
		procfs_fds(&fd, p->pid);
		while (procfs_next(&fd))
			target_note_end(ends, procfs_fd_socket(p->pid, fd.number));
	}
	if (ends->n)
		look_for_cnid(ends);
}

void target_look(struct target *t)
{
	struct sockets all;
	struct ends ends = { .t = t, .all = &all };

	memset(t->known.inode, 0, sizeof(t->known.inode));
	t->known.n = 0;
	t->crowded = false;
	place_server(t);
	for (size_t i = 0; i < t->n; i++)
		mark_if_ended(&t->process[i]);
	target_look_children(t);
	if (t->plain)
		return;
	backend_read(&ends.backend, t->server);
	if (t->client)
		add_inode(t, t->client, 0, AFS_OBJECT_CLIENT);
	if (!sockets_read_of(&all, t->server, NULL))
		look_at_connections(&ends);
	sockets_fini(&all);
}

/* Why no CNID server is watched. */
static const char *cnid_why(const struct target *t, const struct run *r, char buf[ERR_TEXT_MAX])
{
	bool inside = false;

	for (size_t i = 0; i < r->n_phases; i++)
		inside |= ledger_sum(&r->phase[i]->ledger, AFS_ROLE_SERVER, AFS_N_CLASSES,
				     AFS_OBJECT_CNIDDB)
			      .calls > 0;
	if (!t->far[0])
		return inside ? "no CNID process: the volume's CNID backend runs inside afpd"
			      : "no CNID process: afpd is connected to none";
	snprintf(buf, ERR_TEXT_MAX,
		 "the CNID server (%s) is on another host: its work cannot be seen, only afpd's "
		 "waiting for it",
		 t->far);
	return buf;
}

int target_note(const struct target *t, struct run *r)
{
	char buf[ERR_TEXT_MAX];
	const char *why;
	int err;

	if (t->plain || target_count(t, AFS_ROLE_BACKEND))
		return 0;
	why = cnid_why(t, r, buf);
	err = run_absent(r, AFS_ROLE_BACKEND, "", why);
	return err ? err : run_note(&r->server, "CNID server", "%s", why);
}
