/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options by table on top of getopt_long. the commands print errors. */
#include "base/opt.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH    80
#define HELP_MARGIN   30 /* longest column of names */
#define NS_PER_S      1000000000ull
#define LIST_WORD_MAX 64
#define FIRST_ROW     256 /* getopt's code of a long option: this + its row */

/* What getopt_long wants; freed by names_fini. */
struct opt_names {
	char *letters;
	struct option *longs;
};

static bool is_option(const struct opt *o)
{
	return o->type > OPT_STOP;
}

static void names_fini(struct opt_names *n)
{
	free(n->letters);
	free(n->longs);
}

static int has_arg(const struct opt *o)
{
	if (!o->arg)
		return no_argument;
	return o->type == OPT_CHOICE && o->value > 0 ? optional_argument : required_argument;
}

static int names_init(struct opt_names *n, const struct opt *table)
{
	size_t rows = 0, letters = 0, longs = 0;

	while (table[rows].type != OPT_END)
		rows++;
	n->letters = calloc(2 * rows + 3, 1);
	n->longs = calloc(rows + 1, sizeof(*n->longs));
	if (!n->letters || !n->longs)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		if (table[i].type == OPT_STOP && !letters)
			n->letters[letters++] = '+';
	}
	n->letters[letters++] = ':';
	for (size_t i = 0; i < rows; i++) {
		const struct opt *o = &table[i];

		if (!is_option(o))
			continue;
		if (o->letter)
			n->letters[letters++] = o->letter;
		if (o->letter && o->arg)
			n->letters[letters++] = ':';
		if (o->name)
			n->longs[longs++] = (struct option) {
				.name = o->name,
				.has_arg = has_arg(o),
				.val = FIRST_ROW + (int)i,
			};
	}
	return 0;
}

/* getopt's code -> row; NULL: no row has it. */
static const struct opt *opt_row_of(const struct opt *table, int code)
{
	if (code >= FIRST_ROW)
		return &table[code - FIRST_ROW];
	for (; table->type != OPT_END; table++) {
		if (is_option(table) && table->letter && table->letter == code)
			return table;
	}
	return NULL;
}

/* Roughly what the user typed: "-n" or "--iterations". */
static const char *spelled(char out[static 64], const struct opt *o, int code)
{
	if (code >= FIRST_ROW)
		snprintf(out, 64, "--%s", o->name);
	else
		snprintf(out, 64, "-%c", code);
	return out;
}

/* getopt returned '?' or ':': finds out why. word is the argument it was looking at. */
static int opt_refuse(const struct opt *table, int said, int code, const char *word, struct err *e)
{
	const struct opt *o = code ? opt_row_of(table, code) : NULL;
	int matches = 0, len = (int)strcspn(word, "=");
	char name[64];

	if (said == ':' && o)
		return err_set(e, -EINVAL, "%s: needs an argument (%s)", spelled(name, o, code),
			       o->arg);
	if (o)
		return err_set(e, -EINVAL, "%s: takes no argument", spelled(name, o, code));
	if (code > ' ' && code < 0x7f)
		return err_set(e, -EINVAL, "unknown option '-%c'; see --help", code);
	if (code)
		return err_set(e, -EINVAL, "unknown option (byte 0x%02x); see --help", code & 0xff);
	for (o = table; o->type != OPT_END; o++) {
		if (is_option(o) && o->name && len > 2 &&
		    !strncmp(o->name, word + 2, (size_t)len - 2))
			matches++;
	}
	return err_set(e, -EINVAL, "%s option '%.*s'; see --help",
		       matches > 1 ? "ambiguous" : "unknown", len, word);
}

/* An option of the table, as -d, --duration or --duration=60. */
static bool names_option(const struct opt *table, const char *word)
{
	size_t len = strcspn(word, "=");

	if (*word != '-' || !word[1])
		return false;
	for (const struct opt *o = table; o->type != OPT_END; o++) {
		if (!is_option(o))
			continue;
		if (o->letter && word[1] == o->letter && !word[2])
			return true;
		if (o->name && word[1] == '-' && strlen(o->name) == len - 2 &&
		    !strncmp(word + 2, o->name, len - 2))
			return true;
	}
	return false;
}

/* "--json -d 30": not a file named -d. getopt has just taken the argument. */
static int check_argument(const struct opt *table, const struct opt *o, const char *name,
			  const char *arg, const char *word, struct err *e)
{
	bool is_text = o->type == OPT_STRING || o->type == OPT_CALL || o->type == OPT_LIST ||
		       o->type == OPT_NUMBER || o->type == OPT_TIME || o->type == OPT_SHARE;

	if (!is_text || !arg || arg != word || !names_option(table, arg))
		return 0;
	return err_set(e, -EINVAL, "%s: needs an argument (%s), and '%s' is an option", name,
		       o->arg, arg);
}

static uint64_t max_of(const struct opt *o)
{
	if (o->max)
		return o->max;
	return o->type == OPT_SIZE ? UINT64_MAX : UINT_MAX;
}

/* 1024^n for a suffix of a size; 0 for anything else. */
static uint64_t unit_of_size(const char *text)
{
	static const char letters[] = "KMGT";
	const char *at;

	if (!*text)
		return 1;
	at = strchr(letters, *text == 'k' ? 'K' : *text);
	if (!at || (text[1] && strcmp(text + 1, "iB")))
		return 0;
	return 1ull << 10 * (at - letters + 1);
}

/* Nanoseconds of a suffix of a time; 0 for anything else. */
static uint64_t unit_of_time(const char *text)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "", NS_PER_S },         { "ns", 1 },
		{ "us", 1000 },           { "ms", 1000000 },
		{ "s", NS_PER_S },        { "m", 60 * NS_PER_S },
		{ "h", 3600 * NS_PER_S }, { "d", 86400 * NS_PER_S },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text, units[i].unit))
			return units[i].ns;
	return 0;
}

static uint64_t unit_of(const struct opt *o, const char *text)
{
	if (o->type == OPT_SIZE)
		return unit_of_size(text);
	return o->type == OPT_SECONDS ? unit_of_time(text) / NS_PER_S : !*text;
}

int opt_number(const struct opt *o, const char *name, const char *text, uint64_t *out,
	       struct err *e)
{
	const char *what = o->type == OPT_SIZE ? "size (a whole number, or one with K, M, G, T)"
			   : o->type == OPT_SECONDS
			       ? "time (whole seconds, or a whole number with s, m, h, d)"
			       : "whole number";
	unsigned long long v = 0;
	uint64_t unit = 0;
	char *end;

	/* strtoull accepts blanks and signs, which are refused here. */
	if (isdigit((unsigned char)*text))
		errno = 0;
	else
		errno = *text == '-' && isdigit((unsigned char)text[1]) ? ERANGE : EINVAL;
	if (!errno) {
		v = strtoull(text, &end, 10);
		unit = unit_of(o, end);
	}
	if (errno != ERANGE && !unit)
		return err_set(e, -ERANGE, "%s: '%s' is not a %s", name, text, what);
	if (errno || v > UINT64_MAX / unit || v * unit < o->min || v * unit > max_of(o))
		return err_set(e, -ERANGE, "%s: '%s' is not in %llu..%llu", name, text,
			       (unsigned long long)o->min, (unsigned long long)max_of(o));
	*out = v * unit;
	return 0;
}

/* What a number may be followed by, as a factor; 0: not by that. */
static double opt_scale(const struct opt *o, const char *text)
{
	if (o->type == OPT_TIME)
		return (double)unit_of_time(text);
	return !*text || (o->type == OPT_SHARE && !strcmp(text, "%"));
}

int opt_decimal(const struct opt *o, const char *name, const char *text, double *out, struct err *e)
{
	const bool is_share = o->type == OPT_SHARE;
	const char *what = o->type == OPT_TIME ? "time (seconds, or with ns, us, ms, s, m, h, d)"
			   : is_share          ? "share such as 2%"
					       : "number";
	double unit = o->type == OPT_TIME ? NS_PER_S : 1;
	double least = (double)o->min / unit, most = (double)o->max / unit, v, scale;
	const char *end;

	scale = text_decimal(text, &end, &v) ? opt_scale(o, end) : 0;
	if (scale == 0)
		return err_set(e, -ERANGE, "%s: '%s' is not a %s", name, text, what);
	v = v * scale / unit;
	if (o->max && (v < least || v > most || (is_share && v <= 0)))
		return err_set(e, -ERANGE, "%s: '%s' is not in %g..%g", name, text, least, most);
	if (!isfinite(v) || v < least || (is_share && v <= 0))
		return err_set(e, -ERANGE, "%s: '%s' is not a number %s %g", name, text,
			       is_share ? "above" : "of at least", least);
	*out = is_share ? v / 100 : v;
	return 0;
}

/* "a, b, c" */
static void list_choices(char *out, size_t len, const char *const *choice)
{
	size_t at = 0;

	out[0] = 0;
	for (size_t i = 0; choice[i] && at < len; i++)
		at += (size_t)snprintf(out + at, len - at, "%s%s", i ? ", " : "", choice[i]);
}

static int parse_choice(const struct opt *o, const char *name, const char *text, int *out,
			struct err *e)
{
	char list[256];

	if (!text) {
		*out = o->value;
		return 0;
	}
	for (int i = 0; o->choice[i]; i++) {
		if (!strcmp(o->choice[i], text)) {
			*out = i;
			return 0;
		}
	}
	list_choices(list, sizeof(list), o->choice);
	return err_set(e, -EINVAL, "%s: '%s' is not one of %s", name, text, list);
}

static int apply_list(const struct opt *o, void *to, const char *list, struct err *e)
{
	char word[LIST_WORD_MAX];
	int r = o->call(to, NULL, e);
	size_t len;

	for (; !r; list += len + 1) {
		len = strcspn(list, ",");
		if (len >= sizeof(word))
			return err_set(e, -EINVAL, "a word of %zu bytes: at most %zu are allowed",
				       len, sizeof(word) - 1);
		snprintf(word, sizeof(word), "%.*s", (int)len, list);
		r = o->call(to, word, e);
		if (!list[len])
			break;
	}
	return r;
}

static int apply_number(const struct opt *o, const char *name, void *to, const char *arg,
			struct err *e)
{
	uint64_t number;
	int r;

	if (o->type == OPT_NUMBER || o->type == OPT_TIME || o->type == OPT_SHARE)
		return opt_decimal(o, name, arg, to, e);
	r = opt_number(o, name, arg, &number, e);
	if (r)
		return r;
	if (o->type == OPT_SIZE)
		*(uint64_t *)to = number;
	else
		*(unsigned int *)to = (unsigned int)number;
	return 0;
}

/* An opt_take. */
static int apply(void *cfg, const struct opt *o, const char *name, const char *arg, struct err *e)
{
	void *to = (char *)cfg + o->offset;
	int r = 0;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)to = true;
		break;
	case OPT_VALUE:
		*(int *)to = o->value;
		break;
	case OPT_COUNT:
		++*(unsigned int *)to;
		break;
	case OPT_STRING:
		*(const char **)to = arg;
		break;
	case OPT_CHOICE:
		return parse_choice(o, name, arg, to, e);
	case OPT_CALL:
	case OPT_LIST:
		r = o->type == OPT_CALL ? o->call(to, arg, e) : apply_list(o, to, arg, e);
		return r ? err_prefix(e, r, "%s", name) : 0;
	default:
		return apply_number(o, name, to, arg, e);
	}
	return 0;
}

int opt_each(const struct opt *table, int argc, char **argv, int *first_operand, opt_take *take,
	     void *user, struct err *e)
{
	struct opt_names n = { 0 };
	int code, r;

	r = names_init(&n, table);
	if (r) {
		err_set(e, r, "out of memory");
		goto out;
	}
	optind = 0;
	opterr = 0;
	while ((code = getopt_long(argc, argv, n.letters, n.longs, NULL)) != -1) {
		const struct opt *o;
		char name[64];

		if (code == '?' || code == ':') {
			r = opt_refuse(table, code, optopt, argv[optind - 1], e);
			goto out;
		}
		o = opt_row_of(table, code);
		r = check_argument(table, o, spelled(name, o, code), optarg, argv[optind - 1], e);
		r = r ? r : take(user, o, name, optarg, e);
		if (r)
			goto out;
	}
	if (first_operand)
		*first_operand = optind;
	else if (optind < argc)
		r = err_set(e, -EINVAL, "unexpected '%s'; see --help", argv[optind]);
out:
	names_fini(&n);
	return r;
}

int opt_parse(const struct opt *table, void *cfg, int argc, char **argv, int *first_operand,
	      struct err *e)
{
	return opt_each(table, argc, argv, first_operand, apply, cfg, e);
}

const char *opt_key(const struct opt *o, char out[static 2])
{
	out[0] = o->letter;
	out[1] = '\0';
	return o->name ? o->name : out;
}

const struct opt *opt_of_key(const struct opt *table, const char *key)
{
	char own[2];

	for (; table->type != OPT_END; table++)
		if (is_option(table) && !strcmp(opt_key(table, own), key))
			return table;
	return NULL;
}

int opt_put(const struct opt *o, void *cfg, const char *text, struct err *e)
{
	static const struct opt times = { .type = OPT_UINT, .max = 1000 };
	const char *key, *arg = o->arg ? text : NULL;
	char own[2];
	uint64_t n = 1;
	int r = 0;

	key = opt_key(o, own);
	if (o->type == OPT_COUNT)
		r = opt_number(&times, key, text, &n, e);
	else if (!o->arg && !strcmp(text, "no"))
		n = 0;
	else if (!o->arg && strcmp(text, "yes"))
		return err_set(e, -EINVAL, "%s: '%s' is neither yes nor no", key, text);
	while (!r && n--)
		r = apply(cfg, o, key, arg, e);
	return r;
}

/* "-n, --iterations=N" */
static void help_names(char *out, size_t len, const struct opt *o)
{
	char letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c%s", o->letter, o->name ? ", " : "");
	snprintf(out, len, "  %s%s%s%s%s%s", letter, o->name ? "--" : "", o->name ? o->name : "",
		 !o->arg                           ? ""
		 : has_arg(o) == optional_argument ? "[="
		 : o->name                         ? "="
						   : " ",
		 o->arg ? o->arg : "", o->arg && has_arg(o) == optional_argument ? "]" : "");
}

static void help_text(char *out, size_t len, const struct opt *o)
{
	char list[256];

	snprintf(out, len, "%s", o->help);
	if (o->type == OPT_CHOICE) {
		list_choices(list, sizeof(list), o->choice);
		snprintf(out, len, "%s (%s)", o->help, list);
	}
	if ((o->type == OPT_UINT || o->type == OPT_SECONDS) && o->max)
		snprintf(out, len, "%s (%llu..%llu)", o->help, (unsigned long long)o->min,
			 (unsigned long long)o->max);
}

/* Characters in the first len bytes of UTF-8. */
static size_t opt_columns(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* Words of text from column "margin" on, the first line starting at column "at". */
static void help_wrap(FILE *out, const char *text, size_t at, size_t margin)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " "), width = opt_columns(text, len);

		if (!first && at + 1 + width > HELP_WIDTH) {
			fputc('\n', out);
			at = 0;
			first = true;
		}
		if (first)
			fprintf(out, "%*s", (int)(margin - at), "");
		else
			fputc(' ', out);
		at = first ? margin + width : at + 1 + width;
		first = false;
		fwrite(text, 1, len, out);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void opt_help(FILE *out, const struct opt *table)
{
	size_t margin = 0;
	char names[128], text[1024];

	for (const struct opt *o = table; o->type != OPT_END; o++) {
		size_t len;

		if (!is_option(o) || !o->help)
			continue;
		help_names(names, sizeof(names), o);
		len = opt_columns(names, strlen(names)) + 2;
		if (len > margin && len <= HELP_MARGIN)
			margin = len;
	}
	for (const struct opt *o = table; o->type != OPT_END; o++) {
		size_t at;

		if (o->type == OPT_HEADING)
			fprintf(out, "%s\n", o->help);
		if (!is_option(o) || !o->help)
			continue;
		help_names(names, sizeof(names), o);
		help_text(text, sizeof(text), o);
		fputs(names, out);
		at = opt_columns(names, strlen(names));
		if (at + 2 > margin) {
			fputc('\n', out);
			at = 0;
		}
		help_wrap(out, text, at, margin);
	}
}
