/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single commands. */
#include "doctor/figures/asked.h"
#include "doctor/figures/measure_priv.h"

#include <math.h>

/* SQLite takes and drops so many locks for a question, with a log (WAL) as netatalk has it. */
#define LOCKS_ASKED 2
/* Of a volume's size; fewer calls on average are no scan. If they take so much of all time, and a
 * request was slow, that one may have been a scan. */
#define SIZE_CALLS  4
#define SIZE_MUCH   0.1
#define OLDER_SHARE 0.05 /* of all request time: less is no cause's harm */

/* A part of an account that changes nothing: questions to the CNID server or database. */
static double asked_by(const struct ledger_part *p)
{
	if (p->object == AFS_OBJECT_BACKEND)
		return p->class == AFS_CLASS_WRITE || p->class == AFS_CLASS_SEND
			   ? (double)p->part.calls
			   : 0;
	return p->class == AFS_CLASS_LOCK ? (double)p->part.calls / LOCKS_ASKED : 0;
}

/* What the CNID server wrote and synced for them. */
static double inside_disk_ns(const struct measure *m)
{
	double ns = 0;

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (account_changes_nothing(r->number))
			ns += (double)(r->a.sum.inside[AFS_INSIDE_SYNC] +
				       r->a.sum.inside[AFS_INSIDE_IO]);
	}
	return ns;
}

/*
 * A request that changes nothing writes to the CNID database only if it finds a file that is not in
 * it, at least once. The other questions are no harm: of their time it has its share by number, and
 * what was written meanwhile.
 */
static void look_behind(struct measure *m)
{
	const struct ledger *l = &m->view.all;
	double ns = 0, writes = 0, most = 0, asked = 0, part;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (!account_changes_nothing(p->account))
			continue;
		if (p->role == AFS_ROLE_SERVER &&
		    (p->object == AFS_OBJECT_BACKEND || p->object == AFS_OBJECT_CNIDDB)) {
			ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
			asked += asked_by(p);
		}
		if (p->object != AFS_OBJECT_CNIDDB || p->class != AFS_CLASS_WRITE)
			continue;
		writes += (double)p->part.calls;
		if ((double)p->part.calls > most)
			run_figure_who(m->out, RUN_FIGURE_CNID_WRITES, "%s",
				       account_name(p->account, name));
		most = (double)p->part.calls > most ? (double)p->part.calls : most;
	}
	part = asked > writes ? writes / asked : 1;
	measure_share_of_work(m, RUN_FIGURE_BEHIND,
			      writes > 0 ? fmin(ns, ns * part + inside_disk_ns(m)) : 0);
	measure_per_second(m, RUN_FIGURE_CNID_WRITES, writes);
}

/*
 * A larger cache saves at most what a request waits for a CNID server. Of a database that the
 * session reads itself the question is the least of it: each may be all of the longest request.
 */
static void add_asking(struct asked_seen *to, const struct measure *m, const struct request *r)
{
	const struct ledger *l = &m->view.all;
	double waits = 0, cpu = 0, server = 0, database = 0, unseen;

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (p->account != r->number || p->role != AFS_ROLE_SERVER)
			continue;
		if (p->object == AFS_OBJECT_BACKEND) {
			waits += (double)p->part.blocked_ns;
			cpu += (double)p->part.cpu_ns;
			server += asked_by(p);
		} else if (p->object == AFS_OBJECT_CNIDDB) {
			database += asked_by(p);
		}
	}
	unseen = database + (m->run->has_asking ? 0 : server);
	to->cnid_ns += waits;
	to->unseen += unseen;
	to->most_ns += fmin(measure_request_ns(r),
			    (m->run->has_asking ? waits + cpu : 0) + unseen * (double)r->a.max_ns);
}

static void look_asking(struct measure *m)
{
	struct asked_seen seen = { .work_ns = m->work_ns };

	/* Requests from before the watch, whatever they are. */
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		if (i == ACCOUNT_CNID || !m->run->has_asking)
			seen.most_ns += m->before_ns[i];
	for (size_t i = 0; i < m->requests.n; i++)
		if (account_changes_nothing(m->requests.request[i].number))
			add_asking(&seen, m, &m->requests.request[i]);
	doctor_asked(m->out, m->run, &seen);
}

static double cpu_ns(const struct request *r)
{
	return (double)(r->time_ns[ACCOUNT_USER] + r->time_ns[ACCOUNT_CALLS]);
}

static void look_commands(struct measure *m)
{
	static const char *const data[] = { "FPRead", "FPReadExt", "FPWrite", "FPWriteExt",
					    "FPCopyFile" };
	double cpu = cpu_ns(&m->requests.all), most = 0, moved = 0;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (measure_is_one_of(r->number, data, sizeof(data) / sizeof(*data)))
			moved += cpu_ns(r);
		if (cpu_ns(r) <= most)
			continue;
		most = cpu_ns(r);
		run_figure_who(m->out, RUN_FIGURE_COMMAND_CPU, "%s", account_name(r->number, name));
	}
	run_figure_share(m->out, RUN_FIGURE_COMMAND_CPU, most, cpu);
	run_figure_share(m->out, RUN_FIGURE_DATA_CPU, moved, cpu);
}

/*
 * Whether requests from before the watch, of which only that is known what they wait for, have
 * enough of the time to be of that command: then its figure is not known.
 */
static bool hides_older(const struct measure *m, enum account_column waits, enum run_figure which)
{
	if (m->before_ns[waits] < OLDER_SHARE * m->all_ns || m->before_ns[waits] <= 0)
		return false;
	run_figure_who(m->out, which, "a request from before the watch may be of that kind");
	return true;
}

/* Of the time of queries that they were paused, or had no CPU: that is nothing of the indexer. */
static bool spotlight_put(struct measure *m, enum run_figure which, const struct measure_calls *all,
			  double held_ns)
{
	if (held_ns > all->ns / 2) {
		run_figure_who(m->out, which,
			       "sessions with a Spotlight query were paused, or had no CPU");
		return false;
	}
	run_figure_set(m->out, which, all->n > 0 ? fmax(all->ns - held_ns, 0) / all->n : 0);
	return true;
}

static void look_spotlight(struct measure *m)
{
	struct measure_calls late = { 0 }, pending = { 0 };
	double held = 0, both;
	bool known;

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (!measure_is(r->number, "FPSpotlightRPC"))
			continue;
		measure_long_ones(r, &late);
		if (measure_pending_ns(r) > 0) {
			pending.ns += measure_pending_ns(r);
			pending.n += (double)(r->a.sum.begun - r->a.sum.answered);
		}
		held += measure_request_ns(r) - measure_own_ns(r);
	}
	both = late.ns + pending.ns;
	known = spotlight_put(m, RUN_FIGURE_SPOTLIGHT, &pending, fmin(held, pending.ns));
	known &= spotlight_put(m, RUN_FIGURE_SPOTLIGHT_LATE, &late, fmin(held, late.ns));
	if (!pending.n && hides_older(m, ACCOUNT_OTHER, RUN_FIGURE_SPOTLIGHT))
		known = m->out->known[RUN_FIGURE_SPOTLIGHT] = false;
	if (known)
		measure_share(m, RUN_FIGURE_SPOTLIGHT_WAIT, fmax(both - held, 0));
}

static bool asks_size(unsigned int account)
{
	return measure_is(account, "FPGetVolParms") || measure_is(account, "FPOpenVol");
}

static void look_volume_size(struct measure *m)
{
	const struct ledger *l = &m->view.all;
	struct measure_calls folders = { 0 }, slow = { 0 };
	double asked = 0;

	for (size_t i = 0; i < m->requests.n; i++)
		if (asks_size(m->requests.request[i].number))
			measure_long_ones(&m->requests.request[i], &slow);

	for (size_t i = 0; i < l->n_accounts; i++)
		if (asks_size(l->account[i].account))
			asked += (double)l->account[i].sum.begun;
	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (p->role == AFS_ROLE_SERVER && asks_size(p->account) &&
		    p->class == AFS_CLASS_DIR && p->object == AFS_OBJECT_DIR)
			measure_calls_add(&folders, p);
	}
	if (!folders.n && hides_older(m, ACCOUNT_DISK, RUN_FIGURE_VOLUME_SIZE)) {
		run_figure_who(m->out, RUN_FIGURE_VOLUME_SIZE_CALLS, "%s",
			       m->out->who[RUN_FIGURE_VOLUME_SIZE]);
		return;
	}
	measure_share(m, RUN_FIGURE_VOLUME_SIZE, folders.ns);
	if (folders.n < SIZE_CALLS * asked && folders.ns > SIZE_MUCH * m->all_ns && slow.n > 0)
		run_figure_who(m->out, RUN_FIGURE_VOLUME_SIZE_CALLS,
			       "one volume among others may need many calls");
	else
		run_figure_set(m->out, RUN_FIGURE_VOLUME_SIZE_CALLS,
			       asked > 0 ? folders.n / asked : 0);
}

void measure_commands(struct measure *m)
{
	look_behind(m);
	look_asking(m);
	look_commands(m);
	look_spotlight(m);
	look_volume_size(m);
}
