/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of a server that answers in any order, in any thread: only how many there were and how
 * long they took is known, not what threads did for them.
 */
#include "report/screen/screen.h"
#include "run/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	COL_NAME,
	COL_REQUESTS,
	COL_ERRORS,
	COL_SHARE,
	COL_MEAN,
	COL_P50,
	COL_P99,
	COL_MAX,
	COL_IN,
	COL_OUT,
	COL_WORST,
	N_COLS
};

static const struct grid_column heads[N_COLS] = {
	[COL_NAME] = { .head = "request" },
	[COL_REQUESTS] = { .head = "number" },
	[COL_ERRORS] = { .head = "errors" },
	[COL_SHARE] = { .head = "time" },
	[COL_MEAN] = { .head = "mean" },
	[COL_P50] = { .head = "p50" },
	[COL_P99] = { .head = "p99" },
	[COL_MAX] = { .head = "max" },
	[COL_IN] = { .head = "MB" GLUE "in" },
	[COL_OUT] = { .head = "MB" GLUE "out" },
	[COL_WORST] = { .head = "most" GLUE "frequent" GLUE "error", .left = true },
};

static const unsigned int drops[] = { COL_IN, COL_OUT, COL_P50, COL_WORST, COL_SHARE };

static const struct account_names *names_of(const struct paint *p)
{
	return p->view.run->kind ? p->view.run->kind->accounts : NULL;
}

/* "No such file or directory × 3" */
static struct cell worst_result(const struct paint *p, unsigned int number)
{
	const char *(*words)(int32_t) = p->view.run->kind ? p->view.run->kind->result_text : NULL;
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
	text = words ? words(most->code) : NULL;
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

static int procedures_put_row(struct grid *g, const struct paint *p, const struct request *r,
			      const struct request *all)
{
	struct grid_row *row = grid_row(g);
	const struct afs_account *a = &r->a.sum;
	uint64_t errors;
	char name[ACCOUNT_NAME_MAX];
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	cell[COL_NAME] = r == all ? cell_text("all", 36)
				  : cell_text(run_account_name(p->view.run, r->number, name), 36);
	cell[COL_REQUESTS] = cell_count(a->answered);
	errors = requests_errors(&p->view.all, names_of(p), r == all ? LEDGER_ALL : r->number);
	cell[COL_ERRORS] = errors ? cell_count(errors) : cell_blank();
	cell[COL_SHARE] = screen_percent((double)r->service_ns, (double)all->service_ns);
	cell[COL_MEAN] = screen_time((double)a->ns / (double)a->answered);
	cell[COL_P50] = screen_about(requests_quantile(&r->a, 0.5), (double)r->a.max_ns);
	cell[COL_P99] = screen_about(requests_quantile(&r->a, 0.99), (double)r->a.max_ns);
	cell[COL_MAX] = r->a.max_ns ? screen_time((double)r->a.max_ns) : cell_na();
	cell[COL_IN] = megabytes(a->bytes_in);
	cell[COL_OUT] = megabytes(a->bytes_out);
	cell[COL_WORST] = r == all ? cell_blank() : worst_result(p, r->number);
	return 0;
}

/* Most time first; what does not fit is counted below the table. */
static int procedures_put_table(const struct paint *p, const struct requests *r, size_t most)
{
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	size_t shown = 0, left = 0;
	int e = 0;

	memcpy(g.column, heads, sizeof(heads));
	g.column[COL_ERRORS].off = g.column[COL_WORST].off = !requests_errors(
	    &p->view.all, names_of(p), LEDGER_ALL);
	for (size_t i = 0; i < r->n && !e; i++) {
		if (!r->request[i].a.sum.answered)
			continue;
		if (shown == most) {
			left++;
			continue;
		}
		e = procedures_put_row(&g, p, &r->request[i], &r->all);
		shown++;
	}
	if (!e && shown > 1)
		e = procedures_put_row(&g, p, &r->all, &r->all);
	if (!e) {
		grid_fit(&g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		grid_put(&g, p);
	}
	grid_clear(&g);
	if (!e && left)
		fprintf(p->out, "  and %zu more (-v shows them)\n", left);
	if (!e && r->all.pending)
		fprintf(p->out, "  not answered until the end: %s requests\n",
			cell_count(r->all.pending).text);
	return e;
}

int paint_procedures(const struct paint *p, size_t most)
{
	struct requests r;
	int e;

	if (!run_has_requests(p->view.run))
		return 0;
	if (!p->view.all.has_requests) {
		fprintf(p->out, "\nRequests: n/a (%s)\n", rungs_why(p->view.run, "requests"));
		return 0;
	}
	e = requests_init(&r, &p->view.all);
	if (e)
		return e;
	if (r.all.a.sum.answered) {
		fputs("\nRequests, from the read that completes the header to the write that "
		      "completes the reply\n",
		      p->out);
		e = procedures_put_table(p, &r, most);
	} else {
		fputs("\nRequests: none was answered\n", p->out);
	}
	requests_fini(&r);
	return e;
}
