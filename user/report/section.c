/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what a section holds, and prints it. */
#include "report/section.h"

#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define INDENT      2
#define STRETCH_MIN 12
#define BAR         50
#define TEXT_MAX    512

/* The words of the server in a text that is the same for all kinds. */
static const char *section_named(const struct section *s, const char *text, char *out, size_t len)
{
	return strchr(text, '{') ? run_text(s->p->view.run, text, out, len) : text;
}

void section_open(struct section *s, const struct paint *p, const struct section_type *type)
{
	*s = (struct section) { .p = p, .type = type };
	s->rest = section_named(s, type->rest ? type->rest : "", s->named, sizeof(s->named));
	s->n_columns = type->n_columns;
	s->gap = type->gap ? type->gap : 2;
	for (size_t k = 0, used = 0; k < type->n_columns; k++) {
		s->column[k] = type->column[k];
		if (type->column[k].head && strchr(type->column[k].head, '{')) {
			s->column[k].head = run_text(p->view.run, type->column[k].head,
						     s->heads + used, sizeof(s->heads) - used);
			used += strlen(s->column[k].head) + 1;
		}
		s->column[k].off |= p->sink ? s->column[k].bar : s->column[k].unprinted;
	}
	section_title(s, "%s", type->title ? type->title : "");
}

void section_title(struct section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->title, sizeof(s->title), fmt, ap);
	va_end(ap);
}

struct section_row *section_row(struct section *s)
{
	struct section_row *row = VEC_ADD(s->row, s->n_rows);

	if (row)
		return row;
	s->error = -ENOMEM;
	s->spare = (struct section_row) { 0 };
	return &s->spare;
}

void section_text(struct section *s, enum ink ink, const char *fmt, ...)
{
	struct section_row *row = section_row(s);
	va_list ap;

	if (s->error)
		return;
	row->ink = ink;
	va_start(ap, fmt);
	if (vasprintf(&row->text, fmt, ap) < 0) {
		row->text = NULL;
		s->error = -ENOMEM;
	}
	va_end(ap);
}

static void section_add(struct section *s, const char *fmt, va_list ap)
{
	struct section_note *note = &s->note[s->n_notes - 1];
	char *more = NULL, *text = NULL, named[TEXT_MAX];

	if (vasprintf(&more, section_named(s, fmt, named, sizeof(named)), ap) < 0)
		more = NULL;
	if (more && asprintf(&text, "%s%s", note->text ? note->text : "", more) < 0)
		text = NULL;
	free(more);
	if (text) {
		free(note->text);
		note->text = text;
	} else {
		s->error = -ENOMEM;
	}
}

void section_indented(struct section *s, const char *label, size_t indent)
{
	struct section_note *note = VEC_ADD(s->note, s->n_notes);

	if (note)
		*note = (struct section_note) { strdup(label), NULL, INK_NONE, indent, s->below };
	if (!note || !note->label)
		s->error = -ENOMEM;
}

void section_ink(struct section *s, enum ink ink)
{
	if (!s->error)
		s->note[s->n_notes - 1].ink = ink;
}

void section_note(struct section *s, const char *label, const char *fmt, ...)
{
	char indented[64];
	va_list ap;

	snprintf(indented, sizeof(indented), "%*s%s", INDENT, "", label);
	section_indented(s, indented, SECTION_LABEL);
	va_start(ap, fmt);
	if (!s->error)
		section_add(s, fmt, ap);
	va_end(ap);
}

void section_more(struct section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!s->error)
		section_add(s, fmt, ap);
	va_end(ap);
}

void section_below(struct section *s)
{
	s->below = true;
}

static void section_forget_rows(struct section *s)
{
	for (size_t i = 0; i < s->n_rows; i++)
		free(s->row[i].text);
	free(s->row);
	s->row = NULL;
	s->n_rows = 0;
}

static bool section_is_empty(const struct cell *c)
{
	return !c->text[0] || !strcmp(c->text, "-") || !strcmp(c->text, "n/a");
}

void section_hide_empty(struct section *s, size_t from, size_t to)
{
	for (size_t k = from; k < to; k++) {
		bool any = false;

		for (size_t i = 0; i < s->n_rows; i++)
			any |= !s->row[i].text && !section_is_empty(&s->row[i].cell[k]);
		s->column[k].off |= !any;
	}
}

static void section_unglue(char *text)
{
	while ((text = strchr(text, GLUE[0])))
		*text = ' ';
}

/* A head's line: 0 is what stands before its last blank, 1 the rest. */
static struct cell section_head(const char *head, unsigned int line)
{
	const char *blank = head ? strrchr(head, ' ') : NULL;
	struct cell c = { 0 };

	if (!head || (!line && !blank))
		return c;
	if (line)
		snprintf(c.text, sizeof(c.text), "%s", blank ? blank + 1 : head);
	else
		snprintf(c.text, sizeof(c.text), "%.*s", (int)(blank - head), head);
	section_unglue(c.text);
	return c;
}

static size_t section_column_width(const struct section *s, size_t k)
{
	size_t width = s->column[k].width, n;

	if (s->column[k].stretch)
		return STRETCH_MIN;
	for (unsigned int line = 0; line < 2; line++) {
		n = s->headless ? 0 : text_columns(section_head(s->column[k].head, line).text);
		width = n > width ? n : width;
	}
	for (size_t i = 0; i < s->n_rows; i++) {
		n = s->row[i].text ? 0 : text_columns(s->row[i].cell[k].text);
		width = n > width ? n : width;
	}
	return width;
}

/* Columns of the widest line. */
static size_t section_width(const struct section *s)
{
	size_t width = s->type->flush ? 0 : INDENT, n = 0;

	for (size_t k = 0; k < s->n_columns; k++) {
		if (s->column[k].off)
			continue;
		width += section_column_width(s, k) + (n++ ? s->gap : 0);
	}
	return width;
}

static void section_refill(struct section *s)
{
	if (!s->fill)
		return;
	section_forget_rows(s);
	s->fill(s);
}

/* Whether there is a column with this drop. */
static bool section_drop(struct section *s, unsigned int drop)
{
	bool any = false;

	for (size_t k = 0; k < s->n_columns; k++) {
		if (s->column[k].drop != drop)
			continue;
		any = true;
		s->n_dropped += !s->column[k].off;
		s->column[k].off = true;
	}
	return any;
}

/* Smaller gaps and, in their order, fewer columns until the table is at most this wide. */
static void section_squeeze(struct section *s)
{
	unsigned int most = 0;

	for (size_t k = 0; k < s->n_columns; k++)
		most = s->column[k].drop > most ? s->column[k].drop : most;
	if (!most || section_width(s) <= s->p->width)
		return;
	s->gap = 1;
	for (unsigned int drop = 1; drop <= most && section_width(s) > s->p->width; drop++) {
		if (!section_drop(s, drop) && s->fold)
			s->fold(s);
		if (s->fold)
			section_refill(s);
	}
	section_refill(s);
}

void section_fit(struct section *s)
{
	if (s->fitted)
		return;
	s->fitted = true;
	section_refill(s);
	if (!s->p->sink && !s->error)
		section_squeeze(s);
}

/* One of the longest is BAR columns long; a blank more than between columns stands before it. */
static void section_put_bar(const struct section *s, const struct cell *of, size_t k)
{
	uint64_t most = 1;

	for (size_t i = 0; i < s->n_rows; i++)
		most = s->row[i].cell[k].n > most ? s->row[i].cell[k].n : most;
	if (of->n)
		fprintf(s->p->out, "%*s", (int)s->gap + 1, "");
	put_rule(s->p->out, '#', (size_t)((of->n * BAR + most - 1) / most));
}

/*
 * The first column and those from..to-1. Blanks are only written when something follows them: no
 * line ends in one.
 */
static void section_put_cells(const struct section *s, const struct section_row *row,
			      const size_t *width, size_t from, size_t to)
{
	size_t pad = s->type->flush ? 0 : INDENT, n = 0;
	const struct cell *cell = row->cell;

	for (size_t k = 0; k < to; k = k < from ? from : k + 1) {
		size_t fill = width[k] - text_columns(cell[k].text);
		bool left = !k || s->column[k].left;

		if (s->column[k].off)
			continue;
		pad += (n++ ? s->gap : 0) + (left ? 0 : fill);
		if (s->column[k].stretch) {
			fprintf(s->p->out, "%*s", (int)pad, "");
			put_cut(s->p->out, row->name, width[k]);
			pad = fill = 0;
		} else if (s->column[k].bar) {
			section_put_bar(s, &cell[k - 1], k - 1);
		} else if (cell[k].text[0]) {
			fprintf(s->p->out, "%*s%s", (int)pad, "", cell[k].text);
			pad = 0;
		}
		pad += left ? fill : 0;
	}
	fputc('\n', s->p->out);
}

/* Wrapped; all lines are indented as the first is, all but it by two more. */
static void section_put_text(const struct paint *p, const char *text)
{
	size_t indent = strspn(text, " "), at = indent, len;

	fprintf(p->out, "%.*s", (int)indent, text);
	for (text += indent; *text; text += len) {
		const char *word = text + (at > indent);
		char cut[128];

		len = strcspn(word, " ") + (size_t)(word - text);
		snprintf(cut, sizeof(cut), "%.*s", (int)len, text);
		section_unglue(cut);
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

static void section_put_head(const struct section *s, const size_t *width, size_t from, size_t to)
{
	for (unsigned int line = 0; line < 2; line++) {
		struct section_row row = { 0 };
		bool any = false;

		for (size_t k = 0; k < to; k = k < from ? from : k + 1) {
			const char *head = s->column[k].head;

			row.cell[k] = section_head(head, line);
			if (s->column[k].stretch && line)
				snprintf(row.name, sizeof(row.name), "%s", head);
			any |= !s->column[k].off && row.cell[k].text[0];
		}
		if (any)
			section_put_cells(s, &row, width, from, to);
	}
}

bool section_is_absent(const struct section_row *row, size_t from, size_t to)
{
	for (size_t k = from; k < to; k++)
		if (row->cell[k].kind != CELL_ABSENT)
			return false;
	return to > from;
}

static void section_put_rows(const struct section *s, const size_t *width, size_t from, size_t to)
{
	if (!s->headless)
		section_put_head(s, width, from, to);
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct section_row *row = &s->row[i];

		if (!row->text && section_is_absent(row, from, to))
			continue;
		if (row->ink != INK_NONE)
			paint_ink(s->p, row->ink);
		if (row->text)
			section_put_text(s->p, row->text);
		else
			section_put_cells(s, row, width, from, to);
		if (row->ink != INK_NONE)
			paint_ink(s->p, INK_NONE);
		if (row->text)
			fputc('\n', s->p->out);
	}
}

/* How many columns from this one on stand beside the first one. */
static size_t section_beside(const struct section *s, const size_t *width, size_t from)
{
	size_t used = (s->type->flush ? 0 : INDENT) + width[0], n = 0;

	while (from + n < s->n_columns) {
		used += s->gap + width[from + n];
		if (n && used > s->p->width)
			break;
		n++;
	}
	return n;
}

static void section_put_table(const struct section *s)
{
	size_t width[SECTION_COLUMNS], n = s->n_columns - 1, all = section_width(s);

	for (size_t k = 0; k < s->n_columns; k++) {
		width[k] = section_column_width(s, k);
		if (s->column[k].stretch && s->p->width > all)
			width[k] += s->p->width - all;
	}
	for (size_t from = 1; from == 1 || from < s->n_columns; from += n) {
		n = s->type->blocks ? section_beside(s, width, from) : n;
		section_put_rows(s, width, from, from + n);
		n = n ? n : 1;
	}
	if (s->n_dropped && !s->type->silent)
		fprintf(s->p->out, "  (%zu more column%s in a wider terminal)\n", s->n_dropped,
			s->n_dropped == 1 ? "" : "s");
}

static void section_put_notes(const struct section *s, bool below)
{
	for (size_t i = 0; i < s->n_notes; i++) {
		const struct section_note *note = &s->note[i];

		if (note->below != below || !note->text || !*note->text)
			continue;
		if (note->ink != INK_NONE)
			paint_ink(s->p, note->ink);
		if (note->indent)
			put_indented(s->p->out, note->label, note->text, note->indent, s->p->width);
		else
			fprintf(s->p->out, "%s%s\n", note->label, note->text);
		if (note->ink != INK_NONE)
			paint_ink(s->p, INK_NONE);
	}
}

static void section_print(const struct section *s)
{
	if (s->type->begin == SECTION_HEADING)
		paint_heading(s->p, s->title, s->rest);
	else if (s->type->begin == SECTION_PLAIN)
		fprintf(s->p->out, "\n%s%s\n", s->title, s->rest);
	else if (s->type->begin == SECTION_BLANK_LINE)
		fputc('\n', s->p->out);
	section_put_notes(s, false);
	if (s->n_rows)
		section_put_table(s);
	section_put_notes(s, true);
}

int section_close(struct section *s)
{
	section_fit(s);
	if (!s->error && (s->n_rows || s->n_notes || !s->n_columns)) {
		if (s->p->sink)
			s->p->sink->take(s->p->sink, s);
		else
			section_print(s);
	}
	section_forget_rows(s);
	for (size_t i = 0; i < s->n_notes; i++) {
		free(s->note[i].label);
		free(s->note[i].text);
	}
	free(s->note);
	return s->error;
}
