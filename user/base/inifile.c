/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INI texts, read in place. What keys mean is up to who reads them. */
#include "base/inifile.h"

#include "base/text.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BOM "\xef\xbb\xbf"

/* What was read; freed by inifile_read. */
struct inifile_seen {
	const char *section;
	struct inifile_key *key;
	size_t n;
};

static const struct {
	char letter, means;
} escapes[] = { { '"', '"' }, { '\\', '\\' }, { 'n', '\n' }, { 'r', '\r' }, { 't', '\t' } };

#define N_ESCAPES (sizeof(escapes) / sizeof(escapes[0]))

/* Ends the text where a comment begins. */
static void cut_comment(char *text)
{
	for (char *at = text; *at; at++) {
		if (*at != ';' || (at > text && at[-1] != ' ' && at[-1] != '\t'))
			continue;
		*at = '\0';
		return;
	}
}

/* text begins with a quote; the value is put in its place. */
static int inifile_unquote(char *text, struct err *e)
{
	char *to = text, *at = text + 1;
	size_t i;

	for (; *at && *at != '"'; at++) {
		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		at++;
		for (i = 0; i < N_ESCAPES; i++)
			if (escapes[i].letter == *at)
				break;
		if (i == N_ESCAPES)
			return err_set(
			    e, -EINVAL,
			    "\\ in a quoted value must be followed by one of \" \\ n r t");
		*to++ = escapes[i].means;
	}
	if (!*at)
		return err_set(e, -EINVAL, "a value that begins with \" must end with it");
	cut_comment(at + 1);
	if (*text_strip(at + 1))
		return err_set(e, -EINVAL, "there is text after the end of a quoted value");
	*to = '\0';
	return 0;
}

static int inifile_value(struct inifile_key *k, char *text, struct err *e)
{
	text = text_strip(text);
	k->value = text;
	if (*text == '"')
		return inifile_unquote(text, e);
	cut_comment(text);
	k->value = text_strip(text);
	return 0;
}

/* "[section]". */
static int take_section(struct inifile_seen *s, char *line)
{
	char *end = strchr(line, ']');

	if (!end)
		return -EINVAL;
	*end = '\0';
	cut_comment(end + 1);
	s->section = text_strip(line + 1);
	return *text_strip(end + 1) ? -EINVAL : 0;
}

/* A key may not be there twice, but it is the taker who knows. */
static int inifile_keep(struct inifile_seen *s, struct inifile_key *k, struct err *e)
{
	const struct inifile_key *same = VEC_FIND(
	    x, s->key, s->n, !strcmp(x->section, k->section) && !strcmp(x->key, k->key));

	if (same)
		k->before = same->line;
	if (s->n == INIFILE_KEYS_MAX)
		return err_set(e, -EINVAL, "more than %d keys", INIFILE_KEYS_MAX);
	return VEC_PUSH(s->key, s->n, *k) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int inifile_line(struct inifile_seen *s, char *line, unsigned int number, inifile_take *take,
			void *user, struct err *e)
{
	struct inifile_key k = { .section = s->section, .line = number };
	char *is;
	int r = 0;

	line = text_strip(line);
	if (!*line || *line == ';' || *line == '#')
		return 0;
	is = strpbrk(line, "=:");
	if (*line == '[' ? take_section(s, line) : !is || is == line)
		return err_set(e, -EINVAL, "neither [section] nor key = value");
	if (*line == '[')
		return 0;
	*is = '\0';
	k.key = text_strip(line);
	r = inifile_value(&k, is + 1, e);
	r = r ? r : inifile_keep(s, &k, e);
	return r ? r : take(user, &k, e);
}

int inifile_read(char *text, const char *name, inifile_take *take, void *user, struct err *e)
{
	struct inifile_seen s = { .section = "" };
	unsigned int number = 0;
	struct err why = { 0 };
	char *next;
	int r = 0;

	if (!strncmp(text, BOM, strlen(BOM)))
		text += strlen(BOM);
	for (; !r && text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		r = inifile_line(&s, text, ++number, take, user, &why);
	}
	free(s.key);
	return r ? err_set(e, r, "%s, line %u: %s", name, number, why.text) : 0;
}

int inifile_once(const struct inifile_key *k, struct err *e)
{
	if (!k->before)
		return 0;
	return err_set(e, -EINVAL, "%s is there twice: line %u has it already", k->key, k->before);
}

/* Whether it would not be read as it is. */
static bool inifile_must_quote(const char *value)
{
	size_t len = strlen(value);

	if (!len || *value == '"' || *value == ';' || isspace((unsigned char)*value) ||
	    isspace((unsigned char)value[len - 1]))
		return true;
	return strstr(value, " ;") || strstr(value, "\t;") || strpbrk(value, "\n\r");
}

void inifile_put(FILE *out, const char *key, const char *value)
{
	const bool quoted = inifile_must_quote(value);
	size_t i;

	fprintf(out, "%s = %s", key, quoted ? "\"" : "");
	for (; *value; value++) {
		for (i = 0; quoted && i < N_ESCAPES; i++)
			if (escapes[i].means == *value)
				break;
		if (quoted && i < N_ESCAPES)
			fprintf(out, "\\%c", escapes[i].letter);
		else
			fputc(*value, out);
	}
	fputs(quoted ? "\"\n" : "\n", out);
}
