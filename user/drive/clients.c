/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that do the same at the same time, whatever it is. */
#include "drive/clients.h"

#include "app/capacity.h"
#include "app/cmd.h"
#include "base/clock.h"
#include "host/net/sockets.h"
#include "load/load.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_NS  100000000u
#define SOON_NS  200000000u /* within this, all threads have seen a new time */
#define OVER_NS  120000000u /* after a second's end all of it is known */
#define NS_PER_S 1000000000u

/* One client, or the probe. */
struct client {
	struct clients *all;
	unsigned int number;
	bool open;                     /* its session, when the last job began */
	char address[RUN_ADDRESS_LEN]; /* its end of the connection */
};

struct clients {
	const struct clients_type *type;
	void *own;
	struct clients_opts o;
	struct engine *engine, *watcher; /* NULL: no clients, no probe, which is the watcher's */
	struct client *client;
	enum clients_task task;           /* under way */
	struct engine_job job, probe_job; /* likewise */
	unsigned int n_lost;              /* sessions, until the load begins */
	char why_lost[256];
};

/* ---- one client ---- */

static int clients_begin_store(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	const struct client *x = user;

	return x->all->type->begin(x->all->own, x->number, out, scratch, e);
}

static void clients_note_address(void *user, struct store *store)
{
	struct client *x = user;

	x->open = true;
	x->all->type->address(store, x->address);
}

static struct script *clients_script(void *user)
{
	const struct client *x = user;

	return x->all->type->script(x->all->own, x->number, x->all->task);
}

/* ---- jobs ---- */

static void clients_tick(struct clients *c)
{
	struct places *p = c->o.places;

	if (p)
		places_keep_alive(p);
	if (p && p->session->watch)
		watch_tick(p->session->watch);
	if (c->type->tick)
		c->type->tick(c->own);
}

/* Does a job to its end; g NULL: there is nobody, and no load. *load is the caller's. */
static int clients_do_job(struct clients *c, struct engine *g, const struct engine_job *job,
			  struct run_load **load, struct err *e)
{
	int r = g ? engine_start(g, job, e) : 0;

	*load = NULL;
	if (r || !g)
		return r;
	while (!engine_wait(g, TICK_NS))
		clients_tick(c);
	return engine_join(g, load, NULL, e);
}

static void clients_note_lost(struct clients *c, const struct run_load *load)
{
	if (load->n_lost && !c->n_lost)
		snprintf(c->why_lost, sizeof(c->why_lost), "%s", load->why);
	c->n_lost += load->n_lost;
}

/* What scripts have done that were to do all that they do. */
static int clients_judge(struct clients *c, const struct run_load *load, struct err *e)
{
	struct run_action all;

	run_load_all(load, &all);
	if (c->type->all_or_none && cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (c->type->all_or_none && load->n_lost)
		return err_set(e, -ECONNRESET, "%u sessions were lost: %s", load->n_lost,
			       load->why);
	return all.failed ? err_set(e, LOAD_REFUSED, "%s", load->first_failure) : 0;
}

static int clients_do_scripts(struct clients *c, struct engine *g, enum clients_task task,
			      unsigned int from, unsigned int to, struct err *e)
{
	const struct clients_actions *actions = &c->type->actions;
	const struct engine_job job = { .what = ENGINE_WORK,
					.ignores_stop = task == CLIENTS_REMOVE,
					.from = from,
					.to = to,
					.script = clients_script,
					.n_actions = actions->n,
					.action_name = actions->name };
	struct run_load *load;
	int r;

	c->task = task;
	r = clients_do_job(c, g, &job, &load, e);
	if (!r && load) {
		clients_note_lost(c, load);
		for (unsigned int i = 0; g == c->engine && i < c->o.n; i++)
			c->client[i].open = load->client[i].opened;
		r = clients_judge(c, load, e);
	}
	run_load_free(load);
	return r;
}

int clients_do(struct clients *c, enum clients_task task, unsigned int from, unsigned int to,
	       struct err *e)
{
	return clients_do_scripts(c, c->engine, task, from, to, e);
}

int clients_do_probe(struct clients *c, enum clients_task task, struct err *e)
{
	return clients_do_scripts(c, c->watcher, task, 0, 0, e);
}

bool clients_is_open(const struct clients *c, unsigned int i)
{
	return c->client[i].open;
}

unsigned int clients_lost(const struct clients *c, const char **why)
{
	*why = c->why_lost;
	return c->n_lost;
}

/* ---- opening ---- */

int clients_new(struct clients **out, const struct clients_type *type, void *own, struct err *e)
{
	struct clients *c = calloc(1, sizeof(*c));

	*out = c;
	if (!c) {
		type->free(own);
		return err_set(e, -ENOMEM, "out of memory");
	}
	c->type = type;
	c->own = own;
	return 0;
}

void *clients_own(const struct clients *c)
{
	return c->own;
}

/* Of the clients and the probe; stores that block have a thread each, or are their thread's only
 * one. */
static unsigned int clients_threads(const struct clients *c, bool blocks)
{
	unsigned int own = c->o.n ? c->o.threads : 0;

	if (blocks && own < c->o.n)
		own += c->o.n;
	return own + (blocks ? 2 : 1) * c->o.probe;
}

/* Other connections than the command's own that have its address, and so a port of it, towards its
 * server. With --source they may begin at any. */
static uint64_t clients_taken(const struct clients *c)
{
	struct store *own = c->o.places ? c->o.places->session->store : NULL;
	struct sockaddr_storage here, there;
	struct sockets_addr local, remote;
	struct sockets all = { 0 };
	uint64_t n = 0;

	if (!own || c->o.places->session->cfg->c.sources.n)
		return 0;
	store_ends(own, &here, &there);
	if (!sockets_addr(&local, &here) || !sockets_addr(&remote, &there))
		return 0;
	if (!sockets_read(&all, NULL))
		for (size_t i = 0; i < all.n; i++)
			n += !all.entry[i].listens && sockets_same(&all.entry[i].remote, &remote) &&
			     !memcmp(all.entry[i].local.ip, local.ip, sizeof(local.ip));
	sockets_fini(&all);
	return n > c->o.places->n ? n - c->o.places->n : 0;
}

/* Whether this machine has room for all of them. */
static int clients_check_room(const struct clients *c, struct err *e)
{
	const struct session_cfg *cfg = c->o.places ? c->o.places->session->cfg : NULL;
	const bool afp = cfg && !cfg->local, blocks = cfg && session_blocks(cfg);
	const struct capacity_need need = {
		/* A connection each where they do not block: also over SMB and NFS. */
		.sessions = cfg && !blocks ? c->o.n + c->o.logins + c->o.probe + c->o.places->n : 0,
		.threads = clients_threads(c, blocks),
		.data_b = c->o.data_b,
		.taken = clients_taken(c),
		.one_source = !afp,
		.low_ports = cfg && cfg->local && store_place_low_ports(cfg->directory),
		/* Those that the server's first address can be reached from. */
		.sources = afp && cfg->c.sources.n
			       ? sources_of(&cfg->c.sources, c->o.places->address->ai_family)
			       : 1,
	};
	struct capacity here;

	capacity_look(&here, "");
	return capacity_check(&here, &need, e);
}

/* Sessions that this process opens at a time: all processes together not more than are allowed. */
static unsigned int clients_opening(const struct clients *c)
{
	unsigned int processes = c->o.step ? c->o.step : 1;

	return c->o.opening_max > processes ? c->o.opening_max / processes : 1;
}

static int clients_new_engines(struct clients *c, struct err *e)
{
	const unsigned int n = c->o.n + c->o.probe, t = c->o.threads, most = clients_opening(c);
	const struct engine_opts many = { .n_threads = t,
					  .opening_max = t < most ? most / t : 1,
					  .first = c->o.first,
					  .step = c->o.step,
					  .all = c->o.all,
					  .stop = &cmd_stop,
					  .realtime = c->o.realtime };
	/* The probe needs little, and must not wait. */
	const struct engine_opts one = {
		.n_threads = 1, .opening_max = 1, .stop = &cmd_stop, .realtime = true
	};
	struct engine_client *clients = calloc(n, sizeof(*clients));
	int r = 0;

	c->client = calloc(n, sizeof(*c->client));
	if (!clients || !c->client)
		r = err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && i < n; i++) {
		c->client[i] = (struct client) { .all = c, .number = i };
		clients[i] = (struct engine_client) { clients_begin_store, &c->client[i],
						      clients_note_address };
	}
	if (!r && c->o.n)
		r = engine_new(&c->engine, &many, clients, c->o.n, e);
	if (!r && c->o.probe)
		r = engine_new(&c->watcher, &one, &clients[c->o.n], 1, e);
	free(clients);
	return r;
}

/* The first reason why one has no session stays in why. */
static int clients_open_some(struct clients *c, struct engine *g, unsigned int from,
			     unsigned int to, struct err *why, struct err *e)
{
	const struct engine_job job = { .what = ENGINE_OPEN, .from = from, .to = to };
	struct run_load *load;
	int r = clients_do_job(c, g, &job, &load, e);

	if (!r && load) {
		clients_note_lost(c, load);
		if (g == c->watcher)
			c->client[c->o.n].open = load->client->opened;
		if (!*why->text)
			err_set(why, 0, "%s", load->why);
	}
	run_load_free(load);
	return !r && cmd_stop ? err_set(e, -EINTR, "interrupted") : r;
}

static int clients_open_probe(struct clients *c, struct err *e)
{
	struct err why = { 0 };
	int r = clients_open_some(c, c->watcher, 0, 0, &why, e);

	if (r || !c->watcher || c->client[c->o.n].open)
		return r;
	return err_set(e, -ECONNREFUSED, "the probe could not open a %s: %s", c->type->opens,
		       why.text);
}

int clients_reopen_probe(struct clients *c, struct err *e)
{
	int r;

	if (c->o.places)
		places_recall(c->o.places);
	r = clients_open_probe(c, e);
	if (c->o.places)
		places_forget(c->o.places);
	return r ? r : clients_do_probe(c, CLIENTS_MAKE, e);
}

/* With more threads than may open one, a part of the clients at a time. */
static int clients_open_all(struct clients *c, unsigned int *not_open, struct err *e)
{
	const unsigned int n = c->o.n, most = clients_opening(c);
	const unsigned int part = c->o.threads > most ? most : n;
	struct err why = { 0 };
	int r = 0;

	for (unsigned int from = 0; !r && from < n; from += part)
		r = clients_open_some(c, c->engine, from, from + part, &why, e);
	for (unsigned int i = 0; !r && i < n; i++)
		*not_open += !c->client[i].open;
	if (r || !*not_open)
		return r;
	if (c->type->all_or_none)
		return err_set(e, -ECONNREFUSED, "%u of %u clients could not open a %s: %s",
			       *not_open, n, c->type->opens, why.text);
	if (*not_open == n)
		return err_set(e, -ECONNREFUSED, "no client could open a %s: %s", c->type->opens,
			       why.text);
	return err_set(e, 0, "%s", why.text);
}

int clients_open(struct clients *c, const struct clients_opts *o, unsigned int *not_open,
		 struct err *e)
{
	int r;

	c->o = *o;
	*not_open = 0;
	cmd_allow_files();
	r = clients_check_room(c, e);
	r = r ? r : clients_new_engines(c, e);
	r = r ? r : clients_open_probe(c, e);
	r = r ? r : clients_open_all(c, not_open, e);
	if (o->places)
		places_forget(o->places);
	return r;
}

/* ---- the load ---- */

int clients_start(struct clients *c, const struct engine_job *how, struct err *e)
{
	const struct clients_type *t = c->type;
	int r;

	c->task = CLIENTS_USE;
	c->job = *how;
	c->job.what = ENGINE_WORK;
	c->job.share = c->o.step ? c->o.share : NULL;
	c->job.script = clients_script;
	c->job.n_actions = t->actions.n;
	c->job.action_name = t->actions.name;
	c->probe_job = (struct engine_job) { .what = ENGINE_WORK,
					     .script = clients_script,
					     .n_actions = t->probe.n,
					     .action_name = t->probe.name,
					     .begin_ns = how->begin_ns,
					     .duration_ns = how->duration_ns + how->ramp_ns +
							    how->settle_ns,
					     .pace = { PACE_FIXED, t->probe_rate, 0 } };
	r = c->watcher ? engine_start(c->watcher, &c->probe_job, e) : 0;
	if (!r && c->engine)
		r = engine_start(c->engine, &c->job, e);
	return r;
}

bool clients_wait(struct clients *c, uint64_t ns)
{
	clients_tick(c);
	if (c->engine && !engine_wait(c->engine, ns))
		return false;
	return !c->watcher || engine_wait(c->watcher, ns);
}

void clients_measure(struct clients *c)
{
	uint64_t measure_ns = clock_now_ns() + SOON_NS, end_ns = measure_ns + c->job.duration_ns;

	engine_retime(c->engine, measure_ns, end_ns);
	if (c->watcher)
		engine_retime(c->watcher, 0, end_ns);
}

void clients_end_soon(struct clients *c)
{
	uint64_t end_ns = clock_now_ns() + SOON_NS;

	engine_retime(c->engine, 0, end_ns);
	if (c->watcher)
		engine_retime(c->watcher, 0, end_ns);
}

uint64_t clients_done(const struct clients *c)
{
	return engine_done(c->engine);
}

bool clients_probed(const struct clients *c, size_t i, struct run_second *out)
{
	return engine_second(c->watcher, i, out);
}

bool clients_next_second(const struct clients *c, struct ticker_second *s, uint64_t begin_ns,
			 uint64_t measure_ns)
{
	size_t i = s->number, first = engine_first_second(c->engine);

	s->seconds = 1;
	s->has_probe = c->watcher != NULL;
	i = i < first ? first : i;
	if (!engine_second(c->engine, i, &s->clients) ||
	    (c->watcher && !clients_probed(c, i, &s->probe)))
		return false;
	if (begin_ns + i * NS_PER_S >= measure_ns)
		s->state = "measuring";
	else
		s->state = measure_ns == UINT64_MAX ? "not steady yet" : "ramp";
	s->silent = s->clients.n ? 0 : i == s->number ? s->silent + 1 : 1;
	s->number = (unsigned int)i + 1;
	return true;
}

void clients_show(const struct clients *c, struct ticker *t, struct ticker_second *s,
		  uint64_t begin_ns, uint64_t measure_ns)
{
	while (clients_next_second(c, s, begin_ns, measure_ns))
		ticker_add(t, s);
}

void clients_show_end(const struct clients *c, struct ticker *t, struct ticker_second *s,
		      uint64_t begin_ns, uint64_t measure_ns)
{
	const struct timespec soon = { .tv_nsec = OVER_NS };

	if (t->how == TICKER_JSON) {
		nanosleep(&soon, NULL);
		clients_show(c, t, s, begin_ns, measure_ns);
	}
	ticker_end(t);
}

int clients_join(struct clients *c, struct run_phase *p, struct err *e)
{
	struct run_phase *probes = c->type->probe_is_apart ? NULL : p;
	int r, probe;

	if (c->type->ended)
		c->type->ended(c->own);
	r = c->engine ? engine_join(c->engine, &p->load, p, e) : 0;
	probe = c->watcher ? engine_join(c->watcher, &p->probe, probes, r ? NULL : e) : 0;

	for (unsigned int i = 0; p->load && i < c->o.n; i++)
		memcpy(p->load->client[i].address, c->client[i].address, RUN_ADDRESS_LEN);
	if (p->probe)
		memcpy(p->probe->client->address, c->client[c->o.n].address, RUN_ADDRESS_LEN);
	r = r ? r : probe;
	return r || !c->type->joined ? r : c->type->joined(c->own, p, e);
}

/* ---- the end ---- */

static void clients_end(struct clients *c, struct engine *g)
{
	const struct engine_job job = { .what = ENGINE_END, .ignores_stop = true };
	struct run_load *load;

	clients_do_job(c, g, &job, &load, NULL);
	run_load_free(load);
	engine_free(g);
}

int clients_close(struct clients *c, struct err *e)
{
	int r;

	if (!c)
		return 0;
	r = c->type->clean ? c->type->clean(c->own, e) : 0;
	clients_end(c, c->engine);
	clients_end(c, c->watcher);
	c->type->free(c->own);
	free(c->client);
	free(c);
	return r;
}
