/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formatting of single cells and lines. What they hold is decided elsewhere. */
#include "report/cell.h"

#include "base/text.h"
#include "base/typed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 12

struct cell cell_na(void)
{
	return (struct cell) { .text = "n/a", .kind = CELL_NONE };
}

struct cell cell_blank(void)
{
	return (struct cell) { .kind = CELL_NONE };
}

struct cell cell_dash(void)
{
	return (struct cell) { .text = "-", .kind = CELL_NONE };
}

struct cell cell_zero(void)
{
	return (struct cell) { .text = "-", .kind = CELL_COUNT };
}

struct cell cell_little(double v)
{
	return (struct cell) { .text = "<.01", .kind = CELL_NUMBER, .v = v };
}

struct cell cell_test(unsigned int number)
{
	struct cell c = { .kind = CELL_COUNT, .n = number };

	snprintf(c.text, sizeof(c.text), "%2u", number);
	return c;
}

struct cell cell_fixed(double v, int decimals)
{
	struct cell c = { .kind = CELL_NUMBER, .v = v };

	snprintf(c.text, sizeof(c.text), "%.*f", decimals, v);
	return c;
}

struct cell cell_count(uint64_t v)
{
	char digits[24];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	struct cell c = { .kind = CELL_COUNT, .n = v };
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

struct cell cell_rate(double v)
{
	return cell_fixed(v, decimals_of(v));
}

struct cell cell_short(double v)
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 999999.5e3, 1e9, "G" }, { 99999.5, 1e6, "M" } };
	struct cell c = { .kind = CELL_NUMBER, .v = v };

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

/* To three digits, or to two: these are *rounded_ns. */
static struct cell time_in(double ns, double *rounded_ns)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } };
	/* What rounds to 1000 is shown as 1 of the next unit. */
	const bool two = rounded_ns;
	const double least = two ? 0.995 : 0.9995;
	struct cell c = { .kind = CELL_NUMBER, .v = ns, .unit = "ns" };
	int decimals;
	size_t i = 0;
	double v;

	while (i < 3 && ns < least * units[i].unit)
		i++;
	v = ns / units[i].unit;
	if (two && v >= 99.5)
		v = round(v / 10) * 10;
	decimals = two ? v < 9.95 : decimals_of(v);
	if (two && decimals && i < 3)
		v = round(v * 10) / 10;
	if (two)
		*rounded_ns = v * units[i].unit;
	snprintf(c.text, sizeof(c.text), "%.*f%s", i < 3 ? decimals : 0, v, units[i].name);
	return c;
}

struct cell cell_time(double ns)
{
	return time_in(ns, NULL);
}

struct cell cell_about(double ns, double max_ns)
{
	double rounded_ns;
	struct cell c = time_in(ns, &rounded_ns);

	return max_ns > 0 && rounded_ns > max_ns ? cell_time(max_ns) : c;
}

struct cell cell_measured(double v, const char *unit)
{
	struct cell c = cell_short(v);
	size_t len = strlen(c.text);

	if (!strcmp(unit, "ns"))
		return cell_time(v);
	c.unit = unit;
	if (strcmp(unit, "1") != 0)
		snprintf(c.text + len, sizeof(c.text) - len, "%s", unit);
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
	struct cell c = { 0 };
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
	memcpy(to, text, len);
	text_clean(to);
	if (cut && !path)
		strcat(to, "…");
	return c;
}

struct cell cell_name(const char *text)
{
	struct cell c = { 0 };

	snprintf(c.text, sizeof(c.text), "%s", text);
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

	fprintf(out, "%*s", width >= 0 ? pad : 0, "");
	text_put(out, text, strlen(text));
	fprintf(out, "%*s", width < 0 ? pad : 0, "");
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

const char *text_glued(char *out, size_t len, const char *text)
{
	snprintf(out, len, "%s", text);
	for (char *at = out; (at = strchr(at, ' '));)
		*at = GLUE[0];
	return out;
}

static void put_clean(FILE *out, const char *text, size_t len)
{
	while (len) {
		size_t n = 0;

		while (n < len && text[n] != GLUE[0])
			n++;
		text_put(out, text, n);
		if (n < len) {
			fputc(' ', out);
			n++;
		}
		text += n;
		len -= n;
	}
}

/* Wraps the text; at: the column in which the first line of it begins. */
static void put_broken(FILE *out, const char *text, size_t at, size_t indent, size_t width)
{
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

void put_indented(FILE *out, const char *label, const char *text, size_t indent, size_t width)
{
	char *typed = typed_text(text);
	size_t at = indent;

	put_text(out, label, -(int)indent);
	if (text_columns(label) >= indent) {
		fputc(' ', out);
		at = text_columns(label) + 1;
	}
	put_broken(out, typed ? typed : text, at, indent, width);
	free(typed);
}

void put_wrapped(FILE *out, const char *label, const char *text, size_t width)
{
	put_indented(out, label, text, LABEL_WIDTH, width);
}

struct cell cell_us(double ns)
{
	struct cell c = ns > 0 ? cell_fixed(ns / 1e3, ns < 99999950 ? 1 : 0) : cell_zero();

	c.unit = "µs";
	return c;
}
