/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of a server that answers in any order, in any thread: only how many there were and how
 * long they took is known, not what threads did for them.
 */
#include "report/screen/screen.h"
#include "run/requests.h"

enum {
	COL_NAME,
	COL_REQUESTS,
	COL_ERRORS,
	COL_SHARE,
	COL_MEAN,
	COL_P50,
	COL_P99,
	COL_MAX,
	COL_JOINED,
	COL_CALLS,
	COL_PARKED,
	COL_IN,
	COL_OUT,
	COL_WORST
};

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "request" },
	[COL_REQUESTS] = { .head = "number" },
	[COL_ERRORS] = { .head = "errors" },
	[COL_SHARE] = { .head = "time", .unit = "%", .drop = 5 },
	[COL_MEAN] = { .head = "mean" },
	[COL_P50] = { .head = "p50", .drop = 3 },
	[COL_P99] = { .head = "p99" },
	[COL_MAX] = { .head = "max" },
	[COL_JOINED] = { .head = "not" GLUE "timed", .name = "untimed", .drop = 8 },
	[COL_CALLS] = { .head = "calls", .drop = 7 },
	[COL_PARKED] = { .head = "parked", .drop = 6 },
	[COL_IN] = { .head = "MB" GLUE "in", .name = "mb_in", .unit = "MB", .drop = 1 },
	[COL_OUT] = { .head = "MB" GLUE "out", .name = "mb_out", .unit = "MB", .drop = 2 },
	[COL_WORST] = { .head = "most" GLUE "frequent" GLUE "error", .left = true, .drop = 4 },
};

static const struct section_type procedures_section = {
	.key = "procedures",
	.title = "Requests",
	.rest = "  from the read that completes the header to the write that completes the reply",
	.begin = SECTION_PLAIN,
	SECTION_OF(columns),
};

static const struct account_names *names_of(const struct paint *p)
{
	return p->view.run->kind ? p->view.run->kind->accounts : NULL;
}

/* "No such file or directory × 3" */
static struct cell worst_result(const struct paint *p, unsigned int number)
{
	const struct run_kind *kind = p->view.run->kind;
	const int32_t normal = account_normal_result(names_of(p), number);
	const struct ledger_result *most = NULL;
	const struct ledger *l = &p->view.all;
	struct screen_text t = { 0 };
	const char *text;

	for (size_t i = 0; i < l->n_results; i++)
		if (l->result[i].account == number && l->result[i].code != normal &&
		    (!most || l->result[i].n > most->n))
			most = &l->result[i];
	if (!most)
		return cell_blank();
	text = kind ? run_kind_result_text(kind, most->code) : NULL;
	if (text)
		screen_add(&t, "%s", text);
	else
		screen_add(&t, "%d", most->code);
	screen_add(&t, " × %s", cell_count(most->n).text);
	return cell_text(t.text, 44);
}

static struct cell megabytes(uint64_t bytes)
{
	return cell_short((double)bytes / 1e6);
}

/* Of those that no other thread has answered; without what was done after they were parked. */
static struct cell procedures_calls(const struct request *r)
{
	if (!requests_n(r) || r->a.sum.handed)
		return cell_na();
	return cell_short((double)r->calls / (double)requests_n(r));
}

static void procedures_put_row(struct section *s, const struct request *r,
			       const struct request *all)
{
	const struct paint *p = s->p;
	struct cell *cell = section_row(s)->cell;
	const struct afs_account *a = &r->a.sum;
	char name[ACCOUNT_NAME_MAX];
	uint64_t errors;

	cell[COL_NAME] = r == all ? cell_text("all", 36)
				  : cell_text(run_account_name(p->view.run, r->number, name), 36);
	cell[COL_REQUESTS] = cell_count(a->answered);
	errors = requests_errors(&p->view.all, names_of(p), r == all ? LEDGER_ALL : r->number);
	cell[COL_ERRORS] = errors ? cell_count(errors) : cell_blank();
	cell[COL_SHARE] = screen_percent((double)r->service_ns, (double)all->service_ns);
	cell[COL_MEAN] = a->answered ? screen_time((double)a->ns / (double)a->answered) : cell_na();
	cell[COL_JOINED] = a->untimed ? cell_count(a->untimed) : cell_blank();
	cell[COL_CALLS] = procedures_calls(r);
	cell[COL_PARKED] = a->parked ? cell_count(a->parked) : cell_blank();
	if (r != all) { /* of several together no quantile tells of any */
		cell[COL_P50] = screen_about(requests_quantile(&r->a, 0.5), (double)r->a.max_ns);
		cell[COL_P99] = screen_about(requests_quantile(&r->a, 0.99), (double)r->a.max_ns);
	}
	cell[COL_MAX] = r->a.max_ns ? screen_time((double)r->a.max_ns) : cell_na();
	cell[COL_IN] = megabytes(a->bytes_in);
	cell[COL_OUT] = megabytes(a->bytes_out);
	cell[COL_WORST] = r == all ? cell_blank() : worst_result(p, r->number);
}

/* Most time first; what does not fit is counted below the table. */
static void procedures_put_table(struct section *s, const struct requests *r, size_t most)
{
	size_t shown = 0, left = 0;

	s->column[COL_ERRORS].off = s->column[COL_WORST].off = !requests_errors(
	    &s->p->view.all, names_of(s->p), LEDGER_ALL);
	s->column[COL_JOINED].off = !r->all.a.sum.untimed;
	s->column[COL_CALLS].off = r->all.a.sum.handed;
	s->column[COL_PARKED].off = !r->all.a.sum.parked;
	for (size_t i = 0; i < r->n; i++) {
		if (!r->request[i].a.sum.answered && !r->request[i].a.sum.untimed)
			continue;
		if (shown == most) {
			left++;
			continue;
		}
		procedures_put_row(s, &r->request[i], &r->all);
		shown++;
	}
	if (shown > 1)
		procedures_put_row(s, &r->all, &r->all);
	section_below(s);
	section_indented(s, "  and ", 0);
	if (left)
		section_more(s, "%zu more (-v shows them)", left);
	section_indented(s, "  not answered until the end: ", 0);
	if (r->all.pending)
		section_more(s, "%s requests", cell_count(r->all.pending).text);
}

int paint_procedures(const struct paint *p, size_t most)
{
	struct section s;
	struct requests r;
	char why[256];
	int e;

	if (!run_has_requests(p->view.run))
		return 0;
	section_open(&s, p, &procedures_section);
	if (!p->view.all.has_requests) {
		snprintf(why, sizeof(why), ": n/a (%s)", rungs_why(p->view.run, "requests"));
		s.n_columns = 0;
		s.rest = why;
		return section_close(&s);
	}
	e = requests_init(&r, &p->view.all);
	if (e)
		return e;
	if (r.all.a.sum.answered || r.all.a.sum.untimed) {
		procedures_put_table(&s, &r, most);
	} else {
		s.n_columns = 0;
		s.rest = ": none was answered";
	}
	requests_fini(&r);
	return section_close(&s);
}
