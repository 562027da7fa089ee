/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AFP commands inside the server: what each costs and where its time goes. */
#include "run/requests.h"
#include "report/long/states.h"
#include "report/section.h"
#include "run/result.h"

#include <ctype.h>
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

/* What is left out when the terminal is too narrow; the numbers between: long_requests_fold(). */
static const struct section_column columns[N_COLS] = {
	[COL_NAME] = { .head = "command" },
	[COL_REQUESTS] = { .head = "requests" },
	[COL_ERRORS] = { .head = "err", .name = "errors", .drop = 8 },
	[COL_MEAN] = { .head = "mean" },
	[COL_P50] = { .head = "p50", .drop = 2 },
	[COL_P99] = { .head = "p99", .drop = 7 },
	[COL_P999] = { .head = "p99.9", .name = "p999", .drop = 1 },
	[COL_MAX] = { .head = "max" },
	[COL_SHARE] = { .head = "time%", .name = "time", .unit = "%" },
	[COL_UNEXPLAINED] = { .head = "unex- plained", .name = "unexplained" },
	[COL_CALLS] = { .name = "afpd_calls", .drop = 9 },
	[COL_CNID] = { .name = "cnid_calls", .drop = 4 },
};

static const struct section_type requests_section = {
	.key = "requests",
	.title = "AFP commands inside the server",
	.rest = "  from the read that completes a request to the\n"
		"       write that completes its reply, most time first; p50, p99, p99.9: to 6 %;\n"
		"       then where the mean goes, in µs, and system calls per request",
	SECTION_OF(columns),
	.silent = true,
};

static const struct section_type no_requests = {
	.key = "requests",
	.title = "AFP commands inside the server",
	.rest = ": none was answered",
};

struct requests_table {
	const struct requests *r;
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
		return cell_zero();
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

static void table_row(struct section *s, const struct request *r, const char *name)
{
	const struct requests_table *t = s->of;
	struct cell *cell = section_row(s)->cell;
	uint64_t other = 0, errors;

	cell[COL_NAME] = cell_name(name);
	cell[COL_REQUESTS] = cell_count(r->a.sum.answered);
	errors = requests_errors(&s->p->view.all, NULL, r == &t->r->all ? LEDGER_ALL : r->number);
	cell[COL_ERRORS] = errors ? cell_count(errors) : cell_zero();
	cell[COL_MEAN] = service_time(r, (double)r->a.sum.ns / (double)r->a.sum.answered);
	if (r != &t->r->all) { /* of several commands together no quantile tells of any */
		cell[COL_P50] = long_requests_quantile(r, 0.5);
		cell[COL_P99] = long_requests_quantile(r, 0.99);
		cell[COL_P999] = long_requests_quantile(r, 0.999);
	}
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
}

static void table_fill(struct section *s)
{
	const struct requests *r = ((struct requests_table *)s->of)->r;
	char name[ACCOUNT_NAME_MAX];

	for (size_t i = 0; i < r->n; i++)
		if (requests_n(&r->request[i]))
			table_row(s, &r->request[i],
				  run_account_name(s->p->view.run, r->request[i].number, name));
	if (s->n_rows > 1)
		table_row(s, &r->all, "all");
}

/* A column with hardly any of the time goes into "other". */
static void long_requests_fold(struct section *s)
{
	struct requests_table *t = s->of;
	const struct request *all = &t->r->all;
	struct section_column *time = &s->column[COL_TIME];
	size_t least = ACCOUNT_OTHER, n = 0;

	for (size_t i = ACCOUNT_RUNQ; i < ACCOUNT_OTHER; i++) {
		if (time[i].off ||
		    requests_percent(all->time_ns[i], all->service_ns) >= FOLDED_SHARE)
			continue;
		n++;
		if (least == ACCOUNT_OTHER || all->time_ns[i] < all->time_ns[least])
			least = i;
	}
	/* Not if that only replaces one column by the column "other". */
	if (n < 1u + time[ACCOUNT_OTHER].off)
		return;
	t->folded[least] = true;
	time[least].off = true;
	time[ACCOUNT_OTHER].off = false;
}

static void table_open(struct section *s, const struct paint *p, struct requests_table *t)
{
	const struct request *all = &t->r->all;
	const struct run *run = p->view.run;

	section_open(s, p, &requests_section);
	s->fill = table_fill;
	s->fold = long_requests_fold;
	s->of = t;
	snprintf(t->calls[0], sizeof(t->calls[0]), "%.17s calls", run_word(run, RUN_WORD_SERVER));
	snprintf(t->calls[1], sizeof(t->calls[1]), "%.17s calls", run_word(run, RUN_WORD_ASKED));
	for (char *at = t->calls[1]; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	s->column[COL_CALLS].head = t->calls[0];
	s->column[COL_CNID].head = t->calls[1];
	s->column[COL_ERRORS].off = !requests_errors(&p->view.all, NULL, LEDGER_ALL);
	s->column[COL_CNID].off = !all->cnid_calls;
	s->column[COL_UNEXPLAINED].off = all->a.sum.unexplained_ns < all->service_ns / 1000;
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		s->column[COL_TIME + i].head = run_column_name(run, i);
		s->column[COL_TIME + i].name = account_columns[i].key;
		s->column[COL_TIME + i].off = !all->time_ns[i];
	}
}

static void put_folded(struct section *s)
{
	const struct requests_table *t = s->of;
	const char *comma = "  other: with ";

	section_indented(s, "", 0);
	for (size_t i = 0; i < ACCOUNT_OTHER; i++) {
		if (!t->folded[i])
			continue;
		section_more(s, "%s%s", comma, run_column_name(s->p->view.run, i));
		comma = ", ";
	}
}

/* "19.8s in 4,000 requests: CNID 49 %, disk 21 %, ...": the answer before the table. */
static void long_requests_put_answer(struct section *s, const struct requests *r)
{
	const struct request *all = &r->all;
	unsigned int share[ACCOUNT_N_COLUMNS];
	char glued[32];

	section_note(s, "Spent", "%s in %s requests:", cell_time((double)all->service_ns).text,
		     cell_count(all->a.sum.answered).text);
	requests_shares(share, all->time_ns, ACCOUNT_N_COLUMNS, all->service_ns, 1000);
	for (size_t n = 0, most; n < ACCOUNT_N_COLUMNS; n++) {
		most = 0;
		for (size_t i = 1; i < ACCOUNT_N_COLUMNS; i++)
			most = share[i] > share[most] ? i : most;
		if (!share[most])
			break;
		section_more(
		    s, "%s %s" GLUE "%u.%u" GLUE "%%", n ? "," : "",
		    text_glued(glued, sizeof(glued), run_column_name(s->p->view.run, most)),
		    share[most] / 10, share[most] % 10);
		share[most] = 0;
	}
	section_more(s, "; unexplained" GLUE "%.2g" GLUE "%%",
		     requests_percent(all->a.sum.unexplained_ns, all->service_ns));
	if (all->a.sum.unexplained)
		section_more(s, " (in %s requests more than 1" GLUE "%%)",
			     cell_count(all->a.sum.unexplained).text);
	if (all->handed_ns)
		section_more(s,
			     "; parts and calls n/a for %.1f" GLUE
			     "%% of this time: %s requests changed threads, or shared one",
			     requests_percent(all->handed_ns, all->service_ns),
			     cell_count(all->a.sum.handed).text);
}

/* Requests that were in service when the interval ended, or whose session did. */
static void put_unanswered(struct section *s, const struct requests *r)
{
	char name[ACCOUNT_NAME_MAX];
	const char *comma = "";

	section_note(s, "No reply", "%s", "");
	for (size_t i = 0; i < r->n; i++) {
		const struct request *q = &r->request[i];

		if (!q->pending)
			continue;
		section_more(s, "%s%s" GLUE "×" GLUE "%s", comma, account_name(q->number, name),
			     cell_count(q->pending).text);
		if (q->pending_ns)
			section_more(s, " (%s" GLUE "in" GLUE "service)",
				     cell_time((double)q->pending_ns).text);
		comma = ", ";
	}
}

/* "FPCreateFile: -5017 exists already × 12; ..." */
static void long_requests_put_results(struct section *s, const struct requests *r)
{
	const struct ledger *l = &s->p->view.all;
	char name[ACCOUNT_NAME_MAX];
	const char *gap = "";

	section_note(s, "Results", "%s", "");
	for (size_t i = 0; i < r->n; i++) {
		const char *comma = ": ";
		bool any = false;

		for (size_t k = 0; k < l->n_results; k++) {
			const struct ledger_result *code = &l->result[k];
			const char *words = result_text(code->code);

			if (code->account != r->request[i].number)
				continue;
			if (!any)
				section_more(s, "%s%s", gap,
					     account_name(r->request[i].number, name));
			section_more(s, "%s%d%s%s" GLUE "×" GLUE "%s", comma, code->code,
				     words ? " " : "", words ? words : "",
				     cell_count(code->n).text);
			any = true;
			comma = ", ";
			gap = "; ";
		}
	}
}

static int long_requests_put_table(const struct paint *p, const struct requests *r)
{
	struct requests_table t = { .r = r };
	struct section s;

	table_open(&s, p, &t);
	long_requests_put_answer(&s, r);
	section_fit(&s);
	section_below(&s);
	put_folded(&s);
	put_unanswered(&s, r);
	long_requests_put_results(&s, r);
	return section_close(&s);
}

int paint_requests(const struct paint *p)
{
	struct section s;
	struct requests r;
	int e;

	section_open(&s, p, &no_requests);
	if (!p->view.all.has_requests) {
		section_title(&s, "%s: n/a", no_requests.title);
		s.rest = "";
		section_note(&s, "because", "%s", rungs_why(p->view.run, "requests"));
		return section_close(&s);
	}
	e = requests_init(&r, &p->view.all);
	if (e)
		return e;
	if (requests_n(&r.all)) {
		e = long_requests_put_table(p, &r);
		e = e ? e : paint_states(p, &r);
	} else {
		e = section_close(&s);
	}
	requests_fini(&r);
	return e;
}
