/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_REQUESTS_H
#define RUN_REQUESTS_H

/* The requests of a ledger, account by account, with the parts of their time. */

#include "run/account.h"

/* One account. If "a" is all 0, only its parts are known. */
struct request {
	unsigned int number;
	struct ledger_account a;
	uint64_t time_ns[ACCOUNT_N_COLUMNS]; /* of the serving thread */
	uint64_t calls, cnid_calls;          /* of the serving thread, of cnid_dbd for it */
	uint64_t handed_ns; /* all, if some were handed over; then the others are 0 */
};

struct requests {
	size_t n;
	struct request *request; /* most time first */
	struct request all;      /* their sum */
};

/* The accounts that are requests. 0 or -ENOMEM (then nothing is to be freed). */
int requests_init(struct requests *out, const struct ledger *l);
void requests_fini(struct requests *r);

/* Whether anything is known of this account. */
bool requests_knows(const struct ledger *l, unsigned int number);

/*
 * Nearest rank, interpolated within its bucket: at most 1/16 off, and never outside of shortest and
 * longest. 0: no histogram.
 */
double requests_quantile(const struct ledger_account *a, double q);

/* A share in per cent; 0 if whole is 0. */
double requests_percent(uint64_t part, uint64_t whole);

#endif
