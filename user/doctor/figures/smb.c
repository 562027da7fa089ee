/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMB servers (smbd): a process for each connection, whose first thread works for one request after
 * the other and parks those that others do. What waits for other clients on purpose is no time of a
 * server: CHANGE_NOTIFY, a LOCK that another client holds.
 */
#include "doctor/figures/kinds.h"

#include "base/hist.h"
#include "bpf/commands.h"
#include "doctor/figures/clients.h"
#include "doctor/figures/handed.h"
#include "doctor/figures/measure.h"
#include "doctor/figures/measure_priv.h"
#include "doctor/figures/sessions.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLOW_NS   100000000u /* a person notices */
#define NS_PER_S  1e9
#define DISK_FULL ((int32_t)0xc000007f)
#define LOCKED    ((int32_t)0xc00000a2) /* of a medium that is write-protected */
/* Shorter reads of folders are no harm on average. If they take so much of the own time, and a
 * request was slow, that one may have read a large folder. */
#define SCAN_LONG    300e3
#define SCAN_MUCH    0.5
#define CLOSED_SHARE 100 /* of so many requests one that cannot be read is too many */

/* A request that waits for what other clients do. */
static bool waits_for_others(unsigned int number)
{
	bool waits = (number >= AFS_SMB2_WAITED && number < AFS_SMB2_CREATE_AND) ||
		     number >= AFS_SMB2_CHAIN_WAITED;

	return waits && number != AFS_SMB2_WAITED + AFS_SMB2_CREATE &&
	       number != AFS_SMB2_CHAIN_WAITED + AFS_SMB2_CREATE;
}

/* A CREATE, or a compound that begins with one, unless it waits for what comes behind it. */
static bool is_create(unsigned int number)
{
	return number == AFS_SMB2_CREATE || number == AFS_SMB2_WAITED + AFS_SMB2_CREATE ||
	       number == AFS_SMB2_CHAIN_WAITED + AFS_SMB2_CREATE ||
	       (number >= AFS_SMB2_CREATE_AND && number < AFS_SMB2_COMPOUND);
}

/* It looks a name up: such a CREATE, a rename, or any other compound. */
static bool looks_up(unsigned int number)
{
	return is_create(number) || number == AFS_SMB2_SET_INFO ||
	       number == AFS_SMB2_WAITED + AFS_SMB2_SET_INFO || number == AFS_SMB2_COMPOUND ||
	       number >= AFS_SMB2_CHAIN_WAITED;
}

/*
 * How many requests the calls of an account were made for. Those that were told to wait made them
 * before that, and have their answers in another account, in which they are not counted again.
 */
static double called_for(const struct request *r)
{
	bool again = (r->number >= AFS_SMB2_WAITED && r->number < AFS_SMB2_CREATE_AND) ||
		     r->number >= AFS_SMB2_CHAIN_WAITED;

	return again ? 0 : (double)(r->a.sum.answered + r->a.sum.waited);
}

/* Of requests without an answer: how many, and for how long they have waited. */
struct smb_waiting {
	double n, ns;
};

static struct smb_waiting smb_waiting_in(const struct run *r, unsigned int number)
{
	struct smb_waiting w = { 0 };

	for (size_t i = 0; i < r->n_service; i++) {
		if (r->service[i].account != number)
			continue;
		w.n++;
		w.ns += (double)r->service[i].age_ns;
	}
	return w;
}

/* Figures, and of request time that which sessions and their pools worked or waited for others. */
struct smb_figures {
	struct handed h;
	struct ledger_account judged; /* all requests but those that wait for other clients */
	double own_ns;
};

/* As handed_init() has it, without what waits for others. */
static void without_waits(struct smb_figures *x)
{
	struct handed *h = &x->h;
	double sum = 0, more;

	h->all_ns = h->pending = h->pending_ns = 0;
	for (size_t i = 0; i < h->requests.n; i++) {
		const struct request *r = &h->requests.request[i];

		if (waits_for_others(r->number))
			continue;
		ledger_account_add(&x->judged, &r->a);
		x->own_ns += (double)r->time_ns[ACCOUNT_OTHER];
		h->all_ns += (double)r->service_ns;
		h->pending += (double)r->pending;
		h->pending_ns += (double)r->pending_ns;
		/* What threads did for them is in service_ns; they wait for more than that. */
		more = smb_waiting_in(h->run, r->number).ns - (double)r->pending_ns;
		h->pending_ns += fmax(more, 0);
		h->all_ns += fmax(more, 0);
	}
	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		sum += c == ACCOUNT_OTHER || c == ACCOUNT_STOPPED ? 0 : h->did[c];
	h->whole_ns = fmax(h->all_ns, sum);
	x->own_ns += sum - h->did[ACCOUNT_RUNQ];
}

/* Of a request, without what it waited for a CPU, or was stopped. */
static double own_ns(const struct request *r)
{
	double ns = (double)r->parked_ns;

	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		ns += c == ACCOUNT_RUNQ || c == ACCOUNT_STOPPED ? 0 : (double)r->time_ns[c];
	return ns;
}

static void smb_look_longest(const struct handed *h)
{
	char name[ACCOUNT_NAME_MAX];
	uint64_t longest = 0;

	for (size_t i = 0; i < h->requests.n; i++) {
		const struct request *r = &h->requests.request[i];

		if (waits_for_others(r->number) || r->a.max_ns <= longest)
			continue;
		longest = r->a.max_ns;
		run_figure_who(h->out, RUN_FIGURE_LONGEST, "%s",
			       run_account_name(h->run, r->number, name));
	}
	run_figure_set(h->out, RUN_FIGURE_LONGEST, (double)longest);
}

static void smb_look_slow(const struct handed *h, const struct ledger_account *judged)
{
	bool hang = h->pending_ns >= SLOW_NS;
	double n = hang ? h->pending : 0, ns = hang ? h->pending_ns : 0;

	for (size_t i = hist_index(SLOW_NS, AFS_REQUEST_BITS); i < AFS_REQUEST_BUCKETS; i++) {
		uint64_t low = hist_low(i, AFS_REQUEST_BITS);

		n += (double)judged->hist[i];
		ns += (double)judged->hist[i] * (double)(low + hist_low(i + 1, AFS_REQUEST_BITS)) /
		      2;
	}
	run_figure_set(h->out, RUN_FIGURE_SLOW_N, n);
	run_figure_share(h->out, RUN_FIGURE_SLOW, fmin(ns, h->all_ns), h->all_ns);
}

static bool smb_skips(const void *user, unsigned int number)
{
	(void)user;
	return waits_for_others(number);
}

/*
 * A session that waits for a CPU before it reads: what has come waits with it. With that is the
 * same wait before it goes on with a request that others worked for.
 */
static void smb_look_unread(const struct handed *h, double answered)
{
	struct afs_part p = ledger_part_sum(h->l, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN, LEDGER_ALL,
					    LEDGER_ALL);

	run_figure_share(h->out, RUN_FIGURE_UNREAD, (double)p.runq_ns, answered);
}

static void smb_look_times(const struct handed *h, const struct ledger_account *judged)
{
	double n = (double)judged->sum.answered;

	run_figure_set(h->out, RUN_FIGURE_REQUESTS, n);
	run_figure_share(h->out, RUN_FIGURE_RATE, n * NS_PER_S, h->ns);
	run_figure_share(h->out, RUN_FIGURE_BUSY, h->all_ns, h->ns);
	run_figure_set(h->out, RUN_FIGURE_PENDING, h->pending_ns);
	smb_look_slow(h, judged);
	smb_look_unread(h, n);
	if (!judged->sum.answered)
		return;
	run_figure_set(h->out, RUN_FIGURE_MEAN, (double)judged->sum.ns / n);
	doctor_mostly(h->out, h->run, &h->requests, smb_skips, NULL);
	run_figure_set(h->out, RUN_FIGURE_P50, requests_quantile(judged, 0.5));
	run_figure_set(h->out, RUN_FIGURE_P99, requests_quantile(judged, 0.99));
	smb_look_longest(h);
}

/* ---- calls of sessions in requests ---- */

/* A sum of time, and in which account most of it is. */
struct smb_sum {
	double ns, calls, most_ns[AFS_N_ACCOUNTS];
	unsigned int most;
};

static void sum_add(struct smb_sum *to, const struct ledger_part *p, double ns)
{
	to->ns += ns;
	to->calls += (double)p->part.calls;
	to->most_ns[p->account] += ns;
	if (to->most_ns[p->account] > to->most_ns[to->most])
		to->most = p->account;
}

static void sum_put(const struct handed *h, enum run_figure which, const struct smb_sum *s,
		    double of)
{
	char name[ACCOUNT_NAME_MAX];

	run_figure_share(h->out, which, s->ns, of);
	if (s->ns > 0)
		run_figure_who(h->out, which, "%s", run_account_name(h->run, s->most, name));
}

struct smb_sums {
	struct smb_sum scan, tdb, asked, log;
};

static void smb_add_part(struct smb_sums *s, const struct ledger_part *p)
{
	double on = (double)p->part.cpu_ns, off = (double)p->part.blocked_ns;

	if (p->object == AFS_OBJECT_LOG)
		sum_add(&s->log, p, on + off);
	if (!account_is_request(p->account))
		return;
	if (p->class == AFS_CLASS_DIR && p->object == AFS_OBJECT_DIR && looks_up(p->account))
		sum_add(&s->scan, p, on + off);
	/* A file's lock, or a mutex in memory that sessions share: futex. */
	if (p->class == AFS_CLASS_LOCK ||
	    (p->class == AFS_CLASS_WAIT && p->object == AFS_OBJECT_NONE))
		sum_add(&s->tdb, p, off);
	/* What is only sent is no question. */
	if (p->object == AFS_OBJECT_SOCKET && p->class != AFS_CLASS_SEND)
		sum_add(&s->asked, p, off);
}

static void smb_look_calls(const struct smb_figures *x)
{
	const struct handed *h = &x->h;
	struct smb_sums s = { 0 };
	double n = 0, all = 0;
	uint64_t longest = 0;

	for (size_t i = 0; i < h->l->n_parts; i++)
		if (h->l->part[i].role == AFS_ROLE_SERVER)
			smb_add_part(&s, &h->l->part[i]);
	for (size_t i = 0; i < h->requests.n; i++) {
		const struct request *r = &h->requests.request[i];

		n += looks_up(r->number) ? called_for(r) : 0;
		if (looks_up(r->number) && r->a.max_ns > longest)
			longest = r->a.max_ns;
		all += called_for(r);
	}
	sum_put(h, RUN_FIGURE_SCAN, &s.scan, x->own_ns);
	if (s.scan.ns < SCAN_LONG * n && s.scan.ns > SCAN_MUCH * x->own_ns && longest >= SLOW_NS)
		run_figure_who(h->out, RUN_FIGURE_SCAN_MEAN,
			       "one folder among others may take long to read");
	else
		run_figure_share(h->out, RUN_FIGURE_SCAN_MEAN, s.scan.ns, n);
	sum_put(h, RUN_FIGURE_TDB, &s.tdb, h->whole_ns);
	sum_put(h, RUN_FIGURE_ASKED_OTHERS, &s.asked, h->whole_ns);
	run_figure_share(h->out, RUN_FIGURE_LOG, s.log.ns, x->own_ns);
	run_figure_set(h->out, RUN_FIGURE_LOG_TIME, s.log.ns);
	run_figure_share(h->out, RUN_FIGURE_LOG_CALLS, s.log.calls, all);
	run_figure_share(h->out, RUN_FIGURE_OWN, x->own_ns, h->whole_ns);
}

/* Of compounds the calls are those of their other requests as well. */
static void smb_look_creates(const struct smb_figures *x)
{
	double n = 0, ns = 0, calls = 0;

	for (size_t i = 0; i < x->h.requests.n; i++) {
		const struct request *r = &x->h.requests.request[i];

		if (!is_create(r->number))
			continue;
		ns += own_ns(r);
		if (r->number != AFS_SMB2_CREATE)
			continue;
		n += called_for(r);
		calls += (double)r->calls;
	}
	run_figure_share(x->h.out, RUN_FIGURE_CREATE, ns, x->own_ns);
	run_figure_share(x->h.out, RUN_FIGURE_CREATE_CALLS, calls, n);
}

/* Clients that wait for each other. */
static void smb_look_told(const struct handed *h)
{
	/* Alone, and in a compound. */
	static const unsigned int told[] = { AFS_SMB2_WAITED, AFS_SMB2_CHAIN_WAITED };
	double n = 0, ns = 0, locks = 0;

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const struct ledger_account *create = ledger_account(h->l,
								     told[i] + AFS_SMB2_CREATE);
		const struct ledger_account *lock = ledger_account(h->l, told[i] + AFS_SMB2_LOCK);
		struct smb_waiting w = smb_waiting_in(h->run, told[i] + AFS_SMB2_CREATE);

		n += w.n + (create ? (double)create->sum.answered : 0);
		ns += w.ns + (create ? (double)create->sum.ns : 0);
		locks += lock ? (double)lock->sum.begun : 0;
	}
	run_figure_set(h->out, RUN_FIGURE_BREAKS, n);
	handed_share(h, RUN_FIGURE_BREAK_WAIT, ns);
	run_figure_share(h->out, RUN_FIGURE_BREAK_MEAN, ns, n);
	run_figure_set(h->out, RUN_FIGURE_LOCK_WAITS, locks);
}

static void smb_look_notifyd(const struct handed *h)
{
	struct afs_part all = ledger_part_sum(h->l, AFS_ROLE_BACKEND, LEDGER_ALL, LEDGER_ALL,
					      LEDGER_ALL);

	run_figure_share(h->out, RUN_FIGURE_NOTIFYD, (double)(all.cpu_ns + all.runq_ns), h->ns);
	run_figure_share(h->out, RUN_FIGURE_NOTIFYD_CPU, (double)all.cpu_ns, h->ns);
}

static void put_shares(struct run_figures *out, enum run_figure which, const struct run *r,
		       uint64_t n)
{
	const char *why = run_note_find(&r->server, RUN_SMB_CONF);

	if (!r->shares.known) {
		if (why && strncmp(why, "not visible", strlen("not visible")) != 0)
			why = "the configuration may have been changed after a session began";
		run_figure_who(out, which, "%s", why ? why : "the settings are not known");
		return;
	}
	run_figure_set(out, which, (double)n);
	if (n)
		run_figure_who(out, which, "%" PRIu64 " of %" PRIu64 " shares", n, r->shares.all);
}

static bool smb_lost(const struct run_figures *f)
{
	return f->known[RUN_FIGURE_UNCOUNTED] && f->value[RUN_FIGURE_UNCOUNTED] >= 1;
}

/* Frames that cannot be read; and of which kinds they are, in words. */
static double smb_closed(const struct ledger *l, char *kinds, size_t len)
{
	static const struct {
		unsigned int account;
		const char *text;
	} of[] = {
		{ AFS_SMB2_ENCRYPTED, "encrypted frames" },
		{ AFS_SMB2_COMPRESSED, "compressed frames" },
		{ AFS_SMB2_SMB1, "frames of SMB1" },
	};
	size_t at = 0;
	double n = 0;

	*kinds = '\0';
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const struct ledger_account *a = ledger_account(l, of[i].account);

		if (!a || !a->sum.untimed)
			continue;
		n += (double)a->sum.untimed;
		if (at < len)
			at += (size_t)snprintf(kinds + at, len - at, "%s%s", at ? ", " : "",
					       of[i].text);
	}
	return n;
}

/*
 * What cannot be read may be most of what clients ask for: with more than one such frame for 100
 * requests nothing is ruled out.
 */
static void smb_look_closed(const struct handed *h, const struct ledger_account *judged)
{
	double lost = h->out->value[RUN_FIGURE_UNCOUNTED], n;
	char kinds[RUN_FIGURE_WHO];

	n = smb_closed(h->l, kinds, sizeof(kinds));
	if (n * CLOSED_SHARE <= (double)judged->sum.answered)
		return;
	if (!smb_lost(h->out))
		run_figure_who(h->out, RUN_FIGURE_UNCOUNTED, "what cannot be read: %s", kinds);
	run_figure_set(h->out, RUN_FIGURE_UNCOUNTED,
		       n + (h->out->known[RUN_FIGURE_UNCOUNTED] ? lost : 0));
}

/* Its main process, and its sessions. */
static void smb_look_processes(struct run_figures *out, const struct run *r, double ns)
{
	struct measure m = { .out = out, .run = r, .ns = ns };

	measure_ends(&m);
	/* A request whose reply was lost looks as one without an answer. */
	if (!smb_lost(out))
		measure_service(out, r, waits_for_others);
	doctor_sessions(out, r, ns);
	doctor_actions(out, r);
}

/* A process serves one client: that it is paused between requests need have kept nobody waiting. */
static double smb_idle_stops(const struct handed *h)
{
	struct measure m = { .out = h->out, .run = h->run, .ns = h->ns };

	return measure_seldom_asked(&m, h->did[ACCOUNT_STOPPED] -
					    (double)h->requests.all.time_ns[ACCOUNT_STOPPED]);
}

int doctor_smb(struct run_figures *out, const struct run *r, const struct view *v, double ns)
{
	struct smb_figures x = { 0 };
	const struct handed *h = &x.h;
	int e;

	if (!v->all.has_requests)
		return 0;
	e = handed_init(&x.h, out, r, v, ns);
	if (e)
		return e;
	without_waits(&x);
	smb_look_times(h, &x.judged);
	smb_look_calls(&x);
	smb_look_creates(&x);
	smb_look_told(h);
	smb_look_notifyd(h);
	smb_look_processes(out, r, ns);
	put_shares(out, RUN_FIGURE_CASE_FOLDED, r, r->shares.folded);
	put_shares(out, RUN_FIGURE_ACL_MODULE, r, r->shares.acls);
	handed_stopped(h, smb_idle_stops(h));
	handed_cpu(h);
	handed_disk(h);
	handed_share(h, RUN_FIGURE_NET, h->did[ACCOUNT_NET]);
	handed_refused(h, DISK_FULL, RUN_FIGURE_DISK_FULL, RUN_FIGURE_DISK_FULL_SHARE);
	handed_refused(h, LOCKED, RUN_FIGURE_LOCKED, RUN_FIGURE_LOCKED_SHARE);
	/* After what says whether a reply was lost. */
	smb_look_closed(h, &x.judged);
	handed_fini(&x.h);
	return 0;
}
