/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bricks of GlusterFS. A request is handed from thread to thread, so its time is known and not what
 * went into it: what all threads of the bricks did stands for that.
 */
#include "doctor/gluster.h"

#include "base/hist.h"
#include "run/requests.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLOW_NS   100000000u /* a person notices */
#define NS_PER_S  1e9
#define IO_THREAD "glfs_iotwr" /* with its number */

struct brick_figures {
	struct run_figures *out;
	const struct run *run;
	const struct ledger *l;
	const struct requests *requests;
	double ns;                     /* watched */
	double all_ns;                 /* of requests, with pending_ns */
	double pending;                /* requests without an answer */
	double pending_ns;             /* theirs, as far as threads did something for it */
	double did[ACCOUNT_N_COLUMNS]; /* by all threads of the bricks; what they waited for */
	/* What their work and waits are shares of: at least all_ns, as some were for no request. */
	double whole_ns;
};

static void share(const struct brick_figures *x, enum run_figure which, double ns)
{
	run_figure_share(x->out, which, ns, x->whole_ns);
}

/* ---- times of requests ---- */

static void look_longest(const struct brick_figures *x)
{
	char name[ACCOUNT_NAME_MAX];
	uint64_t longest = 0;

	for (size_t i = 0; i < x->requests->n; i++) {
		const struct request *r = &x->requests->request[i];

		if (r->a.max_ns <= longest)
			continue;
		longest = r->a.max_ns;
		run_figure_who(x->out, RUN_FIGURE_LONGEST, "%s",
			       run_account_name(x->run, r->number, name));
	}
	run_figure_set(x->out, RUN_FIGURE_LONGEST, (double)longest);
}

static void look_slow(const struct brick_figures *x)
{
	const struct ledger_account *a = &x->requests->all.a;
	bool hang = x->pending_ns >= SLOW_NS;
	double n = hang ? x->pending : 0, ns = hang ? x->pending_ns : 0;

	for (size_t i = hist_index(SLOW_NS, AFS_REQUEST_BITS); i < AFS_REQUEST_BUCKETS; i++) {
		uint64_t low = hist_low(i, AFS_REQUEST_BITS);

		n += (double)a->hist[i];
		ns += (double)a->hist[i] * (double)(low + hist_low(i + 1, AFS_REQUEST_BITS)) / 2;
	}
	run_figure_set(x->out, RUN_FIGURE_SLOW_N, n);
	run_figure_share(x->out, RUN_FIGURE_SLOW, fmin(ns, x->all_ns), x->all_ns);
}

static void look_requests(const struct brick_figures *x)
{
	const struct ledger_account *a = &x->requests->all.a;
	double n = (double)a->sum.answered;

	run_figure_set(x->out, RUN_FIGURE_REQUESTS, n);
	run_figure_share(x->out, RUN_FIGURE_RATE, n * NS_PER_S, x->ns);
	run_figure_share(x->out, RUN_FIGURE_BUSY, x->all_ns, x->ns);
	run_figure_set(x->out, RUN_FIGURE_PENDING, x->pending_ns);
	look_slow(x);
	if (!a->sum.answered)
		return;
	run_figure_set(x->out, RUN_FIGURE_P50, requests_quantile(a, 0.5));
	run_figure_set(x->out, RUN_FIGURE_P99, requests_quantile(a, 0.99));
	look_longest(x);
}

static void look_full(const struct brick_figures *x)
{
	char name[ACCOUNT_NAME_MAX];
	double n = 0, most = 0, asked = 0;
	unsigned int last = AFS_N_ACCOUNTS;

	for (size_t i = 0; i < x->l->n_results; i++) {
		const struct ledger_result *is = &x->l->result[i];
		const struct ledger_account *a = ledger_account(x->l, is->account);

		if (is->code != ENOSPC || !a)
			continue;
		n += (double)is->n;
		asked += is->account != last ? (double)a->sum.answered : 0;
		last = is->account;
		if ((double)is->n > most)
			run_figure_who(x->out, RUN_FIGURE_DISK_FULL, "%s",
				       run_account_name(x->run, is->account, name));
		most = fmax(most, (double)is->n);
	}
	run_figure_set(x->out, RUN_FIGURE_DISK_FULL, n);
	run_figure_set(x->out, RUN_FIGURE_DISK_FULL_SHARE, asked > 0 ? fmin(1, n / asked) : 0);
}

/* ---- what threads did ---- */

static double of_class(const struct brick_figures *x, unsigned int class, double *calls)
{
	double ns = 0;

	for (size_t i = 0; i < x->l->n_parts; i++) {
		const struct ledger_part *p = &x->l->part[i];

		if (p->role != AFS_ROLE_SERVER || p->class != class)
			continue;
		ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
		*calls += (double)p->part.calls;
	}
	return ns;
}

static void look_waits(const struct brick_figures *x)
{
	double syncs = 0, opens = 0, sync = of_class(x, AFS_CLASS_SYNC, &syncs);

	share(x, RUN_FIGURE_CPU, x->did[ACCOUNT_USER] + x->did[ACCOUNT_CALLS]);
	share(x, RUN_FIGURE_WAIT_CPU, x->did[ACCOUNT_RUNQ]);
	share(x, RUN_FIGURE_ON_CPU,
	      x->did[ACCOUNT_USER] + x->did[ACCOUNT_CALLS] + x->did[ACCOUNT_RUNQ]);
	share(x, RUN_FIGURE_WAIT_DISK, x->did[ACCOUNT_DISK]);
	share(x, RUN_FIGURE_NET, x->did[ACCOUNT_NET]);
	share(x, RUN_FIGURE_SYNC, sync);
	share(x, RUN_FIGURE_OPEN, of_class(x, AFS_CLASS_OPEN, &opens));
	run_figure_share(x->out, RUN_FIGURE_SYNC_RATE, syncs * NS_PER_S, x->ns);
	run_figure_share(x->out, RUN_FIGURE_SYNC_MEAN, sync, syncs);
	if (x->l->has_storage && x->l->has_item[AFS_STORAGE_BLOCK])
		run_figure_share(
		    x->out, RUN_FIGURE_READ,
		    (double)ledger_storage_sum(x->l, AFS_ROLE_SERVER, LEDGER_ALL).bio_read_bytes *
			NS_PER_S,
		    x->ns);
}

/* What no thread did anything for. */
static void look_threads(const struct brick_figures *x)
{
	double n = 0, io = 0, busy = x->did[ACCOUNT_DISK] + x->did[ACCOUNT_LOCK], work = 0;

	for (size_t i = 0; i < x->run->n_threads; i++) {
		const struct run_threads *t = &x->run->threads[i];

		n += t->n;
		if (strncmp(t->name, IO_THREAD, strlen(IO_THREAD)) != 0)
			continue;
		io += t->n;
		busy += (double)(t->cpu_ns + t->runq_ns);
	}
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		work += i == ACCOUNT_OTHER ? 0 : x->did[i];
	share(x, RUN_FIGURE_WAIT_THREAD, fmax(x->all_ns - work, 0));
	run_figure_share(x->out, RUN_FIGURE_STOPPED, x->did[ACCOUNT_STOPPED], x->ns * fmax(n, 1));
	/* Whatever it serves, nothing of it goes on. */
	run_figure_set(x->out, RUN_FIGURE_STOPPED_WAIT, x->out->value[RUN_FIGURE_STOPPED]);
	if (io < 1) {
		run_figure_who(x->out, RUN_FIGURE_IO_THREADS_BUSY, "no io-thread was seen");
		return;
	}
	run_figure_set(x->out, RUN_FIGURE_IO_THREADS, io);
	run_figure_share(x->out, RUN_FIGURE_IO_THREADS_BUSY, busy, x->ns * io);
}

static void look_heal(const struct brick_figures *x)
{
	struct afs_part shd = ledger_part_sum(x->l, AFS_ROLE_BACKEND, LEDGER_ALL, LEDGER_ALL,
					      LEDGER_ALL);

	run_figure_share(x->out, RUN_FIGURE_HEAL_CPU, (double)shd.cpu_ns, x->ns);
}

static void look_end(const struct brick_figures *x)
{
	uint64_t ended_ns = x->run->server_end.ended_ns;

	run_figure_set(x->out, RUN_FIGURE_SERVER_ENDED, ended_ns != 0);
	if (ended_ns)
		run_figure_who(x->out, RUN_FIGURE_SERVER_ENDED, "after %.1f s of the watch",
			       x->ns / NS_PER_S);
}

static void sum_up(struct brick_figures *x)
{
	const struct afs_account *all = &x->requests->all.a.sum;
	double sum = 0;

	for (size_t i = 0; i < x->l->n_parts; i++) {
		uint64_t ns[ACCOUNT_N_COLUMNS] = { 0 };

		if (x->l->part[i].role != AFS_ROLE_SERVER)
			continue;
		account_add_part(ns, &x->l->part[i]);
		for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
			x->did[c] += (double)ns[c];
	}
	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		sum += c == ACCOUNT_OTHER || c == ACCOUNT_STOPPED ? 0 : x->did[c];
	x->all_ns = (double)x->requests->all.service_ns;
	x->whole_ns = fmax(x->all_ns, sum);
	x->pending = all->begun > all->answered ? (double)(all->begun - all->answered) : 0;
	/* More than was done for those with an answer: threads work before and after them, too. */
	sum = x->did[ACCOUNT_DISK] + x->did[ACCOUNT_LOCK] - x->all_ns;
	if (x->pending > 0 && sum > 0)
		x->pending_ns = sum;
	x->all_ns += x->pending_ns;
}

int doctor_gluster(struct run_figures *out, const struct run *r, const struct view *v, double ns)
{
	struct requests requests;
	struct brick_figures x = {
		.out = out, .run = r, .l = &v->all, .requests = &requests, .ns = ns
	};
	int e;

	snprintf(out->kind, sizeof(out->kind), "gluster");
	e = v->all.has_requests ? requests_init(&requests, &v->all) : 0;
	if (e || !v->all.has_requests)
		return e;
	sum_up(&x);
	look_requests(&x);
	look_full(&x);
	look_waits(&x);
	look_threads(&x);
	look_heal(&x);
	look_end(&x);
	requests_fini(&requests);
	return 0;
}
