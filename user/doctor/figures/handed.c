/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/figures/handed.h"

#include "base/hist.h"
#include "doctor/figures/measure.h"

#include <math.h>
#include <string.h>

#define SLOW_NS  100000000u /* a person notices */
#define NS_PER_S 1e9

static void handed_sum_up(struct handed *h)
{
	const struct afs_account *all = &h->requests.all.a.sum;
	double sum = 0;

	for (size_t i = 0; i < h->l->n_parts; i++) {
		uint64_t ns[ACCOUNT_N_COLUMNS] = { 0 };

		if (h->l->part[i].role != AFS_ROLE_SERVER)
			continue;
		account_add_part(ns, &h->l->part[i]);
		for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
			h->did[c] += (double)ns[c];
	}
	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		sum += c == ACCOUNT_OTHER || c == ACCOUNT_STOPPED ? 0 : h->did[c];
	h->all_ns = (double)h->requests.all.service_ns;
	h->whole_ns = fmax(h->all_ns, sum);
	h->pending = all->begun > all->answered ? (double)(all->begun - all->answered) : 0;
	/* More than was done for those with an answer: threads work before and after them, too. */
	sum = h->did[ACCOUNT_DISK] + h->did[ACCOUNT_LOCK] - h->all_ns;
	if (h->pending > 0 && sum > 0)
		h->pending_ns = sum;
	h->all_ns += h->pending_ns;
}

int handed_init(struct handed *out, struct run_figures *figures, const struct run *r,
		const struct view *v, double ns)
{
	int e;

	*out = (struct handed) { .out = figures, .run = r, .l = &v->all, .ns = ns };
	e = requests_init(&out->requests, &v->all);
	if (!e)
		handed_sum_up(out);
	return e;
}

void handed_fini(struct handed *h)
{
	requests_fini(&h->requests);
}

void handed_share(const struct handed *h, enum run_figure which, double ns)
{
	run_figure_share(h->out, which, ns, h->whole_ns);
}

static double of_class(const struct handed *h, unsigned int class, double *calls)
{
	double ns = 0;

	for (size_t i = 0; i < h->l->n_parts; i++) {
		const struct ledger_part *p = &h->l->part[i];

		if (p->role != AFS_ROLE_SERVER || p->class != class)
			continue;
		ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
		*calls += (double)p->part.calls;
	}
	return ns;
}

void handed_stopped(const struct handed *h, double idle_ns)
{
	double stopped = h->did[ACCOUNT_STOPPED], all = 0;
	bool traced = h->out->known[RUN_FIGURE_TRACED] && h->out->value[RUN_FIGURE_TRACED] > 0;

	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		all += h->did[c];
	run_figure_share(h->out, RUN_FIGURE_STOPPED, stopped, all);
	run_figure_set(h->out, RUN_FIGURE_STOPPED_FOR, stopped);
	if (traced)
		all -= h->did[ACCOUNT_OTHER];
	run_figure_share(h->out, RUN_FIGURE_STOPPED_WAIT, stopped, all);
	run_figure_share(h->out, RUN_FIGURE_STOPPED_IDLE, idle_ns, all);
}

void handed_disk(const struct handed *h)
{
	double syncs = 0, opens = 0, sync = of_class(h, AFS_CLASS_SYNC, &syncs);

	handed_share(h, RUN_FIGURE_WAIT_DISK, h->did[ACCOUNT_DISK]);
	handed_share(h, RUN_FIGURE_SYNC, sync);
	handed_share(h, RUN_FIGURE_OPEN, of_class(h, AFS_CLASS_OPEN, &opens));
	run_figure_share(h->out, RUN_FIGURE_SYNC_RATE, syncs * NS_PER_S, h->ns);
	run_figure_share(h->out, RUN_FIGURE_SYNC_MEAN, sync, syncs);
	if (h->l->has_storage && h->l->has_item[AFS_STORAGE_BLOCK])
		run_figure_share(
		    h->out, RUN_FIGURE_READ,
		    (double)ledger_storage_sum(h->l, AFS_ROLE_SERVER, LEDGER_ALL).bio_read_bytes *
			NS_PER_S,
		    h->ns);
}

void handed_cpu(const struct handed *h)
{
	double on = h->did[ACCOUNT_USER] + h->did[ACCOUNT_CALLS];

	handed_share(h, RUN_FIGURE_CPU, on);
	handed_share(h, RUN_FIGURE_WAIT_CPU, h->did[ACCOUNT_RUNQ]);
	handed_share(h, RUN_FIGURE_ON_CPU, on + h->did[ACCOUNT_RUNQ]);
}

void handed_refused(const struct handed *h, int32_t code, enum run_figure number,
		    enum run_figure of_them)
{
	char name[ACCOUNT_NAME_MAX];
	double n = 0, most = 0, asked = 0;
	unsigned int last = AFS_N_ACCOUNTS;

	for (size_t i = 0; i < h->l->n_results; i++) {
		const struct ledger_result *is = &h->l->result[i];
		const struct ledger_account *a = ledger_account(h->l, is->account);

		if (is->code != code || !a)
			continue;
		n += (double)is->n;
		asked += is->account != last ? (double)a->sum.answered : 0;
		last = is->account;
		if ((double)is->n > most)
			run_figure_who(h->out, number, "%s",
				       run_account_name(h->run, is->account, name));
		most = fmax(most, (double)is->n);
	}
	run_figure_set(h->out, number, n);
	run_figure_set(h->out, of_them, asked > 0 ? fmin(1, n / asked) : 0);
}

static void handed_look_longest(const struct handed *h)
{
	char name[ACCOUNT_NAME_MAX];
	uint64_t longest = 0;

	for (size_t i = 0; i < h->requests.n; i++) {
		const struct request *r = &h->requests.request[i];

		if (r->a.max_ns <= longest)
			continue;
		longest = r->a.max_ns;
		run_figure_who(h->out, RUN_FIGURE_LONGEST, "%s",
			       run_account_name(h->run, r->number, name));
	}
	run_figure_set(h->out, RUN_FIGURE_LONGEST, (double)longest);
}

static void handed_look_slow(const struct handed *h)
{
	const struct ledger_account *a = &h->requests.all.a;
	bool hang = h->pending_ns >= SLOW_NS;
	double n = hang ? h->pending : 0, ns = hang ? h->pending_ns : 0;

	for (size_t i = hist_index(SLOW_NS, AFS_REQUEST_BITS); i < AFS_REQUEST_BUCKETS; i++) {
		uint64_t low = hist_low(i, AFS_REQUEST_BITS);

		n += (double)a->hist[i];
		ns += (double)a->hist[i] * (double)(low + hist_low(i + 1, AFS_REQUEST_BITS)) / 2;
	}
	run_figure_set(h->out, RUN_FIGURE_SLOW_N, n);
	run_figure_share(h->out, RUN_FIGURE_SLOW, fmin(ns, h->all_ns), h->all_ns);
}

void handed_requests(const struct handed *h)
{
	const struct ledger_account *a = &h->requests.all.a;
	double n = (double)a->sum.answered;

	run_figure_set(h->out, RUN_FIGURE_REQUESTS, n);
	run_figure_share(h->out, RUN_FIGURE_RATE, n * NS_PER_S, h->ns);
	run_figure_share(h->out, RUN_FIGURE_BUSY, h->all_ns, h->ns);
	run_figure_set(h->out, RUN_FIGURE_PENDING, h->pending_ns);
	handed_look_slow(h);
	if (!a->sum.answered)
		return;
	run_figure_set(h->out, RUN_FIGURE_MEAN, (double)a->sum.ns / n);
	doctor_mostly(h->out, h->run, &h->requests, NULL, NULL);
	run_figure_set(h->out, RUN_FIGURE_P50, requests_quantile(a, 0.5));
	run_figure_set(h->out, RUN_FIGURE_P99, requests_quantile(a, 0.99));
	handed_look_longest(h);
}
