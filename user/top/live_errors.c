/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/live_errors.h"

#include "run/requests.h"

void live_errors_begin(struct live_errors *e, const struct account_names *names,
		       const struct ledger *now)
{
	e->names = names;
	for (unsigned int i = 0; i < AFS_N_ACCOUNTS; i++)
		e->told[i] = requests_errors(now, names, i);
}

uint64_t live_errors_since(struct live_errors *e, const struct ledger *now, unsigned int number)
{
	uint64_t all = requests_errors(now, e->names, number);
	uint64_t n = all > e->told[number] ? all - e->told[number] : 0;

	e->told[number] += n;
	return n;
}
