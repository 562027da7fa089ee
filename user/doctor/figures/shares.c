/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all figures of an AFP server are made with: shares of time, and what a command is. */
#include "doctor/figures/measure_priv.h"

#include "base/hist.h"

#include <math.h>
#include <string.h>

#define NS_PER_S 1e9
#define LONG_NS  100000000u /* of measure_long_ones */

void measure_share(struct measure *m, enum run_figure which, double ns)
{
	run_figure_share(m->out, which, fmin(ns, m->all_ns), m->all_ns);
}

void measure_share_of_work(struct measure *m, enum run_figure which, double ns)
{
	run_figure_share(m->out, which, fmin(ns, m->work_ns), m->work_ns);
}

void measure_per_second(struct measure *m, enum run_figure which, double n)
{
	run_figure_share(m->out, which, n * NS_PER_S, m->ns);
}

double measure_request_ns(const struct request *r)
{
	double sum = (double)r->a.sum.unexplained_ns;

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		sum += (double)r->time_ns[i];
	return sum;
}

/* Time of a request that has no answer yet is in its parts only. */
double measure_pending_ns(const struct request *r)
{
	double ns = measure_request_ns(r) - (double)r->a.sum.ns;

	return r->a.sum.begun > r->a.sum.answered && !r->handed_ns && ns > 0 ? ns : 0;
}

void measure_long_ones(const struct request *r, struct measure_calls *to)
{
	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++) {
		uint64_t low = hist_low(i, AFS_REQUEST_BITS);

		if (low < LONG_NS || !r->a.hist[i])
			continue;
		to->n += (double)r->a.hist[i];
		to->ns += (double)r->a.hist[i] * (double)(low + hist_low(i + 1, AFS_REQUEST_BITS)) /
			  2;
	}
}

double measure_own_ns(const struct request *r)
{
	return measure_request_ns(r) - (double)r->time_ns[ACCOUNT_STOPPED] -
	       (double)r->time_ns[ACCOUNT_RUNQ];
}

double measure_column(const struct measure *m, enum account_column column)
{
	return (double)m->requests.all.time_ns[column] + m->before_ns[column];
}

double measure_inside_ns(const struct measure *m)
{
	double ns = m->before_ns[ACCOUNT_CNID];

	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		ns += (double)m->requests.all.a.sum.inside[i];
	return ns;
}

bool measure_is(unsigned int account, const char *name)
{
	const char *its = account_known_name(account);

	return its && !strcmp(its, name);
}

bool measure_is_one_of(unsigned int account, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (measure_is(account, name[i]))
			return true;
	return false;
}

bool measure_begins_login(unsigned int account)
{
	return measure_is(account, "FPLogin") || measure_is(account, "FPLoginExt");
}

bool measure_is_login(unsigned int account)
{
	return measure_begins_login(account) || measure_is(account, "FPLoginCont");
}

void measure_calls_add(struct measure_calls *to, const struct ledger_part *p)
{
	to->n += (double)p->part.calls;
	to->ns += (double)(p->part.cpu_ns + p->part.blocked_ns);
}
