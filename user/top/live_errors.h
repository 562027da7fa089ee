/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_LIVE_ERRORS_H
#define TOP_LIVE_ERRORS_H

/*
 * Errors of a server that goes on working, step by step. A reading takes the results after the
 * answers, so it may have the result of an answer that it does not have: of a single step's answers
 * and results there may seem to be an error too many in the next step. Over all answers since the
 * begin there are never too many: each step tells by how much that number has grown.
 */

#include "run/account.h"

struct live_errors {
	const struct account_names *names;
	uint64_t told[AFS_N_ACCOUNTS]; /* by account */
};

/* now: totals when the first step begins; names: the kind's accounts, NULL: AFP's. */
void live_errors_begin(struct live_errors *e, const struct account_names *names,
		       const struct ledger *now);

/* Errors of an account that were not told yet. now: totals when a step ends. */
uint64_t live_errors_since(struct live_errors *e, const struct ledger *now, unsigned int number);

#endif
