/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests and their sum, from a ledger's accounts and parts. */
#include "run/requests.h"

#include "base/hist.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool requests_knows(const struct ledger *l, unsigned int number)
{
	if (ledger_account(l, number))
		return true;
	for (size_t i = 0; i < l->n_parts; i++)
		if (l->part[i].account == number)
			return true;
	return false;
}

uint64_t requests_parked_ns(const struct afs_account *sum)
{
	return sum->parked_ns > sum->had_ns ? sum->parked_ns - sum->had_ns : 0;
}

static uint64_t service_of(const struct afs_account *sum, const uint64_t ns[ACCOUNT_N_COLUMNS])
{
	uint64_t all = sum->unexplained_ns + requests_parked_ns(sum);

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		all += ns[i];
	return all && !sum->handed ? all : sum->ns;
}

uint64_t requests_service_ns(const struct ledger *l, unsigned int number)
{
	const struct ledger_account *a = ledger_account(l, number);
	static const struct afs_account none;
	uint64_t ns[ACCOUNT_N_COLUMNS];

	account_times(l, AFS_ROLE_SERVER, number, ns);
	return service_of(a ? &a->sum : &none, ns);
}

/* What the backend did in a wait is known when that is over: until then it was not seen. */
static void add_unseen(struct request *r, const struct ledger *l)
{
	uint64_t slept = ledger_part_sum(l, AFS_ROLE_SERVER, r->number, LEDGER_ALL,
					 AFS_OBJECT_BACKEND)
			     .blocked_ns;
	uint64_t seen = 0;

	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		seen += r->a.sum.inside[i];
	if (slept > seen)
		r->a.sum.inside[AFS_INSIDE_UNKNOWN] += slept - seen;
}

static void request_make(struct request *out, const struct ledger *l, unsigned int number)
{
	const struct ledger_account *a = ledger_account(l, number);
	uint64_t over;

	*out = (struct request) { .number = number };
	if (a)
		out->a = *a;
	out->service_ns = requests_service_ns(l, number);
	out->parked_ns = requests_parked_ns(&out->a.sum);
	over = out->a.sum.answered + out->a.sum.waited;
	if (out->a.sum.begun > over)
		out->pending = out->a.sum.begun - over;
	if (out->a.sum.handed) {
		out->handed_ns = out->a.sum.ns;
		out->a.sum.unexplained_ns = 0;
		return;
	}
	if (out->pending && out->service_ns > out->a.sum.ns)
		out->pending_ns = out->service_ns - out->a.sum.ns;
	account_times(l, AFS_ROLE_SERVER, number, out->time_ns);
	add_unseen(out, l);
	out->calls = ledger_part_sum(l, AFS_ROLE_SERVER, number, LEDGER_ALL, LEDGER_ALL).calls;
	out->calls += out->a.sum.later_calls;
	out->cnid_calls =
	    ledger_part_sum(l, AFS_ROLE_BACKEND, number, LEDGER_ALL, LEDGER_ALL).calls;
}

static void run_requests_request_add(struct request *to, const struct request *from)
{
	ledger_account_add(&to->a, &from->a);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		to->time_ns[i] += from->time_ns[i];
	to->calls += from->calls;
	to->cnid_calls += from->cnid_calls;
	to->handed_ns += from->handed_ns;
	to->parked_ns += from->parked_ns;
	to->service_ns += from->service_ns;
	to->pending += from->pending;
	to->pending_ns += from->pending_ns;
}

static int run_requests_by_time(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->service_ns != y->service_ns)
		return x->service_ns < y->service_ns ? 1 : -1;
	return (int)x->number - (int)y->number;
}

int requests_init(struct requests *out, const struct ledger *l)
{
	*out = (struct requests) { .request = calloc(AFS_N_ACCOUNTS, sizeof(*out->request)) };
	if (!out->request)
		return -ENOMEM;
	for (unsigned int i = 0; account_is_request(i); i++)
		if (requests_knows(l, i))
			request_make(&out->request[out->n++], l, i);
	for (size_t i = 0; i < out->n; i++)
		run_requests_request_add(&out->all, &out->request[i]);
	qsort(out->request, out->n, sizeof(*out->request), run_requests_by_time);
	return 0;
}

void requests_fini(struct requests *r)
{
	free(r->request);
	*r = (struct requests) { 0 };
}

double requests_quantile(const struct ledger_account *a, double q)
{
	uint64_t n = 0, seen = 0, rank;
	double low, high, v;
	size_t i;

	for (i = 0; i < AFS_REQUEST_BUCKETS; i++)
		n += a->hist[i];
	if (!n)
		return 0;
	rank = (uint64_t)ceil(q * (double)n);
	for (i = 0; i < AFS_REQUEST_BUCKETS - 1 && seen + a->hist[i] < rank; i++)
		seen += a->hist[i];
	low = (double)hist_low(i, AFS_REQUEST_BITS);
	high = (double)hist_low(i + 1, AFS_REQUEST_BITS);
	if (a->max_ns) {
		low = fmax(low, (double)a->min_ns);
		high = fmin(high, (double)a->max_ns);
	}
	v = low + (high - low) * ((double)(rank - seen) - 0.5) / (double)a->hist[i];
	return rank == n && a->max_ns ? (double)a->max_ns : v;
}

uint64_t requests_n(const struct request *r)
{
	return r->a.sum.answered + r->pending;
}

static bool run_requests_is_of(unsigned int account, unsigned int number)
{
	return number == LEDGER_ALL ? account_is_request(account) : account == number;
}

uint64_t requests_errors(const struct ledger *l, const struct account_names *n, unsigned int number)
{
	uint64_t errors = 0, normal = 0;

	for (size_t i = 0; i < l->n_accounts; i++)
		if (run_requests_is_of(l->account[i].account, number))
			errors += l->account[i].sum.errors;
	for (size_t i = 0; i < l->n_results; i++)
		if (run_requests_is_of(l->result[i].account, number) &&
		    l->result[i].code == account_normal_result(n, l->result[i].account))
			normal += l->result[i].n;
	return errors > normal ? errors - normal : 0;
}

double requests_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Which share was rounded up most, of equal ones the largest. */
static size_t rounded_up_most(const unsigned int *rounded, double scale, const uint64_t *part,
			      size_t n)
{
	double up, most_up = -1;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		up = (double)rounded[i] - (double)part[i] * scale;
		if (rounded[i] < 1 || up < most_up - 1e-9 ||
		    (up < most_up + 1e-9 && part[i] < part[most]))
			continue;
		most_up = up;
		most = i;
	}
	return most;
}

void requests_shares(unsigned int *out, const uint64_t *part, size_t n, uint64_t whole,
		     unsigned int of)
{
	double scale = whole ? of / (double)whole : 0, sum = 0;
	unsigned int rounded = 0;

	for (size_t i = 0; i < n; i++) {
		out[i] = (unsigned int)lround((double)part[i] * scale);
		rounded += out[i];
		sum += (double)part[i] * scale;
	}
	for (; rounded > lround(sum); rounded--)
		out[rounded_up_most(out, scale, part, n)]--;
}
