/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AFP commands inside the server: what each costs and where its time goes. */
#include "run/requests.h"
#include "report/grid.h"
#include "report/long/states.h"
#include "run/result.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOLDED_SHARE 5 /* per cent of all time; a column with less may be folded */

enum {
	COL_NAME,
	COL_REQUESTS,
	COL_ERRORS,
	COL_MEAN,
	COL_P50,
	COL_P99,
	COL_P999,
	COL_MAX,
	COL_SHARE,
	COL_TIME,
	COL_UNEXPLAINED = COL_TIME + ACCOUNT_N_COLUMNS,
	COL_CALLS,
	COL_CNID,
	N_COLS
};

static const struct grid_column heads[N_COLS] = {
	[COL_NAME] = { .head = "command" }, [COL_REQUESTS] = { .head = "requests" },
	[COL_ERRORS] = { .head = "err" },   [COL_MEAN] = { .head = "mean" },
	[COL_P50] = { .head = "p50" },      [COL_P99] = { .head = "p99" },
	[COL_P999] = { .head = "p99.9" },   [COL_MAX] = { .head = "max" },
	[COL_SHARE] = { .head = "time%" },  [COL_UNEXPLAINED] = { .head = "unex- plained" },
};

/* What is left out when the terminal is too narrow, in this order; COL_TIME: see
 * long_requests_fold(). */
static const unsigned int drops[] = { COL_P999, COL_P50, COL_TIME,   COL_CNID, COL_TIME,
				      COL_TIME, COL_P99, COL_ERRORS, COL_CALLS };

struct requests_table {
	const struct requests *r;
	const struct ledger *l;
	struct grid g;
	bool folded[ACCOUNT_N_COLUMNS]; /* added to the column "other" */
	char calls[2][24];              /* heads of columns */
};

static struct cell long_requests_per_request(const struct request *r, uint64_t ns)
{
	if (!requests_n(r) || r->a.sum.handed)
		return cell_na();
	return cell_us((double)ns / (double)requests_n(r));
}

static struct cell calls_per_request(const struct request *r, uint64_t calls)
{
	if (!requests_n(r) || r->a.sum.handed)
		return cell_na();
	if (!calls)
		return (struct cell) { "-" };
	return cell_short((double)calls / (double)requests_n(r));
}

static struct cell service_time(const struct request *r, double ns)
{
	return r->a.sum.answered ? cell_time(ns) : cell_na();
}

/* p50 and so on; n/a of commands without a histogram. */
static struct cell long_requests_quantile(const struct request *r, double q)
{
	double ns = requests_quantile(&r->a, q);

	return ns > 0 ? cell_about(ns, (double)r->a.max_ns) : cell_na();
}

static int table_row(struct requests_table *t, const struct request *r, const char *name)
{
	struct grid_row *row = grid_row(&t->g);
	uint64_t other = 0, errors;
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	snprintf(cell[COL_NAME].text, sizeof(cell[COL_NAME].text), "%s", name);
	cell[COL_REQUESTS] = cell_count(r->a.sum.answered);
	errors = requests_errors(t->l, NULL, r == &t->r->all ? LEDGER_ALL : r->number);
	cell[COL_ERRORS] = errors ? cell_count(errors) : (struct cell) { "-" };
	cell[COL_MEAN] = service_time(r, (double)r->a.sum.ns / (double)r->a.sum.answered);
	cell[COL_P50] = long_requests_quantile(r, 0.5);
	cell[COL_P99] = long_requests_quantile(r, 0.99);
	cell[COL_P999] = long_requests_quantile(r, 0.999);
	cell[COL_MAX] = r->a.max_ns ? cell_time((double)r->a.max_ns) : cell_na();
	cell[COL_SHARE] = cell_fixed(requests_percent(r->service_ns, t->r->all.service_ns), 1);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		if (t->folded[i])
			other += r->time_ns[i];
		cell[COL_TIME + i] = long_requests_per_request(r, r->time_ns[i]);
	}
	cell[COL_TIME + ACCOUNT_OTHER] = long_requests_per_request(r, r->time_ns[ACCOUNT_OTHER] +
									  other);
	cell[COL_UNEXPLAINED] = long_requests_per_request(r, r->a.sum.unexplained_ns);
	cell[COL_CALLS] = calls_per_request(r, r->calls);
	cell[COL_CNID] = calls_per_request(r, r->cnid_calls);
	return 0;
}

static int table_fill(struct requests_table *t)
{
	const struct requests *r = t->r;
	char name[ACCOUNT_NAME_MAX];
	size_t rows = 0;
	int e = 0;

	grid_clear(&t->g);
	for (size_t i = 0; i < r->n && !e; i++) {
		if (!requests_n(&r->request[i]))
			continue;
		rows++;
		e = table_row(t, &r->request[i], account_name(r->request[i].number, name));
	}
	if (!e && rows > 1)
		e = table_row(t, &r->all, "all");
	return e;
}

static void long_requests_table_init(struct requests_table *t, const struct requests *r,
				     const struct view *v)
{
	const struct run *run = v->run;
	const struct ledger *l = &v->all;
	const struct request *all = &r->all;

	*t = (struct requests_table) { .r = r, .l = l, .g = { .n_columns = N_COLS, .gap = 2 } };
	memcpy(t->g.column, heads, sizeof(heads));
	snprintf(t->calls[0], sizeof(t->calls[0]), "%.17s calls", run_word(run, RUN_WORD_SERVER));
	snprintf(t->calls[1], sizeof(t->calls[1]), "%.17s calls", run_word(run, RUN_WORD_ASKED));
	for (char *at = t->calls[1]; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	t->g.column[COL_CALLS].head = t->calls[0];
	t->g.column[COL_CNID].head = t->calls[1];
	t->g.column[COL_ERRORS].off = !requests_errors(l, NULL, LEDGER_ALL);
	t->g.column[COL_CNID].off = !all->cnid_calls;
	t->g.column[COL_UNEXPLAINED].off = all->a.sum.unexplained_ns < all->service_ns / 1000;
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		t->g.column[COL_TIME + i].head = run_column_name(run, i);
		t->g.column[COL_TIME + i].off = !all->time_ns[i];
	}
}

/* A column with hardly any of the time goes into "other". */
static void long_requests_fold(struct requests_table *t)
{
	const struct request *all = &t->r->all;
	size_t least = ACCOUNT_OTHER, n = 0;

	for (size_t i = ACCOUNT_RUNQ; i < ACCOUNT_OTHER; i++) {
		if (t->g.column[COL_TIME + i].off ||
		    requests_percent(all->time_ns[i], all->service_ns) >= FOLDED_SHARE)
			continue;
		n++;
		if (least == ACCOUNT_OTHER || all->time_ns[i] < all->time_ns[least])
			least = i;
	}
	/* Not if that only replaces one column by the column "other". */
	if (n < 1u + t->g.column[COL_TIME + ACCOUNT_OTHER].off)
		return;
	t->folded[least] = true;
	t->g.column[COL_TIME + least].off = true;
	t->g.column[COL_TIME + ACCOUNT_OTHER].off = false;
}

static int table_fit(struct requests_table *t, size_t width)
{
	int e = table_fill(t);

	for (size_t i = 0; !e && grid_width(&t->g) > width; i++) {
		if (t->g.gap > 1) {
			t->g.gap = 1;
			i--;
			continue;
		}
		if (i == sizeof(drops) / sizeof(drops[0]))
			return 0;
		if (drops[i] == COL_TIME)
			long_requests_fold(t);
		else
			t->g.column[drops[i]].off = true;
		e = table_fill(t);
	}
	return e;
}

static void put_folded(const struct paint *p, const struct requests_table *t)
{
	const char *comma = "  other: with ";

	for (size_t i = 0; i < ACCOUNT_OTHER; i++) {
		if (!t->folded[i])
			continue;
		fprintf(p->out, "%s%s", comma, run_column_name(p->view.run, i));
		comma = ", ";
	}
	if (*comma == ',')
		fputc('\n', p->out);
}

/* A text within which no line may end. */
static void long_requests_print_glued(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc(*text == ' ' ? GLUE[0] : *text, to);
}

/* "19.8s in 4,000 requests: CNID 49 %, disk 21 %, ...": the answer before the table. */
static int long_requests_put_answer(const struct paint *p, const struct requests *r)
{
	const struct request *all = &r->all;
	unsigned int share[ACCOUNT_N_COLUMNS];
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	fprintf(to, "%s in %s requests:", cell_time((double)all->service_ns).text,
		cell_count(all->a.sum.answered).text);
	requests_shares(share, all->time_ns, ACCOUNT_N_COLUMNS, all->service_ns, 1000);
	for (size_t n = 0, most; n < ACCOUNT_N_COLUMNS; n++) {
		most = 0;
		for (size_t i = 1; i < ACCOUNT_N_COLUMNS; i++)
			most = share[i] > share[most] ? i : most;
		if (!share[most])
			break;
		fprintf(to, "%s ", n ? "," : "");
		long_requests_print_glued(to, run_column_name(p->view.run, most));
		fprintf(to, GLUE "%u.%u" GLUE "%%", share[most] / 10, share[most] % 10);
		share[most] = 0;
	}
	fprintf(to, "; unexplained" GLUE "%.2g" GLUE "%%",
		requests_percent(all->a.sum.unexplained_ns, all->service_ns));
	if (all->a.sum.unexplained)
		fprintf(to, " (in %s requests more than 1" GLUE "%%)",
			cell_count(all->a.sum.unexplained).text);
	if (all->handed_ns)
		fprintf(to,
			"; parts and calls n/a for %.1f" GLUE
			"%% of this time: %s requests changed "
			"threads, or shared one",
			requests_percent(all->handed_ns, all->service_ns),
			cell_count(all->a.sum.handed).text);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	put_wrapped(p->out, "  Spent", text, p->width);
	free(text);
	return 0;
}

/* Requests that were in service when the interval ended, or whose session did. */
static int put_unanswered(const struct paint *p, const struct requests *r)
{
	char *text = NULL, name[ACCOUNT_NAME_MAX];
	const char *comma = "";
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		const struct request *q = &r->request[i];

		if (!q->pending)
			continue;
		fprintf(to, "%s%s" GLUE "×" GLUE "%s", comma, account_name(q->number, name),
			cell_count(q->pending).text);
		if (q->pending_ns)
			fprintf(to, " (%s" GLUE "in" GLUE "service)",
				cell_time((double)q->pending_ns).text);
		comma = ", ";
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	if (*text)
		put_wrapped(p->out, "  No reply", text, p->width);
	free(text);
	return 0;
}

/* "FPCreateFile: -5017 exists already × 12; ..." */
static int long_requests_put_results(const struct paint *p, const struct requests *r)
{
	const struct ledger *l = &p->view.all;
	char *text = NULL, name[ACCOUNT_NAME_MAX];
	const char *gap = "";
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		const char *comma = ": ";
		bool any = false;

		for (size_t k = 0; k < l->n_results; k++) {
			const struct ledger_result *code = &l->result[k];
			const char *words = result_text(code->code);

			if (code->account != r->request[i].number)
				continue;
			if (!any)
				fprintf(to, "%s%s", gap, account_name(r->request[i].number, name));
			fprintf(to, "%s%d%s%s" GLUE "×" GLUE "%s", comma, code->code,
				words ? " " : "", words ? words : "", cell_count(code->n).text);
			any = true;
			comma = ", ";
			gap = "; ";
		}
	}
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	if (*text)
		put_wrapped(p->out, "  Results", text, p->width);
	free(text);
	return 0;
}

static int long_requests_put_table(const struct paint *p, const struct requests *r)
{
	struct requests_table t;
	int e;

	paint_heading(
	    p, "AFP commands inside the server",
	    "  from the read that completes a request to the\n"
	    "       write that completes its reply, most time first; p50, p99, p99.9: to 6 %;\n"
	    "       then where the mean goes, in µs, and system calls per request");
	e = long_requests_put_answer(p, r);
	if (e)
		return e;
	long_requests_table_init(&t, r, &p->view);
	e = table_fit(&t, p->width);
	if (!e) {
		grid_put(&t.g, p);
		put_folded(p, &t);
	}
	grid_clear(&t.g);
	if (!e)
		e = put_unanswered(p, r);
	if (!e)
		e = long_requests_put_results(p, r);
	return e;
}

int paint_requests(const struct paint *p)
{
	struct requests r;
	int e;

	if (!p->view.all.has_requests) {
		paint_heading(p, "AFP commands inside the server: n/a", "");
		put_wrapped(p->out, "  because", rungs_why(p->view.run, "requests"), p->width);
		return 0;
	}
	e = requests_init(&r, &p->view.all);
	if (e)
		return e;
	if (requests_n(&r.all))
		e = long_requests_put_table(p, &r);
	else
		paint_heading(p, "AFP commands inside the server", ": none was answered");
	if (!e && requests_n(&r.all))
		e = paint_states(p, &r);
	requests_fini(&r);
	return e;
}
