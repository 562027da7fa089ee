/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rank 0 of several, in the order of a run. ranks_other.c is the others. */
#include "ranks/ranks.h"

#include "afp/proto.h"
#include "base/clock.h"
#include "ranks/part.h"
#include "ranks/ranks_terms.h"
#include "run/rank.h"
#include "store/store.h"
#include "work/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S  1000000000ull
#define STEP_NS   (600 * NS_PER_S) /* opening all sessions, making or removing all files */
#define HURRY_NS  (15 * NS_PER_S)  /* after an interrupt */
#define MARGIN_NS (10 * NS_PER_S)

struct ranks {
	struct ranks_opts o;
	struct hub *hub;
	uint64_t start_ns;
	bool told_stop;
	bool *noted; /* by rank: the warnings have it */
};

static unsigned int ranks_share_of(const struct ranks_opts *o, unsigned int rank)
{
	return (o->clients - rank + o->launch->size - 1) / o->launch->size;
}

struct ranks_share ranks_share(const struct ranks_opts *o)
{
	return (struct ranks_share) { ranks_share_of(o, o->launch->rank), o->launch->rank,
				      o->launch->size };
}

/* FNV-1a of all that is described, but for threads. */
int ranks_terms(const struct ranks_opts *o, char out[static RANKS_TERMS_LEN])
{
	struct run_notes notes = { 0 };
	uint64_t hash = 0xcbf29ce484222325u;
	int r = o->describe(o->cfg, &notes);

	for (size_t i = 0; i < notes.n; i++)
		for (const char *c = notes.note[i].text; *c && strcmp(notes.note[i].key, "threads");
		     c++)
			hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
	run_notes_fini(&notes);
	snprintf(out, RANKS_TERMS_LEN, "%s %016llx", AFPSCOPE_VERSION, (unsigned long long)hash);
	return r;
}

int ranks_open(struct ranks **out, const struct ranks_opts *opts, struct err *e)
{
	char terms[RANKS_TERMS_LEN], base[RANKS_BASE_LEN];
	const struct hub_opts o = { opts->launch->size, terms, &cmd_stop };
	struct launch launch = *opts->launch;
	uint8_t invite[INVITE_LEN];
	struct ranks *k;
	int r;

	*out = k = calloc(1, sizeof(*k));
	if (!k || ranks_terms(opts, terms))
		return err_set(e, -ENOMEM, "out of memory");
	k->o = *opts;
	k->noted = calloc(o.size, sizeof(*k->noted));
	if (!k->noted)
		return err_set(e, -ENOMEM, "out of memory");
	r = hub_open(&k->hub, &o, e);
	if (r)
		return r;
	invite_pack(&k->hub->invite, invite);
	r = launch_share(&launch, invite, sizeof(invite), e);
	r = r ? r : hub_accept(k->hub, e);
	k->hub->o.terms = NULL; /* was on the stack */
	if (r)
		return r;
	tree_name(base);
	hub_tell(k->hub, HUB_BASE, base, strlen(base));
	return 0;
}

/* ---- steps ---- */

/*
 * What rank i reported; NULL: nothing, it is lost. One that has failed by itself is lost, too; what
 * the server has refused is left to the caller.
 */
static const struct hub_report *report_of(struct ranks *k, unsigned int i, struct hub_report *out)
{
	struct hub_rank *from = &k->hub->rank[i];
	const struct message m = { from->answer_type, from->answer, from->answer_len };

	if (!from->here)
		return NULL;
	if (hub_report_unpack(out, &m))
		hub_lose(k->hub, i, "its report makes no sense");
	else if (out->result < 0)
		hub_lose(k->hub, i, out->text);
	return from->here ? out : NULL;
}

int ranks_opened(struct ranks *k, unsigned int *not_open, struct err *e)
{
	const struct hub_report *got;
	struct hub_report report;

	if (!k)
		return 0;
	if (hub_await(k->hub, HUB_OPENED, STEP_NS, true))
		return err_set(e, -EINTR, "interrupted");
	for (unsigned int i = 1; i < k->hub->o.size; i++) {
		got = report_of(k, i, &report);
		if (!got || !got->not_open)
			continue;
		if (!*not_open)
			err_set(e, 0, "%s", got->text);
		*not_open += got->not_open;
	}
	return 0;
}

void ranks_make(struct ranks *k)
{
	if (k)
		hub_tell(k->hub, HUB_MAKE, NULL, 0);
}

int ranks_made(struct ranks *k, struct err *e)
{
	const struct hub_report *got;
	struct hub_report report;

	if (!k)
		return 0;
	if (hub_await(k->hub, HUB_MADE, STEP_NS, true))
		return err_set(e, -EINTR, "interrupted");
	for (unsigned int i = 1; i < k->hub->o.size; i++) {
		got = report_of(k, i, &report);
		if (got && got->result)
			return err_set(e, got->result, "rank %u (%s): %s", i, k->hub->rank[i].host,
				       got->text);
	}
	return 0;
}

uint64_t ranks_start(struct ranks *k)
{
	if (!k)
		return 0;
	hub_start(k->hub, &k->start_ns);
	return k->start_ns;
}

void ranks_await_start(struct ranks *k)
{
	const struct timespec moment = { 0, 1000000 };

	while (k && !cmd_stop && clock_now_ns() < k->start_ns)
		nanosleep(&moment, NULL);
}

void ranks_look(struct ranks *k)
{
	if (!k)
		return;
	if (cmd_stop && !k->told_stop) {
		k->told_stop = true;
		hub_tell(k->hub, HUB_STOP, NULL, 0);
	}
	hub_look(k->hub);
}

/* ---- results ---- */

/* Rank 0's own clients have sent nearly all that the others have. */
static const char *ranks_command_name(void *user, uint8_t code)
{
	const struct run_phase *p = user;

	for (size_t i = 0; i < p->n_commands; i++)
		if (p->command[i]->code == code)
			return p->command[i]->name;
	return code < N_STORE_VERBS ? store_verb_name((enum store_verb)code) : "command";
}

static const char *afp_name(void *user, uint8_t code)
{
	(void)user;
	return afp_command_name(code);
}

/* Its clients were lost with it. */
static void ranks_note_lost(struct run_load *all, struct run_rank *rank, unsigned int i,
			    unsigned int n)
{
	if (!*all->why)
		snprintf(all->why, sizeof(all->why), "rank %u (%s): %.150s", i, rank->host,
			 rank->why);
	for (unsigned int c = i; c < all->n_clients; c += n)
		all->client[c].lost = true;
}

static void take_state(const struct ranks *k, struct run_rank *to, const struct hub_rank *from)
{
	memcpy(to->host, from->host, sizeof(to->host));
	if (!*to->host)
		memcpy(to->host, "unknown", sizeof("unknown"));
	to->pid = from->pid;
	to->has_skew = from->has_skew;
	to->skew_ns = from->skew_ns;
	to->unsure_ns = from->offset.trip_ns / 2;
	if (from->here)
		return;
	to->end = RUN_RANK_LOST;
	memcpy(to->why, from->why, sizeof(to->why));
	to->lost_ns = from->lost_ns > k->start_ns ? from->lost_ns - k->start_ns : 0;
}

/* Reads what a rank did and adds it. A rank whose figures are not usable is lost. */
static int ranks_take_part(struct ranks *k, struct run_phase *p, struct run_load *all,
			   unsigned int i)
{
	const struct hub_rank *from = &k->hub->rank[i];
	struct run_rank *to = &all->rank[i];
	const struct part_like like = { .load = all,
					.n_clients = to->clients,
					.command = k->o.session->local ? ranks_command_name
								       : afp_name,
					.user = p };
	struct part part = { 0 };
	struct err e = { 0 };
	int r = 0;

	take_state(k, to, from);
	if (to->end == RUN_RANK_DONE &&
	    part_unpack(&part, from->answer, from->answer_len, &like, &e)) {
		to->end = RUN_RANK_LOST;
		snprintf(to->why, sizeof(to->why), "%.255s", e.text);
	}
	if (to->end == RUN_RANK_LOST) {
		all->n_lost += k->noted[i] ? 0 : to->clients;
		ranks_note_lost(all, to, i, k->hub->o.size);
	} else {
		to->skew_ns += part.late_ns;
		if (part.end != PART_DONE) {
			to->end = RUN_RANK_STOPPED;
			snprintf(to->why, sizeof(to->why), "%s",
				 part.end == PART_ORPHANED
				     ? "the process that mpirun started was killed"
				     : "it was interrupted");
		}
		run_load_join(all, part.load, i, k->hub->o.size);
		r = run_add_commands(p, &part.commands);
		run_load_trim(part.load);
		to->part = part.load;
		part.load = NULL;
	}
	part_fini(&part);
	return r;
}

/* A load of all clients, with rank 0's own in it. NULL without memory. */
static struct run_load *begin_all(const struct ranks *k, struct run_load *own)
{
	struct run_load *all = run_load_new(k->o.clients, own->n_actions, own->n_seconds);
	unsigned int size = k->hub->o.size;

	if (!all || run_load_ranks(all, size)) {
		run_load_free(all);
		return NULL;
	}
	for (size_t i = 0; i < own->n_actions; i++)
		all->action[i].name = own->action[i].name;
	all->begin_ns = own->begin_ns;
	all->measure_ns = own->measure_ns;
	all->end_ns = own->end_ns;
	all->rate_per_s = own->rate_per_s;
	all->given = own->given;
	for (unsigned int i = 0; i < size; i++)
		all->rank[i].clients = ranks_share_of(&k->o, i);
	run_load_join(all, own, 0, size);
	run_load_trim(own);
	gethostname(all->rank[0].host, sizeof(all->rank[0].host) - 1);
	all->rank[0].pid = getpid();
	all->rank[0].part = own;
	all->rank[0].has_skew = true;
	if (cmd_stop)
		all->rank[0].end = RUN_RANK_STOPPED;
	return all;
}

static void ranks_warn(struct ranks *k, const struct run_load *all, struct run_notes *warnings)
{
	const struct run_rank *rank;

	for (unsigned int i = 1; i < all->n_ranks; i++) {
		rank = &all->rank[i];
		if (k->noted[i])
			continue;
		k->noted[i] = rank->end != RUN_RANK_DONE;
		if (rank->end == RUN_RANK_LOST && rank->lost_ns)
			run_note(
			    warnings, "rank",
			    "rank %u (%s, process %d) was lost %.1f s after the start: %s; what its %u "
			    "clients did is not in the figures",
			    i, rank->host, (int)rank->pid, (double)rank->lost_ns / NS_PER_S,
			    rank->why, rank->clients);
		else if (rank->end == RUN_RANK_LOST)
			run_note(
			    warnings, "rank",
			    "rank %u (%s) was lost before the start: %s; its %u clients are missing",
			    i, rank->host, rank->why, rank->clients);
		else if (rank->end == RUN_RANK_STOPPED)
			run_note(
			    warnings, "rank",
			    "rank %u (%s, process %d) ended early: %s; its %u clients did less than "
			    "they were to",
			    i, rank->host, (int)rank->pid, rank->why, rank->clients);
	}
}

int ranks_gather(struct ranks *k, struct run_phase *p, struct run_notes *warnings, struct err *e)
{
	uint64_t patience_ns = k ? k->o.session->c.timeout_s * NS_PER_S + MARGIN_NS : 0;
	struct run_load *all;
	int r = 0;

	if (!k)
		return 0;
	ranks_look(k);
	if (cmd_stop || hub_await(k->hub, HUB_RESULT, patience_ns, true)) {
		ranks_look(k);
		hub_await(k->hub, HUB_RESULT, HURRY_NS, false);
	}
	all = begin_all(k, p->load);
	if (!all)
		return err_set(e, -ENOMEM, "out of memory");
	p->load = all;
	for (unsigned int i = 1; i < k->hub->o.size; i++)
		r |= ranks_take_part(k, p, all, i);
	ranks_warn(k, all, warnings);
	run_load_join_common(all);
	return r ? err_set(e, -ENOMEM, "out of memory") : 0;
}

void ranks_close(struct ranks *k)
{
	if (!k)
		return;
	if (k->hub) {
		ranks_look(k);
		hub_tell(k->hub, HUB_REMOVE, NULL, 0);
		hub_await(k->hub, HUB_BYE, cmd_stop ? HURRY_NS : STEP_NS, false);
	}
	hub_close(k->hub);
	free(k->noted);
	free(k);
}
