/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formatting of single cells and lines. Not for deciding what they hold. */
#include "report/cell.h"

#include <math.h>
#include <string.h>

#define LABEL_WIDTH 12

struct cell cell_na(void)
{
	return (struct cell) { "n/a" };
}

struct cell cell_blank(void)
{
	return (struct cell) { "" };
}

struct cell cell_fixed(double v, int decimals)
{
	struct cell c;

	snprintf(c.text, sizeof(c.text), "%.*f", decimals, v);
	return c;
}

struct cell cell_count(uint64_t v)
{
	char digits[24];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	struct cell c = { 0 };
	char *to = c.text;

	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	return c;
}

/* Three digits, or as many as stand before the point. */
static int decimals_of(double v)
{
	v = fabs(v);
	if (v < 9.995)
		return 2;
	return v < 99.95 ? 1 : 0;
}

struct cell cell_short(double v)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 999999.5e3, 1e9, "G" }, { 99999.5, 1e6, "M" } };
	struct cell c;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double scaled = v / units[i].unit;

		if (fabs(v) < units[i].from)
			continue;
		snprintf(c.text, sizeof(c.text), "%.*f%s", decimals_of(scaled), scaled,
			 units[i].name);
		return c;
	}
	return cell_fixed(v, fabs(v) < 99.995 ? 2 : fabs(v) < 999.95 ? 1 : 0);
}

struct cell cell_time(double ns)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 999.5e6, 1e9, "s" }, { 999.5e3, 1e6, "ms" }, { 999.5, 1e3, "µs" } };
	struct cell c;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double v = ns / units[i].unit;

		if (ns < units[i].from)
			continue;
		snprintf(c.text, sizeof(c.text), "%.*f%s", decimals_of(v), v, units[i].name);
		return c;
	}
	snprintf(c.text, sizeof(c.text), "%.0fns", ns);
	return c;
}

/* Bytes of text that fill at most n columns. */
static size_t bytes_of(const char *text, size_t n)
{
	size_t len = 0;

	while (text[len] && (n || ((unsigned char)text[len] & 0xc0) == 0x80)) {
		n -= ((unsigned char)text[len] & 0xc0) != 0x80;
		len++;
	}
	return len;
}

static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

struct cell cell_text(const char *text, size_t n)
{
	size_t columns = text_columns(text), len;
	struct cell c = { "" };
	const size_t room = sizeof(c.text) - sizeof("…");
	bool cut = columns > n || strlen(text) > room, path = cut && *text == '/';
	char *to = c.text;

	if (path) {
		text += bytes_of(text, columns > n - 1 ? columns - (n - 1) : 0);
		while (strlen(text) > room || is_inside(*text))
			text++;
		to = stpcpy(to, "…");
	}
	len = bytes_of(text, cut ? n - 1 : n);
	while (len && (len > room || is_inside(text[len])))
		len--;
	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	if (cut && !path)
		strcpy(to + len, "…");
	return c;
}

size_t text_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void put_text(FILE *out, const char *text, int width)
{
	size_t want = (size_t)(width < 0 ? -width : width), have = text_columns(text);
	int pad = have < want ? (int)(want - have) : 0;

	if (width >= 0)
		fprintf(out, "%*s%s", pad, "", text);
	else
		fprintf(out, "%s%*s", text, pad, "");
}

void put_cut(FILE *out, const char *text, size_t width)
{
	size_t len;
	char cut[256];

	if (text_columns(text) <= width || !width) {
		put_text(out, text, -(int)width);
		return;
	}
	len = bytes_of(text, width - 1);
	if (len >= sizeof(cut) - sizeof("…"))
		len = bytes_of(text, (sizeof(cut) - sizeof("…")) / 4);
	for (size_t at = len; text[len] != ' ' && at > len / 2; at--) {
		if (text[at] == ' ')
			len = at;
	}
	snprintf(cut, sizeof(cut), "%.*s…", (int)len, text);
	put_text(out, cut, -(int)width);
}

void put_rule(FILE *out, char c, size_t n)
{
	while (n--)
		fputc(c, out);
}

static void put_clean(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == GLUE[0])
			c = ' ';
		fputc(c < ' ' || c == 0x7f ? '?' : c, out);
	}
}

void put_indented(FILE *out, const char *label, const char *text, size_t indent, size_t width)
{
	size_t at = indent;

	put_text(out, label, -(int)indent);
	if (text_columns(label) >= indent) {
		fputc(' ', out);
		at = text_columns(label) + 1;
	}
	for (bool first = true; *text; first = false) {
		size_t len = strcspn(text, " "), n = 0;

		for (size_t i = 0; i < len; i++)
			n += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (!first && at + 1 + n > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (!first) {
			fputc(' ', out);
			at++;
		}
		put_clean(out, text, len);
		at += n;
		text += len;
		text += *text == ' ';
	}
	fputc('\n', out);
}

void put_wrapped(FILE *out, const char *label, const char *text, size_t width)
{
	put_indented(out, label, text, LABEL_WIDTH, width);
}
