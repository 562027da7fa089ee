/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of all kinds of servers. */
#include "kinds/kind.h"

#include "base/vec.h"
#include "bpf/programs.h"
#include "host/cgroup.h"
#include "host/filesystem.h"
#include "host/net/sockets.h"
#include "host/owner.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kind_names[] = {
#define X(name, ...) #name,
	KINDS(X)
#undef X
	    NULL,
};

const char *const kind_judged[] = {
#define X(name, ...) #name,
	KINDS_JUDGED(X)
#undef X
	    NULL,
};

int kind_place(const char *name)
{
	int i = 0;

	while (strcmp(kind_names[i], name) != 0)
		i++;
	return i;
}

const struct kind *kind_at(int index)
{
	static const struct kind *const kinds[] = {
#define X(name, ...) &kind_##name,
		KINDS(X)
#undef X
	};

	return kinds[index];
}

const char *kind_live_names(char out[static ERR_TEXT_MAX])
{
	const char *last = kind_at(0)->is.name;

	*out = '\0';
	for (int i = 1; kind_names[i]; i++) {
		if (!kind_at(i)->is.has_live)
			continue;
		err_append(out, "%s%s", *out ? ", " : "", last);
		last = kind_names[i];
	}
	err_append(out, " and %s", last);
	return out;
}

const char *kind_live_others(char out[static ERR_TEXT_MAX])
{
	*out = '\0';
	for (int i = 1; kind_names[i]; i++)
		if (kind_at(i)->is.has_live)
			err_append(out, "%sor %s", *out ? ", " : "", kind_at(i)->program);
	return out;
}

static int judge_owner(struct kind_found *out, const struct kind_wish *wish, struct err *e)
{
	const struct servers_entry *s = out->servers.n ? &out->servers.entry[0] : NULL;
	pid_t pid = out->target.server;
	size_t len = 0;

	out->owner = owner_of(pid);
	if (wish->owner && out->owner != *wish->owner)
		return err_set(e, -EPERM,
			       "what listens there now (process %d) is of user %u, not of user %u: "
			       "it is not watched",
			       pid, out->owner, *wish->owner);
	if (!owner_counts(out->owner))
		len = (size_t)snprintf(out->note, sizeof(out->note),
				       "process %d is of user %u, not of root", pid, out->owner);
	if (s && s->n_left)
		snprintf(out->note + len, sizeof(out->note) - len,
			 "%s%zu of the sessions are of an earlier server that has ended, and are "
			 "counted too",
			 len ? "; " : "", s->n_left);
	return 0;
}

static void doubt(struct kind_found *out)
{
	const struct target *t = &out->target;
	char name[32] = "?";

	procfs_thread_name(name, sizeof(name), t->server, t->server);
	snprintf(out->doubt, sizeof(out->doubt),
		 "%s (pid %d) is %s: if it is a relay, these figures are the relay's; give the "
		 "port of the server behind it",
		 name, t->server, t->foreign);
}

int kind_find(const struct kind *k, struct kind_found *out, const struct kind_wish *wish,
	      struct err *e)
{
	int r = k->find(out, wish, e);

	out->kind = k;
	out->target.decoder = k->decoder;
	out->target.any_order = k->any_order;
	out->target.parks = k->is.parks;
	out->target.files = k->files;
	out->target.accounts = k->is.accounts;
	out->target.foreign = !r && k->foreign ? k->foreign(out->target.server) : NULL;
	if (out->target.foreign)
		doubt(out);
	return r ? r : judge_owner(out, wish, e);
}

/* Of the kinds after the first. -ENXIO: none. */
static int find_live_other(struct kind_found *out, const struct kind_wish *wish, struct err *e)
{
	struct kind_wish known = *wish;
	int r = -ENXIO;

	known.known = true;
	for (int i = 1; kind_names[i]; i++) {
		struct kind_found found = { 0 };

		if (!kind_at(i)->is.has_live)
			continue;
		*e = (struct err) { 0 };
		r = kind_find(kind_at(i), &found, &known, e);
		if (!r) {
			kind_found_fini(out);
			*out = found;
			return 0;
		}
		kind_found_fini(&found);
		if (r != -ENXIO && r != -ESRCH)
			return r;
	}
	return -ENXIO;
}

int kind_find_live(struct kind_found *out, const struct kind_wish *wish, struct err *e)
{
	int r = kind_find(kind_at(0), out, wish, e), other;
	bool named = wish->pid || wish->port;
	struct err why = { 0 };

	if (r ? r != -ENXIO && r != -ESRCH : !named || !out->target.foreign)
		return r;
	other = find_live_other(out, wish, &why);
	if (other && (!r || other == -ENXIO))
		return r;
	*e = other ? why : (struct err) { 0 };
	return other;
}

int kind_find_connected(const struct kind *k, struct kind_found *out,
			const struct sockaddr_storage *local, const struct sockaddr_storage *peer,
			struct err *e)
{
	const struct way_goal goal = { run_kind_word(&k->is, RUN_WORD_PROTOCOL), k->foreign };
	struct kind_wish wish = { .whole = true };
	struct way way;
	int r = way_find(&way, &goal, local, peer, e);

	if (r)
		return r;
	wish.pid = (unsigned int)way.server;
	r = kind_find(k, out, &wish, e);
	out->target.way = way;
	return r;
}

int kind_find_other(const struct kind **k, struct kind_found *out, const struct kind_wish *wish,
		    bool judged, struct err *e)
{
	const char *const *name = judged ? kind_judged : kind_names;
	struct kind_wish known = *wish;
	const struct kind *first = NULL;

	known.known = true;
	for (size_t i = 1; name[i]; i++) {
		const struct kind *is = kind_at(kind_place(name[i]));
		struct kind_found found = { 0 };
		struct err not = { 0 };
		int r = is == kind_at(KIND_ANY) ? -ENXIO : kind_find(is, &found, &known, &not );

		if (r == -ENOTUNIQ) {
			*e = not ;
			return r;
		}
		if (r) {
			kind_found_fini(&found);
			continue;
		}
		if (first) {
			kind_found_fini(&found);
			kind_found_fini(out);
			*e = (struct err) { 0 };
			return err_set(e, -ENOTUNIQ,
				       "there are servers of kind %s and of kind %s here: name one "
				       "with --kind",
				       first->is.name, is->is.name);
		}
		first = is;
		*out = found;
	}
	*k = first ? first : *k;
	return first ? 0 : -ENXIO;
}

#define MAINS_MAX 32

/* Processes that are called so, each the first of its server. */
struct mains {
	const char *name;
	size_t n;
	pid_t pid[MAINS_MAX];
};

static int kind_add_main(void *arg, pid_t pid)
{
	struct mains *m = arg;
	struct procstat st, up;

	if (m->n == MAINS_MAX || !owner_counts(owner_of(pid)) || procstat_read(&st, pid) ||
	    !procstat_lives(&st) || strcmp(st.comm, m->name) != 0)
		return 0;
	if (!procstat_read(&up, st.ppid) && !strcmp(up.comm, m->name))
		return 0;
	m->pid[m->n++] = pid;
	return 0;
}

static int kind_find_main(struct servers *out, const char *name, const char *what, const char *unit,
			  struct err *e)
{
	struct mains m = { .name = name };
	char several[80];
	int r = 0;

	if (unit)
		r = cgroup_each_process(unit, kind_add_main, &m, e);
	else
		procfs_each(kind_add_main, &m);
	if (r)
		return r;
	if (!m.n)
		return err_set(e, -ENXIO, "no such %s (%s) runs here: ps -e lists the processes%s",
			       what, name, procfs_hides());
	snprintf(several, sizeof(several), "several %ss run here", what);
	if (m.n > 1)
		return owner_refuse(m.pid, m.n, several, "--pid or --port", e);
	return servers_look(out, m.pid[0], 0, e);
}

int kind_find_called(struct servers *out, const struct kind_wish *w, const char *name,
		     const char *what, const char *(*foreign)(pid_t pid), struct err *e)
{
	int r = w->pid || w->port ? servers_look(out, (pid_t)w->pid, (uint16_t)w->port, e)
				  : kind_find_main(out, name, what, w->unit, e);
	pid_t pid;

	r = r ? r : servers_one(out, e);
	if (r)
		return r;
	pid = out->session ? out->session : out->entry[0].master;
	if (w->known && foreign(pid))
		return err_set(e, -ENXIO, "process %d is no %s", pid, name);
	return 0;
}

int kind_note_server(const struct servers_entry *s, struct run *r)
{
	char ports[ERR_TEXT_MAX] = "";
	int e = run_note(&r->server, "name", "%s", s->comm);

	for (size_t i = 0; i < s->n_ports; i++)
		err_append(ports, "%s%u", i ? " " : "", s->port[i]);
	if (s->n_ports)
		e |= run_note(&r->server, "port", "%s", ports);
	if (s->exe[0])
		e |= run_note(&r->server, "program", "%s", s->exe);
	return e;
}

const char *kind_rpc_text(int32_t code)
{
	static const char *const accepted[] = {
		"",
		"program unavailable",
		"program version unavailable",
		"procedure unavailable",
		"arguments cannot be decoded",
		"system error",
	};

	if (code == AFS_RPC_DENIED(0))
		return "RPC version unavailable";
	if (code == AFS_RPC_DENIED(1))
		return "authentication error";
	if (code < 0 && -code < (int32_t)(sizeof(accepted) / sizeof(accepted[0])))
		return accepted[-code];
	return NULL;
}

const struct servers_entry *kind_by_session(const struct kind_found *found)
{
	bool is = found->servers.n && (!found->kind || found->kind->is.by_session);

	return is ? &found->servers.entry[0] : NULL;
}

/* A path of its root, and the same as one of this machine, where that is another one. */
static void name_conf(struct run_figures *out, pid_t pid, const char *conf)
{
	uint64_t own = procfs_identity(0, "root"), its = procfs_identity(pid, "root");
	char path[RUN_NAME_MAX], container[RUN_NAME_MAX];

	if (!own || !its || own == its) {
		run_name_set(out, RUN_NAME_CONF, "%s", conf);
		run_name_set(out, RUN_NAME_SETTINGS, "%s", conf);
		return;
	}
	procfs_inside(path, sizeof(path), pid, conf);
	run_name_set(out, RUN_NAME_CONF, "%s", path);
	cgroup_container(container, sizeof(container), pid);
	if (*container)
		run_name_set(out, RUN_NAME_SETTINGS, "%s of container %s", conf, container);
	else
		run_name_set(out, RUN_NAME_SETTINGS, "%s of the server's own root folder", conf);
}

void kind_name_things(struct run_figures *out, const struct kind_found *found)
{
	const struct servers_entry *s = found->servers.n ? &found->servers.entry[0] : NULL;
	pid_t pid = s && s->master ? s->master : found->target.server;
	char unit[RUN_NAME_MAX];

	if (pid)
		run_name_set(out, RUN_NAME_PID, "%d", pid);
	if (s && s->n_ports)
		run_name_set(out, RUN_NAME_PORT, "%u", s->port[0]);
	else if (found->target.known.n_ports == 1) /* one of several is not the server's */
		run_name_set(out, RUN_NAME_PORT, "%u", found->target.known.port[0].port);
	cgroup_unit(unit, sizeof(unit), pid);
	run_name_set(out, RUN_NAME_UNIT, "%s", unit);
	if (s && s->conf[0] && pid)
		name_conf(out, pid, s->conf);
	if (s && s->cnid_metad)
		run_name_set(out, RUN_NAME_CNID_METAD, "%d", s->cnid_metad);
}

void kind_found_fini(struct kind_found *f)
{
	servers_fini(&f->servers);
	free(f->folder);
	f->folder = NULL;
	f->n_folders = 0;
}

/* What is passed on */

/* What went on, of what came. */
struct passage {
	uint64_t came, on;
};

/* Over Rx: to the server, and back. */
struct passages {
	struct passage data, back, all;
};

static double passed_of(struct passage p)
{
	return p.came ? (double)p.on / (double)p.came : 0;
}

static uint64_t passed_bytes(const struct ledger *l, enum afs_object object)
{
	return ledger_sum(l, AFS_ROLE_SERVER, AFS_N_CLASSES, object).bytes;
}

/* Datagrams go on as calls of its own, or from sockets that are not known as the server's. */
static void passed_add_packets(struct passages *p, const struct ledger *l)
{
	const struct afs_packets in = ledger_packets(l, false), out = ledger_packets(l, true);

	p->data.came += in.type[AFS_RX_DATA] - in.own;
	p->data.on += out.own;
	p->back.came += in.own;
	p->back.on += out.type[AFS_RX_DATA] - out.own;
	p->all.came += in.datagrams;
	p->all.on += ledger_sum(l, AFS_ROLE_SERVER, AFS_CLASS_SEND, AFS_OBJECT_SOCKET).calls;
}

static bool passed_all(double share)
{
	return share >= 0.8 && share <= 1.25;
}

/*
 * A file server, too, calls its clients back and asks others, in calls of its own, and its programs
 * talk to each other through Unix sockets: of what has a server's name only that counts which goes
 * on both ways, or that for which it has opened sockets.
 */
static double passed_packets(const struct passages *p, const struct target *t, const struct run *r)
{
	double data = passed_of(p->data), all = passed_of(p->all);

	if (t->foreign != way_by_name)
		return fmax(data, all);
	if (!passed_all(data) || !passed_all(passed_of(p->back)))
		data = 0;
	if (!VEC_FIND(s, r->socket, r->n_sockets,
		      s->port && !VEC_FIND(known, t->known.port, t->known.n_ports,
					   known->port == s->port)))
		all = 0;
	return fmax(data, all);
}

double passed_share(const struct target *t, const struct run *r)
{
	struct passage bytes = { 0 };
	struct passages packets = { 0 };
	bool seen = r->n_phases;

	for (size_t i = 0; i < r->n_phases && t->foreign; i++) {
		const struct ledger *l = &r->phase[i]->ledger;

		seen &= l->has_requests;
		if (l->n_packets) {
			passed_add_packets(&packets, l);
			continue;
		}
		bytes.came += passed_bytes(l, AFS_OBJECT_CLIENT);
		bytes.on += passed_bytes(l, AFS_OBJECT_PIPE) + passed_bytes(l, AFS_OBJECT_SOCKET);
	}
	if (t->foreign && !seen)
		return NAN;
	return fmax(passed_of(bytes), passed_packets(&packets, t, r));
}

int passed_note(const struct target *t, struct run *r, const char *name)
{
	double passed = passed_share(t, r);

	if (passed < PASSED_HARM)
		return 0;
	return run_note(&r->warnings, "way",
			"%s (pid %d) is %s, and %s: if it is a relay, give the port of the "
			"server behind it",
			name, t->server, t->foreign,
			isnan(passed) ? "what it passes on is not seen"
				      : "its clients' bytes may go on");
}

/* Places */

#define URL        "gluster://"
#define RX_URL     "rx://"
#define MOUNT_TYPE "fuse.glusterfs"

static bool take_name(char *out, const char *text, size_t len)
{
	return len && snprintf(out, PLACE_NAME_MAX, "%.*s", (int)len, text) < PLACE_NAME_MAX;
}

/* The first component of a path. */
static bool take_volume(struct place_server *out, const char *path)
{
	path += strspn(path, "/");
	return take_name(out->volume, path, strcspn(path, "/"));
}

/* "HOST:PORT", "[ADDRESS]:PORT"; the port may be missing. */
static bool take_host(struct place_server *out, const char *text, size_t len)
{
	const char *end = memrchr(text, ':', len);

	if (*text != '[')
		return take_name(out->host, text, end ? (size_t)(end - text) : len);
	end = memchr(text, ']', len);
	return end && take_name(out->host, text + 1, (size_t)(end - text) - 1);
}

/* Of a mount from "HOST:/VOLUME". */
static bool find_mount(struct place_server *out, const char *path)
{
	struct proctext_mount m;
	const char *colon;

	if (filesystem_mount_named(&m, 0, path) || strcmp(m.type, MOUNT_TYPE) != 0)
		return false;
	colon = strchr(m.source, ':');
	return colon && take_name(out->host, m.source, (size_t)(colon - m.source)) &&
	       take_volume(out, colon + 1);
}

/* "ADDRESS:PORT" */
static bool kinds_place_take_rx(struct place_server *out, const char *text)
{
	struct sockets_addr at;

	out->port = sockets_addr_parse(&at, text) && sockets_is_ours(&at) ? at.port : 0;
	return out->port && take_host(out, text, strlen(text));
}

const struct kind *place_kind(struct place_server *out, const char *place)
{
	const char *host, *path;
	char *real;
	bool found;

	*out = (struct place_server) { 0 };
	if (!strncmp(place, RX_URL, strlen(RX_URL)))
		return kinds_place_take_rx(out, place + strlen(RX_URL)) ? &kind_rx : NULL;
	for (int i = 0; kind_names[i]; i++) {
		host = kind_at(i)->place;
		out->connected = host && !strncmp(place, host, strlen(host));
		if (out->connected)
			return kind_at(i);
	}
	if (!strncmp(place, URL, strlen(URL))) {
		host = place + strlen(URL);
		path = strchr(host, '/');
		found = path && take_host(out, host, (size_t)(path - host)) &&
			take_volume(out, path);
	} else {
		real = realpath(place, NULL);
		found = real && find_mount(out, real);
		free(real);
	}
	return found ? &kind_gluster : NULL;
}

struct kind_wish place_wish(const struct place_server *place)
{
	return (
	    struct kind_wish) { .volume = place->volume, .host = place->host, .port = place->port };
}
