/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A warning of a setting says what to do about it; so does a cause that is found, and knows more.
 */
#include "doctor/diagnose.h"
#include "doctor/judge.h"

#include <string.h>

/* The warning "log-level" is of the same as the cause "log". */
static bool is_same(const char *warning, const char *cause)
{
	size_t len = strlen(cause);

	return warning && !strncmp(warning, cause, len) &&
	       (warning[len] == '\0' || warning[len] == '-');
}

/* "SETTING: what it does (FILE:LINE); what to do": the last part goes. */
static void drop_advice(char *text)
{
	static const char end[] = "); ";
	char *last = NULL;

	for (char *at = text; (at = strstr(at, end)); at++)
		last = at;
	if (last)
		last[1] = '\0';
}

int diagnose_advise_once(struct run *r)
{
	struct diagnosis d;
	int e = doctor_judge(&d, r->figures);

	if (e)
		return e;
	for (size_t i = 0; i < r->warnings.n; i++)
		for (size_t k = 0; k < d.n_found; k++)
			if (is_same(r->warnings.note[i].key, d.found[k].rule->key))
				drop_advice(r->warnings.note[i].text);
	diagnosis_fini(&d);
	return 0;
}
