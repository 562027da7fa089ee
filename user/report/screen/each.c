/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads of small files, client by client: the slowest, as many as a screen holds. */
#include "report/screen/screen.h"

#include <errno.h>
#include <stdlib.h>

#define ROWS 30 /* of all loads together */

enum { COL_LOAD, COL_THREAD, COL_N, COL_FAILED, COL_RATE, COL_P50, COL_P99, COL_MAX };

static const struct section_column columns[] = {
	[COL_LOAD] = { .head = "load" },
	[COL_THREAD] = { .head = "thread" },
	[COL_N] = { .head = "done" },
	[COL_FAILED] = { .head = "failed" },
	[COL_RATE] = { .head = "per" GLUE "s", .unit = "1/s" },
	[COL_P50] = { .head = "p50" },
	[COL_P99] = { .head = "p99" },
	[COL_MAX] = { .head = "max" },
};

static const struct section_type each_section = {
	.key = "each_client",
	.title = "Each client",
	.begin = SECTION_BLANK_LINE,
	SECTION_OF(columns),
};

struct one {
	unsigned int number;
	const struct run_client *client;
	double per_s; /* until its last operation; negative: it had none */
};

static struct one each_look(const struct run_load *l, unsigned int i)
{
	const struct run_client *c = &l->client[i];
	double s = (double)c->last_ns / 1e9;

	return (struct one) { i, c, s > 0 ? (double)(c->actions - c->failed) / s : -1 };
}

static int slower(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return (x->per_s > y->per_s) - (x->per_s < y->per_s);
}

static int each_by_number(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static struct cell each_time_of(uint64_t ns)
{
	return ns ? screen_time((double)ns) : cell_na();
}

static void each_put_one(struct section *s, const char *load, const struct one *one)
{
	const struct run_client *c = one->client;
	struct cell *cell = section_row(s)->cell;

	cell[COL_LOAD] = cell_text(load, 16);
	cell[COL_THREAD] = cell_count(one->number);
	cell[COL_N] = cell_count(c->actions - c->failed);
	cell[COL_FAILED] = c->failed ? cell_count(c->failed) : cell_blank();
	cell[COL_RATE] = one->per_s < 0 ? cell_na() : cell_rate(one->per_s);
	cell[COL_P50] = each_time_of(c->begun_p50_ns);
	cell[COL_P99] = each_time_of(c->begun_p99_ns);
	cell[COL_MAX] = each_time_of(c->begun_max_ns);
}

/* The slowest of a load, at most so many, in the order of their numbers. */
static int put_slowest(struct section *s, const struct run_phase *p, unsigned int most)
{
	const struct run_load *l = p->load;
	struct one *all = calloc(l->n_clients + 1, sizeof(*all));
	unsigned int n = l->n_clients < most ? l->n_clients : most;

	if (!all)
		return -ENOMEM;
	for (unsigned int i = 0; i < l->n_clients; i++)
		all[i] = each_look(l, i);
	qsort(all, l->n_clients, sizeof(*all), slower);
	qsort(all, n, sizeof(*all), each_by_number);
	for (unsigned int i = 0; i < n; i++)
		each_put_one(s, p->title, &all[i]);
	free(all);
	return 0;
}

int paint_each(const struct paint *p)
{
	const struct run *r = p->view.run;
	unsigned int loads = 0, clients = 0, most;
	struct screen_text t = { 0 };
	bool failed = false;
	struct section s;
	int e = 0, ret;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_load *l = r->phase[i]->load;

		loads += l != NULL;
		clients = l && l->n_clients > clients ? l->n_clients : clients;
		failed |= r->phase[i]->value[METRIC_ERRORS] > 0;
	}
	if (clients < 2)
		return 0;
	most = loads < ROWS ? ROWS / loads : 1;
	section_open(&s, p, &each_section);
	s.column[COL_FAILED].off = !failed;
	for (size_t i = 0; i < r->n_phases && !e; i++)
		if (r->phase[i]->load)
			e = put_slowest(&s, r->phase[i], most);
	ret = section_close(&s);
	if (e || ret)
		return -ENOMEM;
	if (most < clients)
		screen_add(&t, "the slowest %u of %u threads of each load; --json has all. ", most,
			   clients);
	screen_add(&t, "per s: until the thread's own last operation");
	screen_put(p, INK_NONE, t.text, 2);
	return 0;
}
