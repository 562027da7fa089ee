/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope smallfile in one of several processes: its clients, and a rank other than 0. */
#include "main/smallfile.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S 1000000000u

static int smallfile_rank_describe(const void *cfg, struct run_notes *out)
{
	const struct smallfile_cfg *c = cfg;

	return smallfile_describe(c, out) | run_note(out, "direct", "%d", c->direct);
}

struct ranks_opts smallfile_ranks(const struct smallfile_cfg *cfg)
{
	return (struct ranks_opts) { .launch = &cfg->launch,
				     .session = &cfg->w.s,
				     .clients = cfg->clients,
				     .describe = smallfile_rank_describe,
				     .cfg = cfg };
}

struct smallfile_clients_opts smallfile_clients_of(const struct smallfile_cfg *cfg,
						   struct session *session)
{
	const struct ranks_opts all = smallfile_ranks(cfg);
	struct smallfile_clients_opts o = { .session = session,
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
	return o;
}

/* ---- a rank other than 0 ---- */

struct smallfile_guest {
	const struct smallfile_cfg *cfg;
	struct session session;
	struct clients *clients;
	const char *base;
	unsigned int i; /* loads that were begun */
};

/* All or none. */
static int smallfile_rank_open_sessions(void *user, const char *base, unsigned int *not_open,
					struct err *e)
{
	struct smallfile_guest *g = user;
	const struct smallfile_clients_opts o = smallfile_clients_of(g->cfg, &g->session);
	int r = smallfile_clients_open(&g->clients, &o, e);

	g->base = g->cfg->tree ? g->cfg->tree : base;
	*not_open = r == -ECONNREFUSED ? o.clients : 0;
	return r;
}

static int smallfile_rank_make_files(void *user, struct err *e)
{
	const struct smallfile_guest *g = user;

	return smallfile_clients_make(g->clients, g->base, e);
}

static int smallfile_rank_start(void *user, uint64_t begin_ns, struct err *e)
{
	struct smallfile_guest *g = user;

	if (g->i == g->cfg->list.n)
		return err_set(e, -EPROTO, "rank 0 has more loads");
	return smallfile_clients_start(g->clients, g->cfg->list.load[g->i++], begin_ns, e);
}

static bool smallfile_rank_wait_for(void *user, uint64_t ns)
{
	return clients_wait(((struct smallfile_guest *)user)->clients, ns);
}

static int smallfile_rank_join(void *user, struct run_phase *p, struct err *e)
{
	return clients_join(((struct smallfile_guest *)user)->clients, p, e);
}

/* Rank 0 removes the files. */
static void smallfile_rank_end(void *user)
{
	clients_close(((struct smallfile_guest *)user)->clients, NULL);
}

int smallfile_elsewhere(struct workload_cfg *base)
{
	static const struct ranks_clients clients = {
		smallfile_rank_open_sessions, smallfile_rank_make_files, smallfile_rank_start,
		smallfile_rank_wait_for,      smallfile_rank_join,       smallfile_rank_end
	};
	const struct smallfile_cfg *cfg = (const struct smallfile_cfg *)base;
	const struct ranks_opts o = smallfile_ranks(cfg);
	struct smallfile_guest *g;

	if (!cfg->mpi || !cfg->launch.rank)
		return -1;
	g = calloc(1, sizeof(*g));
	if (!g) {
		cmd_say("out of memory");
		return OUTCOME_OK;
	}
	*g = (struct smallfile_guest) { .cfg = cfg, .session.cfg = &base->s };
	ranks_other(&o, &g->session, &clients, g);
	free(g);
	return OUTCOME_OK;
}
