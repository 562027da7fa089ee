/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds who serves the client's connection, and its CNID server. */

#include "kinds/target.h"

#include "host/net/sockets.h"
#include "host/proc/procfs.h"
#include "kinds/backend.h"
#include "kinds/servers.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int target_find(struct target *out, const struct sockaddr_storage *local,
		const struct sockaddr_storage *peer, struct err *e)
{
	int r;

	memset(out, 0, sizeof(*out));
	out->decoder = AFS_DECODER_DSI; /* the client speaks AFP */
	r = way_find(&out->way, local, peer, e);
	out->server = out->way.server;
	out->client = out->way.end.ino;
	memcpy(out->note, out->way.note, sizeof(out->note));
	return r;
}

struct ends {
	struct target *t;
	const struct sockets *all;
	struct backend backend;
	size_t n, n_database;
	struct {
		uint64_t own, peer;
		bool database; /* a database server's */
		bool told;     /* the programs recognize it without its inode */
	} end[64];
	bool named; /* the process looked at has the name of a CNID server */
};

static bool target_is_port(const struct target *t, uint16_t port, enum afs_object of)
{
	for (size_t i = 0; i < t->known.n_ports; i++)
		if (t->known.port[i].object == of && t->known.port[i].port == port)
			return true;
	return false;
}

/* The other end is not on this host. */
static void note_far(struct target *t, const struct sockets_entry *own)
{
	char ip[INET6_ADDRSTRLEN];

	if (!own || !target_is_port(t, own->remote.port, AFS_OBJECT_BACKEND))
		return;
	sockets_ip_text(ip, &own->remote);
	snprintf(t->far, sizeof(t->far), "%s port %u", ip, own->remote.port);
}

static int target_note_end(void *arg, pid_t pid, int fd, const char *name)
{
	struct ends *ends = arg;
	uint64_t own = procfs_socket(name), peer;
	const struct sockets_entry *here, *there;
	bool database, file;

	(void)pid;
	(void)fd;
	if (!own || own == ends->t->client || ends->n == sizeof(ends->end) / sizeof(ends->end[0]))
		return 0;
	here = sockets_of_inode(ends->all, own);
	peer = sockets_peer(ends->all, own);
	if (!peer) {
		note_far(ends->t, here);
		return 0;
	}
	/* A client of this host may be called as a CNID server is. */
	if (target_is_port(ends->t, here->local.port, AFS_OBJECT_CLIENT))
		return 0;
	there = sockets_of_inode(ends->all, peer);
	file = there && there->path[0] && backend_is_socket(&ends->backend, there->path);
	database = file || here->remote.port == ends->backend.port;
	ends->end[ends->n].own = own;
	ends->end[ends->n].peer = peer;
	ends->end[ends->n].told = file ||
				  target_is_port(ends->t, here->remote.port, AFS_OBJECT_BACKEND);
	ends->end[ends->n++].database = database;
	ends->n_database += database;
	return 0;
}

static void add_inode(struct target *t, uint64_t ino, uint32_t dev, enum afs_object object)
{
	struct afs_inodes *known = &t->known;

	for (uint32_t i = 0; i < known->n; i++)
		if (known->inode[i].ino == ino && known->inode[i].dev == dev)
			return;
	if (known->n < AFS_N_INODES)
		known->inode[known->n++] = (struct afs_inode) { ino, dev, object };
	else
		t->crowded = true;
}

/* false: there is no place for it. */
static bool target_add_process(struct target *t, struct target_process *list, size_t *n, size_t max,
			       pid_t pid)
{
	struct procstat st;
	size_t i, at = *n;

	for (i = 0; i < *n; i++) {
		if (list[i].pid == pid && !list[i].ended)
			return true;
		/* Sessions and backends come and go: their places are reused. */
		if (list[i].ended && list != t->other)
			at = i;
	}
	if (procstat_read(&st, pid))
		return true;
	if (at == max)
		return false;
	list[at] = (struct target_process) { .pid = pid, .started = st.started };
	*n += at == *n;
	return true;
}

static void target_add_cnid(struct target *t, pid_t pid, bool database)
{
	t->crowded |= !target_add_process(t, t->backend, &t->n_backends, TARGET_BACKENDS_MAX, pid);
	for (size_t i = 0; database && i < t->n_backends; i++)
		if (t->backend[i].pid == pid)
			t->backend[i].foreign = true;
}

static void target_add_session(struct target *t, pid_t pid)
{
	t->n_more += !target_add_process(t, t->session, &t->n_sessions, AFS_N_PROCESSES, pid);
}

/* false also if it cannot be determined, as when no descriptor is left. */
static bool has_ended(const struct target_process *p)
{
	struct procstat st;
	int r = p->ended ? -ESRCH : procstat_read(&st, p->pid);

	return r == -ESRCH || r == -ENOENT || (!r && st.started != p->started);
}

static void mark_ended(struct target *t)
{
	struct procstat st;

	if (!t->started && !procstat_read(&st, t->server))
		t->started = st.started;
	t->ended = has_ended(&(struct target_process) {
	    .pid = t->server, .ended = t->ended, .started = t->started });
	for (size_t i = 0; i < t->n_sessions; i++)
		t->session[i].ended = has_ended(&t->session[i]);
	for (size_t i = 0; i < t->n_backends; i++)
		t->backend[i].ended = has_ended(&t->backend[i]);
	for (size_t i = 0; i < t->n_others; i++)
		t->other[i].ended = has_ended(&t->other[i]);
}

void target_add_port(struct target *t, uint16_t port, enum afs_object object)
{
	if (t->n_ports == AFS_N_PORTS) {
		t->crowded = true;
		return;
	}
	t->port[t->n_ports].port = port;
	t->port[t->n_ports++].object = (uint16_t)object;
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
		target_add_session(out, s->session[i].pid);
	if (s->cnid_metad)
		target_add_cnid(out, s->cnid_metad, false);
	for (size_t i = 0; i < s->n_dbd; i++)
		target_add_cnid(out, s->dbd[i], false);
}

void target_processes(struct target *out, const pid_t *pid, size_t n)
{
	memset(out, 0, sizeof(*out));
	out->server = pid[0];
	out->plain = true;
	for (size_t i = 1; i < n; i++)
		target_add_session(out, pid[i]);
}

void target_add(struct target *t, pid_t pid, enum afs_role role)
{
	size_t n = t->n_others;

	if (role == AFS_ROLE_BACKEND) {
		t->crowded |= !target_add_process(t, t->backend, &t->n_backends,
						  TARGET_BACKENDS_MAX, pid);
		return;
	}
	t->crowded |= !target_add_process(t, t->other, &t->n_others, TARGET_OTHERS_MAX, pid);
	if (t->n_others > n)
		t->other[n].role = (uint8_t)role;
}

static int is_end(void *arg, pid_t pid, int fd, const char *name)
{
	struct ends *ends = arg;
	uint64_t ino = procfs_socket(name);

	(void)fd;
	for (size_t i = 0; ino && i < ends->n; i++) {
		if (ends->end[i].peer != ino || (!ends->named && !ends->end[i].database))
			continue;
		target_add_cnid(ends->t, pid, ends->end[i].database);
		if (ends->end[i].told)
			continue;
		add_inode(ends->t, ends->end[i].own, 0, AFS_OBJECT_BACKEND);
		add_inode(ends->t, ino, 0, AFS_OBJECT_BACKEND);
	}
	return 0;
}

static int target_is_cnid(void *arg, pid_t pid)
{
	struct ends *ends = arg;
	struct procstat st;

	if (procstat_read(&st, pid))
		return 0;
	ends->named = !strcmp(st.comm, "cnid_dbd");
	if (ends->named || ends->n_database)
		procfs_each_fd(pid, is_end, arg);
	return 0;
}

/* Helpers run another program: the programs see them fork. */
static int target_add_child(void *arg, pid_t pid)
{
	struct procstat st, parent;
	struct target *t = arg;

	if (!procstat_read(&st, pid) && !procstat_read(&parent, t->server) &&
	    !strcmp(st.comm, parent.comm))
		target_add_session(t, pid);
	return 0;
}

static int add_descendant(void *arg, pid_t pid)
{
	if (pid != getpid())
		target_add_session(arg, pid);
	return 0;
}

static void look_descendants(struct target *t)
{
	size_t before;

	/* Children of children, too: until there are no more. */
	do {
		before = t->n_sessions;
		t->n_more = 0;
		procfs_each_child(t->server, add_descendant, t);
		for (size_t i = 0; i < t->n_sessions; i++)
			if (!t->session[i].ended)
				procfs_each_child(t->session[i].pid, add_descendant, t);
	} while (t->n_sessions != before);
}

void target_look_children(struct target *t)
{
	size_t most = t->n_more;

	t->n_more = 0;
	if (t->whole && !t->ended)
		procfs_each_child(t->server, target_add_child, t);
	if (t->plain)
		look_descendants(t);
	t->n_more = t->n_more < most ? most : t->n_more;
}

static int target_by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void target_set_sessions(struct target *t, pid_t *pid, size_t n)
{
	const pid_t *found;

	if (!t->whole && !t->plain)
		return;
	qsort(pid, n, sizeof(*pid), target_by_number);
	for (size_t i = 0; i < t->n_sessions; i++) {
		found = bsearch(&t->session[i].pid, pid, n, sizeof(*pid), target_by_number);
		t->session[i].ended |= !found;
	}
	for (size_t i = 0; i < n; i++)
		if (pid[i] != t->server)
			target_add_session(t, pid[i]);
}

/* Adds the address of a database server before anything is connected to it. */
static void know_backend(struct ends *ends)
{
	struct afs_inodes *known = &ends->t->known;
	const struct sockets_entry *s;

	if (known->n_ports < AFS_N_PORTS) {
		known->port[known->n_ports].port = ends->backend.port;
		known->port[known->n_ports++].object = AFS_OBJECT_BACKEND;
	}
	for (size_t i = 0; i < ends->all->n; i++) {
		s = &ends->all->entry[i];
		if (s->file_ino && !s->peer && backend_is_socket(&ends->backend, s->path))
			add_inode(ends->t, s->file_ino, s->file_dev, AFS_OBJECT_BACKEND);
	}
}

static void look_at_connections(struct ends *ends)
{
	struct target *t = ends->t;

	know_backend(ends);
	if (!t->ended)
		procfs_each_fd(t->server, target_note_end, ends);
	for (size_t i = 0; i < t->n_sessions; i++)
		if (!t->session[i].ended)
			procfs_each_fd(t->session[i].pid, target_note_end, ends);
	if (ends->n)
		procfs_each(target_is_cnid, ends);
}

void target_look(struct target *t)
{
	struct sockets all;
	struct ends ends = { .t = t, .all = &all };

	memset(&t->known, 0, sizeof(t->known));
	memcpy(t->known.port, t->port, sizeof(t->known.port));
	t->known.n_ports = (uint32_t)t->n_ports;
	t->crowded = false;
	mark_ended(t);
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

	if (t->plain || t->n_backends)
		return 0;
	why = cnid_why(t, r, buf);
	err = run_absent(r, AFS_ROLE_BACKEND, "", why);
	return err ? err : run_note(&r->server, "CNID server", "%s", why);
}
