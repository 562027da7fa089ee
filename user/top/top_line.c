/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of top: texts of a known number of columns, and bars. */
#include "top/top_line.h"

#include "base/text.h"
#include "report/cell.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "…"

/* clang-format off */
const char top_letters[TOP_PARTS] = {
	[ACCOUNT_USER] = 'o',  [ACCOUNT_CALLS] = 'c', [ACCOUNT_RUNQ] = 'q',  [ACCOUNT_DISK] = 'd',
	[ACCOUNT_CNID] = 'i',  [ACCOUNT_LOCK] = 'k',  [ACCOUNT_LOG] = 'g',   [ACCOUNT_NET] = 'n',
	[ACCOUNT_OTHER] = 'z', [ACCOUNT_STOPPED] = 's', [ACCOUNT_N_COLUMNS] = '?',
};
/* clang-format on */

void line_clear(struct top_line *l)
{
	*l->text = '\0';
	l->len = l->columns = l->name_len = l->name_columns = 0;
	l->bar_at = l->bar_len = l->n_marks = l->alarm_at = l->alarm_len = 0;
}

/* A clean text. */
static void append(struct top_line *l, const char *text)
{
	size_t len = strlen(text);

	if (l->len + len >= sizeof(l->text))
		return;
	memcpy(l->text + l->len, text, len + 1);
	l->len += len;
	l->columns += text_columns(text);
}

/* As much of text as is shown at all; out has as much room as a line. */
static void top_line_clean(char out[TOP_LINE_MAX], const char *text)
{
	snprintf(out, TOP_LINE_MAX, "%s", text);
	text_clean(out);
	for (char *c = out; *c; c++)
		if (*c == '\n')
			*c = '?';
}

void line_add(struct top_line *l, const char *text)
{
	char copy[TOP_LINE_MAX];

	top_line_clean(copy, text);
	append(l, copy);
}

void line_printf(struct top_line *l, const char *fmt, ...)
{
	char text[TOP_LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	line_add(l, text);
}

/* Bytes of a clean text in so many columns. */
static size_t bytes_in(const char *text, size_t columns)
{
	size_t len = 0;

	while (text[len] && columns--)
		for (len++; ((unsigned char)text[len] & 0xc0) == 0x80;)
			len++;
	return len;
}

static void cut(char *text, size_t columns)
{
	if (text_columns(text) <= columns)
		return;
	text[bytes_in(text, columns ? columns - 1 : 0)] = '\0';
	if (columns)
		strcat(text, ELLIPSIS);
}

void line_pad(struct top_line *l, size_t columns)
{
	while (l->columns < columns && l->len + 1 < sizeof(l->text)) {
		l->text[l->len++] = ' ';
		l->text[l->len] = '\0';
		l->columns++;
	}
}

void line_cell(struct top_line *l, const char *text, size_t columns, bool left)
{
	char copy[TOP_LINE_MAX + sizeof(ELLIPSIS)];
	size_t end = l->columns + columns, have;

	top_line_clean(copy, text);
	cut(copy, columns);
	have = text_columns(copy);
	if (!left)
		line_pad(l, l->columns + columns - have);
	append(l, copy);
	line_pad(l, end);
}

uint64_t line_parts(uint64_t part[TOP_PARTS], const struct live_sum *s, bool in_steps)
{
	uint64_t all = 0, whole = in_steps ? s->service_ns : s->ns;

	for (size_t c = 0; c < ACCOUNT_N_COLUMNS; c++)
		all += part[c] = s->time_ns[c];
	part[ACCOUNT_N_COLUMNS] = whole > all ? whole - all : 0;
	return all + part[ACCOUNT_N_COLUMNS];
}

void line_bar(struct top_line *l, const struct live_sum *s, size_t columns, bool in_steps)
{
	uint64_t part[TOP_PARTS], all = line_parts(part, s, in_steps), until = part[0];
	size_t i = 0;

	if (s->requests && s->handed == s->requests) {
		line_cell(l, "n/a", columns, true);
		return;
	}
	l->bar_at = l->len;
	for (size_t n = 0; n < columns && l->len + 1 < sizeof(l->text); n++) {
		double middle = ((double)n + 0.5) / (double)columns * (double)all;

		while (i < ACCOUNT_N_COLUMNS && (double)until <= middle)
			until += part[++i];
		l->text[l->len++] = all ? top_letters[i] : '.';
		l->text[l->len] = '\0';
		l->columns++;
	}
	l->bar_len = l->len - l->bar_at;
}

static size_t top_line_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void line_trim(struct top_line *l, size_t columns)
{
	if (l->columns <= columns)
		return;
	l->len = bytes_in(l->text, columns);
	l->text[l->len] = '\0';
	l->columns = columns;
	l->name_len = top_line_least(l->name_len, l->len);
	l->name_columns = top_line_least(l->name_columns, columns);
	l->bar_at = top_line_least(l->bar_at, l->len);
	l->bar_len = top_line_least(l->bar_len, l->len - l->bar_at);
	l->alarm_at = top_line_least(l->alarm_at, l->len);
	l->alarm_len = top_line_least(l->alarm_len, l->len - l->alarm_at);
}
