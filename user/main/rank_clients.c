/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load and smallfile in one of several processes: its share of the clients; a rank other than 0. */
#include "main/load.h"
#include "main/smallfile.h"

#include <errno.h>

#define NS_PER_S 1000000000u

/* For workload_type.elsewhere. */
static int rank_elsewhere(bool mpi, const struct ranks_opts *o)
{
	if (!mpi || !o->launch->rank)
		return -1;
	ranks_other(o);
	return OUTCOME_OK;
}

/* ---- load ---- */

static int rank_load_describe(const void *cfg, struct run_notes *out)
{
	const struct load_cfg *c = cfg;
	int r = load_describe(c, out);

	for (unsigned int i = 0; i < N_MIX_ACTIONS; i++)
		r |= run_note(out, "weight", "%u", c->mix.weight[i]);
	return r;
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

static int rank_load_open(struct clients **out, const void *cfg, struct session *session,
			  const char *base, unsigned int *not_open, struct err *e)
{
	const struct load_cfg *c = cfg;
	struct load_clients_opts o = {
		.mix = &c->mix,
		.users = (struct users *)&c->users, /* what it wipes is not used again */
		.session = session,
		.threads = c->threads,
		.directories = c->directories,
		.seed = c->seed,
		.realtime = c->realtime,
		.set = LOAD_SET_OF_OTHER,
		.base = base,
	};

	load_deal(c, &o);
	return load_clients_open(out, &o, not_open, e);
}

static int rank_load_make(struct clients *all, const void *cfg, const char *base, struct err *e)
{
	(void)cfg, (void)base;
	return load_clients_make(all, e);
}

static int rank_load_start(struct clients *all, const void *cfg, unsigned int i, uint64_t begin_ns,
			   struct err *e)
{
	struct engine_job how;

	(void)i;
	load_plan(cfg, &how);
	how.begin_ns = begin_ns;
	return clients_start(all, &how, e);
}

static const char *rank_load_title(const void *cfg, unsigned int i)
{
	(void)i;
	return ((const struct load_cfg *)cfg)->mix.name;
}

struct ranks_opts load_ranks(const struct load_cfg *cfg)
{
	static const struct ranks_clients clients = {
		.command = "load",
		.set = LOAD_SET,
		.open = rank_load_open,
		.make = rank_load_make,
		.start = rank_load_start,
		.title = rank_load_title,
	};

	return (struct ranks_opts) { .launch = &cfg->launch,
				     .session = &cfg->w.s,
				     .clients = cfg->clients,
				     .describe = rank_load_describe,
				     .guests = &clients,
				     .cfg = cfg };
}

int load_elsewhere(struct workload_cfg *base)
{
	const struct load_cfg *cfg = (const struct load_cfg *)base;
	const struct ranks_opts o = load_ranks(cfg);

	return rank_elsewhere(cfg->mpi, &o);
}

/* ---- small files ---- */

static int rank_smallfile_describe(const void *cfg, struct run_notes *out)
{
	const struct smallfile_cfg *c = cfg;

	return smallfile_describe(c, out) | run_note(out, "direct", "%d", c->direct);
}

struct smallfile_clients_opts smallfile_clients_of(const struct smallfile_cfg *cfg,
						   struct session *session)
{
	const struct ranks_opts all = smallfile_ranks(cfg);
	struct smallfile_clients_opts o = { .session = session,
					    .set = cfg->o,
					    .clients = cfg->clients,
					    .pause_ns = cfg->delay_us * 1000ull,
					    .live = (enum ticker_how)cfg->live,
					    .duration_ns = (uint64_t)cfg->duration_s * NS_PER_S };
	struct ranks_share share;

	if (!cfg->mpi)
		return o;
	share = ranks_share(&all);
	o.clients = share.clients;
	o.first = share.first;
	o.step = share.step;
	if (cfg->launch.rank)
		o.live = TICKER_OFF;
	return o;
}

/* All or none. */
static int rank_smallfile_open(struct clients **out, const void *cfg, struct session *session,
			       const char *base, unsigned int *not_open, struct err *e)
{
	const struct smallfile_cfg *c = cfg;
	const struct smallfile_clients_opts o = smallfile_clients_of(c, session);
	int r = smallfile_clients_open(out, &o, e);

	(void)base;
	*not_open = r == -ECONNREFUSED ? o.clients : 0;
	return r;
}

static int rank_smallfile_make(struct clients *all, const void *cfg, const char *base,
			       struct err *e)
{
	const struct smallfile_cfg *c = cfg;

	return smallfile_clients_make(all, c->tree ? c->tree : base, e);
}

static int rank_smallfile_start(struct clients *all, const void *cfg, unsigned int i,
				uint64_t begin_ns, struct err *e)
{
	const struct smallfile_cfg *c = cfg;

	return smallfile_clients_start(all, c->list.load[i], begin_ns, e);
}

static const char *rank_smallfile_title(const void *cfg, unsigned int i)
{
	return smallfile_name(((const struct smallfile_cfg *)cfg)->list.load[i]);
}

struct ranks_opts smallfile_ranks(const struct smallfile_cfg *cfg)
{
	static const struct ranks_clients clients = {
		.command = "smallfile",
		.set = SMALLFILE_SET,
		.open = rank_smallfile_open,
		.make = rank_smallfile_make,
		.start = rank_smallfile_start,
		.title = rank_smallfile_title,
	};

	return (struct ranks_opts) { .launch = &cfg->launch,
				     .session = &cfg->w.s,
				     .clients = cfg->clients,
				     .describe = rank_smallfile_describe,
				     .guests = &clients,
				     .cfg = cfg };
}

int smallfile_elsewhere(struct workload_cfg *base)
{
	const struct smallfile_cfg *cfg = (const struct smallfile_cfg *)base;
	const struct ranks_opts o = smallfile_ranks(cfg);

	return rank_elsewhere(cfg->mpi, &o);
}
