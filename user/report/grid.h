/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_GRID_H
#define REPORT_GRID_H

/* A table whose columns are as wide as what is in them. */

#include "report/cell.h"
#include "report/paint.h"

#define GRID_COLUMNS 28

struct grid_column {
	const char *head; /* NULL: none; in two lines when it has a blank (GLUE does not count) */
	bool left;        /* aligned; the first column always is */
	bool off;         /* not shown */
};

struct grid_row {
	char *text; /* owned; in place of cells, wrapped */
	enum ink ink;
	struct cell cell[GRID_COLUMNS];
};

struct grid {
	size_t n_columns, n_rows;
	struct grid_column column[GRID_COLUMNS];
	struct grid_row *row;
	size_t gap;       /* blanks between columns */
	size_t n_dropped; /* columns for which grid_fit found no room: a line below says so */
};

/* A new row, all cells empty; valid until the next is made. NULL without memory. */
struct grid_row *grid_row(struct grid *g);

/* A line of text between rows. 0 or -ENOMEM. */
int grid_text(struct grid *g, enum ink ink, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Columns of the widest line. */
size_t grid_width(const struct grid *g);

/* Smaller gaps and, in this order, fewer columns until the table is at most this wide. */
void grid_fit(struct grid *g, size_t width, const unsigned int *drop, size_t n);

void grid_put(const struct grid *g, const struct paint *p);

/* Forgets the rows. */
void grid_clear(struct grid *g);

#endif
