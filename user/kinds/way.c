/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hop by hop: where the connection's other end is, which process holds it, and over which
 * connection of its own that process carries on what it reads.
 */
#include "kinds/way.h"

#include "base/text.h"
#include "base/vec.h"
#include "host/net/conntrack.h"
#include "host/net/tcpdiag.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "kinds/servers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HOPS_MAX    8
#define HOLDERS_MAX 64
#define SPACES_MAX  1024

struct way_walk {
	struct way *out;
	const struct way_goal *goal;
	struct sockets all;            /* of the network namespace that has the end */
	uint64_t net;                  /* its number */
	struct sockets_addr near, far; /* the connection, as its client sees it */
	size_t n_ends;                 /* sockets that may be its other end */
	size_t hops;
	bool any; /* the server is wanted, not which of its connections it is */
	/* What was passed that is the server after all if no server is behind it. */
	struct way passed;
	bool named;   /* it is called as the server is */
	pid_t untold; /* such a one, if a relay: over which of its connections is not known */
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

const char way_by_name[] = "known by its name alone";

static bool is_called(pid_t pid, const char *names)
{
	char name[32] = "";

	procfs_thread_name(name, sizeof(name), pid, pid);
	return text_has_word(names, ' ', name);
}

const char *way_judge(pid_t pid, const char *library, const char *names, const char *no)
{
	const char *const libraries[] = { library, NULL };

	if (procfs_mapped(pid, libraries))
		return NULL;
	return is_called(pid, names) ? way_by_name : no;
}

const char *way_foreign(pid_t pid)
{
	return way_judge(pid, "/libatalk.so", SERVERS_AFPD, "no afpd by name or library");
}

const struct way_goal way_afp = { "AFP", way_foreign };

/*
 * Programs that carry on, also over what is no connection of TCP, by the name of their file or
 * thread; the kernel cuts that. A file called qemu-* may also run a server of another machine.
 */
static bool only_carries(pid_t pid)
{
	static const char *const begin[] = {
		"qemu-",  "docker-proxy", "rootlessport", "slirp4netns",    "passt", "pasta",
		"socat",  "ssh",          "stunnel",      "haproxy",        "nginx", "envoy",
		"xinetd", "redir",        "rinetd",       "systemd-socket-"
	};
	char name[32] = "", exe[PATH_MAX];
	const char *file;

	procfs_thread_name(name, sizeof(name), pid, pid);
	procfs_link(exe, sizeof(exe), pid, "exe");
	file = strrchr(exe, '/');
	return VEC_FIND(one, begin, sizeof(begin) / sizeof(begin[0]),
			!strncmp(name, *one, strlen(*one)) ||
			    (file && one > begin && !strncmp(file + 1, *one, strlen(*one))));
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

#define UNTOLD " and has several connections of its own, of which none can be told to be this one's"

/* Why the way ends at a process that is no afpd; NULL: it does not, or that may be a server. */
static const char *way_why_not(const struct way_walk *w, const struct way_onward *o, bool named)
{
	bool told = o->n == 1 || o->is_told || (w->any && o->one_place);

	if (!o->n && only_carries(w->out->server))
		return " but carries on what it reads";
	if (!o->n)
		return w->hops && !named ? "" : NULL; /* else a server of another name */
	if (w->hops == HOPS_MAX)
		return ", nor were those before it";
	return told || named ? NULL : UNTOLD;
}

static int way_refuse(const struct way_walk *w, pid_t pid, const char *why, struct err *e)
{
	char name[32] = "?";

	procfs_thread_name(name, sizeof(name), pid, pid);
	return err_set(e, !strcmp(why, UNTOLD) ? -ENOTUNIQ : -ENXIO,
		       "the connection ends in %s (pid %d), which is no %s server%s: give the "
		       "server's own address and port",
		       name, pid, w->goal->protocol, why);
}

/* 1: it carries on, and near and far are its connection; 0: it is the server. */
static int way_go_on(struct way_walk *w, struct err *e)
{
	struct way *out = w->out;
	const char *foreign = w->goal->foreign(out->server), *why;
	struct sockets_held its = { 0 };
	struct way_onward o;
	char name[32] = "?", text[SOCKETS_TEXT_LEN];
	bool named = foreign == way_by_name && !only_carries(out->server);

	if (!foreign)
		return 0;
	procfs_thread_name(name, sizeof(name), out->server, out->server);
	sockets_hold(&its, out->server);
	way_look_onward(&o, &w->all, &its, &out->end);
	why = way_why_not(w, &o, named);
	if (o.n && (named || !w->named)) {
		w->passed = *out;
		w->named = named;
	}
	if (why)
		return way_refuse(w, out->server, why, e);
	if (!o.n)
		return 0;
	if (o.n > 1 && !o.is_told && !(w->any && o.one_place))
		w->untold = out->server;
	w->hops++;
	sockets_text(text, sizeof(text), &o.best.remote);
	err_append(out->through, "%s%s (pid %d) carries what comes on port %u on to %s",
		   *out->through ? "; " : "", name, out->server, out->end.local.port, text);
	out->relayed = true;
	w->near = o.best.local;
	w->far = o.best.remote;
	return 1;
}

/* A server, too, has connections of its own: to CNID servers, or one that is called so to others.
 */
static bool is_passed(const struct way_walk *w)
{
	return w->passed.server &&
	       (w->named || is_called(w->out->server, "cnid_dbd " SERVERS_METAD));
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
	if (r && is_passed(w)) {
		*w->out = w->passed;
		return 0;
	}
	r = !r && w->untold ? way_refuse(w, w->untold, UNTOLD, e) : r;
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

int way_find(struct way *out, const struct way_goal *goal, const struct sockaddr_storage *local,
	     const struct sockaddr_storage *peer, struct err *e)
{
	struct way_walk w = { .out = out, .goal = goal };

	*out = (struct way) { 0 };
	if (!sockets_addr(&w.near, local) || !sockets_addr(&w.far, peer))
		return err_set(e, -ENXIO, "the connection is not TCP");
	return find_from(&w, 0, e);
}

int way_behind(struct way *out, pid_t pid, uint16_t port, struct err *e)
{
	const char *foreign = way_foreign(pid);
	struct sockets all;
	char name[32] = "?";
	int r;

	*out = (struct way) { 0 };
	if (!foreign)
		return 0;
	procfs_thread_name(name, sizeof(name), pid, pid);
	r = sockets_read_of(&all, pid, e);
	for (size_t i = 0; i < all.n && (r == -ENOTUNIQ || !out->server); i++) {
		const struct sockets_entry *c = &all.entry[i];
		struct way_walk w = { .out = out,
				      .goal = &way_afp,
				      .near = c->remote,
				      .far = c->local,
				      .any = true };

		if (c->local.port != port || !c->remote.port || !c->ino)
			continue;
		*e = (struct err) { 0 };
		r = find_from(&w, pid, e);
	}
	if (!r && !out->server && only_carries(pid))
		r = err_set(e, -ENXIO,
			    "%s (pid %d) listens on port %u, and carries on what comes there, "
			    "which is nothing now: give the port of the server itself",
			    name, pid, port);
	if (r || !*out->through)
		out->server = 0;
	sockets_fini(&all);
	/* Also without the right to see who has its clients' connections. */
	return foreign == way_by_name && r != -ENOTUNIQ && !only_carries(pid) ? 0 : r;
}
