/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the figures of a transfer. */
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool transfer_run(const struct run *r)
{
	for (size_t i = 0; i < r->n_phases; i++)
		if (!r->phase[i]->transfer)
			return false;
	return r->n_phases > 0;
}

bool transfer_is_local(const struct run *r)
{
	const char *mode = run_note_find(&r->options, "mode");

	return mode && !strcmp(mode, "local");
}

bool transfer_counts(const struct run_sample *s)
{
	return s->complete && !s->warmup;
}

static int report_transfer_by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t *transfer_times(const struct run_transfer *t, uint64_t unit_ns, size_t *n)
{
	uint64_t *out = calloc(t->n_samples + 1, sizeof(*out));

	*n = 0;
	for (size_t i = 0; out && i < t->n_samples; i++)
		if (transfer_counts(&t->sample[i]))
			out[(*n)++] = t->sample[i].ns / unit_ns;
	if (out)
		qsort(out, *n, sizeof(*out), report_transfer_by_value);
	return out;
}

int transfer_stats(const struct run_transfer *t, struct stats *out)
{
	uint64_t *ns;
	size_t n;
	int e;

	*out = (struct stats) { 0 };
	ns = transfer_times(t, 1, &n);
	if (!ns)
		return -ENOMEM;
	e = stats_of(out, ns, n);
	free(ns);
	return e;
}

const struct run_tcp *transfer_look(const struct run_transfer *t, enum run_tcp_end end,
				    enum run_tcp_when when, enum run_tcp_value value)
{
	const struct run_tcp *found = NULL;

	for (size_t i = 0; i < t->n_tcp; i++) {
		const struct run_tcp *look = &t->tcp[i];

		if (look->end != end || look->when != when || !look->known[value])
			continue;
		if (when == TCP_BEFORE)
			return look;
		found = look;
	}
	return found;
}

static struct amount report_transfer_metric(const struct run_phase *p, enum metric m)
{
	return (struct amount) { p->complete && p->known[m], (double)p->value[m] };
}

/* Bytes moved in the iterations that count, also by a copy inside the server. */
static struct amount moved(const struct run_phase *p)
{
	const struct run_transfer *t = p->transfer;
	size_t n = 0;

	for (size_t i = 0; i < t->n_samples; i++)
		n += transfer_counts(&t->sample[i]);
	return (struct amount) { p->complete && n, (double)t->moved * (double)n };
}

static struct transfer_calls files(const struct ledger *l, unsigned int class, unsigned int object)
{
	struct afs_cell c = ledger_sum(l, AFS_ROLE_SERVER, class, object);

	return (struct transfer_calls) { c.calls, c.bytes, c.ns };
}

/* Where the time of requests went; a rung may have counted them without timing their parts. */
static void report_transfer_times(const struct ledger *l, struct transfer_cost *out)
{
	struct afs_part all = ledger_part_sum(l, AFS_ROLE_SERVER, LEDGER_ALL, LEDGER_ALL,
					      LEDGER_ALL);
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n_accounts; i++)
		out->busy += (double)l->account[i].sum.ns;
	for (size_t i = 0; i < l->n_parts; i++)
		if (l->part[i].role == AFS_ROLE_SERVER && account_is_request(l->part[i].account))
			account_add_part(out->column, &l->part[i]);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		sum += out->column[i];
	out->has_times = sum > 0;
	if (!out->has_times)
		return;
	out->server_runq = (struct amount) { true, (double)out->column[ACCOUNT_RUNQ] };
	if (!out->server_cpu.known)
		out->server_cpu = (struct amount) { true, (double)all.cpu_ns };
}

void transfer_cost(const struct run_phase *p, struct transfer_cost *out)
{
	const struct ledger *l = &p->ledger;

	*out = (struct transfer_cost) {
		.elapsed = report_transfer_metric(p, METRIC_ELAPSED),
		.bytes = moved(p),
		.ops = report_transfer_metric(p, METRIC_OPS),
		.client_cpu = report_transfer_metric(p, METRIC_CLIENT_CPU),
		.client_runq = report_transfer_metric(p, METRIC_CLIENT_RUNQ),
		.calls = report_transfer_metric(p, METRIC_AFPD_CALLS),
		.server_cpu = report_transfer_metric(p, METRIC_AFPD_CPU),
		.server_runq = report_transfer_metric(p, METRIC_AFPD_RUNQ),
	};
	if (!p->complete)
		return;
	if (l->has_requests)
		report_transfer_times(l, out);
	out->has_files = l->has_calls;
	if (!out->has_files)
		return;
	out->read = files(l, AFS_CLASS_READ, AFS_OBJECT_DATA);
	out->write = files(l, AFS_CLASS_WRITE, AFS_OBJECT_DATA);
	/* sendfile writes to the client's connection only. */
	out->sendfile = files(l, AFS_CLASS_SENDFILE, AFS_N_OBJECTS);
	out->range = files(l, AFS_CLASS_COPY, AFS_OBJECT_DATA);
	out->sync_ns = files(l, AFS_CLASS_SYNC, AFS_N_OBJECTS).ns;
}

struct transfer_unit transfer_unit(const struct run *r)
{
	const char *units = run_note_find(&r->options, "units");

	if (units && !strcmp(units, "binary"))
		return (struct transfer_unit) { 0x1p20, 0x1p30, "MiB", "GiB" };
	return (struct transfer_unit) { 1e6, 1e9, "MB", "GB" };
}

static bool is_measured(const struct run_phase *p)
{
	for (size_t i = 0; i < p->transfer->n_samples; i++)
		if (transfer_counts(&p->transfer->sample[i]))
			return p->complete;
	return false;
}

const struct run_phase *transfer_largest(const struct run *r, const char *work, bool measured)
{
	const struct run_phase *found = NULL;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];

		if (!p->transfer || strcmp(p->transfer->work, work) ||
		    (measured && !is_measured(p)))
			continue;
		if (!found || p->transfer->size > found->transfer->size)
			found = p;
	}
	return found;
}
