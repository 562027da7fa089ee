/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of accounts and their parts, as shares of the time of all requests. */
#include "doctor/measure.h"

#include "base/hist.h"
#include "doctor/asked.h"
#include "doctor/clients.h"
#include "doctor/rx.h"
#include "doctor/sessions.h"
#include "report/cell.h"
#include "report/view.h"
#include "run/account.h"
#include "run/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_NS    100000000u /* a person notices */
#define NS_PER_S   1e9
#define LIST_READS 8 /* of a folder, at least, if its list is long */

/* AFP result codes, of the AFP reference. */
enum {
	DENY_CONFLICT = -5006,
	DISK_FULL = -5008,
	FILE_BUSY = -5010,
	LOCK_CONFLICT = -5013,
	NO_MORE = -5018, /* entries in a folder */
};

struct measure {
	struct run_figures *out;
	const struct run *run;
	struct view view;
	struct requests requests;
	double ns;      /* watched */
	double all_ns;  /* of all requests, with those that have no answer yet */
	double work_ns; /* of these, without stops, waiting for a CPU, and logins */
};

static void share(struct measure *m, enum run_figure which, double ns)
{
	run_figure_share(m->out, which, ns, m->all_ns);
}

/* Of what requests cost: stops, waiting for a CPU, and logins say nothing of it. */
static void share_of_work(struct measure *m, enum run_figure which, double ns)
{
	run_figure_share(m->out, which, ns, m->work_ns);
}

static void per_second(struct measure *m, enum run_figure which, double n)
{
	run_figure_share(m->out, which, n * NS_PER_S, m->ns);
}

static double all_columns(const uint64_t time_ns[ACCOUNT_N_COLUMNS])
{
	double sum = 0;

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		sum += (double)time_ns[i];
	return sum;
}

/* Time of a request that has no answer yet is in its parts only. */
static double pending_ns(const struct request *r)
{
	double ns = all_columns(r->time_ns) + (double)r->a.sum.unexplained_ns - (double)r->a.sum.ns;

	return r->a.sum.begun > r->a.sum.answered && !r->handed_ns && ns > 0 ? ns : 0;
}

/* How long requests took */

static void add_slow(const struct request *r, double *ns, double *n)
{
	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++) {
		uint64_t low = hist_low(i, AFS_REQUEST_BITS);

		if (low < SLOW_NS || !r->a.hist[i])
			continue;
		*n += (double)r->a.hist[i];
		*ns += (double)r->a.hist[i] * (double)(low + hist_low(i + 1, AFS_REQUEST_BITS)) / 2;
	}
	if (pending_ns(r) < SLOW_NS)
		return;
	*n += (double)(r->a.sum.begun - r->a.sum.answered);
	*ns += pending_ns(r);
}

static void look_times(struct measure *m)
{
	const struct requests *all = &m->requests;
	double slow_ns = 0, slow = 0, pending = 0, most_pending = 0;
	char name[ACCOUNT_NAME_MAX];
	uint64_t longest = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct request *r = &all->request[i];

		add_slow(r, &slow_ns, &slow);
		pending += pending_ns(r);
		if (pending_ns(r) > most_pending) {
			most_pending = pending_ns(r);
			run_figure_who(m->out, RUN_FIGURE_PENDING, "%s",
				       account_name(r->number, name));
		}
		if (r->a.max_ns > longest) {
			longest = r->a.max_ns;
			run_figure_who(m->out, RUN_FIGURE_LONGEST, "%s",
				       account_name(r->number, name));
		}
	}
	run_figure_set(m->out, RUN_FIGURE_REQUESTS, (double)all->all.a.sum.answered);
	per_second(m, RUN_FIGURE_RATE, (double)all->all.a.sum.answered);
	run_figure_share(m->out, RUN_FIGURE_BUSY, m->all_ns, m->ns);
	run_figure_set(m->out, RUN_FIGURE_PENDING, pending);
	run_figure_set(m->out, RUN_FIGURE_SLOW_N, slow);
	share(m, RUN_FIGURE_SLOW, slow_ns < m->all_ns ? slow_ns : m->all_ns);
	if (!all->all.a.sum.answered)
		return;
	run_figure_set(m->out, RUN_FIGURE_P50, requests_quantile(&all->all.a, 0.5));
	run_figure_set(m->out, RUN_FIGURE_P99, requests_quantile(&all->all.a, 0.99));
	run_figure_set(m->out, RUN_FIGURE_LONGEST, (double)longest);
}

/* What they waited for */

static void look_waits(struct measure *m)
{
	const uint64_t *t = m->requests.all.time_ns;
	const __u64 *in = m->requests.all.a.sum.inside;
	const struct ledger *l = &m->view.all;
	double unread = (double)ledger_part_sum(l, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN, LEDGER_ALL,
						LEDGER_ALL)
			    .runq_ns;
	double stopped = (double)t[ACCOUNT_STOPPED] +
			 (double)ledger_part_sum(l, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN,
						 LEDGER_ALL, LEDGER_ALL)
			     .stopped_ns;
	size_t sessions = m->run->n_sessions + m->run->n_rest;

	share(m, RUN_FIGURE_CPU, (double)(t[ACCOUNT_USER] + t[ACCOUNT_CALLS]));
	share(m, RUN_FIGURE_LOCK, (double)t[ACCOUNT_LOCK]);
	share(m, RUN_FIGURE_NET, (double)t[ACCOUNT_NET]);
	share(m, RUN_FIGURE_OTHER, (double)t[ACCOUNT_OTHER]);
	share(m, RUN_FIGURE_UNEXPLAINED, (double)m->requests.all.a.sum.unexplained_ns);
	share(m, RUN_FIGURE_CNID, (double)t[ACCOUNT_CNID]);
	share(m, RUN_FIGURE_CNID_CPU, (double)in[AFS_INSIDE_CPU]);
	share(m, RUN_FIGURE_CNID_DISK, (double)(in[AFS_INSIDE_SYNC] + in[AFS_INSIDE_IO]));
	share(m, RUN_FIGURE_CNID_STOPPED, (double)in[AFS_INSIDE_STOPPED]);
	share(m, RUN_FIGURE_WAIT_DISK,
	      (double)(t[ACCOUNT_DISK] + in[AFS_INSIDE_SYNC] + in[AFS_INSIDE_IO]));
	run_figure_share(m->out, RUN_FIGURE_WAIT_CPU,
			 (double)(t[ACCOUNT_RUNQ] + in[AFS_INSIDE_RUNQ]) + unread,
			 m->all_ns + unread);
	run_figure_share(m->out, RUN_FIGURE_UNREAD, unread, (double)m->requests.all.a.sum.answered);
	run_figure_set(m->out, RUN_FIGURE_STOPPED_FOR, stopped);
	run_figure_share(m->out, RUN_FIGURE_STOPPED, stopped,
			 m->ns * (double)(sessions ? sessions : 1));
}

/* Calls of the serving threads, for requests */

struct calls {
	double n, ns;
};

static void calls_add(struct calls *to, const struct ledger_part *p)
{
	to->n += (double)p->part.calls;
	to->ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
}

static bool is_account(unsigned int account, const char *name)
{
	const char *its = account_known_name(account);

	return its && !strcmp(its, name);
}

static bool is_one_of(unsigned int account, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_account(account, name[i]))
			return true;
	return false;
}

static void look_calls(struct measure *m)
{
	struct calls log = { 0 }, xattr = { 0 }, meta = { 0 }, sync = { 0 };
	double lock = 0, n = (double)m->requests.all.a.sum.answered;
	const struct ledger *l = &m->view.all;

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (p->role != AFS_ROLE_SERVER || !account_is_request(p->account))
			continue;
		if (p->object == AFS_OBJECT_LOG)
			calls_add(&log, p);
		if (p->object == AFS_OBJECT_META)
			calls_add(&meta, p);
		if (p->class == AFS_CLASS_XATTR)
			calls_add(&xattr, p);
		if (p->class == AFS_CLASS_SYNC)
			calls_add(&sync, p);
		if (p->object == AFS_OBJECT_CNIDDB &&
		    (p->class == AFS_CLASS_WAIT || p->class == AFS_CLASS_LOCK))
			lock += (double)p->part.blocked_ns;
	}
	if (l->has_storage && l->has_item[AFS_STORAGE_BLOCK])
		per_second(
		    m, RUN_FIGURE_READ,
		    (double)ledger_storage_sum(l, AFS_ROLE_SERVER, LEDGER_ALL).bio_read_bytes);
	share_of_work(m, RUN_FIGURE_LOG, log.ns);
	share_of_work(m, RUN_FIGURE_XATTR, xattr.ns);
	share_of_work(m, RUN_FIGURE_META, meta.ns);
	share(m, RUN_FIGURE_SYNC, sync.ns);
	share(m, RUN_FIGURE_CNID_LOCK,
	      lock + (double)m->requests.all.a.sum.inside[AFS_INSIDE_LOCK]);
	per_second(m, RUN_FIGURE_SYNC_RATE, sync.n);
	run_figure_share(m->out, RUN_FIGURE_LOG_CALLS, log.n, n);
	run_figure_share(m->out, RUN_FIGURE_META_CALLS, meta.n, n);
	run_figure_share(m->out, RUN_FIGURE_XATTR_MEAN, xattr.ns, xattr.n);
}

/* Commands and their results */

static bool is_login(unsigned int account)
{
	return is_account(account, "FPLogin") || is_account(account, "FPLoginExt") ||
	       is_account(account, "FPLoginCont");
}

/* With what has no answer yet. */
static double request_ns(const struct request *r)
{
	return all_columns(r->time_ns) + (double)r->a.sum.unexplained_ns;
}

static double work_of(const struct request *r)
{
	return request_ns(r) - (double)r->time_ns[ACCOUNT_STOPPED] -
	       (double)r->time_ns[ACCOUNT_RUNQ];
}

static uint64_t answered(const struct measure *m, unsigned int account)
{
	const struct ledger_account *a = ledger_account(&m->view.all, account);

	return a ? a->sum.answered : 0;
}

/* For a CPU, the programs that check passwords included. */
static double login_wait_ns(const struct measure *m, const struct request *r)
{
	return (double)r->time_ns[ACCOUNT_RUNQ] +
	       (double)ledger_part_sum(&m->view.all, AFS_ROLE_HELPER, r->number, LEDGER_ALL,
				       LEDGER_ALL)
		   .runq_ns;
}

static void look_logins(struct measure *m)
{
	struct calls login = { 0 }, now = { 0 };
	double wait, done;

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];
		bool begins = is_account(r->number, "FPLogin") ||
			      is_account(r->number, "FPLoginExt");

		if (begins)
			login.n += (double)r->a.sum.answered;
		if (!is_login(r->number))
			continue;
		wait = login_wait_ns(m, r);
		done = (double)r->a.sum.ns;
		login.ns += done > wait ? done - wait : 0;
		if (pending_ns(r) > 0) {
			wait = wait > done ? wait - done : 0;
			now.ns += pending_ns(r) > wait ? pending_ns(r) - wait : 0;
			now.n += (double)(r->a.sum.begun - r->a.sum.answered);
		}
	}
	run_figure_share(m->out, RUN_FIGURE_LOGIN, login.ns, login.n);
	if (now.n > 0 && login.ns * now.n <= now.ns * login.n)
		run_figure_share(m->out, RUN_FIGURE_LOGIN, now.ns, now.n);
	run_figure_set(m->out, RUN_FIGURE_LOGIN_PENDING, now.n);
	per_second(m, RUN_FIGURE_LOGINS, login.n);
}

static bool is_denied(int32_t code)
{
	return code == DENY_CONFLICT || code == FILE_BUSY || code == LOCK_CONFLICT;
}

static void look_results(struct measure *m)
{
	double full = 0, denied = 0, most_full = 0, most_denied = 0, asked = 0;
	unsigned int last = AFS_N_ACCOUNTS;
	const struct ledger *l = &m->view.all;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < l->n_results; i++) {
		const struct ledger_result *x = &l->result[i];
		double n = (double)x->n;

		if (x->code == DISK_FULL) {
			full += n;
			if (n > most_full)
				run_figure_who(m->out, RUN_FIGURE_DISK_FULL, "%s",
					       account_name(x->account, name));
			most_full = n > most_full ? n : most_full;
		} else if (is_denied(x->code)) {
			denied += n;
			if (x->account != last)
				asked += (double)answered(m, x->account);
			last = x->account;
			if (n > most_denied)
				run_figure_who(m->out, RUN_FIGURE_DENIED, "%s",
					       account_name(x->account, name));
			most_denied = n > most_denied ? n : most_denied;
		}
	}
	run_figure_set(m->out, RUN_FIGURE_DISK_FULL, full);
	run_figure_set(m->out, RUN_FIGURE_DENIED, denied);
	run_figure_set(m->out, RUN_FIGURE_DENIED_SHARE, asked > 0 ? denied / asked : 0);
}

/* Lists that ended: results that there are no more entries, or of clients that do not ask so far,
 * by reads of folders: a list of few entries has two. */
static double lists_ended(const struct ledger *l, unsigned int command)
{
	double ends = 0, reads = 0;

	for (size_t i = 0; i < l->n_results; i++)
		if (l->result[i].account == command && l->result[i].code == NO_MORE)
			ends += (double)l->result[i].n;
	reads = (double)ledger_part_sum(l, AFS_ROLE_SERVER, command, AFS_CLASS_DIR, AFS_OBJECT_DIR)
		    .calls;
	return ends > reads / LIST_READS ? ends : reads / LIST_READS;
}

/* The list of a folder is asked for in pieces until there are no more entries. */
static void look_lists(struct measure *m)
{
	static const char *const commands[] = { "FPEnumerate", "FPEnumerateExt",
						"FPEnumerateExt2" };
	struct calls list = { 0 };
	double ends = 0, work = 0;

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (!is_one_of(r->number, commands, sizeof(commands) / sizeof(*commands)))
			continue;
		list.n += (double)r->a.sum.begun;
		list.ns += request_ns(r);
		work += work_of(r);
		ends += lists_ended(&m->view.all, r->number);
	}
	share_of_work(m, RUN_FIGURE_LIST, work);
	run_figure_share(m->out, RUN_FIGURE_LIST_REQUESTS, list.n, ends);
	run_figure_share(m->out, RUN_FIGURE_LIST_TIME, list.ns, ends);
}

/* Such a request writes to the CNID database only if it finds a file that is not in it. */
static void look_behind(struct measure *m)
{
	const struct ledger *l = &m->view.all;
	double ns = 0, writes = 0, most = 0;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (!account_changes_nothing(p->account))
			continue;
		if (p->role == AFS_ROLE_SERVER &&
		    (p->object == AFS_OBJECT_BACKEND || p->object == AFS_OBJECT_CNIDDB))
			ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
		if (p->object != AFS_OBJECT_CNIDDB || p->class != AFS_CLASS_WRITE)
			continue;
		writes += (double)p->part.calls;
		if ((double)p->part.calls > most)
			run_figure_who(m->out, RUN_FIGURE_CNID_WRITES, "%s",
				       account_name(p->account, name));
		most = (double)p->part.calls > most ? (double)p->part.calls : most;
	}
	share_of_work(m, RUN_FIGURE_BEHIND, writes > 0 ? ns : 0);
	per_second(m, RUN_FIGURE_CNID_WRITES, writes);
}

/* Single commands */

static double cpu_ns(const struct request *r)
{
	return (double)(r->time_ns[ACCOUNT_USER] + r->time_ns[ACCOUNT_CALLS]);
}

static void look_commands(struct measure *m)
{
	static const char *const data[] = { "FPRead", "FPReadExt", "FPWrite", "FPWriteExt",
					    "FPCopyFile" };
	double cpu = cpu_ns(&m->requests.all), most = 0, spotlight = 0, moved = 0;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (is_account(r->number, "FPSpotlightRPC"))
			spotlight += pending_ns(r);
		if (is_one_of(r->number, data, sizeof(data) / sizeof(*data)))
			moved += cpu_ns(r);
		if (cpu_ns(r) <= most)
			continue;
		most = cpu_ns(r);
		run_figure_who(m->out, RUN_FIGURE_COMMAND_CPU, "%s", account_name(r->number, name));
	}
	run_figure_share(m->out, RUN_FIGURE_COMMAND_CPU, most, cpu);
	run_figure_share(m->out, RUN_FIGURE_DATA_CPU, moved, cpu);
	run_figure_set(m->out, RUN_FIGURE_SPOTLIGHT, spotlight);
}

static bool asks_size(unsigned int account)
{
	return is_account(account, "FPGetVolParms") || is_account(account, "FPOpenVol");
}

static void look_volume_size(struct measure *m)
{
	const struct ledger *l = &m->view.all;
	struct calls folders = { 0 };
	double asked = 0;

	for (size_t i = 0; i < l->n_accounts; i++)
		if (asks_size(l->account[i].account))
			asked += (double)l->account[i].sum.begun;
	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (p->role == AFS_ROLE_SERVER && asks_size(p->account) &&
		    p->class == AFS_CLASS_DIR && p->object == AFS_OBJECT_DIR)
			calls_add(&folders, p);
	}
	share(m, RUN_FIGURE_VOLUME_SIZE, folders.ns);
	run_figure_set(m->out, RUN_FIGURE_VOLUME_SIZE_CALLS, asked > 0 ? folders.n / asked : 0);
}

static double work_ns(const struct measure *m)
{
	double ns = 0;

	for (size_t i = 0; i < m->requests.n; i++)
		if (!is_login(m->requests.request[i].number))
			ns += work_of(&m->requests.request[i]);
	return ns;
}

static void look_time(struct measure *m)
{
	for (size_t i = 0; i < m->run->n_phases; i++) {
		const struct run_phase *p = m->run->phase[i];

		if (!p->complete || !p->known[METRIC_ELAPSED])
			continue;
		m->ns += (double)p->value[METRIC_ELAPSED];
	}
}

int doctor_measure(struct run_figures *out, const struct run *r)
{
	struct measure m = { .out = out, .run = r };
	int e = view_init(&m.view, r);

	if (e)
		return e;
	look_time(&m);
	if (m.ns > 0)
		run_figure_set(out, RUN_FIGURE_ELAPSED, m.ns);
	if (!strcmp(run_kind_name(r), "rx") || !strcmp(r->command, "rx")) {
		doctor_rx(out, r, &m.view, m.ns);
		view_fini(&m.view);
		return 0;
	}
	if (m.view.all.has_requests)
		e = requests_init(&m.requests, &m.view.all);
	if (!e && m.view.all.has_requests) {
		m.all_ns = all_columns(m.requests.all.time_ns) +
			   (double)m.requests.all.a.sum.unexplained_ns;
		m.work_ns = work_ns(&m);
		look_times(&m);
		look_waits(&m);
		look_calls(&m);
		look_logins(&m);
		look_results(&m);
		look_lists(&m);
		look_behind(&m);
		doctor_sessions(out, r, m.ns);
		look_commands(&m);
		look_volume_size(&m);
		doctor_clients(out, r);
		doctor_asked(out, r, (double)m.requests.all.time_ns[ACCOUNT_CNID], m.work_ns);
		requests_fini(&m.requests);
	}
	view_fini(&m.view);
	return e;
}
