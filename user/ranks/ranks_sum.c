/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One load of what several ranks have done. */
#include "ranks/ranks_priv.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned int ranks_share_of(const struct ranks_opts *o, unsigned int rank)
{
	return (o->clients - rank + o->launch->size - 1) / o->launch->size;
}

struct ranks_share ranks_share(const struct ranks_opts *o)
{
	return (struct ranks_share) { ranks_share_of(o, o->launch->rank), o->launch->rank,
				      o->launch->size };
}

/* A hash of all that is described, but for threads. */
int ranks_hello(const struct ranks_opts *o, struct ranks_hello *out)
{
	struct run_notes notes = { 0 };
	uint64_t hash = HASH_TEXT;
	int r = o->describe(o->cfg, &notes);

	*out = (struct ranks_hello) { .pid = getpid() };
	gethostname(out->host, sizeof(out->host) - 1);
	for (size_t i = 0; i < notes.n; i++)
		if (strcmp(notes.note[i].key, "threads"))
			hash = hash_text(hash, notes.note[i].text);
	run_notes_fini(&notes);
	snprintf(out->terms, sizeof(out->terms), "%s %016llx", AFPSCOPE_VERSION,
		 (unsigned long long)hash);
	return r;
}

struct run_load *ranks_sum_new(const struct ranks_opts *o, const struct run_load *like)
{
	struct run_load *all = run_load_new(o->clients, like->n_actions, like->n_seconds);

	if (!all || run_load_ranks(all, o->launch->size) ||
	    run_load_keep_stages(all, like->stage, like->n_stages)) {
		run_load_free(all);
		return NULL;
	}
	for (size_t i = 0; i < like->n_actions; i++)
		all->action[i].name = like->action[i].name;
	all->begin_ns = like->begin_ns;
	all->measure_ns = like->measure_ns;
	all->end_ns = like->end_ns;
	all->rate_per_s = like->rate_per_s;
	all->given = like->given;
	for (unsigned int i = 0; i < o->launch->size; i++) {
		all->rank[i].clients = ranks_share_of(o, i);
		all->rank[i].end = RUN_RANK_LOST;
		snprintf(all->rank[i].host, sizeof(all->rank[i].host), "unknown");
	}
	return all;
}

int ranks_sum_take(struct run_phase *all, unsigned int rank, struct part *part)
{
	static const char *const ends[] = { "", "it was interrupted",
					    "the process that mpirun started was killed" };
	struct run_rank *to = &all->load->rank[rank];

	to->end = part->end == PART_DONE ? RUN_RANK_DONE : RUN_RANK_STOPPED;
	snprintf(to->why, sizeof(to->why), "%s", ends[part->end]);
	to->skew_ns += part->late_ns;
	run_load_join(all->load, part->load, rank, (unsigned int)all->load->n_ranks);
	run_load_trim(part->load);
	to->part = part->load;
	part->load = NULL;
	return run_add_commands(all, &part->commands);
}

void ranks_sum_lose(struct run_load *all, unsigned int rank, bool counted)
{
	const struct run_rank *lost = &all->rank[rank];

	all->n_lost += counted ? 0 : lost->clients;
	if (!*all->why)
		snprintf(all->why, sizeof(all->why), "rank %u (%s): %.150s", rank, lost->host,
			 lost->why);
	for (unsigned int c = rank; c < all->n_clients; c += (unsigned int)all->n_ranks)
		all->client[c].lost = true;
}
