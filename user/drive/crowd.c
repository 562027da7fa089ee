/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/crowd.h"

#include "base/clock.h"
#include "drive/opener.h"
#include "drive/places.h"
#include "load/load.h"
#include "work/mix/probe.h"
#include "work/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sessions that a process opens at a time: afpd's queue of new connections has 20 places. */
#define OPENING_MAX 8

/* Clients that make or remove their files at a time. */
#define PART    32

#define TICK_NS 100000000u

/* Within this, all threads have seen a new time. */
#define SOON_NS    200000000u

#define PROBE_RATE N_PROBE_ACTIONS /* a second: stat, read, write, each once */

/* One client, or the probe. */
struct member {
	struct crowd *crowd;
	struct afp_login login;
	const char *volume;
	struct mix_client *mix;        /* NULL: it is the probe */
	char address[RUN_ADDRESS_LEN]; /* its end of the connection */
};

struct crowd {
	struct crowd_opts o;
	struct opener opener;
	struct places places;
	unsigned int n; /* of member, the probe included */
	struct member *member;
	struct mix_data *data;
	struct probe *probe;
	struct engine *clients, *watcher; /* watcher: the probe's */
	char base[TREE_NAME_MAX + 1];     /* the directory of all clients, in the root */
	unsigned int n_lost;              /* sessions, until the load begins */
	char why_lost[256];
	bool exists;                      /* the set, before this run */
	bool made;                        /* base, by this run */
	bool keeps_set;                   /* it stays when this run ends */
	struct engine_job job, probe_job; /* under way */
};

/* ---- stores ---- */

static int crowd_begin_store(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	const struct member *m = user;
	const struct crowd *c = m->crowd;
	const struct opener_client how = { &m->login, m->volume, m->mix ? c->o.mix->window : 1 };

	return opener_begin(&c->opener, &how, out, scratch, e);
}

/* ---- jobs ---- */

static const char *one_action(unsigned int i)
{
	(void)i;
	return "set";
}

static struct script *crowd_make_of(void *user)
{
	const struct member *m = user;

	return m->mix ? mix_client_make(m->mix) : probe_make(m->crowd->probe);
}

static struct script *crowd_use_of(void *user)
{
	const struct member *m = user;

	return m->mix ? mix_client_use(m->mix) : probe_use(m->crowd->probe);
}

static struct script *remove_of(void *user)
{
	const struct member *m = user;

	return m->mix ? mix_client_remove(m->mix) : probe_remove(m->crowd->probe);
}

static void crowd_note_lost(struct crowd *c, const struct run_load *load)
{
	if (load->n_lost && !c->n_lost)
		snprintf(c->why_lost, sizeof(c->why_lost), "%s", load->why);
	c->n_lost += load->n_lost;
}

/*
 * Does a job to its end; g NULL: there is nobody. 0; LOAD_REFUSED: an action failed; negative
 * errno. Sessions that were lost meanwhile are counted.
 */
static int crowd_do_job(struct crowd *c, struct engine *g, const struct engine_job *job,
			struct run_load **out, struct err *e)
{
	struct run_load *load = NULL;
	struct run_action all;
	int r;

	if (!g)
		return 0;
	r = engine_start(g, job, e);
	if (r)
		return r;
	while (!engine_wait(g, TICK_NS))
		places_keep_alive(&c->places);
	r = engine_join(g, &load, NULL, e);
	if (!r) {
		run_load_all(load, &all);
		crowd_note_lost(c, load);
		if (all.failed)
			r = err_set(e, LOAD_REFUSED, "%s", load->first_failure);
	}
	if (out)
		*out = load;
	else
		run_load_free(load);
	return r;
}

/* A script for each client; only those from <= i < to. */
static int do_scripts(struct crowd *c, struct engine *g, struct script *(*script)(void *user),
		      unsigned int from, unsigned int to, bool ignores_stop, struct err *e)
{
	const struct engine_job job = { .what = ENGINE_WORK,
					.ignores_stop = ignores_stop,
					.from = from,
					.to = to,
					.script = script,
					.n_actions = 1,
					.action_name = one_action };

	return crowd_do_job(c, g, &job, NULL, e);
}

/* ---- opening ---- */

static int new_members(struct crowd *c, struct err *e)
{
	struct mix_client_opts o = { .mix = c->o.mix,
				     .base = c->base,
				     .exists = c->exists,
				     .n_clients = c->o.step ? c->o.all : c->o.clients,
				     .n_dirs = c->o.directories,
				     .seed = c->o.seed };
	struct member *m;
	bool there;

	c->n = c->o.clients + c->o.probe;
	c->member = calloc(c->n, sizeof(*c->member));
	c->data = o.data = mix_data_new(o.mix);
	there = c->member && c->data;
	for (unsigned int i = 0; there && i < c->o.clients; i++) {
		m = &c->member[i];
		m->crowd = c;
		o.number = c->o.first + i * (c->o.step ? c->o.step : 1);
		m->mix = mix_client_new(&o);
		there = m->mix;
	}
	if (there && c->o.probe) {
		c->member[c->o.clients].crowd = c;
		c->probe = probe_new(c->base);
		there = c->probe;
	}
	return there ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* Of a client, by its number among those of all processes; NULL: the command's own. */
static const struct user *user_of(const struct crowd *c, unsigned int number)
{
	const struct users *all = c->o.users;

	return all && all->n ? &all->user[number % all->n] : NULL;
}

/* The probe logs in as the command's own session does. Each volume gets a session of ours. */
static int name_members(struct crowd *c, struct err *e)
{
	const struct connect_cfg *cfg = &c->o.session->cfg->c;
	unsigned int step = c->o.step ? c->o.step : 1, n = c->o.step ? c->o.all : c->o.clients;
	struct dsi_opts dsi = opener_dsi(&c->opener, 1);
	struct afp_login login;
	struct store_afp_begin how = { &dsi, &c->o.session->server, &login, NULL };
	const struct user *u;
	struct member *m;
	int r = 0;

	if (c->o.session->cfg->local)
		return 0;
	for (unsigned int i = 0; i < c->n; i++) {
		m = &c->member[i];
		u = m->mix ? user_of(c, c->o.first + i * step) : NULL;
		m->login = opener_login(&c->opener, u);
		m->volume = u && u->volume ? u->volume : cfg->volume;
	}
	if (c->o.guest)
		return 0;
	/* also those of clients of other processes */
	for (unsigned int i = 0; !r && i < n; i++) {
		u = user_of(c, i);
		login = opener_login(&c->opener, u);
		how.volume = u && u->volume ? u->volume : cfg->volume;
		r = places_add(&c->places, &how, e);
	}
	return r;
}

static void crowd_note_address(void *user, struct store *store)
{
	struct member *m = user;

	connect_address(store, m->address);
}

static int new_engines(struct crowd *c, struct err *e)
{
	struct engine_opts o = { .n_threads = c->o.threads,
				 .first = c->o.first,
				 .step = c->o.step,
				 .all = c->o.all,
				 .stop = &cmd_stop,
				 .realtime = c->o.realtime };
	struct engine_client *clients = calloc(c->n, sizeof(*clients));
	int r = 0;

	if (!clients)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < c->n; i++)
		clients[i] = (struct engine_client) { crowd_begin_store, &c->member[i],
						      crowd_note_address };
	if (c->o.clients) {
		o.opening_max = (OPENING_MAX + o.n_threads - 1) / o.n_threads;
		r = engine_new(&c->clients, &o, clients, c->o.clients, e);
	}
	o.n_threads = o.opening_max = o.realtime = 1; /* it needs little, and must not wait */
	o.step = 0;
	if (!r && c->o.probe)
		r = engine_new(&c->watcher, &o, &clients[c->o.clients], 1, e);
	free(clients);
	return r;
}

static int crowd_open_all(struct crowd *c, unsigned int *not_open, struct err *e)
{
	const struct engine_job job = { .what = ENGINE_OPEN };
	struct run_load *load = NULL;
	int r = crowd_do_job(c, c->watcher, &job, &load, e);

	if (!r && cmd_stop)
		r = err_set(e, -EINTR, "interrupted");
	if (!r && load && !load->n_open)
		r = err_set(e, -ECONNREFUSED, "the probe could not open a session: %s", load->why);
	run_load_free(load);
	load = NULL;
	r = r ? r : crowd_do_job(c, c->clients, &job, &load, e);
	if (!r && cmd_stop)
		r = err_set(e, -EINTR, "interrupted");
	if (!r && load) {
		*not_open = c->o.clients - load->n_open;
		if (*not_open)
			err_set(e, 0, "%s", load->why);
		if (!load->n_open)
			r = err_set(e, -ECONNREFUSED, "no client could open a session: %s",
				    load->why);
	}
	run_load_free(load);
	return r;
}

/* Names the directory of all clients, and looks whether it is there. */
static int find_base(struct crowd *c, struct err *e)
{
	struct session *s = c->o.session;
	struct store_op op = { .verb = STORE_LOOKUP, .name = c->base };
	int r;

	if (c->o.guest) {
		snprintf(c->base, sizeof(c->base), "%s", c->o.guest);
		return 0;
	}
	if (!c->o.set_of) {
		tree_name(c->base);
		return 0;
	}
	if (!tree_name_of(c->base, c->o.set_of))
		return err_set(e, LOAD_REFUSED, "--set-of: there is no process %d",
			       (int)c->o.set_of);
	op.dir = s->store->root[0];
	r = store_call(s->store, &op, e);
	c->exists = !r && op.result == STORE_OK;
	return r;
}

int crowd_open(struct crowd **out, const struct crowd_opts *o, unsigned int *not_open,
	       struct err *e)
{
	struct crowd *c = calloc(1, sizeof(*c));
	int r;

	*out = c;
	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->o = *o;
	places_init(&c->places, o->session->cfg->local ? "" : o->session->cfg->c.volume,
		    o->session->store);
	c->places.n = !o->guest;
	*not_open = 0;
	cmd_allow_files();
	r = find_base(c, e);
	r = r ? r : opener_init(&c->opener, o->session, e);
	r = r ? r : new_members(c, e);
	r = r ? r : name_members(c, e);
	r = r ? r : new_engines(c, e);
	r = r ? r : crowd_open_all(c, not_open, e);
	opener_forget(&c->opener);
	if (o->users)
		users_forget(o->users);
	return r;
}

/* ---- files ---- */

static int crowd_make_base(struct crowd *c, struct err *e)
{
	int r = session_make_base(c->o.session, c->base, e);

	c->made = !r;
	return r;
}

/* Its first client makes the set that all share. */
static bool makes_shared(const struct crowd *c)
{
	return c->o.mix->shared && !c->o.first;
}

static int make_shared(struct crowd *c, struct err *e)
{
	const struct engine_job job = { .what = ENGINE_WORK,
					.to = 1,
					.script = crowd_make_of,
					.n_actions = 1,
					.action_name = one_action };
	struct run_load *load = NULL;
	int r = crowd_do_job(c, c->clients, &job, &load, e);

	if (!r && !load->client[0].opened)
		r = err_set(e, LOAD_REFUSED,
			    "the first client, which makes the files of all, has no session");
	run_load_free(load);
	return r;
}

/* A part of the clients at a time: all together would be a load that nobody asked for. */
static int crowd_make_files(struct crowd *c, struct err *e)
{
	unsigned int from = 0, to;
	int r = 0;

	if (makes_shared(c) && !c->exists) {
		r = make_shared(c, e);
		from = 1;
	}
	if (!r && c->o.begun)
		c->o.begun(c->o.user);
	for (; !r && !cmd_stop && from < c->o.clients; from = to) {
		to = from + PART;
		r = do_scripts(c, c->clients, crowd_make_of, from, to, false, e);
	}
	return r;
}

static void remove_sets(struct crowd *c)
{
	unsigned int from = makes_shared(c);

	for (; from < c->o.clients; from += PART)
		do_scripts(c, c->clients, remove_of, from, from + PART, true, NULL);
	if (makes_shared(c))
		do_scripts(c, c->clients, remove_of, 0, 1, true, NULL);
}

int crowd_make(struct crowd *c, struct err *e)
{
	int r = c->exists || c->o.guest ? 0 : crowd_make_base(c, e);

	c->made |= c->o.guest != NULL;
	if (!r && !c->exists && !c->o.guest)
		r = places_make(&c->places, c->base, c->o.users && c->o.users->n, e);
	r = r ? r : crowd_make_files(c, e);
	r = r ? r : do_scripts(c, c->watcher, crowd_make_of, 0, 0, false, e);
	if (!r && cmd_stop)
		r = err_set(e, -EINTR, "interrupted");
	if (!r && c->n_lost >= c->n)
		r = err_set(e, -ECONNRESET, "all sessions were lost: %s", c->why_lost);
	c->keeps_set = !r && c->o.set_of && !c->o.remove_set;
	return r;
}

unsigned int crowd_lost(const struct crowd *c, const char **why)
{
	*why = c->why_lost;
	return c->n_lost;
}

/* ---- load ---- */

int crowd_start(struct crowd *c, const struct crowd_load *how, struct err *e)
{
	unsigned int share = c->clients ? how->queue / c->o.threads : 0;
	int r;

	c->job = (struct engine_job) { .what = ENGINE_WORK,
				       .script = crowd_use_of,
				       .n_actions = N_MIX_ACTIONS,
				       .action_name = mix_action_name,
				       .begin_ns = how->begin_ns,
				       .duration_ns = how->duration_ns,
				       .ramp_ns = how->ramp_ns,
				       .settle_ns = how->settle_ns,
				       .think_ns = how->think_ns,
				       .pace = how->pace,
				       .queue = share ? share : 1 };
	c->probe_job = (struct engine_job) { .what = ENGINE_WORK,
					     .script = crowd_use_of,
					     .n_actions = N_PROBE_ACTIONS,
					     .action_name = probe_action_name,
					     .begin_ns = how->begin_ns,
					     .duration_ns = how->duration_ns + how->ramp_ns +
							    how->settle_ns,
					     .pace = { PACE_FIXED, PROBE_RATE, 0 } };
	r = c->watcher ? engine_start(c->watcher, &c->probe_job, e) : 0;
	if (!r && c->clients)
		r = engine_start(c->clients, &c->job, e);
	return r;
}

bool crowd_wait(struct crowd *c, uint64_t ns)
{
	places_keep_alive(&c->places);
	if (c->clients && !engine_wait(c->clients, ns))
		return false;
	return !c->watcher || engine_wait(c->watcher, ns);
}

void crowd_measure(struct crowd *c)
{
	uint64_t measure_ns = clock_now_ns() + SOON_NS, end_ns = measure_ns + c->job.duration_ns;

	engine_retime(c->clients, measure_ns, end_ns);
	if (c->watcher)
		engine_retime(c->watcher, 0, end_ns);
}

bool crowd_probed(const struct crowd *c, size_t i, struct run_second *out)
{
	return engine_second(c->watcher, i, out);
}

uint64_t crowd_done(const struct crowd *c)
{
	return engine_done(c->clients);
}

int crowd_join(struct crowd *c, struct run_phase *p, struct err *e)
{
	int r = c->clients ? engine_join(c->clients, &p->load, p, e) : 0;
	int probe = c->watcher ? engine_join(c->watcher, &p->probe, p, r ? NULL : e) : 0;

	for (unsigned int i = 0; p->load && i < c->o.clients; i++)
		memcpy(p->load->client[i].address, c->member[i].address, RUN_ADDRESS_LEN);
	if (p->probe)
		memcpy(p->probe->client->address, c->member[c->o.clients].address, RUN_ADDRESS_LEN);
	return r ? r : probe;
}

/* ---- the end ---- */

/* Removes the files: each client its own, then the directory, with what lost clients have left. */
static int remove_files(struct crowd *c, struct err *e)
{
	struct session *s = c->o.session;
	int r, others;

	do_scripts(c, c->watcher, remove_of, 0, 0, true, NULL);
	if (c->keeps_set) {
		*s->base[0] = '\0';
		return 0;
	}
	if (!c->made && !c->o.remove_set)
		return 0;
	remove_sets(c);
	if (c->o.guest)
		return 0;
	snprintf(s->base[0], sizeof(s->base[0]), "%s", c->base);
	r = session_remove_base(s, e);
	others = places_remove(&c->places, s, c->base, r ? NULL : e);
	return r ? r : others;
}

static void end_sessions(struct crowd *c)
{
	const struct engine_job job = { .what = ENGINE_END, .ignores_stop = true };

	crowd_do_job(c, c->clients, &job, NULL, NULL);
	crowd_do_job(c, c->watcher, &job, NULL, NULL);
	engine_free(c->clients);
	engine_free(c->watcher);
}

int crowd_close(struct crowd *c, struct err *e)
{
	int r = 0;

	if (!c)
		return 0;
	if (c->made || c->exists)
		r = remove_files(c, e);
	end_sessions(c);
	for (unsigned int i = 0; c->member && i < c->o.clients; i++)
		mix_client_free(c->member[i].mix);
	mix_data_free(c->data);
	probe_free(c->probe);
	places_close(&c->places);
	opener_fini(&c->opener);
	free(c->member);
	free(c);
	return r;
}
