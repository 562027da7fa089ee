/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two tables of a run of transfers: how fast each was, and at what cost. */
#include "report/grid.h"
#include "report/transfer.h"
#include "report/verdict.h"

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

static struct cell dash(void)
{
	return (struct cell) { "-" };
}

static struct cell cell_word(const char *text)
{
	return cell_text(text, 16);
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
	COL_VERDICT,
	N_COLS
};

static const unsigned int drops[] = { COL_P95,       COL_MAX,     COL_P99,  COL_MIN,
				      COL_REQUEST99, COL_REQUEST, COL_RANGE };

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
	snprintf(c.text, sizeof(c.text), "%zu/%zu", l->s.n, begun);
	return c;
}

static double transfers_rate(const struct transfers_line *l, double ns)
{
	return ns > 0 ? (double)l->phase->transfer->moved * 1e9 / l->unit.mega / ns : 0;
}

static struct cell cell_range(const struct transfers_line *l)
{
	struct cell c;

	if (!l->s.has_ci)
		return dash();
	snprintf(c.text, sizeof(c.text), "%.15s–%.15s",
		 cell_rate(transfers_rate(l, l->s.ci_high)).text,
		 cell_rate(transfers_rate(l, l->s.ci_low)).text);
	return c;
}

static void request_cells(const struct transfers_line *l, struct cell *cell)
{
	struct hist all = { 0 };

	for (size_t i = 0; i < l->phase->n_commands && l->phase->complete; i++)
		hist_merge(&all, &l->phase->command[i]->latency);
	cell[COL_REQUEST] = all.n ? cell_time((double)hist_quantile(&all, 0.5)) : cell_na();
	cell[COL_REQUEST99] = all.n ? cell_time((double)hist_quantile(&all, 0.99)) : cell_na();
}

static void size_cell(const struct transfers_line *l, struct cell *out)
{
	char text[RUN_SIZE_MAX];

	snprintf(out->text, sizeof(out->text), "  %s", run_size(l->phase->transfer->size, text));
}

static int speed_row(struct grid *g, const struct transfers_line *l)
{
	struct grid_row *row = grid_row(g);
	const struct stats *s = &l->s;
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	row->ink = l->phase->complete ? INK_NONE : INK_RED;
	size_cell(l, &cell[COL_SIZE]);
	cell[COL_N] = cell_n(l);
	cell[COL_VERDICT] = cell_word(l->phase->complete ? verdict_kinds[l->v.kind].words
							 : "broke off");
	request_cells(l, cell);
	for (size_t k = COL_MEDIAN; k <= COL_P99; k++)
		cell[k] = cell_na();
	if (!s->n)
		return 0;
	snprintf(cell[COL_MEDIAN].text, sizeof(cell[COL_MEDIAN].text), "%s%.30s",
		 l->v.unsteady ? UNSTEADY : "", cell_time(s->median).text);
	cell[COL_RATE] = cell_rate(transfers_rate(l, s->median));
	cell[COL_RANGE] = cell_range(l);
	cell[COL_CV] = s->n > 1 ? cell_fixed(100 * s->cv, 1) : dash();
	cell[COL_MIN] = cell_time(s->min);
	cell[COL_MAX] = cell_time(s->max);
	cell[COL_P95] = s->n >= MANY ? cell_time(s->p95) : dash();
	cell[COL_P99] = s->n >= MANY ? cell_time(s->p99) : dash();
	return 0;
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
	COST_IDLE = COST_TIME + ACCOUNT_N_COLUMNS,
	N_COSTS
};

/* Left out last: the columns that show who uses the time, client CPU and run queue. */
static const unsigned int cost_drops[] = { COST_RANGE,
					   COST_TIME + ACCOUNT_LOG,
					   COST_TIME + ACCOUNT_LOCK,
					   COST_TIME + ACCOUNT_OTHER,
					   COST_TIME + ACCOUNT_CNID,
					   COST_TIME + ACCOUNT_NET,
					   COST_SYNC,
					   COST_READ,
					   COST_WRITE,
					   COST_SENDFILE,
					   COST_NULL,
					   COST_CALLS,
					   COST_TIME + ACCOUNT_RUNQ,
					   COST_ON_CLIENT };

/* Seconds of CPU for a gigabyte. */
static struct cell per_giga(const struct transfers_line *l, struct amount ns)
{
	if (!ns.known || !l->c.bytes.known || l->c.bytes.v <= 0)
		return cell_na();
	return ns.v > 0 ? cell_time(ns.v / (l->c.bytes.v / l->unit.giga)) : dash();
}

/* How often each byte went this way. */
static struct cell times_moved(const struct transfers_line *l, uint64_t bytes)
{
	if (!l->c.has_files || !l->c.bytes.known || l->c.bytes.v <= 0)
		return cell_na();
	return bytes ? cell_fixed((double)bytes / l->c.bytes.v, 2) : dash();
}

static struct cell percent(const struct transfers_line *l, bool known, double ns)
{
	if (!known || !l->c.elapsed.known || l->c.elapsed.v <= 0)
		return cell_na();
	if (ns <= 0)
		return dash();
	return cell_fixed(100 * ns / l->c.elapsed.v, 1);
}

static int cost_row(struct grid *g, const struct transfers_line *l)
{
	struct grid_row *row = grid_row(g);
	const struct transfer_cost *c = &l->c;
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	row->ink = l->phase->complete ? INK_NONE : INK_RED;
	size_cell(l, &cell[COST_SIZE]);
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
					     : dash();
	cell[COST_NULL] = dash();
	if (l->phase->transfer->null_ns && l->s.median > 0)
		cell[COST_NULL] = l->v.known[FIGURE_NULL_PEER] && !verdict_has_null(&l->v)
				      ? cell_word("void")
				      : cell_fixed(100 * (double)l->phase->transfer->null_ns /
						       l->s.median,
						   0);
	cell[COST_ON_CLIENT] = percent(l, c->client_cpu.known, c->client_cpu.v);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		cell[COST_TIME + i] = percent(l, c->has_times, (double)c->column[i]);
	cell[COST_IDLE] = percent(l, c->has_times, c->elapsed.v - c->busy);
	return 0;
}

/* Both tables */

/* "Read, requests of at most 1 MiB, 4 under way, sparse file" */
static int work_head(struct grid *g, const struct run_transfer *t)
{
	char chunk[RUN_SIZE_MAX];
	int e = g->n_rows ? grid_text(g, INK_NONE, "%s", "") : 0;

	if (e)
		return e;
	if (!t->requests)
		return grid_text(g, INK_BOLD, "  %s", t->work);
	return grid_text(g, INK_BOLD, "  %s, requests of at most %s, %u under way%s%s%s", t->work,
			 run_size(t->chunk, chunk), t->window,
			 t->dropped ? ", data dropped unread" : "",
			 t->sparse ? ", sparse file" : "", t->own_file ? "" : ", an existing file");
}

/* The transfer of a work with the largest requests, for "requests of at most". */
static const struct run_transfer *of_work(const struct run *r, const char *work)
{
	return transfer_largest(r, work, false)->transfer;
}

static int transfers_fill(struct grid *g, const struct run *r,
			  int (*row)(struct grid *g, const struct transfers_line *l),
			  int (*head)(struct grid *g, const struct run_transfer *t))
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
		e = head(g, of_work(r, work));
		for (size_t i = k; i < r->n_phases && !e; i++) {
			if (strcmp(r->phase[i]->transfer->work, work))
				continue;
			e = line_make(&l, r, r->phase[i]);
			e = e ? e : row(g, &l);
		}
	}
	return e;
}

/* Explains the sign at a median, if one was printed. */
static void put_unsteady(const struct paint *p, const struct grid *g)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		if (strncmp(g->row[i].cell[COL_MEDIAN].text, UNSTEADY, strlen(UNSTEADY)))
			continue;
		put_indented(p->out, "  " UNSTEADY,
			     "unsteady: the standard deviation is more than 30 % of the mean; its "
			     "median and its verdict may differ in the next run (more iterations: "
			     "-n; fewer other programs)",
			     4, p->width);
		return;
	}
}

static int put_speed(const struct paint *p)
{
	static const char *const heads[N_COLS] = {
		"file", "n",   "median", NULL,          "95" GLUE "% range", "CV" GLUE "%", "min",
		"max",  "p95", "p99",    "request p50", "request p99",       "verdict",
	};
	struct transfer_unit u = transfer_unit(p->view.run);
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	char rate_head[16], rest[512];
	int e;

	for (size_t k = 0; k < N_COLS; k++)
		g.column[k].head = heads[k];
	snprintf(rate_head, sizeof(rate_head), "%s/s", u.mb);
	g.column[COL_RATE].head = rate_head;
	g.column[COL_VERDICT].left = true;
	e = transfers_fill(&g, p->view.run, speed_row, work_head);
	if (!e) {
		snprintf(
		    rest, sizeof(rest),
		    "  time of one iteration, warm-ups left out; %s/s, range: of the median\n"
		    "       (binomial confidence interval, from 6 iterations on); p95, p99: from\n"
		    "       %u on; request: request sent to last byte of its reply",
		    u.mb, MANY);
		paint_heading(p, "Transfers", rest);
		grid_fit(&g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		grid_put(&g, p);
		put_unsteady(p, &g);
	}
	grid_clear(&g);
	return e;
}

static int plain_head(struct grid *g, const struct run_transfer *t)
{
	int e = g->n_rows ? grid_text(g, INK_NONE, "%s", "") : 0;

	return e ? e : grid_text(g, INK_BOLD, "  %s", t->work);
}

/* Hides a column that holds only n/a or "-". */
static void hide_empty(struct grid *g, size_t k)
{
	for (size_t i = 0; i < g->n_rows; i++)
		if (!g->row[i].text && strcmp(g->row[i].cell[k].text, "-") &&
		    strcmp(g->row[i].cell[k].text, "n/a"))
			return;
	g->column[k].off = true;
}

static void cost_columns(struct grid *g, const struct run *run, const struct transfer_unit *u,
			 char per[2][24])
{
	snprintf(per[0], 24, "calls /%s", u->mb);
	snprintf(per[1], 24, "%.10s CPU/%s", run_word(run, RUN_WORD_SERVER), u->gb);
	g->column[COST_SIZE].head = "file";
	g->column[COST_SERVER].head = per[1];
	g->column[COST_CALLS].head = per[0];
	g->column[COST_SENDFILE].head = "send- file";
	g->column[COST_READ].head = "read";
	g->column[COST_WRITE].head = "write";
	g->column[COST_RANGE].head = "copy range";
	g->column[COST_SYNC].head = "fsync";
	g->column[COST_NULL].head = "null peer";
	g->column[COST_ON_CLIENT].head = "client CPU";
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		g->column[COST_TIME + i].head = run_column_name(run, i);
	g->column[COST_TIME + ACCOUNT_NET].head = "net";
	g->column[COST_IDLE].head = "idle";
}

static const char cost_text[] =
    "  sendfile, read, write: bytes of the file by these calls\n"
    "       of {server} for each byte moved; fsync: of one iteration; then % of the\n"
    "       time: the same against a server that stores nothing (null peer;\n"
    "       void: it was slower), the client's CPU, {server}'s requests; idle: {server}\n"
    "       without one";
static const char local_text[] = "  this program's CPU time, and its % of the time";

static int transfers_put_cost(const struct paint *p)
{
	struct transfer_unit u = transfer_unit(p->view.run);
	struct grid g = { .n_columns = N_COSTS, .gap = 2 };
	bool local = transfer_is_local(p->view.run);
	char per[2][24], client[24], said[2 * sizeof(cost_text)];
	int e;

	cost_columns(&g, p->view.run, &u, per);
	snprintf(client, sizeof(client), "client CPU/%s", u.gb);
	g.column[COST_CLIENT].head = client;
	e = transfers_fill(&g, p->view.run, cost_row, plain_head);
	for (size_t k = COST_RANGE; k < COST_IDLE && !e; k++)
		if (k != COST_SYNC && k != COST_ON_CLIENT && k != COST_TIME + ACCOUNT_USER &&
		    k != COST_TIME + ACCOUNT_CALLS && k != COST_TIME + ACCOUNT_DISK)
			hide_empty(&g, k);
	for (size_t k = COST_SERVER; k < N_COSTS && local; k++)
		g.column[k].off |= k != COST_ON_CLIENT;
	if (!e) {
		paint_heading(p, "What a transfer costs",
			      local ? local_text
				    : run_text(p->view.run, cost_text, said, sizeof(said)));
		grid_fit(&g, p->width, cost_drops, sizeof(cost_drops) / sizeof(cost_drops[0]));
		grid_put(&g, p);
	}
	grid_clear(&g);
	return e;
}

int paint_transfers(const struct paint *p)
{
	int e = put_speed(p);

	return e ? e : transfers_put_cost(p);
}
