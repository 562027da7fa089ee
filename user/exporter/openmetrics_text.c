/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the text of metrics is made of, and whether a reader wants the newer form of it. */
#include "base/text.h"
#include "exporter/openmetrics.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

uint64_t openmetrics_border(size_t i)
{
	/* 12.8 us, 25.6 us, ... 53.7 s: 25 has a bucket of its own in each octave. */
	return i < 23 ? 25ull << (9 + i) : 0;
}

char *openmetrics_label(char out[OPENMETRICS_LABEL_MAX], const char *value)
{
	size_t len = 0, n;

	while (*value && len + 5 < OPENMETRICS_LABEL_MAX) {
		n = text_char(value);
		if (*value == '"' || *value == '\\')
			out[len++] = '\\';
		if (n)
			memcpy(out + len, value, n);
		else
			out[len] = '?';
		len += n ? n : 1;
		value += n ? n : 1;
	}
	out[len] = '\0';
	return out;
}

/* Whether one element of the header, such as "text/plain;q=0.5", is wanted at all. */
static bool has_weight(const char *at, const char *end)
{
	const char *q = at;

	while ((q = memchr(q, ';', (size_t)(end - q)))) {
		q += 1 + strspn(q + 1, " \t");
		if (!strncasecmp(q, "q=", 2))
			return strtod(q + 2, NULL) > 0;
	}
	return true;
}

bool openmetrics_wanted(const char *accept)
{
	static const char type[] = "application/openmetrics-text";
	const char *at = accept, *end;

	for (; at && *at; at = end + (*end == ',')) {
		at += strspn(at, " \t");
		end = strchrnul(at, ',');
		if (!strncasecmp(at, type, sizeof(type) - 1) &&
		    strchr(";, \t", at[sizeof(type) - 1]) && has_weight(at, end))
			return true;
	}
	return false;
}
