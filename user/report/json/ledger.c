/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ledger as JSON; its members are described in docs/data-model.md. */
#include "report/below.h"
#include "report/json/parts.h"
#include "run/account.h"
#include "run/requests.h"

#include <string.h>

_Static_assert(AFS_REQUEST_BUCKETS > AFS_HIST_BUCKETS, "room for either");

/* The kernel's histogram of n 64-bit counts; its type differs by name only. */
static json_t *histogram(struct json_doc *d, unsigned int bits, const __u64 *from, size_t n)
{
	uint64_t hist[AFS_REQUEST_BUCKETS];

	for (size_t i = 0; i < n; i++)
		hist[i] = from[i];
	return json_buckets(d, bits, hist, n);
}

/* Null where it is not known. */
static json_t *number_if(bool known, uint64_t v)
{
	return known ? json_number(v) : json_null();
}

static json_t *ledger_rows(struct json_doc *d, const struct ledger *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_rows; i++) {
		const struct ledger_row *row = &l->row[i];
		json_t *o = json_object();

		json_put(d, o, "role", json_text(run_role_name(d->run, row->role)));
		json_put(d, o, "class", json_text(ledger_class_name(row->class)));
		json_put(d, o, "object", json_text(ledger_object_name(row->object)));
		json_put(d, o, "calls", json_number(row->cell.calls));
		json_put(d, o, "errors", json_number(row->cell.errors));
		json_put(d, o, "bytes", json_number(row->cell.bytes));
		json_put(d, o, "ns", json_number(row->cell.ns));
		json_put(d, o, "histogram",
			 histogram(d, AFS_HIST_BITS, row->cell.hist, AFS_HIST_BUCKETS));
		json_add(d, a, o);
	}
	return a;
}

static json_t *compat(struct json_doc *d, const struct ledger *l)
{
	json_t *all = json_object();

	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		const struct afs_compat *c = &l->compat[role];
		json_t *o = l->has_compat[role] ? json_object() : json_null();

		if (l->has_compat[role]) {
			json_put(d, o, "syscr", json_number(c->syscr));
			json_put(d, o, "syscw", json_number(c->syscw));
			json_put(d, o, "rchar", json_number(c->rchar));
			json_put(d, o, "wchar", json_number(c->wchar));
		}
		json_put(d, all, run_role_name(d->run, role), o);
	}
	return all;
}

static json_t *results(struct json_doc *d, const struct ledger *l, unsigned int number)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_results; i++) {
		json_t *o;

		if (l->result[i].account != number)
			continue;
		o = json_object();
		json_put(d, o, "code", json_integer(l->result[i].code));
		json_put(d, o, "n", json_number(l->result[i].n));
		json_add(d, a, o);
	}
	return a;
}

static json_t *inside(struct json_doc *d, const __u64 *ns)
{
	static const char *const keys[AFS_N_INSIDE] = {
		[AFS_INSIDE_CPU] = "cpu",         [AFS_INSIDE_RUNQ] = "runq",
		[AFS_INSIDE_SYNC] = "sync",       [AFS_INSIDE_LOCK] = "lock",
		[AFS_INSIDE_IO] = "io",           [AFS_INSIDE_IDLE] = "idle",
		[AFS_INSIDE_STOPPED] = "stopped", [AFS_INSIDE_UNKNOWN] = "unknown",
	};
	json_t *o = json_object();

	for (size_t i = 0; i < AFS_N_INSIDE; i++)
		json_put(d, o, keys[i], json_number(ns[i]));
	return o;
}

static json_t *json_ledger_times(struct json_doc *d, const uint64_t *ns)
{
	json_t *o = json_object();

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		if (i != ACCOUNT_CNID || run_has_backend(d->run))
			json_put(d, o, account_columns[i].key, json_number(ns[i]));
	return o;
}

/* How long the requests of an account took; null where that has no histogram. */
static void put_spread(struct json_doc *d, json_t *o, const struct ledger_account *a)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = { { "p50_ns", 0.5 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 } };
	double v;

	json_put(d, o, "min_ns", number_if(a->max_ns, a->min_ns));
	json_put(d, o, "max_ns", number_if(a->max_ns, a->max_ns));
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		v = requests_quantile(a, quantiles[i].q);
		json_put(d, o, quantiles[i].key, number_if(v > 0, (uint64_t)(v + 0.5)));
	}
	json_put(d, o, "histogram", histogram(d, AFS_REQUEST_BITS, a->hist, AFS_REQUEST_BUCKETS));
}

static const char *class_key(unsigned int class)
{
	return class == AFS_CLASS_USER ? "user" : ledger_class_name(class);
}

static json_t *json_ledger_parts(struct json_doc *d, const struct ledger *l, unsigned int number)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];
		json_t *o;

		if (p->account != number)
			continue;
		o = json_object();
		json_put(d, o, "role", json_text(run_role_name(d->run, p->role)));
		json_put(d, o, "class", json_text(class_key(p->class)));
		json_put(d, o, "object", json_text(ledger_object_name(p->object)));
		json_put(d, o, "calls", json_number(p->part.calls));
		json_put(d, o, "errors", json_number(p->part.errors));
		json_put(d, o, "bytes", json_number(p->part.bytes));
		json_put(d, o, "cpu_ns", json_number(p->part.cpu_ns));
		json_put(d, o, "blocked_ns", json_number(p->part.blocked_ns));
		json_put(d, o, "stopped_ns", json_number(p->part.stopped_ns));
		json_put(d, o, "runq_ns", json_number(p->part.runq_ns));
		json_add(d, a, o);
	}
	return a;
}

/* What an account that is a request has before its times. */
static void json_ledger_put_sum(struct json_doc *d, json_t *o, const struct ledger *l,
				unsigned int number)
{
	const struct ledger_account *found = ledger_account(l, number);
	static const struct ledger_account none;
	const struct afs_account *a = found ? &found->sum : &none.sum;

	json_put(d, o, "requests", json_number(a->answered));
	json_put(d, o, "begun", json_number(a->begun));
	json_put(d, o, "errors", json_number(a->errors));
	json_put(
	    d, o, "failed",
	    json_number(requests_errors(l, d->run->kind ? d->run->kind->accounts : NULL, number)));
	json_put(d, o, "results", results(d, l, number));
	json_put(d, o, "bytes_in", json_number(a->bytes_in));
	json_put(d, o, "bytes_out", json_number(a->bytes_out));
	json_put(d, o, "time_ns", json_number(a->ns));
	json_put(d, o, "service_ns", json_number(requests_service_ns(l, number)));
	json_put(d, o, "unexplained_ns", json_number(a->unexplained_ns));
	json_put(d, o, "unexplained", json_number(a->unexplained));
	if (a->handed)
		json_put(d, o, "handed", json_number(a->handed));
	if (a->parked)
		json_put(d, o, "parked", json_number(a->parked));
	if (a->parked > 0 || a->had_ns)
		json_put(d, o, "parked_ns", json_number(requests_parked_ns(a)));
	if (a->later_calls) {
		json_put(d, o, "later_calls", json_number(a->later_calls));
		json_put(d, o, "later_ns", json_number(a->later_ns));
	}
	if (a->waited)
		json_put(d, o, "waited", json_number(a->waited));
	if (a->untimed)
		json_put(d, o, "untimed", json_number(a->untimed));
	put_spread(d, o, found ? found : &none);
	json_put(d, o, "inside", inside(d, a->inside));
}

static json_t *account(struct json_doc *d, const struct ledger *l, unsigned int number)
{
	const struct ledger_account *found;
	uint64_t ns[ACCOUNT_N_COLUMNS];
	char name[ACCOUNT_NAME_MAX];
	json_t *o = json_object();

	json_put(d, o, "number", json_integer(number));
	json_put(d, o, "name", json_text(run_account_name(d->run, number, name)));
	if (account_is_request(number))
		json_ledger_put_sum(d, o, l, number);
	account_times(l, AFS_ROLE_SERVER, number, ns);
	found = ledger_account(l, number);
	json_put(d, o, "times",
		 found && found->sum.handed ? json_null() : json_ledger_times(d, ns));
	json_put(d, o, "parts", json_ledger_parts(d, l, number));
	return o;
}

/* Accounts from..to - 1 of which anything is known. */
static json_t *accounts(struct json_doc *d, const struct ledger *l, unsigned int from,
			unsigned int to)
{
	json_t *a;

	if (!l->has_requests)
		return json_null();
	a = json_array();
	for (unsigned int i = from; i < to; i++)
		if (requests_knows(l, i))
			json_add(d, a, account(d, l, i));
	return a;
}

static json_t *storage(struct json_doc *d, const struct ledger *l)
{
	bool known[AFS_N_STORAGE];
	json_t *a;

	if (!l->has_storage)
		return json_null();
	a = json_array();
	below_known(l, known);
	for (size_t i = 0; i < l->n_storage; i++) {
		const struct ledger_storage *s = &l->storage[i];
		char name[ACCOUNT_NAME_MAX];
		json_t *o = json_object();

		json_put(d, o, "role", json_text(run_role_name(d->run, s->role)));
		json_put(d, o, "number", json_integer(s->account));
		json_put(d, o, "name", json_text(run_account_name(d->run, s->account, name)));
		for (unsigned int k = 0; k < AFS_N_STORAGE; k++)
			json_put(d, o, below_fields[k].key,
				 number_if(known[k], below_get(&s->sum, k)));
		json_add(d, a, o);
	}
	return a;
}

/* The packets of one way; types that there were none of are left out. */
static json_t *packets(struct json_doc *d, const struct ledger *l, bool from_server)
{
	static const char *const type[AFS_RX_N_TYPES] = {
#define X(number, name) [number] = #name,
		AFS_RX_TYPES(X)
#undef X
	};
	const struct afs_packets p = ledger_packets(l, from_server);
	json_t *o = json_object(), *types = json_object();

	json_put(d, o, "datagrams", json_number(p.datagrams));
	json_put(d, o, "bytes", json_number(p.bytes));
	json_put(d, o, "again", json_number(p.again));
	json_put(d, o, "own", json_number(p.own));
	for (unsigned int i = 1; i < AFS_RX_N_TYPES; i++)
		if (p.type[i])
			json_put(d, types, type[i], json_number(p.type[i]));
	json_put(d, o, "types", types);
	return o;
}

json_t *json_ledger(struct json_doc *d, const struct ledger *l)
{
	json_t *o = json_object();

	json_put(d, o, "rows", l->has_calls ? ledger_rows(d, l) : json_null());
	json_put(d, o, "compat", compat(d, l));
	json_put(d, o, "requests", accounts(d, l, 0, AFS_ACCOUNT_BETWEEN));
	json_put(d, o, "outside", accounts(d, l, AFS_ACCOUNT_BETWEEN, AFS_N_ACCOUNTS));
	json_put(d, o, "storage", storage(d, l));
	if (l->n_packets) {
		json_put(d, o, "packets_in", packets(d, l, false));
		json_put(d, o, "packets_out", packets(d, l, true));
	}
	return o;
}
