/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen of a run of transfers: one line per size, the works side by side. */
#include "doctor/verdict.h"
#include "report/screen/screen.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORKS    4
#define ROWS_MIN 4
#define AROUND                                                                                     \
	6 /* lines: before the table, its head, what it leaves out, before the rest, its head */

enum { COL_RATE, COL_DEVIATION, COL_VERDICT, N_OF_WORK };

/* The first column is the size. */
#define COLUMN(work, col) (1 + (work)*N_OF_WORK + (col))

struct transfers_table {
	const struct run *run;
	struct section s;
	size_t n_works, n_sizes;
	const char *work[WORKS];
	uint64_t *size; /* owned; in order of first use */
	char head[WORKS][32];
};

static int screen_transfers_table_init(struct transfers_table *t, const struct run *r)
{
	t->run = r;
	t->n_works = t->n_sizes = 0;
	t->size = calloc(r->n_phases, sizeof(*t->size));
	if (!t->size)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_transfer *transfer = r->phase[i]->transfer;
		size_t w = 0, s = 0;

		while (w < t->n_works && strcmp(t->work[w], transfer->work))
			w++;
		if (w == t->n_works && w < WORKS)
			t->work[t->n_works++] = transfer->work;
		while (s < t->n_sizes && t->size[s] != transfer->size)
			s++;
		if (s == t->n_sizes)
			t->size[t->n_sizes++] = transfer->size;
	}
	return 0;
}

static const struct run_phase *phase_of(const struct transfers_table *t, size_t work, uint64_t size)
{
	for (size_t i = 0; i < t->run->n_phases; i++) {
		const struct run_transfer *transfer = t->run->phase[i]->transfer;

		if (transfer->size == size && !strcmp(transfer->work, t->work[work]))
			return t->run->phase[i];
	}
	return NULL;
}

/* One transfer: rate, how steady it is, what limits it. */
static int put_transfer(struct transfers_table *t, struct section_row *row, size_t work,
			uint64_t size)
{
	const struct run_phase *phase = phase_of(t, work, size);
	struct cell *cell = &row->cell[COLUMN(work, 0)];
	struct verdict v;
	struct stats s;
	int e;

	if (!phase)
		return 0;
	e = transfer_stats(phase->transfer, &s);
	e = e ? e : verdict_of(&v, t->run, phase);
	if (e)
		return e;
	cell[COL_RATE] = cell_na();
	if (s.n && s.median > 0)
		cell[COL_RATE] = cell_rate((double)phase->transfer->moved * 1e9 / s.median /
					   transfer_unit(t->run).mega);
	if (s.n > 1)
		cell[COL_DEVIATION] = cell_fixed(100 * s.cv, 0);
	cell[COL_VERDICT] = cell_text(phase->complete ? verdict_kinds[v.kind].words : "broke off",
				      16);
	if (!phase->complete)
		row->ink = INK_RED;
	return 0;
}

static int screen_transfers_put_size(struct transfers_table *t, uint64_t size)
{
	struct section_row *row = section_row(&t->s);
	char text[RUN_SIZE_MAX];
	int e = 0;

	snprintf(row->cell[0].text, sizeof(row->cell[0].text), "%8s", run_size(size, text));
	for (size_t w = 0; w < t->n_works && !e; w++)
		e = put_transfer(t, row, w, size);
	return e;
}

static const struct section_column columns[] = { { .head = "    file", .name = "file" } };

static const struct section_type sizes_section = {
	.key = "sizes",
	.begin = SECTION_BLANK_LINE,
	SECTION_OF(columns),
};

/* Of works the last one's columns go first, verdicts before deviations. */
static void screen_transfers_columns(struct transfers_table *t)
{
	struct section_column *column = t->s.column;

	for (size_t w = 0; w < t->n_works; w++) {
		snprintf(t->head[w], sizeof(t->head[w]), "%s %s/s", t->work[w],
			 transfer_unit(t->run).mb);
		column[COLUMN(w, COL_RATE)].head = t->head[w];
		column[COLUMN(w, COL_DEVIATION)] = (struct section_column) {
			.head = "+-%",
			.drop = (unsigned int)(2 * WORKS - w),
		};
		column[COLUMN(w, COL_VERDICT)] = (struct section_column) {
			.head = "held" GLUE "up" GLUE "by",
			.drop = (unsigned int)(WORKS - w),
			.left = true,
		};
	}
	t->s.n_columns = COLUMN(t->n_works, 0);
}

/* Every n-th size, and always the last. */
static int screen_transfers_put_sizes(struct transfers_table *t, size_t rows)
{
	size_t step = (t->n_sizes + rows - 1) / rows, shown = 0;
	int e = 0;

	for (size_t i = 0; i < t->n_sizes && !e; i++) {
		if ((t->n_sizes - 1 - i) % step)
			continue;
		e = screen_transfers_put_size(t, t->size[i]);
		shown++;
	}
	if (shown < t->n_sizes)
		section_text(&t->s, INK_NONE, "  (%zu more sizes: -v)", t->n_sizes - shown);
	return e;
}

/* How many rows leave room for the text below the table. */
static size_t screen_transfers_room(const struct paint *p, const struct transfers_table *t,
				    size_t lines)
{
	size_t rest = AROUND + t->n_works * (p->width < SCREEN_WIDTH ? 4 : 3);

	return lines > rest + ROWS_MIN ? lines - rest : ROWS_MIN;
}

int screen_transfers(const struct paint *p, size_t lines)
{
	struct transfers_table t;
	int e = screen_transfers_table_init(&t, p->view.run), ret;

	if (e)
		return e;
	section_open(&t.s, p, &sizes_section);
	screen_transfers_columns(&t);
	e = screen_transfers_put_sizes(&t, screen_transfers_room(p, &t, lines));
	ret = section_close(&t.s);
	free(t.size);
	if (e || ret)
		return e ? e : ret;
	return paint_brief(p);
}
