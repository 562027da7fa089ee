/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_TOP_LINE_H
#define TOP_TOP_LINE_H

/* How a line of top is put together, piece by piece. */

#include "top/top_rows.h"

void line_clear(struct top_line *l);

/* Cleaned. What does not fit into the line's memory is left out. */
void line_add(struct top_line *l, const char *text);
void line_printf(struct top_line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Cleaned, cut to so many columns (then it ends in "…") and padded. */
void line_cell(struct top_line *l, const char *text, size_t columns, bool left);

/* Blanks until it has so many columns. */
void line_pad(struct top_line *l, size_t columns);

/*
 * The parts of the time of s, the last the one that is in none. Returns their sum. in_steps: they
 * are counted as they pass, of what is in service; else when a request ends, of the answered.
 */
uint64_t line_parts(uint64_t part[TOP_PARTS], const struct live_sum *s, bool in_steps);

/* Their letters, each a share of so many columns; "n/a" where the parts of no request are known. */
void line_bar(struct top_line *l, const struct live_sum *s, size_t columns, bool in_steps);

/* Cuts what is beyond so many columns. */
void line_trim(struct top_line *l, size_t columns);

#endif
