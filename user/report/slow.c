/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/slow.h"

#include "run/kind.h"

#include <stdlib.h>

static int longest_first(const void *a, const void *b)
{
	const struct slow_part *x = a, *y = b;

	return x->ns < y->ns ? 1 : -(x->ns > y->ns);
}

size_t slow_parts(const struct afs_record_requests *r, const struct run_kind *kind,
		  struct slow_part out[SLOW_PARTS])
{
	const uint64_t ns[ACCOUNT_N_COLUMNS] = {
#define X(type, name, unit, meaning) r->name,
		AFS_COLUMNS(X)
#undef X
	};
	uint64_t rest = r->time_ns;
	const char *name;
	size_t n = 0;

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		rest -= ns[i];
		if (ns[i])
			out[n++] = (struct slow_part) { account_columns[i].key,
							account_columns[i].text, ns[i] };
	}
	name = n ? "unexplained" : run_kind_rest(kind);
	if ((int64_t)rest > 0)
		out[n++] = (struct slow_part) { name, name, rest };
	qsort(out, n, sizeof(*out), longest_first);
	return n;
}
