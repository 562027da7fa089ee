/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients with a mix of actions, their files, and what is left of them. */
#include "drive/load_clients.h"

#include "app/cmd.h"
#include "load/load.h"
#include "load/room.h"
#include "work/mix/probe.h"
#include "work/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clients that make or remove their files at a time: all would be a load nobody asked for. */
#define PART       32
#define PROBE_RATE N_PROBE_ACTIONS /* a second: stat, read, write, each once */

enum set_state {
	SET_NONE,
	SET_FOUND,  /* was there before */
	SET_MADE,   /* by this run, which removes it */
	SET_KEPT,   /* is complete, and stays */
	SET_SHARED, /* another process has the directory; files in it are of this one */
};

struct load_client {
	struct mix_client *mix; /* NULL: it is the probe */
	struct places_client at;
};

struct load_clients {
	struct load_clients_opts o;
	struct clients *all;
	struct places places;
	struct load_client *client; /* the last one is the probe, if there is one */
	struct mix_data *data;
	struct probe *probe;
	char base[TREE_NAME_MAX + 1]; /* the directory of all clients, in the root */
	enum set_state set;
};

static int load_clients_begin(void *own, unsigned int i, struct store **out, uint8_t *scratch,
			      struct err *e)
{
	const struct load_clients *c = own;

	return places_begin(&c->places, &c->client[i].at, out, scratch, e);
}

static struct script *load_clients_script(void *own, unsigned int i, enum clients_task task)
{
	const struct load_clients *c = own;
	struct mix_client *m = c->client[i].mix;

	switch (task) {
	case CLIENTS_MAKE:
		return m ? mix_client_make(m) : probe_make(c->probe);
	case CLIENTS_VERIFY:
		return m ? mix_client_verify(m) : NULL;
	case CLIENTS_REMOVE:
		return m ? mix_client_remove(m) : probe_remove(c->probe);
	default:
		return m ? mix_client_use(m) : probe_use(c->probe);
	}
}

/* ---- opening ---- */

static int load_clients_fill(struct load_clients *c, struct err *e)
{
	struct mix_client_opts o = { .mix = c->o.mix,
				     .base = c->base,
				     .exists = c->set == SET_FOUND,
				     .n_clients = c->o.all,
				     .n_dirs = c->o.directories,
				     .seed = c->o.seed };
	/* client i is thread i modulo their number's; of a directory nobody looks at the data */
	const unsigned int n = session_blocks(c->o.session->cfg) ? 1 : c->o.threads;
	bool there;

	c->client = calloc(c->o.clients + 1, sizeof(*c->client));
	c->data = o.data = mix_data_new(o.mix, n);
	c->probe = probe_new(c->base);
	there = c->client && c->data && c->probe;
	for (unsigned int i = 0; there && i < c->o.clients; i++) {
		o.number = c->o.first + i * c->o.step;
		o.sink = i % n;
		c->client[i].mix = mix_client_new(&o);
		there = c->client[i].mix;
	}
	return there ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* Of a client, by its number among those of all processes; NULL: the command's own. */
static const struct user *load_clients_user(const struct load_clients *c, unsigned int number)
{
	const struct users *all = c->o.users;

	return all && all->n ? &all->user[number % all->n] : NULL;
}

/* The probe logs in as the command's own session does. Each volume gets a session of ours. */
static int load_clients_place(struct load_clients *c, struct err *e)
{
	unsigned int number;
	int r = 0;

	for (unsigned int i = 0; i < c->o.clients; i++) {
		number = c->o.first + i * c->o.step;
		c->client[i].at = places_client(&c->places, load_clients_user(c, number),
						c->o.mix->window, number);
		c->client[i].at.logins = mix_logs_in(c->o.mix);
	}
	c->client[c->o.clients].at = places_client(&c->places, NULL, 1, c->o.all);
	if (c->o.set == LOAD_SET_OF_OTHER || c->o.session->cfg->local)
		return 0;
	/* also those of clients of other processes */
	for (unsigned int i = 0; !r && i < c->o.all; i++)
		r = places_add(&c->places, load_clients_user(c, i), e);
	return r;
}

/* Names the directory of all clients, and looks whether it is there. */
static int load_clients_find_set(struct load_clients *c, struct err *e)
{
	struct store *s = c->o.session->store;
	struct store_op op = { .verb = STORE_LOOKUP, .name = c->base };
	int r;

	if (c->o.set == LOAD_SET_OF_OTHER)
		snprintf(c->base, sizeof(c->base), "%s", c->o.base);
	else if (c->o.set == LOAD_SET_OWN)
		tree_name(c->base);
	else if (!tree_name_of(c->base, c->o.set_of))
		return err_set(e, LOAD_REFUSED, "--set-of: there is no process %d",
			       (int)c->o.set_of);
	if (c->o.set != LOAD_SET_OF_PROCESS)
		return 0;
	op.dir = s->root[0];
	r = store_call(s, &op, e);
	c->set = !r && op.result == STORE_OK ? SET_FOUND : SET_NONE;
	return r;
}

/* ---- files ---- */

/* Its first client makes the set that all share. */
static bool load_clients_share(const struct load_clients *c)
{
	return c->o.mix->shared && !c->o.first;
}

/*
 * What the clients on a volume (NULL: all) will have there at once: their files and, of those that
 * save, a new one in each directory, which may be the longest.
 */
static uint64_t load_clients_bytes(const struct load_clients *c, const char *volume)
{
	const struct mix *m = c->o.mix;
	const unsigned int dirs = m->shared ? 1 : c->o.directories;
	bool saves = m->weight[MIX_SAVE] || m->weight[MIX_MAC_SAVE];
	uint64_t n = 0, longest;
	struct places_client at;

	for (unsigned int i = 0; c->o.all && i < dirs; i++) { /* else only the probe */
		at = places_client(&c->places, load_clients_user(c, i % c->o.all), 1, i);
		if (volume && strcmp(at.volume, volume) != 0)
			continue;
		longest = 0;
		n += mix_dir_bytes(m, c->o.seed, i, dirs, &longest);
		n += saves ? longest : 0;
	}
	return n;
}

static int load_clients_room(struct load_clients *c, struct err *e)
{
	const struct session_cfg *cfg = c->o.session->cfg;
	const struct places *p = &c->places;
	struct room_need need = { .force = cfg->force_how };
	int r = 0;

	for (unsigned int i = 0; !r && !cfg->force && i < p->n; i++) {
		need.volume = 0;
		need.where = cfg->local ? cfg->directory : p->place[i].volume;
		need.bytes = load_clients_bytes(c, p->n > 1 ? p->place[i].volume : NULL);
		need.bytes += c->o.probe && !i ? PROBE_LEN : 0;
		r = room_check(p->place[i].store, &need, e);
	}
	return r;
}

int load_clients_prepare(struct clients *all, struct err *e)
{
	struct load_clients *c = clients_own(all);
	int r;

	if (c->set == SET_FOUND || c->o.set == LOAD_SET_OF_OTHER)
		return 0;
	r = load_clients_room(c, e);
	r = r ? r : session_make_base(c->o.session, c->base, e);
	if (r)
		return r;
	c->set = SET_MADE;
	r = places_make(&c->places, c->base, c->o.users && c->o.users->n, e);
	if (r || !load_clients_share(c))
		return r;
	r = clients_do(all, CLIENTS_MAKE, 0, 1, e);
	if (!r && !clients_is_open(all, 0))
		r = err_set(e, LOAD_REFUSED,
			    "the first client, which makes the files of all, has no session");
	return r;
}

int load_clients_make(struct clients *all, struct err *e)
{
	struct load_clients *c = clients_own(all);
	unsigned int from = c->set != SET_FOUND && load_clients_share(c);
	const char *why;
	int r = 0;

	if (c->o.set == LOAD_SET_OF_OTHER)
		c->set = SET_SHARED;
	for (; !r && !cmd_stop && from < c->o.clients; from += PART)
		r = clients_do(all, CLIENTS_MAKE, from, from + PART, e);
	r = r ? r : clients_do_probe(all, CLIENTS_MAKE, e);
	if (!r && cmd_stop)
		r = err_set(e, -EINTR, "interrupted");
	if (!r && clients_lost(all, &why) >= c->o.clients + c->o.probe)
		r = err_set(e, -ECONNRESET, "all sessions were lost: %s", why);
	if (r || c->o.set != LOAD_SET_OF_PROCESS)
		return r;
	c->set = SET_KEPT;
	for (unsigned int i = 0; i < c->places.n; i++)
		*c->o.session->left->base[i] = '\0';
	return 0;
}

int load_clients_verify(struct clients *all, struct mix_verified *out, struct err *e)
{
	struct load_clients *c = clients_own(all);
	struct err why = { 0 };
	int r = 0, first = 0;

	for (unsigned int from = 0; first != -EINTR && from < c->o.clients; from += PART) {
		r = clients_do(all, CLIENTS_VERIFY, from, from + PART, &why);
		r = cmd_stop ? err_set(&why, -EINTR, "interrupted") : r;
		if (r && !first)
			*e = why;
		first = first ? first : r;
	}
	*out = (struct mix_verified) { 0 };
	for (unsigned int i = 0; i < c->o.clients; i++)
		mix_client_add_verified(c->client[i].mix, out);
	return first;
}

void load_clients_take_set(struct clients *all)
{
	struct load_clients *c = clients_own(all);

	if (c->set == SET_FOUND)
		c->set = SET_MADE;
}

/* ---- the end ---- */

/* Removes the files: each client its own, then the directory, with what lost clients have left. */
static int load_clients_clean(void *own, struct err *e)
{
	struct load_clients *c = own;
	struct session *s = c->o.session;
	bool shares = load_clients_share(c);
	int r, others;

	if (c->set == SET_NONE)
		return 0;
	clients_do_probe(c->all, CLIENTS_REMOVE, NULL);
	if (c->set == SET_KEPT || c->set == SET_FOUND)
		return 0;
	for (unsigned int from = shares; from < c->o.clients; from += PART)
		clients_do(c->all, CLIENTS_REMOVE, from, from + PART, NULL);
	if (shares)
		clients_do(c->all, CLIENTS_REMOVE, 0, 1, NULL);
	if (c->set == SET_SHARED)
		return 0;
	snprintf(s->left->base[0], WARDEN_BASE_LEN, "%s", c->base);
	r = session_remove_base(s, e);
	others = places_remove(&c->places, s, c->base, r ? NULL : e);
	return r ? r : others;
}

static void load_clients_free(void *own)
{
	struct load_clients *c = own;

	for (unsigned int i = 0; c->client && i < c->o.clients; i++)
		mix_client_free(c->client[i].mix);
	mix_data_free(c->data);
	probe_free(c->probe);
	places_close(&c->places);
	free(c->client);
	free(c);
}

int load_clients_open(struct clients **out, const struct load_clients_opts *o,
		      unsigned int *not_open, struct err *e)
{
	static const struct clients_type type = {
		.opens = "session",
		.actions = { N_MIX_ACTIONS, mix_action_name },
		.probe = { N_PROBE_ACTIONS, probe_action_name },
		.probe_rate = PROBE_RATE,
		.begin = load_clients_begin,
		.address = connect_address,
		.script = load_clients_script,
		.clean = load_clients_clean,
		.free = load_clients_free,
	};
	struct load_clients *c = calloc(1, sizeof(*c));
	struct clients_opts opts = { .n = o->clients,
				     .threads = o->threads,
				     .logins = mix_logs_in(o->mix) ? o->clients : 0,
				     .opening_max = CLIENTS_OPENING_MAX,
				     .probe = o->probe,
				     .realtime = o->realtime,
				     .first = o->first,
				     .step = o->step,
				     .all = o->all };
	int r;

	*out = NULL;
	r = c ? clients_new(out, &type, c, e) : err_set(e, -ENOMEM, "out of memory");
	if (r)
		return r;
	c->o = *o;
	c->all = *out;
	if (!o->step) {
		c->o.step = 1;
		c->o.all = o->clients;
	}
	opts.places = &c->places;
	opts.share = c->base;
	r = load_clients_find_set(c, e);
	r = r ? r : places_open(&c->places, o->session, e);
	c->places.keeps_secret = mix_logs_in(o->mix);
	c->places.visits = &o->session->visits;
	r = r ? r : load_clients_fill(c, e);
	for (unsigned int i = 0; !r && i < o->clients; i++)
		opts.data_b += mix_client_data_b(c->client[i].mix);
	r = r ? r : load_clients_place(c, e);
	r = r ? r : clients_open(c->all, &opts, not_open, e);
	if (o->users && !mix_logs_in(o->mix))
		users_forget(o->users);
	return r;
}

/* ---- what came of it ---- */

/* Whether client i had time for an action as long as the longest: who is wanted late may be in the
 * middle of one at the end, as others are. An action goes on when its client is wanted no more. */
static bool load_clients_had_time(const struct run_load *l, const struct rate *crowd,
				  unsigned int i, double longest_s)
{
	double from_s = crowd ? rate_reaches(crowd, i + 1, 0) : 0;
	double measured_s = (double)(l->end_ns - l->measure_ns) / 1e9;

	return from_s <= 0 || measured_s - from_s > longest_s;
}

unsigned int load_clients_starved(const struct run_load *l, const struct rate *crowd)
{
	struct run_action all;
	unsigned int n = 0;

	run_load_all(l, &all);
	for (unsigned int i = 0; i < l->n_clients; i++)
		n += l->client[i].opened && !l->client[i].lost && !l->client[i].actions &&
		     load_clients_had_time(l, crowd, i, (double)all.planned.max / 1e9);
	return n;
}
