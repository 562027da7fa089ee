/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_CELL_H
#define REPORT_CELL_H

/* Numbers as short texts, and texts in columns of a terminal (UTF-8, one column a character). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a cell holds besides its text. */
enum cell_kind {
	CELL_TEXT,
	CELL_NONE, /* a value that is not known, or of which there is none */
	CELL_COUNT,
	CELL_NUMBER,
	CELL_ABSENT, /* of a row that is left out where all its cells are like this */
};

struct cell {
	char text[40];
	enum cell_kind kind;
	uint64_t n;       /* of a count */
	double v;         /* of a number */
	const char *unit; /* of both; NULL: that of the column */
};

struct cell cell_na(void);
struct cell cell_blank(void);
/* "-": no value; none of them: 0; little of it: "<.01". */
struct cell cell_dash(void);
struct cell cell_zero(void);
struct cell cell_little(double v);
/* The number of a test, in two columns at least. */
struct cell cell_test(unsigned int number);
/* With a fixed number of decimals: "8.30". */
struct cell cell_fixed(double v, int decimals);
/* Whole, thousands apart: "81,803". */
struct cell cell_count(uint64_t v);
/* At most six columns: "8.30", "830.1", "83013", "8.30M". */
struct cell cell_short(double v);
/* Three digits, or as many as stand before the point: "8.30", "83.0", "8301". */
struct cell cell_rate(double v);
/* Three digits and a unit: "830ns", "8.30µs", "83.0ms", "8.30s". */
struct cell cell_time(double ns);
/* A value in the unit of a metric (run/run.h): "83.0ms", "8.30MB", "8.30", "8.30furlongs". */
struct cell cell_measured(double v, const char *unit);
/*
 * Two digits, for what is known to a few per cent: "8.3µs", "83ms", "830ms". Where that rounds up
 * beyond max_ns, the true maximum (0: not known): max_ns to three digits.
 */
struct cell cell_about(double ns, double max_ns);

/*
 * Text from elsewhere: cut to n columns, of a path (it begins with '/') the end is kept; cleaned as
 * base/text.h says, like all that the functions below print.
 */
struct cell cell_text(const char *text, size_t n);

/* A name of our own: cut only where a cell ends. */
struct cell cell_name(const char *text);

size_t text_columns(const char *text);

/* Pads text to width columns, right-aligned; left-aligned when width is negative. */
void put_text(FILE *out, const char *text, int width);
/* Left-aligned in width columns; what does not fit is cut at a word and ends in "…". */
void put_cut(FILE *out, const char *text, size_t width);
/* The same character n times. */
void put_rule(FILE *out, char c, size_t n);
/* In a text to be wrapped: a blank where no line ends. */
#define GLUE "\x1f"
/* A text within which no line may end, cut to fit: out. */
const char *text_glued(char *out, size_t len, const char *text);
/* "label  text", the text wrapped at width and indented. */
void put_wrapped(FILE *out, const char *label, const char *text, size_t width);
/*
 * The same, but the caller gives the indent: the column in which the text begins. Either has
 * commands of this program as they are to be typed here (base/typed.h).
 */
void put_indented(FILE *out, const char *label, const char *text, size_t indent, size_t width);

/* Microseconds with one decimal; "-" for nothing at all. */
struct cell cell_us(double ns);

#endif
