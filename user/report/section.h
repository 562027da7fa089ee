/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_SECTION_H
#define REPORT_SECTION_H

/*
 * A section of a report: a heading, lines of text, and a table whose columns are as wide as what is
 * in them. It is declared once, and made once for each output: as text for a terminal, and with its
 * values for tables.json (report/json/tables.c), from which the HTML report shows it.
 *
 *	section_open(&s, p, &sessions_type);
 *	section_note(&s, "Spent", "%s in all", ...);
 *	cell = section_row(&s)->cell;
 *	cell[COL_USER] = cell_text(user, 16);
 *	return section_close(&s);
 *
 * In a head, in the format of a line, and in what follows the heading, "{server}" and the other
 *keys of run/kind.h stand for the words of the run's kind; not in what is formatted, such as file
 *names.
 *
 * Nothing in between fails: section_close says whether there was memory.
 */

#include "report/cell.h"
#include "report/paint.h"

#define SECTION_COLUMNS 64
#define SECTION_LABEL   12 /* columns of a note's label */

struct section_column {
	const char *head;   /* NULL: none; in two lines when it has a blank (GLUE does not count) */
	const char *name;   /* in tables.json; NULL: the head, with _ for what is between words */
	const char *unit;   /* of its numbers, where their cells do not say; NULL: "1" */
	unsigned int drop;  /* in a narrow terminal: which goes first, from 1 on; 0: stays */
	unsigned int width; /* at least */
	bool left;          /* aligned; the first column always is */
	bool stretch;       /* the rows' names, cut so that the table fills the width */
	bool bar;           /* how many there are in the column before it, as a bar */
	bool unprinted;     /* only in tables.json */
	bool off;           /* not shown */
};

/* How a section begins as text; SECTION_PLAIN: a heading without bold ink. */
enum section_begin { SECTION_HEADING, SECTION_PLAIN, SECTION_BLANK_LINE, SECTION_AT_ONCE };

struct section_type {
	const char *key;   /* in tables.json */
	const char *title; /* where it is printed: in bold, "rest" after it in plain ink */
	const char *rest;  /* with its line breaks; up to two blanks it belongs to the title */
	enum section_begin begin;
	const struct section_column *column;
	size_t n_columns;
	unsigned int gap; /* blanks between columns; 0: 2, or 1 where the terminal is narrow */
	bool flush;       /* without blanks before its lines */
	bool silent;      /* of columns that found no room nothing is said */
	bool blocks;      /* columns that find no room stand below, with the first one again */
};

/* The columns of a type. */
#define SECTION_OF(columns) .column = (columns), .n_columns = sizeof(columns) / sizeof((columns)[0])

struct section_row {
	char *text; /* owned; in place of cells, wrapped */
	enum ink ink;
	char name[128]; /* what the column that stretches shows in place of its cell */
	struct cell cell[SECTION_COLUMNS];
};

struct section_note {
	char *label, *text; /* owned */
	enum ink ink;
	size_t indent; /* the column in which the text begins; 0: a line as it is */
	bool below;    /* the table */
};

struct section {
	const struct paint *p;
	const struct section_type *type;
	char title[96];
	const char *rest;
	/* rest, and heads in which there are such, with the words of the kind of server */
	char named[512], heads[4 * RUN_WORD_MAX];
	size_t n_columns, n_rows, n_notes;
	struct section_column column[SECTION_COLUMNS];
	struct section_row *row;
	struct section_note *note;
	unsigned int gap;
	size_t n_dropped; /* columns that found no room */
	bool below;       /* notes from now on are below the table */
	bool headless;    /* the columns' heads are not printed */
	bool fitted;
	int error;                /* 0 or -ENOMEM */
	struct section_row spare; /* what section_row returns without memory */
	/*
	 * What makes the rows, where they depend on which columns are shown: it is called for all
	 * of them, and again when some found no room. fold: called in place of the columns with a
	 * drop that no column has, may turn columns off.
	 */
	void (*fill)(struct section *s);
	void (*fold)(struct section *s);
	void *of; /* theirs */
};

/* Takes finished sections in place of a terminal. */
struct section_sink {
	void (*take)(struct section_sink *to, const struct section *s);
	/* A line of text above or below them. */
	void (*line)(struct section_sink *to, const char *text);
};

void section_open(struct section *s, const struct paint *p, const struct section_type *type);

/* Another title than that of its type; cut to fit. */
void section_title(struct section *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A new row, all cells empty; never NULL, valid until the next is made. */
struct section_row *section_row(struct section *s);

/* A line of text between rows. */
void section_text(struct section *s, enum ink ink, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A line "label  text", wrapped, above the table; below it once section_below was called. It is not
 * printed if its text is empty. section_more adds to the last one.
 */
void section_note(struct section *s, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void section_more(struct section *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, but the caller gives the column in which the text begins; 0: a line as it is. */
void section_indented(struct section *s, const char *label, size_t indent);
/* The ink of the last line. */
void section_ink(struct section *s, enum ink ink);
void section_below(struct section *s);

/* Turns columns from..to-1 off that hold only empty cells, n/a or "-". */
void section_hide_empty(struct section *s, size_t from, size_t to);

/* Prints it, or hands it over, and frees it. A table without rows and notes is left out. 0 or
 * -ENOMEM. */
int section_close(struct section *s);

/* Whether a row is left out where only columns from..to-1 are shown beside the first one. */
bool section_is_absent(const struct section_row *row, size_t from, size_t to);

/* Leaves out what finds no room: section_close does it, if it was not done before. */
void section_fit(struct section *s);

#endif
