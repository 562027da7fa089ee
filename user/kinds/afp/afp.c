/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AFP servers: netatalk's afpd with its CNID servers. */
#include "host/cgroup.h"
#include "kinds/afp/hints.h"
#include "kinds/afp/looks.h"
#include "kinds/kind.h"

#include <errno.h>

struct unit {
	const struct servers *all;
	const struct servers_entry *found;
	size_t n_found;
};

static int look_for_master(void *arg, pid_t pid)
{
	struct unit *u = arg;

	for (size_t i = 0; i < u->all->n; i++)
		if (u->all->entry[i].master == pid) {
			u->found = &u->all->entry[i];
			u->n_found++;
		}
	return 0;
}

/* The server whose parent process is in a systemd unit or cgroup. */
static int afp_find_unit(struct servers *out, const char *unit, struct err *e)
{
	struct servers all = { 0 };
	struct unit u = { .all = &all };
	int r = servers_look(&all, 0, 0, e);

	if (!r)
		r = cgroup_each_process(unit, look_for_master, &u, e);
	if (!r && !u.n_found)
		r = err_set(e, -ENXIO, "unit %s has no AFP server", unit);
	if (!r && u.n_found > 1)
		r = err_set(e, -ENOTUNIQ, "unit %s has %zu AFP servers: name one with --port", unit,
			    u.n_found);
	if (!r)
		r = servers_look(out, u.found->master, 0, e);
	servers_fini(&all);
	return r;
}

static int afp_find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	pid_t session, master;
	int r = w->unit ? afp_find_unit(&out->servers, w->unit, e)
			: servers_named(&out->servers, w->port, (pid_t)w->pid, e);

	if (!r)
		r = servers_one(&out->servers, e);
	if (r)
		return r;
	session = out->servers.session;
	master = out->servers.entry[0].master;
	if (session && w->whole && master) {
		servers_fini(&out->servers);
		session = 0;
		r = servers_look(&out->servers, master, 0, e);
		if (r)
			return r;
	}
	cnidstate_ports(&out->servers.entry[0]);
	target_server(&out->target, &out->servers.entry[0], session);
	out->target.way = out->servers.way;
	return 0;
}

/* The hints that matter in a run: settings of the server, other tracers. */
static int afp_warn(const struct servers_entry *s, struct run *r)
{
	struct hints h = { 0 };
	int e;

	hints_server(&h, s);
	e = h.error;
	for (size_t i = 0; i < h.n && !e; i++)
		if (!h.hint[i].weak)
			e = run_note(&r->warnings, h.hint[i].key, "%s (%s); %s", h.hint[i].what,
				     h.hint[i].where, h.hint[i].todo);
	hints_fini(&h);
	return e;
}

static int afp_describe(const struct kind_found *f, struct run *r)
{
	const struct servers_entry *s = &f->servers.entry[0];
	char ports[ERR_TEXT_MAX] = "";
	int e = 0;

	for (size_t i = 0; i < s->n_ports; i++)
		err_append(ports, "%s%u", i ? " " : "", s->port[i]);
	if (f->servers.session)
		e |= run_note(&r->options, "session", "%d", f->servers.session);
	if (s->n_ports)
		e |= run_note(&r->server, "port", "%s", ports);
	e |= run_note(&r->server, "program", "%s", s->exe[0] ? s->exe : s->comm);
	if (s->conf[0])
		e |= run_note(&r->server, "settings", "%s", s->conf);
	if (s->cnid_metad)
		e |= run_note(&r->server, "cnid_metad", "pid %d (known from: %s)", s->cnid_metad,
			      s->cnid_from);
	e |= settings_show(r, s);
	e |= afp_warn(s, r);
	return e ? -ENOMEM : 0;
}

const struct kind kind_afp = {
	.is = { .name = "afp",
		.role = { [AFS_ROLE_SERVER] = "afpd", [AFS_ROLE_BACKEND] = "cnid_dbd" },
		.word = RUN_WORDS_AFP,
		.has_requests = true,
		.by_session = true,
		.has_live = true,
		.has_diagnosis = true },
	.decoder = AFS_DECODER_DSI,
	.foreign = way_foreign,
	.find = afp_find,
	.describe = afp_describe,
};
