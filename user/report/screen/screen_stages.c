/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came of each part of a load whose rate, or number of clients, changes. */
#include "report/screen/screen.h"

enum {
	STAGE_NAME,
	STAGE_RATE,
	STAGE_CLIENTS,
	STAGE_PLANNED,
	STAGE_DONE,
	STAGE_PER_S,
	STAGE_FAILED,
	STAGE_MEAN,
	STAGE_P50,
	STAGE_P99,
	STAGE_MAX
};

static const struct section_column stage_columns[] = {
	[STAGE_NAME] = { .head = "time" },
	[STAGE_RATE] = { .head = "rate" GLUE "per" GLUE "s", .name = "rate" },
	[STAGE_CLIENTS] = { .head = "clients" },
	[STAGE_PLANNED] = { .head = "planned" },
	[STAGE_DONE] = { .head = "done" },
	[STAGE_PER_S] = { .head = "per" GLUE "s", .unit = "1/s" },
	[STAGE_FAILED] = { .head = "failed" },
	[STAGE_MEAN] = { .head = "mean" },
	[STAGE_P50] = { .head = "p50" },
	[STAGE_P99] = { .head = "p99" },
	[STAGE_MAX] = { .head = "max" },
};

static const struct section_type stage_section = {
	.key = "load-stages",
	.title = "Parts of the measured time",
	.begin = SECTION_AT_ONCE,
	SECTION_OF(stage_columns),
};

struct cell screen_quantile(const struct hist *h, double q)
{
	return (double)h->n * (1 - q) > 0.999 ? screen_time((double)hist_quantile(h, q))
					      : cell_blank();
}

/* "60-120 s", "100-500", how many actions were due in it, what came of them. */
static void screen_stages_put(struct section *to, const struct run_stage *s)
{
	struct cell *cell = section_row(to)->cell;
	char text[48];

	snprintf(text, sizeof(text), "%.4g-%.4g s", s->from_s, s->to_s);
	cell[STAGE_NAME] = cell_text(text, 24);
	if (s->from_per_s == s->to_per_s)
		snprintf(text, sizeof(text), "%.4g", s->from_per_s);
	else
		snprintf(text, sizeof(text), "%.4g-%.4g", s->from_per_s, s->to_per_s);
	cell[STAGE_RATE] = cell[STAGE_CLIENTS] = cell_text(text, 24);
	cell[STAGE_PER_S] = cell_rate((double)(s->done.n - s->done.failed) / (s->to_s - s->from_s));
	cell[STAGE_PLANNED] = cell_count(s->n_planned);
	cell[STAGE_DONE] = cell_count(s->done.n - s->done.failed);
	cell[STAGE_FAILED] = s->done.failed ? cell_count(s->done.failed) : cell_blank();
	if (!s->done.planned.n)
		return;
	cell[STAGE_MEAN] = screen_time(hist_mean(&s->done.planned));
	cell[STAGE_P50] = screen_quantile(&s->done.planned, 0.5);
	cell[STAGE_P99] = screen_quantile(&s->done.planned, 0.99);
	cell[STAGE_MAX] = screen_time((double)s->done.planned.max);
}

int screen_stages(const struct paint *p, const struct run_load *l)
{
	uint64_t failed = 0;
	struct section s;

	if (!l->n_stages)
		return 0;
	fputc('\n', p->out);
	screen_put(p, INK_NONE,
		   l->stages_of_clients ? "By when they ended, since the measured time began:"
					: "By when they were due, since the measured time began:",
		   1);
	section_open(&s, p, &stage_section);
	for (size_t i = 0; i < l->n_stages; i++)
		failed += l->stage[i].done.failed;
	s.column[STAGE_FAILED].off = !failed;
	s.column[STAGE_RATE].off = s.column[STAGE_PLANNED].off = l->stages_of_clients;
	s.column[STAGE_P50].off = s.column[STAGE_P99].off = run_load_kinds(l) > 1;
	s.column[STAGE_CLIENTS].off = s.column[STAGE_PER_S].off = !l->stages_of_clients;
	for (size_t i = 0; i < l->n_stages; i++)
		screen_stages_put(&s, &l->stage[i]);
	return section_close(&s);
}
