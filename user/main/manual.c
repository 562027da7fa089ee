/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options in the manual pages: the tables that --help prints, as troff. A template is copied,
 * and its line "@OPTIONS COMMAND@" is replaced. In the texts of a table, options and words between
 * `` become bold, the option's argument italic; a newline begins a paragraph.
 */
#include "app/cmd.h"
#include "drive/rx_serve.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 4096

/* The length of the option that begins here: -n, --clients; 0: none does. */
static size_t manual_option_len(const char *text, char before)
{
	size_t n = strspn(text, "-");

	if (!n || n > 2 || isalnum((unsigned char)before) || before == '-' || before == '/')
		return 0;
	if (n == 1)
		return isalnum((unsigned char)text[1]) && !isalnum((unsigned char)text[2]) ? 2 : 0;
	while (islower((unsigned char)text[n]) || (text[n] == '-' && n > 2))
		n++;
	return n > 2 ? n : 0;
}

/* The length of the word in capitals that begins here, if it is one of arg ("NAME|FILE"); or 0. */
static size_t manual_argument_len(const char *text, char before, const char *arg)
{
	static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = strspn(text, capitals), at;

	if (!arg || !n || isalnum((unsigned char)before) || isalnum((unsigned char)text[n]))
		return 0;
	for (; *arg; arg += at + strcspn(arg + at, capitals)) {
		at = strspn(arg, capitals);
		if (at == n && !strncmp(arg, text, n))
			return n;
	}
	return 0;
}

/* A letter of plain text; literal: of what is typed. */
static void manual_put_letter(FILE *out, char c, bool literal)
{
	if (c == '\\')
		fputs("\\e", out);
	else if (c == '~')
		fputs("\\(ti", out);
	else if (c == '^')
		fputs("\\(ha", out);
	else if (c == '\'' && literal)
		fputs("\\(aq", out);
	else if (c == '-' && literal)
		fputs("\\-", out);
	else
		fputc(c, out);
}

static void manual_put_literal(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		manual_put_letter(out, text[i], true);
}

static void manual_put_font(FILE *out, char font, const char *text, size_t len)
{
	fprintf(out, "\\f%c", font);
	manual_put_literal(out, text, len);
	fputs("\\fR", out);
}

/* Each sentence begins a line; \& so that none of them is a request to troff. */
static void manual_put_text(FILE *out, const char *text, const char *arg)
{
	char before = ' ';
	size_t len;

	fputs("\\&", out);
	for (; *text; before = *text++) {
		if ((len = manual_option_len(text, before))) {
			manual_put_font(out, 'B', text, len);
		} else if ((len = manual_argument_len(text, before, arg))) {
			manual_put_font(out, 'I', text, len);
		} else if (*text == '`' && (len = strcspn(text + 1, "`")) && text[1 + len]) {
			manual_put_font(out, 'B', text + 1, len);
			len += 2;
		} else if (*text == '\n') {
			fputs("\n.IP\n\\&", out);
		} else if (*text == ' ' && before == '.' && isupper((unsigned char)text[1])) {
			fputs("\n\\&", out);
		} else {
			manual_put_letter(out, *text,
					  *text == '-' && !isalnum((unsigned char)before));
		}
		text += len ? len - 1 : 0;
	}
	fputc('\n', out);
}

static void manual_put_size(char out[static 32], uint64_t n)
{
	static const char units[] = " KMGT";
	unsigned int u = 0;

	for (; u < 4 && n && n % 1024 == 0; u++)
		n /= 1024;
	snprintf(out, 32, "%llu%.*s", (unsigned long long)n, u > 0, units + u);
}

/* "1 to 64M"; "": any number, or more than one would type. */
static void manual_put_range(char out[static 80], const struct opt *o)
{
	char least[32], most[32];

	*out = '\0';
	if ((o->type == OPT_UINT || o->type == OPT_SECONDS) && o->max && o->max < INT_MAX) {
		snprintf(out, 80, "%llu to %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
	} else if (o->type == OPT_SIZE && o->max && o->max != UINT32_MAX) {
		manual_put_size(least, o->min);
		manual_put_size(most, o->max);
		snprintf(out, 80, "%s to %s", least, most);
	}
}

/* "how long (default: 30; 1 to 600). SECONDS ..." */
static void manual_put_meaning(FILE *out, const struct opt *o)
{
	const char *help = o->help;
	char text[TEXT_MAX], range[80];
	size_t n = 0, len;

	if (o->name && !strcmp(o->name, "help"))
		help = "a summary of the options";
	manual_put_range(range, o);
	if (help) {
		len = strlen(help);
		if (!*range)
			n = (size_t)snprintf(text, sizeof(text), "%s.", help);
		else if (len && help[len - 1] == ')')
			n = (size_t)snprintf(text, sizeof(text), "%.*s; %s).", (int)len - 1, help,
					     range);
		else
			n = (size_t)snprintf(text, sizeof(text), "%s (%s).", help, range);
	}
	for (int i = 0; help && o->type == OPT_CHOICE && o->choice[i]; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      i == 0              ? " %s is `%s`"
				      : !o->choice[i + 1] ? "%s or `%s`."
							  : "%s, `%s`",
				      i ? "" : o->arg, o->choice[i]);
	if (o->more)
		snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", o->more);
	manual_put_text(out, text, o->arg);
}

static bool manual_is_shown(const struct opt *o)
{
	return o->type > OPT_STOP && (o->help || o->more);
}

/* "-n, --clients N" */
static void manual_put_names(FILE *out, const struct opt *o)
{
	if (o->letter)
		fprintf(out, "\\-%c%s", o->letter, o->name ? "\\fR, \\fB" : "\\fR");
	if (o->name) {
		fputs("\\-\\-", out);
		manual_put_literal(out, o->name, strlen(o->name));
		fputs("\\fR", out);
	}
	if (o->arg) {
		fputs(o->value > 0 ? "[=" : " ", out);
		manual_put_font(out, 'I', o->arg, strlen(o->arg));
		fputs(o->value > 0 ? "]" : "", out);
	}
}

/* Letters that choose one of several values are one item: -3, -4, -5. */
static bool manual_goes_on(const struct opt *o)
{
	return o[0].type == OPT_VALUE && o[1].type == OPT_VALUE && o[0].offset == o[1].offset;
}

/* The item that begins with this row; returns its last row. */
static const struct opt *manual_put_item(FILE *out, const struct opt *o)
{
	char text[TEXT_MAX];
	size_t n;

	fputs(".TP\n.B ", out);
	manual_put_names(out, o);
	if (!manual_goes_on(o)) {
		fputc('\n', out);
		manual_put_meaning(out, o);
		return o;
	}
	n = (size_t)snprintf(text, sizeof(text), "%s", o->help);
	for (; manual_goes_on(o); o++) {
		fputs(", \\fB", out);
		manual_put_names(out, o + 1);
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s", o[1].help);
	}
	fputc('\n', out);
	snprintf(text + n, sizeof(text) - n, ".%s%s", o->more ? " " : "", o->more ? o->more : "");
	manual_put_text(out, text, NULL);
	return o;
}

/* "Which server (default: the only one):" is a title and a sentence. */
static void manual_put_heading(FILE *out, const char *text)
{
	size_t title = strcspn(text, ",(:"), end;
	char rest[TEXT_MAX];

	while (title && text[title - 1] == ' ')
		title--;
	fprintf(out, ".SS %.*s\n", (int)title, text);
	text = strchr(text, '(');
	end = text ? strlen(text) : 0;
	if (end < 4)
		return;
	snprintf(rest, sizeof(rest), "%c%.*s.", toupper((unsigned char)text[1]), (int)end - 4,
		 text + 2);
	manual_put_text(out, rest, NULL);
}

static void manual_put_table(FILE *out, const struct opt *o)
{
	for (; o->type != OPT_END; o++) {
		if (o->type == OPT_HEADING)
			manual_put_heading(out, o->help);
		if (manual_is_shown(o))
			o = manual_put_item(out, o);
	}
}

/* The table that a template's line asks for: "@OPTIONS rx --serve@"; NULL: there is none. */
static const struct opt *manual_table(const char *line, const struct command *commands, size_t n)
{
	const char *name = line + strlen("@OPTIONS ");
	size_t len = strcspn(name, "@");

	if (!strncmp(name, "rx --serve@", len + 1))
		return rx_serve_options;
	for (size_t i = 0; i < n; i++)
		if (strlen(commands[i].name) == len && !strncmp(commands[i].name, name, len))
			return commands[i].options;
	return NULL;
}

int manual_page(FILE *out, FILE *template, const struct command *commands, size_t n, struct err *e)
{
	const struct opt *table;
	char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (!r && getline(&line, &size, template) >= 0) {
		if (strncmp(line, "@OPTIONS ", 9) != 0) {
			fputs(line, out);
			continue;
		}
		table = manual_table(line, commands, n);
		if (table)
			manual_put_table(out, table);
		else
			r = err_set(e, -EINVAL, "no command has the options of this line: %s",
				    line);
	}
	if (!r && ferror(template))
		r = err_set(e, -EIO, "the template cannot be read");
	free(line);
	return r;
}
