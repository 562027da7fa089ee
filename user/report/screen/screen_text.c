/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts and numbers of the first screen. */
#include "report/screen/screen_text.h"

#include "report/section.h"

#include <string.h>

#define INDENT 2 /* of continuation lines */
#define MORE   " ..."

void screen_add(struct screen_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->text + t->len, sizeof(t->text) - t->len, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
	if (t->len >= sizeof(t->text))
		t->len = sizeof(t->text) - 1;
}

static struct cell plain_unit(struct cell c)
{
	char *micro = strstr(c.text, "µ");

	if (micro) {
		*micro = 'u';
		memmove(micro + 1, micro + strlen("µ"), strlen(micro + strlen("µ")) + 1);
	}
	return c;
}

struct cell screen_time(double ns)
{
	return plain_unit(cell_time(ns));
}

struct cell screen_about(double ns, double max_ns)
{
	return ns > 0 ? plain_unit(cell_about(ns, max_ns)) : cell_na();
}

struct cell screen_percent(double part, double whole)
{
	struct cell c = cell_fixed(whole > 0 ? 100 * part / whole : 0, 0);

	strcat(c.text, "%");
	return c;
}

/* How much of a text fits, up to a blank. */
static size_t screen_text_fitting(const char *text, size_t columns)
{
	size_t len = 0, blank = 0;

	for (size_t n = 0; text[len]; len++) {
		n += ((unsigned char)text[len] & 0xc0) != 0x80;
		if (n > columns)
			return blank ? blank : len;
		if (text[len] == ' ')
			blank = len;
	}
	return len;
}

void screen_put(const struct paint *p, enum ink ink, const char *text, unsigned int lines)
{
	size_t label = strcspn(text, " "), len, columns;
	struct screen_text t = { 0 };
	char first[64];

	if (p->sink) {
		p->sink->line(p->sink, text);
		return;
	}
	/* A word that does not fit leaves some of its line empty. */
	columns = lines * (p->width - INDENT) - (lines - 1) * 12 - strlen(MORE);
	len = screen_text_fitting(text, columns);
	snprintf(first, sizeof(first), "%.*s", (int)label, text);
	text += label + (text[label] == ' ');
	len -= len > label ? label + 1 : len;
	screen_add(&t, "%.*s%s", (int)len, text, text[len] ? MORE : "");
	if (ink != INK_NONE)
		paint_ink(p, ink);
	put_indented(p->out, first, t.text, INDENT, p->width);
	if (ink != INK_NONE)
		paint_ink(p, INK_NONE);
}
