/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope load in one of several processes: its share of the clients, and a rank other than 0. */
#include "main/load.h"

#include <stdlib.h>

static int load_rank_describe(const void *cfg, struct run_notes *out)
{
	const struct load_cfg *c = cfg;
	int r = load_describe(c, out);

	for (unsigned int i = 0; i < N_MIX_ACTIONS; i++)
		r |= run_note(out, "weight", "%u", c->mix.weight[i]);
	return r;
}

struct ranks_opts load_ranks(const struct load_cfg *cfg)
{
	return (struct ranks_opts) { .launch = &cfg->launch,
				     .session = &cfg->w.s,
				     .clients = cfg->clients,
				     .describe = load_rank_describe,
				     .cfg = cfg };
}

void load_deal(const struct load_cfg *cfg, struct load_clients_opts *o)
{
	const struct ranks_opts all = load_ranks(cfg);
	struct ranks_share share;

	if (!cfg->mpi)
		return;
	share = ranks_share(&all);
	o->first = share.first;
	o->step = share.step;
	o->all = cfg->clients;
	o->clients = share.clients;
	if (o->threads > o->clients)
		o->threads = o->clients;
}

/* ---- a rank other than 0 ---- */

struct load_guest {
	const struct load_cfg *cfg;
	struct session session;
	struct users users;
	struct clients *clients;
};

static int load_rank_open_sessions(void *user, const char *base, unsigned int *not_open,
				   struct err *e)
{
	struct load_guest *g = user;
	struct load_clients_opts o = { .mix = &g->cfg->mix,
				       .users = &g->users,
				       .session = &g->session,
				       .threads = g->cfg->threads,
				       .directories = g->cfg->directories,
				       .seed = g->cfg->seed,
				       .realtime = g->cfg->realtime,
				       .set = LOAD_SET_OF_OTHER,
				       .base = base };

	load_deal(g->cfg, &o);
	return load_clients_open(&g->clients, &o, not_open, e);
}

static int load_rank_make_files(void *user, struct err *e)
{
	return load_clients_make(((struct load_guest *)user)->clients, e);
}

static int load_rank_start(void *user, uint64_t begin_ns, struct err *e)
{
	const struct load_guest *g = user;
	struct engine_job how;

	load_plan(g->cfg, &how);
	how.begin_ns = begin_ns;
	return clients_start(g->clients, &how, e);
}

static bool load_rank_wait_for(void *user, uint64_t ns)
{
	return clients_wait(((struct load_guest *)user)->clients, ns);
}

static int load_rank_join(void *user, struct run_phase *p, struct err *e)
{
	return clients_join(((struct load_guest *)user)->clients, p, e);
}

static void load_rank_end(void *user)
{
	struct err left = { 0 };

	clients_close(((struct load_guest *)user)->clients, &left);
}

int load_elsewhere(struct workload_cfg *base)
{
	static const struct ranks_clients clients = { load_rank_open_sessions, load_rank_make_files,
						      load_rank_start,         load_rank_wait_for,
						      load_rank_join,          load_rank_end };
	const struct load_cfg *cfg = (const struct load_cfg *)base;
	const struct ranks_opts o = load_ranks(cfg);
	struct load_guest *g;

	if (!cfg->mpi || !cfg->launch.rank)
		return -1;
	g = calloc(1, sizeof(*g));
	if (!g) {
		cmd_say("out of memory");
		return OUTCOME_OK;
	}
	*g = (struct load_guest) { .cfg = cfg, .session.cfg = &base->s, .users = cfg->users };
	ranks_other(&o, &g->session, &clients, g);
	free(g);
	return OUTCOME_OK;
}
