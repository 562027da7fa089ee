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

void load_deal(const struct load_cfg *cfg, struct crowd_opts *o)
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

static int rank_load_open(void **out, const void *cfg, struct session *session, const char *base,
			  unsigned int *not_open, struct err *e)
{
	const struct load_cfg *c = cfg;
	struct crowd_opts o = {
		.mix = &c->mix,
		.users = (struct users *)&c->users, /* what it wipes is not used again */
		.session = session,
		.threads = c->threads,
		.directories = c->directories,
		.seed = c->seed,
		.realtime = c->realtime,
		.guest = base
	};

	load_deal(c, &o);
	return crowd_open((struct crowd **)out, &o, not_open, e);
}

static int rank_load_make(void *clients, const void *cfg, const char *base, struct err *e)
{
	(void)cfg, (void)base;
	return crowd_make(clients, e);
}

static int rank_load_start(void *clients, const void *cfg, unsigned int i, uint64_t begin_ns,
			   struct err *e)
{
	struct crowd_load how;

	(void)i;
	load_plan(cfg, &how);
	how.begin_ns = begin_ns;
	return crowd_start(clients, &how, e);
}

static bool rank_load_wait(void *clients, uint64_t ns)
{
	return crowd_wait(clients, ns);
}

static const char *rank_load_title(const void *cfg, unsigned int i)
{
	(void)i;
	return ((const struct load_cfg *)cfg)->mix.name;
}

static int rank_load_join(void *clients, struct run_phase *p, struct err *e)
{
	return crowd_join(clients, p, e);
}

static void rank_load_close(void *clients)
{
	crowd_close(clients, NULL);
}

struct ranks_opts load_ranks(const struct load_cfg *cfg)
{
	static const struct ranks_clients clients = {
		.command = "load",
		.set = LOAD_SET,
		.open = rank_load_open,
		.make = rank_load_make,
		.start = rank_load_start,
		.wait = rank_load_wait,
		.title = rank_load_title,
		.join = rank_load_join,
		.close = rank_load_close,
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

struct filers_opts smallfile_filers(const struct smallfile_cfg *cfg, struct session *session)
{
	const struct ranks_opts all = smallfile_ranks(cfg);
	struct filers_opts o = { .session = session,
				 .set = cfg->o,
				 .clients = cfg->clients,
				 .pause_ns = cfg->delay_us * 1000ull,
				 .duration_ns = (uint64_t)cfg->duration_s * NS_PER_S };
	struct ranks_share share;

	if (!cfg->mpi)
		return o;
	share = ranks_share(&all);
	o.clients = share.clients;
	o.first = share.first;
	o.step = share.step;
	o.guest = share.first != 0;
	return o;
}

/* All or none. */
static int rank_smallfile_open(void **out, const void *cfg, struct session *session,
			       const char *base, unsigned int *not_open, struct err *e)
{
	const struct smallfile_cfg *c = cfg;
	const struct filers_opts o = smallfile_filers(c, session);
	int r = filers_open((struct filers **)out, &o, e);

	(void)base;
	*not_open = r == -ECONNREFUSED ? o.clients : 0;
	return r;
}

static int rank_smallfile_make(void *clients, const void *cfg, const char *base, struct err *e)
{
	const struct smallfile_cfg *c = cfg;

	return filers_make(clients, c->tree ? c->tree : base, e);
}

static int rank_smallfile_start(void *clients, const void *cfg, unsigned int i, uint64_t begin_ns,
				struct err *e)
{
	const struct smallfile_cfg *c = cfg;

	return filers_start(clients, c->list.load[i], begin_ns, e);
}

static bool rank_smallfile_wait(void *clients, uint64_t ns)
{
	return filers_wait(clients, ns);
}

static const char *rank_smallfile_title(const void *cfg, unsigned int i)
{
	return smallfile_name(((const struct smallfile_cfg *)cfg)->list.load[i]);
}

static int rank_smallfile_join(void *clients, struct run_phase *p, struct err *e)
{
	return filers_join(clients, p, e);
}

/* Rank 0 removes the files. */
static void rank_smallfile_close(void *clients)
{
	filers_close(clients);
}

struct ranks_opts smallfile_ranks(const struct smallfile_cfg *cfg)
{
	static const struct ranks_clients clients = {
		.command = "smallfile",
		.set = SMALLFILE_SET,
		.open = rank_smallfile_open,
		.make = rank_smallfile_make,
		.start = rank_smallfile_start,
		.wait = rank_smallfile_wait,
		.title = rank_smallfile_title,
		.join = rank_smallfile_join,
		.close = rank_smallfile_close,
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
