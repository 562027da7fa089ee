/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests waited for. */
#include "doctor/figures/measure_priv.h"
#include "doctor/rules/rules.h"
#include "report/cell.h"

#include <math.h>
#include <stdio.h>

static struct afs_part between(const struct measure *m)
{
	return ledger_part_sum(&m->view.all, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN, LEDGER_ALL,
			       LEDGER_ALL);
}

/* Sessions that had a request: nobody waits for the others. */
static size_t active(const struct run *r)
{
	size_t n = r->n_service;

	for (size_t i = 0; i < r->n_sessions; i++)
		n += r->session[i].requests > 0;
	return n + r->n_rest;
}

bool measure_is_in_service(const struct run *r, pid_t pid)
{
	for (size_t i = 0; i < r->n_service; i++)
		if (r->service[i].pid == pid)
			return true;
	return false;
}

/* Sessions that are stopped and have had no request: of them nobody asks for anything. */
static size_t stopped_idle(const struct run *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i];

		n += s->stopped && !s->requests && !measure_is_in_service(r, s->pid);
	}
	return n;
}

/* By how much a reading may be older than its time says, of a phase. */
#define READING_SHARE 0.01

/* Requests of a session, on average, in the time of a stop: one of them came in it. */
#define SURELY_ASKS 3

/* What of the stops is in requests' times, and which session is stopped still. */
static void name_stopped(struct measure *m, double in, double out)
{
	const struct run *r = m->run;
	char within[96] = "", between[128] = "", now[64] = "";
	size_t n = 0;

	for (size_t i = 0; i < r->n_sessions; i++)
		if (r->session[i].stopped && !n++)
			snprintf(now, sizeof(now), "; pid %d in state T", r->session[i].pid);
	if (n > 1)
		snprintf(now, sizeof(now), "; %zu in state T", n);
	if (in > 0)
		snprintf(within, sizeof(within), "%.0f%% of all request time (%s)%s",
			 100 * in / m->all_ns, cell_time(in).text, out > in / 100 ? "; " : "");
	if (out > in / 100)
		snprintf(between, sizeof(between),
			 "%s between requests: what came waited unread, in no request's time",
			 in > 0 ? cell_time(out).text : "all of it");
	run_figure_who(m->out, RUN_FIGURE_STOPPED_FOR, "%s%s%s", within, between, now);
}

double measure_seldom_asked(const struct measure *m, double stopped_ns)
{
	const struct run_figures *f = m->out;
	double stops = f->known[RUN_FIGURE_STOPS] ? f->value[RUN_FIGURE_STOPS] : 0, each_ns;
	size_t n = m->run->n_rest;

	/* Those that are over, and those that are not. */
	for (size_t i = 0; i < m->run->n_sessions; i++)
		stops += m->run->session[i].stopped;
	each_ns = fmin(stopped_ns / fmax(stops, 1), m->ns);
	for (size_t i = 0; i < m->run->n_sessions; i++) {
		double requests = (double)m->run->session[i].requests;

		n += requests * each_ns < SURELY_ASKS * m->ns;
	}
	return fmin(stopped_ns, m->ns * (double)n);
}

/* A request that came while its session was stopped has waited since then: at most so long. */
static void look_stopped(struct measure *m)
{
	double in = measure_column(m, ACCOUNT_STOPPED);
	/* What began before the watch is between requests to the kernel's programs. */
	double out = fmax((double)between(m).stopped_ns - m->before_ns[ACCOUNT_STOPPED], 0);
	size_t sessions = m->run->n_sessions + m->run->n_rest;
	double idle = m->ns * (double)stopped_idle(m->run) * (1 + READING_SHARE);
	double asked = fmax(out - idle, 0);
	double waited = fmin(asked, m->ns * (double)active(m->run));

	run_figure_set(m->out, RUN_FIGURE_STOPPED_FOR, in + out);
	if (in + out > 0)
		name_stopped(m, in, out);
	run_figure_share(m->out, RUN_FIGURE_STOPPED, in + out,
			 m->ns * (double)(sessions ? sessions : 1));
	run_figure_share(m->out, RUN_FIGURE_STOPPED_WAIT, in + waited, m->all_ns + waited);
	run_figure_share(m->out, RUN_FIGURE_STOPPED_IDLE, measure_seldom_asked(m, waited),
			 m->all_ns + waited);
}

static void waits_look_cpu(struct measure *m)
{
	double unread = (double)between(m).runq_ns, on, wait;
	const __u64 *in = m->requests.all.a.sum.inside;

	on = measure_column(m, ACCOUNT_USER) + measure_column(m, ACCOUNT_CALLS);
	wait = measure_column(m, ACCOUNT_RUNQ) + (double)in[AFS_INSIDE_RUNQ] + unread;
	measure_share(m, RUN_FIGURE_CPU, on);
	measure_share(m, RUN_FIGURE_RUNQ, measure_column(m, ACCOUNT_RUNQ));
	run_figure_share(m->out, RUN_FIGURE_WAIT_CPU, wait, m->all_ns + unread);
	run_figure_share(m->out, RUN_FIGURE_ON_CPU, on + wait + (double)in[AFS_INSIDE_CPU],
			 m->all_ns + unread);
	run_figure_share(m->out, RUN_FIGURE_UNREAD_SHARE, unread, m->all_ns + unread);
	run_figure_share(m->out, RUN_FIGURE_UNREAD, unread, (double)m->requests.all.a.sum.answered);
}

static struct afs_part backend_did(const struct measure *m)
{
	return ledger_part_sum(&m->view.all, AFS_ROLE_BACKEND, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL);
}

/* Of the watched time, how much a CNID server was on a CPU; of several, all together. */
static double backend_cpu(const struct measure *m)
{
	return m->ns > 0 ? fmin(1, (double)backend_did(m).cpu_ns / m->ns) : 0;
}

/* What a CNID server did while it was waited for, as far as is known; ns: all of it. */
struct cnid_wait {
	double did[AFS_N_INSIDE], ns;
};

static bool is_held(const struct measure *m)
{
	return m->out->known[RUN_FIGURE_CNID_HELD] && m->out->value[RUN_FIGURE_CNID_HELD] > 0;
}

/*
 * What it did for requests from before the watch is not seen one by one: for so much of the time it
 * was at work, unless one is paused: then it was another one, of another volume. Of a wait of which
 * nothing was seen all is a stop if a process of the CNID server was found stopped at the end, or
 * else no more than its processes were stopped meanwhile.
 */
static struct cnid_wait look_inside(const struct measure *m)
{
	double older = is_held(m) ? 0 : m->before_ns[ACCOUNT_CNID] * backend_cpu(m);
	struct cnid_wait w = { .ns = measure_inside_ns(m) };
	double unseen, held;

	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		w.did[i] = (double)m->requests.all.a.sum.inside[i];
	w.did[AFS_INSIDE_CPU] += older;
	w.did[AFS_INSIDE_UNKNOWN] += m->before_ns[ACCOUNT_CNID] - older;
	unseen = w.did[AFS_INSIDE_UNKNOWN];
	held = is_held(m) ? unseen : fmin(unseen, (double)backend_did(m).stopped_ns);
	w.did[AFS_INSIDE_STOPPED] += held;
	w.did[AFS_INSIDE_UNKNOWN] -= held;
	return w;
}

/* The one or two ways that most of its time went. */
static void name_inside(struct measure *m, const struct cnid_wait *w)
{
	static const char *const words[AFS_N_INSIDE] = {
		[AFS_INSIDE_CPU] = "on a CPU",
		[AFS_INSIDE_RUNQ] = "waiting for a CPU",
		[AFS_INSIDE_SYNC] = "in fsync",
		[AFS_INSIDE_LOCK] = "waiting for a lock",
		[AFS_INSIDE_IO] = "in other I/O",
		[AFS_INSIDE_IDLE] = "idle (the request or its answer was on its way, or elsewhere)",
		[AFS_INSIDE_STOPPED] = "paused",
		[AFS_INSIDE_UNKNOWN] = "not seen",
	};
	size_t first = 0, second;
	char also[96] = "";

	for (size_t i = 1; i < AFS_N_INSIDE; i++)
		first = w->did[i] > w->did[first] ? i : first;
	second = !first;
	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		second = i != first && w->did[i] > w->did[second] ? i : second;
	if (w->did[second] >= w->ns / 100)
		snprintf(also, sizeof(also), ", %s for %.0f%%", words[second],
			 100 * w->did[second] / w->ns);
	run_figure_who(m->out, RUN_FIGURE_CNID_INSIDE, "%s was %s for %.0f%%%s",
		       view_role_name(m->run, AFS_ROLE_BACKEND), words[first],
		       100 * w->did[first] / w->ns, also);
}

static void waits_look_cnid(struct measure *m)
{
	struct cnid_wait w = look_inside(m);
	double cnid = measure_column(m, ACCOUNT_CNID), stopped = w.did[AFS_INSIDE_STOPPED];
	double work = w.ns - stopped - w.did[AFS_INSIDE_IDLE] - w.did[AFS_INSIDE_UNKNOWN];
	double mute = cnid - work - (double)m->requests.all.a.sum.inside[AFS_INSIDE_STOPPED];

	/* A database server, whose work is not seen. */
	if (is_held(m))
		stopped += cnid > w.ns ? cnid - w.ns : 0;
	measure_share(m, RUN_FIGURE_CNID, cnid);
	measure_share(m, RUN_FIGURE_CNID_INSIDE, w.ns);
	if (w.ns > 0)
		name_inside(m, &w);
	measure_share(m, RUN_FIGURE_CNID_RUNQ, w.did[AFS_INSIDE_RUNQ]);
	measure_share(m, RUN_FIGURE_CNID_CPU, w.did[AFS_INSIDE_CPU]);
	measure_share(m, RUN_FIGURE_CNID_DISK, w.did[AFS_INSIDE_SYNC] + w.did[AFS_INSIDE_IO]);
	measure_share(m, RUN_FIGURE_CNID_STOPPED, stopped);
	measure_share(m, RUN_FIGURE_CNID_MUTE, mute > 0 ? mute : 0);
}

/* Calls of the serving threads, by what they are on */

struct wait_sums {
	struct measure_calls log, xattr, meta, sync, names;
	double cnid_lock, open, sleep, sync_wait, names_wait, most_names;
};

static void add_names(struct measure *m, struct wait_sums *s, const struct ledger_part *p)
{
	char name[ACCOUNT_NAME_MAX];

	/* What is only sent is no question: a log does that, too, and what afpd tells its main
	 * process. A search waits for its indexer. */
	if (p->object != AFS_OBJECT_SOCKET || p->class == AFS_CLASS_SEND ||
	    p->class == AFS_CLASS_WRITE || measure_is_login(p->account) ||
	    measure_is(p->account, "FPSpotlightRPC"))
		return;
	s->names.n += (double)p->part.calls;
	s->names_wait += (double)p->part.blocked_ns;
	if ((double)p->part.blocked_ns <= s->most_names)
		return;
	s->most_names = (double)p->part.blocked_ns;
	run_figure_who(m->out, RUN_FIGURE_NAMES, "%s", account_name(p->account, name));
}

static void add_part(struct measure *m, struct wait_sums *s, const struct ledger_part *p)
{
	if (p->object == AFS_OBJECT_LOG)
		measure_calls_add(&s->log, p);
	if (p->object == AFS_OBJECT_META)
		measure_calls_add(&s->meta, p);
	if (p->class == AFS_CLASS_XATTR)
		measure_calls_add(&s->xattr, p);
	if (p->class == AFS_CLASS_SYNC) {
		measure_calls_add(&s->sync, p);
		s->sync_wait += (double)p->part.blocked_ns;
	}
	if (p->class == AFS_CLASS_OPEN)
		s->open += (double)p->part.blocked_ns;
	if (p->class == AFS_CLASS_WAIT && p->object == AFS_OBJECT_NONE &&
	    !measure_is_login(p->account))
		s->sleep += (double)p->part.blocked_ns;
	if (p->object == AFS_OBJECT_CNIDDB &&
	    (p->class == AFS_CLASS_WAIT || p->class == AFS_CLASS_LOCK))
		s->cnid_lock += (double)p->part.blocked_ns;
	add_names(m, s, p);
}

static void waits_look_calls(struct measure *m)
{
	double n = (double)m->requests.all.a.sum.answered;
	const struct ledger *l = &m->view.all;
	struct wait_sums s = { 0 };

	for (size_t i = 0; i < l->n_parts; i++)
		if (l->part[i].role == AFS_ROLE_SERVER && account_is_request(l->part[i].account))
			add_part(m, &s, &l->part[i]);
	if (l->has_storage && l->has_item[AFS_STORAGE_BLOCK])
		measure_per_second(
		    m, RUN_FIGURE_READ,
		    (double)ledger_storage_sum(l, AFS_ROLE_SERVER, LEDGER_ALL).bio_read_bytes);
	measure_share_of_work(m, RUN_FIGURE_LOG, s.log.ns);
	run_figure_set(m->out, RUN_FIGURE_LOG_TIME, s.log.ns);
	measure_share_of_work(m, RUN_FIGURE_XATTR, s.xattr.ns);
	measure_share_of_work(m, RUN_FIGURE_META, s.meta.ns);
	measure_share(m, RUN_FIGURE_SYNC, s.sync.ns);
	measure_share(m, RUN_FIGURE_DISK, measure_column(m, ACCOUNT_DISK));
	if (s.sync_wait > 0)
		run_figure_who(m->out, RUN_FIGURE_DISK, "fsync alone %.0f%%",
			       100 * s.sync_wait / m->all_ns);
	measure_share(m, RUN_FIGURE_OPEN, s.open);
	measure_share(m, RUN_FIGURE_SLEEP, s.sleep);
	measure_share(m, RUN_FIGURE_NAMES, s.names_wait);
	measure_share(m, RUN_FIGURE_CNID_LOCK,
		      s.cnid_lock + (double)m->requests.all.a.sum.inside[AFS_INSIDE_LOCK]);
	measure_per_second(m, RUN_FIGURE_SYNC_RATE, s.sync.n);
	run_figure_share(m->out, RUN_FIGURE_SYNC_MEAN, s.sync.ns, s.sync.n);
	run_figure_share(m->out, RUN_FIGURE_LOG_CALLS, s.log.n, n);
	run_figure_share(m->out, RUN_FIGURE_META_CALLS, s.meta.n, n);
	run_figure_share(m->out, RUN_FIGURE_XATTR_MEAN, s.xattr.ns, s.xattr.n);
}

/* A run with clients of its own is watched while they log in and make files, before it is measured.
 */
static bool is_all_watched(const struct run *r)
{
	const struct run_phase *p = r->n_phases == 1 ? r->phase[0] : NULL;

	return p && !p->load && !p->probe && !p->n_commands;
}

/*
 * Of the wait on clients' connections, what is no upload. Uploads are counted from the begin of the
 * watch to its end, and not where a request began before the watch: where these are not all of what
 * is measured there are two bounds, of which one may say enough.
 */
static void look_taking(struct measure *m)
{
	double net = measure_column(m, ACCOUNT_NET), limit = NET_HARM * m->all_ns;
	double uploads = (double)m->run->rest.habit.upload_ns, least, most;

	for (size_t i = 0; i < m->run->n_sessions; i++)
		uploads += (double)m->run->session[i].habit.upload_ns;
	least = fmax(net - m->before_ns[ACCOUNT_NET] - uploads, 0);
	most = is_all_watched(m->run) ? fmax(net - uploads, 0) : net;
	if (least == most || least >= limit || most < limit)
		measure_share(m, RUN_FIGURE_TAKING, most < limit ? most : least);
	if (!m->out->known[RUN_FIGURE_TAKING] || least == most)
		return;
	m->out->at_least[RUN_FIGURE_TAKING] = most >= limit;
	run_figure_who(m->out, RUN_FIGURE_TAKING, most < limit ? "at most" : "at least");
}

/* Threads of sessions that work for no request: netatalk 4.5 has one for each, which never rests.
 */
static void look_beside(struct measure *m)
{
	const struct ledger *l = &m->view.all;
	struct afs_part all = ledger_part_sum(l, AFS_ROLE_SERVER, AFS_ACCOUNT_THREADS, LEDGER_ALL,
					      LEDGER_ALL);
	struct afs_part waits = ledger_part_sum(l, AFS_ROLE_SERVER, AFS_ACCOUNT_THREADS,
						AFS_CLASS_WAIT, LEDGER_ALL);

	measure_per_second(m, RUN_FIGURE_IDLE_WAKES, (double)waits.calls);
	run_figure_share(m->out, RUN_FIGURE_IDLE_CPU, (double)all.cpu_ns, m->ns);
}

void measure_waits(struct measure *m)
{
	const __u64 *in = m->requests.all.a.sum.inside;

	look_stopped(m);
	waits_look_cpu(m);
	waits_look_cnid(m);
	measure_share(m, RUN_FIGURE_LOCK, measure_column(m, ACCOUNT_LOCK));
	measure_share(m, RUN_FIGURE_NET, measure_column(m, ACCOUNT_NET));
	look_taking(m);
	measure_share(m, RUN_FIGURE_OTHER, measure_column(m, ACCOUNT_OTHER));
	measure_share(m, RUN_FIGURE_UNEXPLAINED, (double)m->requests.all.a.sum.unexplained_ns);
	measure_share(m, RUN_FIGURE_WAIT_DISK,
		      measure_column(m, ACCOUNT_DISK) +
			  (double)(in[AFS_INSIDE_SYNC] + in[AFS_INSIDE_IO]));
	measure_share(m, RUN_FIGURE_OWN, m->work_ns);
	waits_look_calls(m);
	look_beside(m);
}
