/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of -v with their values; docs/data-model.md describes the members. */
#include "report/json/doc.h"

#include "base/file.h"
#include "report/report.h"
#include "report/section.h"
#include "run/run.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_SCHEMA 1

struct tables {
	struct section_sink sink;
	struct json_doc d;
	json_t *sections;
	json_t *lines; /* above the next section */
};

/* As it would be read: on one line, without blanks at its ends. */
static json_t *tables_text(const char *text)
{
	char *clean = malloc(strlen(text) + 1), *to = clean;
	json_t *made;

	if (!clean)
		return NULL;
	for (; *text; text++) {
		char c = *text == '\n' || *text == GLUE[0] ? ' ' : *text;

		if (c != ' ' || (to > clean && to[-1] != ' '))
			*to++ = c;
	}
	if (to > clean && to[-1] == ' ')
		to--;
	*to = '\0';
	made = json_text(clean);
	free(clean);
	return made;
}

/* A head: a word that was cut to stand in two lines is whole again. */
static json_t *tables_head(const char *head)
{
	char whole[64], *cut;

	snprintf(whole, sizeof(whole), "%s", head ? head : "");
	while ((cut = strstr(whole, "- ")))
		memmove(cut, cut + 2, strlen(cut + 2) + 1);
	return tables_text(whole);
}

/* The column's name, or one made of its head. */
static json_t *tables_name(const struct section_column *c)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", c->name ? c->name : c->head ? c->head : "");
	for (char *at = name; *at && !c->name; at++)
		*at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '_';
	return json_string(name);
}

static bool tables_is_number(const struct cell *c)
{
	return c->kind == CELL_COUNT || c->kind == CELL_NUMBER;
}

/* That of the column, else of its first number that has one; NULL: it has no numbers. */
static const char *tables_unit(const struct section *s, size_t k)
{
	const char *unit = s->column[k].unit;

	for (size_t i = 0; i < s->n_rows && !s->column[k].unit; i++) {
		const struct cell *c = &s->row[i].cell[k];

		if (s->row[i].text || !tables_is_number(c))
			continue;
		if (c->unit)
			return c->unit;
		unit = "1";
	}
	return unit;
}

/* A number has a unit of its own where that of the column is another one. */
static json_t *tables_cell(struct json_doc *d, const struct section *s,
			   const struct section_row *row, size_t k, const char *unit)
{
	const char *text = s->column[k].stretch ? row->name : row->cell[k].text;
	const char *own = row->cell[k].unit ? row->cell[k].unit : s->column[k].unit;
	const struct cell *cell = &row->cell[k];
	json_t *o = json_object(), *value = NULL;

	if (cell->kind == CELL_TEXT)
		value = tables_text(text);
	else if (cell->kind == CELL_COUNT)
		value = json_number(cell->n);
	else if (cell->kind == CELL_NUMBER && isfinite(cell->v))
		value = json_real(cell->v);
	else
		value = json_null();
	if (!json_is_null(value) && tables_is_number(cell) && (own || cell->n || cell->v != 0) &&
	    strcmp(own ? own : "1", unit))
		json_put(d, o, "unit", json_text(own ? own : "1"));
	json_put(d, o, "text", tables_text(text));
	json_put(d, o, "value", value);
	return o;
}

static json_t *tables_row(struct json_doc *d, const struct section *s,
			  const struct section_row *row)
{
	static const char *const inks[] = {
		[INK_BOLD] = "bold", [INK_RED] = "red", [INK_YELLOW] = "yellow"
	};
	json_t *o = json_object(), *cells;

	if (row->ink != INK_NONE)
		json_put(d, o, "ink", json_string(inks[row->ink]));
	if (row->text) {
		json_put(d, o, "text", tables_text(row->text));
		return o;
	}
	cells = json_array();
	for (size_t k = 0; k < s->n_columns; k++)
		if (!s->column[k].off)
			json_add(d, cells, tables_cell(d, s, row, k, tables_unit(s, k)));
	json_put(d, o, "cells", cells);
	return o;
}

static json_t *tables_columns(struct json_doc *d, const struct section *s)
{
	json_t *a = json_array();

	for (size_t k = 0; k < s->n_columns; k++) {
		json_t *o;

		if (s->column[k].off)
			continue;
		o = json_object();
		json_put(d, o, "name", tables_name(&s->column[k]));
		json_put(d, o, "head", tables_head(s->column[k].head));
		json_put(d, o, "unit", json_text(tables_unit(s, k)));
		json_add(d, a, o);
	}
	return a;
}

static void tables_note(struct json_doc *d, json_t *to, const char *label, const char *text,
			bool below)
{
	json_t *o;

	if (!text || !*text)
		return;
	o = json_object();
	json_put(d, o, "label", tables_text(label));
	json_put(d, o, "text", tables_text(text));
	json_put(d, o, "below", json_boolean(below));
	json_add(d, to, o);
}

/* The title, and what the heading says besides: that begins after two blanks. */
static void tables_put_title(struct json_doc *d, json_t *o, const struct section *s)
{
	const char *about = strstr(s->rest, "  ");
	char title[512];

	snprintf(title, sizeof(title), "%s%.*s", s->title,
		 (int)(about ? (size_t)(about - s->rest) : strlen(s->rest)), s->rest);
	json_put(d, o, "title", tables_text(title));
	json_put(d, o, "about", tables_text(about ? about : ""));
}

static void tables_take(struct section_sink *sink, const struct section *s)
{
	struct tables *t = (struct tables *)sink;
	json_t *o = json_object(), *rows = json_array(), *notes = t->lines;
	struct json_doc *d = &t->d;

	t->lines = json_array();
	json_put(d, o, "key", json_text(s->type->key));
	tables_put_title(d, o, s);
	json_put(d, o, "columns", tables_columns(d, s));
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct section_row *row = &s->row[i];

		if (row->text ? *row->text : !section_is_absent(row, 1, s->n_columns))
			json_add(d, rows, tables_row(d, s, row));
	}
	json_put(d, o, "rows", rows);
	for (size_t i = 0; i < s->n_notes; i++)
		tables_note(d, notes, s->note[i].label, s->note[i].text, s->note[i].below);
	json_put(d, o, "notes", notes);
	json_add(d, t->sections, o);
}

/* Above the first section, else below the last one. */
static void tables_line(struct section_sink *sink, const char *text)
{
	struct tables *t = (struct tables *)sink;
	size_t n = json_array_size(t->sections);
	json_t *last = n ? json_array_get(t->sections, n - 1) : NULL;

	tables_note(&t->d, last ? json_object_get(last, "notes") : t->lines, "", text, last);
}

int report_tables_in(const struct run *r, int folder, const char *path, struct err *e)
{
	struct tables t = { .sink = { tables_take, tables_line }, .d = { .run = r } };
	json_t *o = json_object();
	char *text;
	size_t len;
	int ret;

	t.sections = json_array();
	t.lines = json_array();
	ret = report_sections(r, &t.sink);
	json_put(&t.d, o, "schema", json_integer(TABLES_SCHEMA));
	json_put(&t.d, o, "tool", json_text("afpscope"));
	json_put(&t.d, o, "version", json_text(AFPSCOPE_VERSION));
	json_put(&t.d, o, "run", json_text(r->id));
	json_put(&t.d, o, "sections", t.sections);
	json_decref(t.lines);
	t.d.failed |= ret != 0;
	text = json_memory(&t.d, o, &len);
	ret = text ? file_replace(folder, "tables.json", text, len) : -ENOMEM;
	free(text);
	return ret ? err_set(e, ret, "cannot write %s/tables.json: %s", path, strerror(-ret)) : 0;
}
