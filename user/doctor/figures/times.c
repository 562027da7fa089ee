/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long requests took, and which have had no answer. */
#include "doctor/figures/measure.h"
#include "doctor/figures/measure_priv.h"

#define SLOW_NS 100000000u /* a person notices */
/* Younger ones are what a busy server has at any moment. */
#define OLD_NS 1000000000u

/* Of a request without an answer, without what may be its wait for its own client. */
static void add_pending(const struct request *r, double *ns, double *n)
{
	double pending = measure_pending_ns(r) - (double)r->time_ns[ACCOUNT_NET];

	if (pending < SLOW_NS)
		return;
	*n += (double)(r->a.sum.begun - r->a.sum.answered);
	*ns += pending;
}

/* It waits for its own client, which may sleep, or be far away. */
static bool is_clients(const struct run_service *s)
{
	return s->column == ACCOUNT_NET;
}

static double before_ns(const struct measure *m)
{
	double ns = 0;

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		ns += m->before_ns[i];
	return ns;
}

void measure_service(struct run_figures *out, const struct run *r, measure_skips *skips)
{
	const struct run_service *oldest = NULL;
	char name[ACCOUNT_NAME_MAX];
	double n = 0;

	for (size_t i = 0; i < r->n_service; i++) {
		const struct run_service *s = &r->service[i];

		if (is_clients(s) || (skips && skips(s->account)))
			continue;
		oldest = oldest ? oldest : s;
		n += s->age_ns >= OLD_NS;
	}
	if (!r->has_service && !n)
		return;
	run_figure_set(out, RUN_FIGURE_IN_SERVICE, n);
	if (n > 0) {
		const char *command = account_is_request(oldest->account)
					  ? run_account_name(r, oldest->account, name)
					  : "begun before the watch";

		run_figure_set(out, RUN_FIGURE_OLDEST, (double)oldest->age_ns);
		run_figure_who(out, RUN_FIGURE_OLDEST, "%s", command);
		run_figure_who(out, RUN_FIGURE_IN_SERVICE, "%s from %s (pid %d)",
			       *oldest->user ? oldest->user : "nobody",
			       *oldest->address ? oldest->address : "an unknown address",
			       oldest->pid);
	}
}

#define WAIT_MAX (RUN_WORD_MAX + 40)

/* What most of this time went into, as words after whoever it is about. Returns out. */
static const char *times_wait(const struct measure *m, const uint64_t ns[ACCOUNT_N_COLUMNS],
			      char out[WAIT_MAX])
{
	static const char *const words[ACCOUNT_N_COLUMNS] = {
		[ACCOUNT_RUNQ] = "waited most for a CPU",
		[ACCOUNT_DISK] = "waited most for files and directories",
		[ACCOUNT_CNID] = "waited most for the {backend}",
		[ACCOUNT_LOCK] = "waited most for file locks",
		[ACCOUNT_LOG] = "waited most for the log",
		[ACCOUNT_NET] = "waited most for the client",
		[ACCOUNT_OTHER] = "waited most in sleeps and for other processes",
		[ACCOUNT_STOPPED] = "waited most because {server} was paused",
	};
	uint64_t on = ns[ACCOUNT_USER] + ns[ACCOUNT_CALLS];
	enum account_column most = ACCOUNT_RUNQ;
	const char *what;

	for (size_t i = ACCOUNT_RUNQ; i < ACCOUNT_N_COLUMNS; i++)
		if (ns[i] > ns[most])
			most = i;
	what = words[most];
	if (on > ns[most])
		what = "spent most time on a CPU";
	else if (most == ACCOUNT_CNID && !(measure_inside_ns(m) > 0))
		what = "waited most for the {database}";
	return run_text(m->run, what, out, WAIT_MAX);
}

static void look_pending(struct measure *m, double pending, double most)
{
	double n = (double)m->requests.all.pending;
	char name[ACCOUNT_NAME_MAX], wait[WAIT_MAX];

	for (size_t i = 0; i < m->run->n_service; i++)
		n += m->run->service[i].before;
	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		pending += measure_pending_ns(r);
		if (measure_pending_ns(r) <= most)
			continue;
		most = measure_pending_ns(r);
		run_figure_who(m->out, RUN_FIGURE_PENDING, "%s", account_name(r->number, name));
		run_figure_who(m->out, RUN_FIGURE_PENDING_SHARE, "%s, which %s",
			       account_name(r->number, name), times_wait(m, r->time_ns, wait));
	}
	run_figure_set(m->out, RUN_FIGURE_PENDING, pending);
	run_figure_set(m->out, RUN_FIGURE_PENDING_N, n);
	measure_share(m, RUN_FIGURE_PENDING_SHARE, pending);
}

/* Those with an answer, and what the commands that had such waited for. */
static void look_stalls(struct measure *m, double n)
{
	uint64_t ns[ACCOUNT_N_COLUMNS] = { 0 };
	char wait[WAIT_MAX];

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (r->a.max_ns < SLOW_NS || measure_refused_logins(m, r->number))
			continue;
		for (size_t k = 0; k < ACCOUNT_N_COLUMNS; k++)
			ns[k] += r->time_ns[k];
	}
	run_figure_set(m->out, RUN_FIGURE_STALLS, n);
	if (n > 0)
		run_figure_who(m->out, RUN_FIGURE_STALLS, "%s", times_wait(m, ns, wait));
}

void doctor_mostly(struct run_figures *out, const struct run *r, const struct requests *all,
		   bool (*skip)(const void *user, unsigned int account), const void *user)
{
	const struct ledger_account *most = NULL;
	char name[ACCOUNT_NAME_MAX];
	double ns = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct request *is = &all->request[i];

		if (!is->a.sum.answered || (skip && skip(user, is->number)))
			continue;
		ns += (double)is->a.sum.ns;
		if (most && is->a.sum.ns <= most->sum.ns)
			continue;
		most = &is->a;
		run_figure_who(out, RUN_FIGURE_MOSTLY, "%s", run_account_name(r, is->number, name));
	}
	if (!most || !(ns > 0))
		return;
	run_figure_share(out, RUN_FIGURE_MOSTLY, (double)most->sum.ns, ns);
	if (!(requests_quantile(most, 0.5) > 0))
		return;
	run_figure_set(out, RUN_FIGURE_MOSTLY_P50, requests_quantile(most, 0.5));
	run_figure_set(out, RUN_FIGURE_MOSTLY_P99, requests_quantile(most, 0.99));
}

/* PAM answers it late on purpose. */
static bool times_skip(const void *user, unsigned int account)
{
	return measure_refused_logins(user, account) > 0;
}

static void look_answered(struct measure *m)
{
	char name[ACCOUNT_NAME_MAX];
	uint64_t longest = 0;

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (r->a.max_ns <= longest || measure_refused_logins(m, r->number))
			continue;
		longest = r->a.max_ns;
		run_figure_who(m->out, RUN_FIGURE_LONGEST, "%s", account_name(r->number, name));
	}
	if (!m->judged.sum.answered)
		return;
	run_figure_set(m->out, RUN_FIGURE_MEAN,
		       (double)m->judged.sum.ns / (double)m->judged.sum.answered);
	doctor_mostly(m->out, m->run, &m->requests, times_skip, m);
	run_figure_set(m->out, RUN_FIGURE_P50, requests_quantile(&m->judged, 0.5));
	run_figure_set(m->out, RUN_FIGURE_P99, requests_quantile(&m->judged, 0.99));
	run_figure_set(m->out, RUN_FIGURE_LONGEST, (double)longest);
}

void measure_times(struct measure *m)
{
	const struct requests *all = &m->requests;
	double before = before_ns(m), slow_ns = before - m->before_ns[ACCOUNT_NET], slow = 0;
	struct measure_calls stalls = { 0 };

	for (size_t i = 0; i < m->run->n_service; i++) {
		const struct run_service *s = &m->run->service[i];

		slow += s->before && s->age_ns >= SLOW_NS && !is_clients(s);
	}
	for (size_t i = 0; i < all->n; i++) {
		if (measure_refused_logins(m, all->request[i].number))
			continue;
		measure_long_ones(&all->request[i], &stalls);
		add_pending(&all->request[i], &slow_ns, &slow);
	}
	slow_ns += stalls.ns;
	look_stalls(m, stalls.n);
	run_figure_set(m->out, RUN_FIGURE_REQUESTS, (double)all->all.a.sum.answered);
	measure_per_second(m, RUN_FIGURE_RATE, (double)all->all.a.sum.answered);
	run_figure_share(m->out, RUN_FIGURE_BUSY, m->all_ns, m->ns);
	run_figure_set(m->out, RUN_FIGURE_SLOW_N, slow + stalls.n);
	measure_share(m, RUN_FIGURE_SLOW, slow_ns);
	look_pending(m, before, before);
	look_answered(m);
	measure_service(m->out, m->run, NULL);
}
