/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_COMPARE_H
#define REF_COMPARE_H

/* A ledger against the truth. */

#include "ref/tally.h"
#include "run/ledger.h"

#include <stdio.h>

struct ref_compare {
	const struct ledger *got;
	const struct ref_tally *want;
	/* Waits are compared over AFS_ACCOUNT_BETWEEN and AFS_ACCOUNT_THREADS together. */
	bool waits_together;
	FILE *out; /* the first differences are told here */
	unsigned int n;
};

/* Number of differences: requests, results, calls by account, class and object. */
unsigned int ref_compare(struct ref_compare *c);

/* Differences of the calls ledger from the sum of the parts. */
unsigned int ref_compare_sums(struct ref_compare *c);

#endif
