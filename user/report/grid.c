/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layout of one table. The caller fills it. */
#include "report/grid.h"

#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2

struct grid_row *grid_row(struct grid *g)
{
	return VEC_ADD(g->row, g->n_rows);
}

int grid_text(struct grid *g, enum ink ink, const char *fmt, ...)
{
	struct grid_row *row = grid_row(g);
	va_list ap;
	int n;

	if (!row)
		return -ENOMEM;
	row->ink = ink;
	va_start(ap, fmt);
	n = vasprintf(&row->text, fmt, ap);
	va_end(ap);
	if (n >= 0)
		return 0;
	row->text = NULL;
	return -ENOMEM;
}

void grid_clear(struct grid *g)
{
	for (size_t i = 0; i < g->n_rows; i++)
		free(g->row[i].text);
	free(g->row);
	g->row = NULL;
	g->n_rows = 0;
}

static void unglue(char *text)
{
	while ((text = strchr(text, GLUE[0])))
		*text = ' ';
}

/* A head's line: 0 is what stands before its last blank, 1 the rest. */
static struct cell head_line(const char *head, unsigned int line)
{
	const char *blank = head ? strrchr(head, ' ') : NULL;
	struct cell c = { "" };

	if (!head || (!line && !blank))
		return c;
	if (line)
		snprintf(c.text, sizeof(c.text), "%s", blank ? blank + 1 : head);
	else
		snprintf(c.text, sizeof(c.text), "%.*s", (int)(blank - head), head);
	unglue(c.text);
	return c;
}

static size_t column_width(const struct grid *g, size_t k)
{
	size_t width = 0, n;

	for (unsigned int line = 0; line < 2; line++) {
		n = text_columns(head_line(g->column[k].head, line).text);
		width = n > width ? n : width;
	}
	for (size_t i = 0; i < g->n_rows; i++) {
		n = g->row[i].text ? 0 : text_columns(g->row[i].cell[k].text);
		width = n > width ? n : width;
	}
	return width;
}

size_t grid_width(const struct grid *g)
{
	size_t width = INDENT, n = 0;

	for (size_t k = 0; k < g->n_columns; k++) {
		if (g->column[k].off)
			continue;
		width += column_width(g, k) + (n++ ? g->gap : 0);
	}
	return width;
}

void grid_fit(struct grid *g, size_t width, const unsigned int *drop, size_t n)
{
	if (grid_width(g) > width)
		g->gap = 1;
	for (size_t i = 0; i < n && grid_width(g) > width; i++) {
		g->n_dropped += !g->column[drop[i]].off;
		g->column[drop[i]].off = true;
	}
}

/* Blanks are only written when something follows them: no line ends in one. */
static void put_cells(const struct grid *g, const struct paint *p, const struct cell *cell,
		      const size_t *width)
{
	size_t pad = INDENT, n = 0;

	for (size_t k = 0; k < g->n_columns; k++) {
		size_t fill = width[k] - text_columns(cell[k].text);
		bool left = !k || g->column[k].left;

		if (g->column[k].off)
			continue;
		pad += (n++ ? g->gap : 0) + (left ? 0 : fill);
		if (cell[k].text[0]) {
			fprintf(p->out, "%*s%s", (int)pad, "", cell[k].text);
			pad = 0;
		}
		pad += left ? fill : 0;
	}
	fputc('\n', p->out);
}

/* Wrapped; all lines are indented as the first is, all but it by two more. */
static void grid_put_line(const struct paint *p, const char *text)
{
	size_t indent = strspn(text, " "), at = indent, len;

	fprintf(p->out, "%.*s", (int)indent, text);
	for (text += indent; *text; text += len) {
		const char *word = text + (at > indent);
		char cut[128];

		len = strcspn(word, " ") + (size_t)(word - text);
		snprintf(cut, sizeof(cut), "%.*s", (int)len, text);
		unglue(cut);
		if (at > indent + 2 && at + text_columns(cut) > p->width) {
			fprintf(p->out, "\n%*s", (int)indent + 2, "");
			at = indent + 2;
			fputs(word == text ? cut : cut + 1, p->out);
			at += text_columns(cut) - (word != text);
			continue;
		}
		fputs(cut, p->out);
		at += text_columns(cut);
	}
}

static void grid_put_head(const struct grid *g, const struct paint *p, const size_t *width)
{
	for (unsigned int line = 0; line < 2; line++) {
		struct cell cell[GRID_COLUMNS];
		bool any = false;

		for (size_t k = 0; k < g->n_columns; k++) {
			cell[k] = head_line(g->column[k].head, line);
			any |= !g->column[k].off && cell[k].text[0];
		}
		if (any)
			put_cells(g, p, cell, width);
	}
}

void grid_put(const struct grid *g, const struct paint *p)
{
	size_t width[GRID_COLUMNS];

	for (size_t k = 0; k < g->n_columns; k++)
		width[k] = column_width(g, k);
	grid_put_head(g, p, width);
	for (size_t i = 0; i < g->n_rows; i++) {
		const struct grid_row *row = &g->row[i];

		if (row->ink != INK_NONE)
			paint_ink(p, row->ink);
		if (row->text)
			grid_put_line(p, row->text);
		else
			put_cells(g, p, row->cell, width);
		if (row->ink != INK_NONE)
			paint_ink(p, INK_NONE);
		if (row->text)
			fputc('\n', p->out);
	}
	if (g->n_dropped)
		fprintf(p->out, "  (%zu more column%s in a wider terminal)\n", g->n_dropped,
			g->n_dropped == 1 ? "" : "s");
}
