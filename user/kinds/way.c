/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hop by hop: where the connection's other end is, which process holds it, and over which
 * connection of its own that process carries on what it reads.
 */
#include "kinds/way.h"

#include "base/vec.h"
#include "host/net/conntrack.h"
#include "host/net/tcpdiag.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "kinds/servers.h"
#include "run/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOPS_MAX    8
#define HOLDERS_MAX 64
#define SPACES_MAX  1024

struct way_walk {
	struct way *out;
	struct sockets all;            /* of the network namespace that has the end */
	uint64_t net;                  /* its number */
	struct sockets_addr near, far; /* the connection, as its client sees it */
	size_t n_ends;                 /* sockets that may be its other end */
	size_t hops;
	bool any; /* the server is wanted, not which of its connections it is */
};

struct search {
	uint64_t ino;
	size_t n, denied;
	struct way_holder holder[HOLDERS_MAX];
};

static void holder_init(struct way_holder *h, pid_t pid)
{
	struct procstat st;

	memset(h, 0, sizeof(*h));
	h->pid = pid;
	procfs_link(h->exe, sizeof(h->exe), pid, "exe");
	if (procstat_read(&st, pid))
		return;
	h->started = st.started;
	while (st.ppid > 0 && h->n_up < WAY_DEPTH) {
		h->up[h->n_up++] = st.ppid;
		if (procstat_read(&st, st.ppid))
			break;
	}
}

static void way_look_at(struct search *s, pid_t pid)
{
	struct procfs_numbers fd;
	bool holds = false;
	int r = procfs_fds(&fd, pid);

	while (!holds && procfs_next(&fd))
		holds = procfs_fd_socket(pid, fd.number) == s->ino;
	procfs_end(&fd);
	s->denied += r == -EACCES || r == -EPERM;
	if (holds && s->n < HOLDERS_MAX)
		holder_init(&s->holder[s->n++], pid);
}

static bool is_above(const struct way_holder *h, const struct way_holder *below)
{
	return VEC_FIND(up, below->up, below->n_up, *up == h->pid);
}

static bool is_out(const struct way_holder *h, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		if (k == i)
			continue;
		if (is_above(&h[i], &h[k]) && !strcmp(h[i].exe, h[k].exe))
			return true;
		if (is_above(&h[k], &h[i]) && strcmp(h[i].exe, h[k].exe) != 0)
			return true;
	}
	return false;
}

size_t way_choose(const struct way_holder *h, size_t n, size_t *left)
{
	size_t best = n, in = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_out(h, n, i))
			continue;
		in++;
		if (best == n || h[i].started > h[best].started ||
		    (h[i].started == h[best].started && h[i].pid > h[best].pid))
			best = i;
	}
	if (left)
		*left = in;
	return best < n ? best : 0;
}

/* Where is the other end? */

static bool find_end(struct way_walk *w)
{
	const struct sockets_entry *end = sockets_find(&w->all, &w->far, &w->near, &w->n_ends);

	if (end)
		w->out->end = *end;
	return end;
}

/* The kernel may give the connection other addresses on its way. */
static bool find_translated(struct way_walk *w)
{
	struct sockets_addr near = w->near, far = w->far;
	char text[SOCKETS_TEXT_LEN];

	if (!conntrack_look(&near, &far))
		return false;
	if (!sockets_same(&far, &w->far)) {
		sockets_text(text, sizeof(text), &far);
		err_append(w->out->through,
			   "%sthe kernel translates the address of port %u to %s (DNAT)",
			   *w->out->through ? "; " : "", w->far.port, text);
	}
	w->out->relayed |= !sockets_same(&near, &w->near);
	w->near = near;
	w->far = far;
	return find_end(w);
}

struct spaces {
	struct way_walk *w;
	struct sockets all; /* of the namespace that has the end */
	size_t n;
	uint64_t seen[SPACES_MAX];
};

static int look_in_space(void *arg, pid_t pid)
{
	struct spaces *s = arg;
	uint64_t net = procfs_identity(pid, "ns/net");

	if (!net || s->n == SPACES_MAX || VEC_FIND(one, s->seen, s->n, *one == net))
		return 0;
	s->seen[s->n++] = net;
	sockets_fini(&s->w->all);
	if (sockets_read_of(&s->w->all, pid, NULL) || !find_end(s->w))
		return 0;
	sockets_fini(&s->all);
	s->all = s->w->all;
	s->w->all = (struct sockets) { 0 };
	s->w->net = net;
	return 0;
}

/* In each network namespace 127.0.0.1 is another one, and interfaces have other numbers. */
static bool find_elsewhere(struct way_walk *w)
{
	struct spaces s = { .w = w, .n = 1, .seen = { w->net } };

	if (sockets_is_loopback(&w->far) || w->n_ends)
		return false;
	w->near.scope = w->far.scope = 0;
	procfs_each(look_in_space, &s);
	sockets_fini(&w->all);
	w->all = s.all;
	return w->n_ends == 1;
}

static int not_here(const struct way_walk *w, struct err *e)
{
	char text[SOCKETS_TEXT_LEN];

	sockets_text(text, sizeof(text), &w->far);
	if (w->n_ends > 1)
		return err_set(
		    e, -ENOTUNIQ,
		    "%zu connections with these addresses end at %s, in other network namespaces "
		    "or on other interfaces, and which is this one cannot be seen from here: run "
		    "afpscope in the server's network namespace (nsenter -n)",
		    w->n_ends, text);
	if (sockets_is_ours(&w->far))
		return err_set(
		    e, -ENXIO,
		    "the server's end of the connection (%s) is in another network namespace or "
		    "behind an address that the kernel translates (DNAT; nft list ruleset shows "
		    "it): run afpscope inside it (nsenter -n), or give the server's own address",
		    text);
	return err_set(e, -ENXIO, "the server (%s) is not on this host: run afpscope on the server",
		       text);
}

/* Which process holds it? */

static int find_holder(struct way_walk *w, struct err *e)
{
	struct search s = { .ino = w->out->end.ino };
	struct procfs_numbers process;
	size_t i, left;

	procfs_processes(&process);
	while (procfs_next(&process))
		if (process.number != getpid())
			way_look_at(&s, process.number);
	if (!s.n && s.denied)
		return err_set(
		    e, -EACCES,
		    "no right to see which process serves the connection (its user id is "
		    "%u): " RIGHTS_TO_LOOK,
		    w->out->end.uid);
	if (!s.n && *procfs_hides())
		return err_set(e, -ENXIO,
			       "no process is seen that holds the server's end of the "
			       "connection%s",
			       procfs_hides());
	if (!s.n)
		return err_set(
		    e, -ENXIO,
		    "no process holds the server's end of the connection: it is in another "
		    "PID namespace, or inside the kernel");
	i = way_choose(s.holder, s.n, &left);
	w->out->server = s.holder[i].pid;
	if (left > 1)
		snprintf(w->out->note, sizeof(w->out->note),
			 "%zu processes hold the server's end of the connection and none of them "
			 "is the parent of the others: watching the youngest, %d",
			 left, w->out->server);
	return 0;
}

/* Does it carry on? */

bool way_is_afpd(pid_t pid)
{
	static const char *const libraries[] = { "/libatalk.so", NULL };
	char name[32] = "";

	procfs_thread_name(name, sizeof(name), pid, pid);
	return !strcmp(name, "afpd") || procfs_mapped(pid, libraries);
}

/* Programs that carry on, also over what is no connection of TCP; the kernel cuts names. */
static bool only_carries(const char *name)
{
	static const char *const begin[] = {
		"docker-proxy", "rootlessport", "slirp4netns", "passt",          "pasta", "qemu-",
		"socat",        "ssh",          "stunnel",     "haproxy",        "nginx", "envoy",
		"xinetd",       "redir",        "rinetd",      "systemd-socket-"
	};

	return VEC_FIND(one, begin, sizeof(begin) / sizeof(begin[0]),
			!strncmp(name, *one, strlen(*one)));
}

/* Encryption adds bytes, most of all to small ones; what was read may be still to be written. */
static bool is_as_many(uint64_t n, uint64_t of)
{
	return (double)n >= 0.8 * (double)of && n <= 3 * of;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Not the connection that it would be carried on from, nor one to the same port. */
static bool may_carry(const struct sockets_entry *e, const struct sockets_entry *from)
{
	return e && e->remote.port && e->local.port != from->local.port &&
	       e->remote.port != from->remote.port && !sockets_same(&e->local, &from->remote);
}

void way_look_onward(struct way_onward *out, const struct sockets *all,
		     const struct sockets_held *its, const struct sockets_entry *end)
{
	uint64_t got = 0, given = 0, least = UINT64_MAX;

	*out = (struct way_onward) { .one_place = true };
	if (tcpdiag_carried(end, &got, &given))
		out->bytes = got + given;
	for (size_t i = 0; i < its->n; i++) {
		const struct sockets_entry *e = sockets_of_inode(all, its->socket[i].ino);
		uint64_t read = 0, written = 0, differs;

		if (!may_carry(e, end) || e->ino == out->best.ino)
			continue;
		tcpdiag_carried(e, &read, &written);
		differs = apart(read, given) + apart(written, got);
		out->one_place &= !out->n || sockets_same(&e->remote, &out->best.remote);
		out->n++;
		if (differs > least)
			continue;
		out->is_told = differs < least && is_as_many(read, given) &&
			       is_as_many(written, got);
		out->best = *e;
		least = differs;
	}
}

/* Why the way ends at a process that is no afpd; NULL: it does not, or that may be a server. */
static const char *way_why_not(const struct way_walk *w, const struct way_onward *o,
			       const char *name)
{
	if (!o->n && only_carries(name))
		return " but carries on what it reads";
	if (!o->n)
		return w->hops ? "" : NULL; /* else a server of another name */
	if (o->n == 1 || o->is_told || (w->any && o->one_place))
		return w->hops < HOPS_MAX ? NULL : ", nor were those before it";
	return " and has several connections of its own, of which none can be told to be this "
	       "one's";
}

/* 1: it carries on, and near and far are its connection; 0: it is the server. */
static int way_go_on(struct way_walk *w, struct err *e)
{
	struct way *out = w->out;
	struct sockets_held its = { 0 };
	struct way_onward o;
	char name[32] = "?", text[SOCKETS_TEXT_LEN];
	const char *why;

	if (way_is_afpd(out->server))
		return 0;
	procfs_thread_name(name, sizeof(name), out->server, out->server);
	sockets_hold(&its, out->server);
	way_look_onward(&o, &w->all, &its, &out->end);
	why = way_why_not(w, &o, name);
	if (why)
		return err_set(e, o.n > 1 && !o.is_told ? -ENOTUNIQ : -ENXIO,
			       "the connection ends in %s (pid %d), which is no AFP server%s: give "
			       "the server's own address and port",
			       name, out->server, why);
	if (!o.n)
		return 0;
	w->hops++;
	sockets_text(text, sizeof(text), &o.best.remote);
	err_append(out->through, "%s%s (pid %d) carries what comes on port %u on to %s",
		   *out->through ? "; " : "", name, out->server, out->end.local.port, text);
	out->relayed = true;
	w->near = o.best.local;
	w->far = o.best.remote;
	return 1;
}

static int way_walk(struct way_walk *w, struct err *e)
{
	char text[ERR_TEXT_MAX];
	int r;

	do {
		r = 0;
		w->n_ends = 0;
		if (!find_end(w) && !find_translated(w) && !find_elsewhere(w))
			r = not_here(w, e);
		r = r ? r : find_holder(w, e);
		r = r ? r : way_go_on(w, e);
	} while (r > 0);
	if (!r || !*w->out->through)
		return r;
	memcpy(text, e->text, sizeof(text));
	return err_set(e, r, "%.255s; %.255s", w->out->through, text);
}

/* From a connection, as its client sees it, in the network namespace of a process. */
static int find_from(struct way_walk *w, pid_t pid, struct err *e)
{
	int r = sockets_read_of(&w->all, pid, e);

	*w->out = (struct way) { 0 };
	w->net = procfs_identity(pid, "ns/net");
	r = r ? r : way_walk(w, e);
	sockets_fini(&w->all);
	return r;
}

int way_find(struct way *out, const struct sockaddr_storage *local,
	     const struct sockaddr_storage *peer, struct err *e)
{
	struct way_walk w = { .out = out };

	*out = (struct way) { 0 };
	if (!sockets_addr(&w.near, local) || !sockets_addr(&w.far, peer))
		return err_set(e, -ENXIO, "the connection is not TCP");
	return find_from(&w, 0, e);
}

int way_behind(struct way *out, pid_t pid, uint16_t port, struct err *e)
{
	struct sockets all;
	char name[32] = "?";
	int r;

	*out = (struct way) { 0 };
	if (way_is_afpd(pid))
		return 0;
	procfs_thread_name(name, sizeof(name), pid, pid);
	r = sockets_read_of(&all, pid, e);
	for (size_t i = 0; i < all.n && (r == -ENOTUNIQ || !out->server); i++) {
		const struct sockets_entry *c = &all.entry[i];
		struct way_walk w = { .out = out, .near = c->remote, .far = c->local, .any = true };

		if (c->local.port != port || !c->remote.port || !c->ino)
			continue;
		*e = (struct err) { 0 };
		r = find_from(&w, pid, e);
	}
	if (!r && !out->server && only_carries(name))
		r = err_set(e, -ENXIO,
			    "%s (pid %d) listens on port %u, and carries on what comes there, "
			    "which is nothing now: give the port of the server itself",
			    name, pid, port);
	if (r || !*out->through)
		out->server = 0;
	sockets_fini(&all);
	return r;
}

/* What went on, of what came. */
struct passage {
	uint64_t came, on;
};

static double way_share(struct passage p)
{
	return p.came ? (double)p.on / (double)p.came : 0;
}

static uint64_t way_bytes_of(const struct ledger *l, enum afs_object object)
{
	return ledger_sum(l, AFS_ROLE_SERVER, AFS_N_CLASSES, object).bytes;
}

/* Datagrams go on as calls of its own, or from sockets that are not known as the server's. */
static void way_add_packets(struct passage *data, struct passage *all, const struct ledger *l)
{
	const struct afs_packets in = ledger_packets(l, false), out = ledger_packets(l, true);

	data->came += in.type[AFS_RX_DATA] - in.own;
	data->on += out.own;
	all->came += in.datagrams;
	all->on += ledger_sum(l, AFS_ROLE_SERVER, AFS_CLASS_SEND, AFS_OBJECT_SOCKET).calls;
}

double way_passed_on(const struct run *r)
{
	struct passage bytes = { 0 }, data = { 0 }, all = { 0 };
	bool seen = r->n_phases;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct ledger *l = &r->phase[i]->ledger;

		seen &= l->has_requests;
		if (l->n_packets) {
			way_add_packets(&data, &all, l);
			continue;
		}
		bytes.came += way_bytes_of(l, AFS_OBJECT_CLIENT);
		bytes.on += way_bytes_of(l, AFS_OBJECT_PIPE) + way_bytes_of(l, AFS_OBJECT_SOCKET);
	}
	if (!seen)
		return NAN;
	return fmax(way_share(bytes), fmax(way_share(data), way_share(all)));
}

int way_foreign_note(struct run *r, const char *name, pid_t pid, const char *foreign, double passed)
{
	if (passed < WAY_PASSED_ON)
		return 0;
	return run_note(&r->warnings, "way",
			"%s (pid %d) is no %s, and %s: if it is a relay, give the port of the "
			"server behind it",
			name, pid, foreign,
			isnan(passed) ? "what it passes on is not seen"
				      : "its clients' bytes may go on");
}
