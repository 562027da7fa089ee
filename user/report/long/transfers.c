/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two tables of a run of transfers: how fast each was, and at what cost. */
#include "doctor/verdict.h"
#include "report/section.h"
#include "report/transfer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MANY     20 /* iterations from which a high percentile says something */
#define UNSTEADY "~"

struct transfers_line {
	const struct run_phase *phase;
	struct transfer_unit unit;
	struct stats s;
	struct transfer_cost c;
	struct verdict v;
};

static int line_make(struct transfers_line *out, const struct run *r, const struct run_phase *phase)
{
	int e;

	*out = (struct transfers_line) { .phase = phase, .unit = transfer_unit(r) };
	e = transfer_stats(phase->transfer, &out->s);
	transfer_cost(phase, &out->c);
	return e ? e : verdict_of(&out->v, r, phase);
}

/* How fast */

enum {
	COL_SIZE,
	COL_N,
	COL_MEDIAN,
	COL_RATE,
	COL_RANGE,
	COL_CV,
	COL_MIN,
	COL_MAX,
	COL_P95,
	COL_P99,
	COL_REQUEST,
	COL_REQUEST99,
	COL_VERDICT
};

static const struct section_column columns[] = {
	[COL_SIZE] = { .head = "file" },
	[COL_N] = { .head = "n" },
	[COL_MEDIAN] = { .head = "median" },
	[COL_RATE] = { .name = "rate" },
	[COL_RANGE] = { .head = "95" GLUE "% range", .name = "range", .drop = 7 },
	[COL_CV] = { .head = "CV" GLUE "%", .name = "cv", .unit = "%" },
	[COL_MIN] = { .head = "min", .drop = 4 },
	[COL_MAX] = { .head = "max", .drop = 2 },
	[COL_P95] = { .head = "p95", .drop = 1 },
	[COL_P99] = { .head = "p99", .drop = 3 },
	[COL_REQUEST] = { .head = "request p50", .drop = 6 },
	[COL_REQUEST99] = { .head = "request p99", .drop = 5 },
	[COL_VERDICT] = { .head = "verdict", .left = true },
};

static const struct section_type speed_section = {
	.key = "transfers",
	.title = "Transfers",
	SECTION_OF(columns),
};

/* "12", or "3/12" when some broke off. */
static struct cell cell_n(const struct transfers_line *l)
{
	const struct run_transfer *t = l->phase->transfer;
	size_t begun = 0;
	struct cell c;

	for (size_t i = 0; i < t->n_samples; i++)
		begun += !t->sample[i].warmup;
	if (begun == l->s.n && l->phase->complete)
		return cell_fixed((double)l->s.n, 0);
	c = cell_count(l->s.n);
	snprintf(c.text, sizeof(c.text), "%zu/%zu", l->s.n, begun);
	return c;
}

static double transfers_rate(const struct transfers_line *l, double ns)
{
	return ns > 0 ? (double)l->phase->transfer->moved * 1e9 / l->unit.mega / ns : 0;
}

static struct cell cell_range(const struct transfers_line *l)
{
	struct cell c = { 0 };

	if (!l->s.has_ci)
		return cell_dash();
	snprintf(c.text, sizeof(c.text), "%.15s–%.15s",
		 cell_rate(transfers_rate(l, l->s.ci_high)).text,
		 cell_rate(transfers_rate(l, l->s.ci_low)).text);
	return c;
}

/* Of the command that took most of the time: a copy reads and writes, and no quantile of both
 * tells of either. */
static void request_cells(const struct transfers_line *l, struct cell *cell)
{
	static const struct hist none;
	const struct hist *most = &none;

	for (size_t i = 0; i < l->phase->n_commands && l->phase->complete; i++)
		if (l->phase->command[i]->latency.sum > most->sum)
			most = &l->phase->command[i]->latency;
	cell[COL_REQUEST] = most->n ? cell_time((double)hist_quantile(most, 0.5)) : cell_na();
	cell[COL_REQUEST99] = most->n ? cell_time((double)hist_quantile(most, 0.99)) : cell_na();
}

/* A new row with the size. */
static struct cell *transfers_row(struct section *s, const struct transfers_line *l)
{
	struct section_row *row = section_row(s);
	char text[RUN_SIZE_MAX];

	row->ink = l->phase->complete ? INK_NONE : INK_RED;
	row->cell[0] = (struct cell) { .kind = CELL_COUNT, .unit = "B" };
	row->cell[0].n = l->phase->transfer->size;
	snprintf(row->cell[0].text, sizeof(row->cell[0].text), "  %s",
		 run_size(l->phase->transfer->size, text));
	return row->cell;
}

static void speed_row(struct section *to, const struct transfers_line *l)
{
	struct cell *cell = transfers_row(to, l);
	const struct stats *s = &l->s;

	cell[COL_N] = cell_n(l);
	cell[COL_VERDICT] = cell_text(
	    l->phase->complete ? verdict_kinds[l->v.kind].words : "broke off", 16);
	request_cells(l, cell);
	for (size_t k = COL_MEDIAN; k <= COL_P99; k++)
		cell[k] = cell_na();
	if (!s->n)
		return;
	cell[COL_MEDIAN] = cell_time(s->median);
	snprintf(cell[COL_MEDIAN].text, sizeof(cell[COL_MEDIAN].text), "%s%.30s",
		 l->v.unsteady ? UNSTEADY : "", cell_time(s->median).text);
	cell[COL_RATE] = cell_rate(transfers_rate(l, s->median));
	cell[COL_RANGE] = cell_range(l);
	cell[COL_CV] = s->n > 1 ? cell_fixed(100 * s->cv, 1) : cell_dash();
	cell[COL_MIN] = cell_time(s->min);
	cell[COL_MAX] = cell_time(s->max);
	cell[COL_P95] = s->n >= MANY ? cell_time(s->p95) : cell_dash();
	cell[COL_P99] = s->n >= MANY ? cell_time(s->p99) : cell_dash();
}

/* At what cost */

enum {
	COST_SIZE,
	COST_CLIENT,
	COST_SERVER,
	COST_CALLS,
	COST_SENDFILE,
	COST_READ,
	COST_WRITE,
	COST_RANGE,
	COST_SYNC,
	COST_NULL,
	COST_ON_CLIENT,
	COST_TIME,
	COST_IDLE = COST_TIME + ACCOUNT_N_COLUMNS
};

/* Left out last: the columns that show who uses the time, client CPU and run queue. */
static const struct section_column cost_columns[] = {
	[COST_SIZE] = { .head = "file" },
	[COST_CLIENT] = { .name = "client_cpu_per_gb" },
	[COST_SERVER] = { .name = "afpd_cpu_per_gb" },
	[COST_CALLS] = { .name = "calls_per_mb", .drop = 12 },
	[COST_SENDFILE] = { .head = "send- file", .name = "sendfile", .drop = 10 },
	[COST_READ] = { .head = "read", .drop = 8 },
	[COST_WRITE] = { .head = "write", .drop = 9 },
	[COST_RANGE] = { .head = "copy range", .drop = 1 },
	[COST_SYNC] = { .head = "fsync", .drop = 7 },
	[COST_NULL] = { .head = "null peer", .unit = "%", .drop = 11 },
	[COST_ON_CLIENT] = { .head = "client CPU", .name = "client_cpu", .unit = "%", .drop = 14 },
	[COST_TIME + ACCOUNT_LOG] = { .drop = 2 },
	[COST_TIME + ACCOUNT_LOCK] = { .drop = 3 },
	[COST_TIME + ACCOUNT_OTHER] = { .drop = 4 },
	[COST_TIME + ACCOUNT_CNID] = { .drop = 5 },
	[COST_TIME + ACCOUNT_NET] = { .head = "net", .drop = 6 },
	[COST_TIME + ACCOUNT_RUNQ] = { .drop = 13 },
	[COST_IDLE] = { .head = "idle", .unit = "%" },
};

static const struct section_type cost_section = {
	.key = "transfer_cost",
	.title = "What a transfer costs",
	.rest =
	    "  sendfile, read, write: bytes of the file by these calls\n"
	    "       of {server} for each byte moved; fsync: of one iteration; then % of the\n"
	    "       time: the same against a server that stores nothing (null peer;\n"
	    "       void: it was slower), the client's CPU, {server}'s requests; idle: {server}\n"
	    "       without one",
	SECTION_OF(cost_columns),
};

/* Seconds of CPU for a gigabyte. */
static struct cell per_giga(const struct transfers_line *l, struct amount ns)
{
	if (!ns.known || !l->c.bytes.known || l->c.bytes.v <= 0)
		return cell_na();
	return ns.v > 0 ? cell_time(ns.v / (l->c.bytes.v / l->unit.giga)) : cell_zero();
}

/* How often each byte went this way. */
static struct cell times_moved(const struct transfers_line *l, uint64_t bytes)
{
	if (!l->c.has_files || !l->c.bytes.known || l->c.bytes.v <= 0)
		return cell_na();
	return bytes ? cell_fixed((double)bytes / l->c.bytes.v, 2) : cell_zero();
}

static struct cell percent(const struct transfers_line *l, bool known, double ns)
{
	if (!known || !l->c.elapsed.known || l->c.elapsed.v <= 0)
		return cell_na();
	if (ns <= 0)
		return cell_zero();
	return cell_fixed(100 * ns / l->c.elapsed.v, 1);
}

static void cost_row(struct section *s, const struct transfers_line *l)
{
	const struct transfer_cost *c = &l->c;
	struct cell *cell = transfers_row(s, l);

	cell[COST_CLIENT] = per_giga(l, c->client_cpu);
	cell[COST_SERVER] = per_giga(l, c->server_cpu);
	cell[COST_CALLS] = c->calls.known && c->bytes.known && c->bytes.v > 0
			       ? cell_short(c->calls.v / (c->bytes.v / l->unit.mega))
			       : cell_na();
	cell[COST_SENDFILE] = times_moved(l, c->sendfile.bytes);
	cell[COST_READ] = times_moved(l, c->read.bytes);
	cell[COST_WRITE] = times_moved(l, c->write.bytes);
	cell[COST_RANGE] = times_moved(l, c->range.bytes);
	cell[COST_SYNC] = cell_na();
	if (c->has_files && l->s.n)
		cell[COST_SYNC] = c->sync_ns ? cell_time((double)c->sync_ns / (double)l->s.n)
					     : cell_zero();
	cell[COST_NULL] = cell_dash();
	if (l->phase->transfer->null_ns && l->s.median > 0)
		cell[COST_NULL] = l->v.known[FIGURE_NULL_PEER] && !verdict_has_null(&l->v)
				      ? cell_name("void")
				      : cell_fixed(100 * (double)l->phase->transfer->null_ns /
						       l->s.median,
						   0);
	cell[COST_ON_CLIENT] = percent(l, c->client_cpu.known, c->client_cpu.v);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		cell[COST_TIME + i] = percent(l, c->has_times, (double)c->column[i]);
	cell[COST_IDLE] = percent(l, c->has_times, c->elapsed.v - c->busy);
}

/* Both tables */

/* "Read, requests of at most 1 MiB, 4 under way, sparse file"; how: what stands after the comma. */
static void work_head(struct section *s, const struct run_transfer *t, bool how)
{
	char chunk[RUN_SIZE_MAX];

	if (s->n_rows)
		section_text(s, INK_NONE, "%s", "");
	if (!t->requests || !how)
		section_text(s, INK_BOLD, "  %s", t->work);
	else
		section_text(
		    s, INK_BOLD, "  %s, requests of at most %s, %u under way%s%s%s", t->work,
		    run_size(t->chunk, chunk), t->window, t->dropped ? ", data dropped unread" : "",
		    t->sparse ? ", sparse file" : "", t->own_file ? "" : ", an existing file");
}

static int transfers_fill(struct section *s, const struct run *r,
			  void (*row)(struct section *s, const struct transfers_line *l))
{
	const char *work = NULL;
	struct transfers_line l;
	int e = 0;

	for (size_t k = 0; k < r->n_phases && !e; k++) {
		work = r->phase[k]->transfer->work;
		for (size_t i = 0; i < k && work; i++)
			if (!strcmp(r->phase[i]->transfer->work, work))
				work = NULL;
		if (!work)
			continue;
		/* That with the largest requests, for "requests of at most". */
		work_head(s, transfer_largest(r, work, false)->transfer, row == speed_row);
		for (size_t i = k; i < r->n_phases && !e; i++) {
			if (strcmp(r->phase[i]->transfer->work, work))
				continue;
			e = line_make(&l, r, r->phase[i]);
			if (!e)
				row(s, &l);
		}
	}
	return e;
}

/* Explains the sign at a median, if one was printed. */
static void put_unsteady(struct section *s)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		if (strncmp(s->row[i].cell[COL_MEDIAN].text, UNSTEADY, strlen(UNSTEADY)))
			continue;
		section_below(s);
		section_indented(s, "  " UNSTEADY, 4);
		section_more(s,
			     "unsteady: the standard deviation is more than 30 %% of the mean; its "
			     "median and its verdict may differ in the next run (more iterations: "
			     "-n; fewer other programs)");
		return;
	}
}

static int put_speed(const struct paint *p)
{
	struct transfer_unit u = transfer_unit(p->view.run);
	char rate_head[16], rest[640];
	struct section s;
	int e, ret;

	section_open(&s, p, &speed_section);
	snprintf(rate_head, sizeof(rate_head), "%s/s", u.mb);
	s.column[COL_RATE].head = s.column[COL_RATE].unit = rate_head;
	snprintf(rest, sizeof(rest),
		 "  time of one iteration, warm-ups left out; %s/s, range: of the median\n"
		 "       (binomial confidence interval, from 6 iterations on); p95, p99: from\n"
		 "       %u on; request: of the command that took most of the time, request sent\n"
		 "       to last byte of its reply",
		 u.mb, MANY);
	s.rest = rest;
	e = transfers_fill(&s, p->view.run, speed_row);
	put_unsteady(&s);
	ret = section_close(&s);
	return e ? e : ret;
}

/* Columns that hold only n/a or "-" are hidden, but for those that tell most. */
static void cost_hide(struct section *s, bool local)
{
	for (size_t k = COST_RANGE; k < COST_IDLE; k++)
		if (k != COST_SYNC && k != COST_ON_CLIENT && k != COST_TIME + ACCOUNT_USER &&
		    k != COST_TIME + ACCOUNT_CALLS && k != COST_TIME + ACCOUNT_DISK)
			section_hide_empty(s, k, k + 1);
	for (size_t k = COST_SERVER; k < s->n_columns && local; k++)
		s->column[k].off |= k != COST_ON_CLIENT;
}

static int transfers_put_cost(const struct paint *p)
{
	struct transfer_unit u = transfer_unit(p->view.run);
	bool local = transfer_is_local(p->view.run);
	char per[2][24], client[24];
	struct section s;
	int e, ret;

	section_open(&s, p, &cost_section);
	snprintf(per[0], sizeof(per[0]), "calls /%s", u.mb);
	snprintf(per[1], sizeof(per[1]), "%.10s CPU/%s", run_word(p->view.run, RUN_WORD_SERVER),
		 u.gb);
	snprintf(client, sizeof(client), "client CPU/%s", u.gb);
	s.column[COST_CALLS].head = per[0];
	s.column[COST_SERVER].head = per[1];
	s.column[COST_CLIENT].head = client;
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		struct section_column *column = &s.column[COST_TIME + i];

		column->head = column->head ? column->head : run_column_name(p->view.run, i);
		column->name = account_columns[i].key;
		column->unit = "%";
	}
	if (local)
		s.rest = "  this program's CPU time, and its % of the time";
	e = transfers_fill(&s, p->view.run, cost_row);
	cost_hide(&s, local);
	ret = section_close(&s);
	return e ? e : ret;
}

int paint_transfers(const struct paint *p)
{
	int e = put_speed(p);

	return e ? e : transfers_put_cost(p);
}
