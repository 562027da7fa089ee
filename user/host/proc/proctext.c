/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/proc/proctext.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value in a line "key: value" or "key value"; NULL: no such line. */
static const char *proctext_value_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, len) && (at[len] == ':' || at[len] == ' '))
			return at + len + 1 + strspn(at + len + 1, " \t");
	}
	return NULL;
}

bool proctext_value(char *out, size_t len, const char *text, const char *key)
{
	const char *at = proctext_value_of(text, key);

	if (at)
		snprintf(out, len, "%.*s", (int)strcspn(at, "\n"), at);
	return at;
}

bool proctext_number(uint64_t *out, const char *text, const char *key)
{
	const char *at = proctext_value_of(text, key);

	if (!at || !isdigit((unsigned char)*at))
		return false;
	*out = strtoull(at, NULL, 10);
	return true;
}

bool proctext_stall(uint64_t *us, const char *text)
{
	const char *at = strncmp(text, "some ", 5) != 0 ? NULL : strstr(text, "total=");

	if (at)
		*us = strtoull(at + strlen("total="), NULL, 10);
	return at;
}

int proctext_io(struct afs_compat *out, const char *text)
{
	uint64_t syscr, syscw, rchar, wchar;

	if (!proctext_number(&syscr, text, "syscr") || !proctext_number(&syscw, text, "syscw") ||
	    !proctext_number(&rchar, text, "rchar") || !proctext_number(&wchar, text, "wchar"))
		return -EPROTO;
	*out = (struct afs_compat) {
		.syscr = syscr, .syscw = syscw, .rchar = rchar, .wchar = wchar
	};
	return 0;
}

int proctext_storage(uint64_t *bytes, const char *text)
{
	uint64_t in, out, withdrawn;

	if (!proctext_number(&in, text, "read_bytes") ||
	    !proctext_number(&out, text, "write_bytes") ||
	    !proctext_number(&withdrawn, text, "cancelled_write_bytes"))
		return -EPROTO;
	*bytes = in + (out > withdrawn ? out - withdrawn : 0);
	return 0;
}

int proctext_times(struct procfs_times *out, const char *text)
{
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &out->cpu_ns, &out->runq_ns,
		      &out->slices) == 3
		   ? 0
		   : -EPROTO;
}

/* Where the value of an option begins, if the word is that option; NULL: it is not. */
static const char *option_value(const char *word, const char *option)
{
	size_t len = strlen(option);

	if (strncmp(word, option, len) != 0)
		return NULL;
	word += len;
	if (!*word)
		return word + 1; /* the next word */
	if (len > 2)
		return *word == '=' ? word + 1 : NULL;
	return word;
}

bool proctext_argument(char *out, size_t len, const char *text, size_t text_len, const char *option)
{
	const char *end = text + text_len, *value;

	/* The first word is the program. */
	for (const char *at = text + strlen(text) + 1; at < end; at += strlen(at) + 1) {
		value = option_value(at, option);
		if (!value)
			continue;
		if (value < end)
			snprintf(out, len, "%s", value);
		return value < end;
	}
	return false;
}

bool proctext_word(const char *text, size_t text_len, const char *word)
{
	for (const char *at = text; at < text + text_len; at += strlen(at) + 1)
		if (!strcmp(at, word))
			return true;
	return false;
}

/* The kernel prints a blank in a name as "\\040". */
static void unescape(char *text)
{
	char *to = text;
	unsigned int code;

	for (const char *at = text; *at; to++) {
		if (*at == '\\' && strspn(at + 1, "01234567") >= 3 &&
		    sscanf(at + 1, "%3o", &code) == 1) {
			*to = (char)code;
			at += 4;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

int proctext_mount(struct proctext_mount *out, const char *line)
{
	const char *rest = strstr(line, " - ");
	unsigned int major_nr, minor_nr;

	*out = (struct proctext_mount) { 0 };
	if (sscanf(line, "%u %*u %u:%u %255s %255s", &out->id, &major_nr, &minor_nr, out->root,
		   out->point) < 3)
		return -EPROTO;
	out->dev = major_nr << 20 | minor_nr;
	unescape(out->root);
	unescape(out->point);
	if (rest)
		sscanf(rest, " - %31s %127s %255s", out->type, out->source, out->options);
	unescape(out->source);
	return 0;
}
