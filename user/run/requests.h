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
	uint64_t calls, cnid_calls; /* of the serving thread (bpf/park.h: also what it did later),
				       of cnid_dbd for it */
	uint64_t handed_ns;         /* all, if some were handed over; then the others are 0 */
	/* Of time_ns's whole: from when its thread parked a request (bpf/park.h) to its reply. */
	uint64_t parked_ns;
	uint64_t service_ns; /* in service, with an answer or without: requests_service_ns */
	uint64_t pending;    /* requests without an answer */
	uint64_t pending_ns; /* of service_ns, theirs; 0 where it is not known */
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
 * How long an account's requests were in service in the ledger's time, whether they have an answer
 * or not: what every share of request time is of. It is the sum of the columns, of what is
 * unexplained and of the time in which they were parked; of requests that were handed over, or
 * whose parts were not timed, the time of those that were answered.
 */
uint64_t requests_service_ns(const struct ledger *l, unsigned int number);

/* Of the time of its answered requests, what is in no part because they were parked. */
uint64_t requests_parked_ns(const struct afs_account *sum);

/*
 * Nearest rank, interpolated within its bucket: at most 1/16 off, and never outside of shortest and
 * longest. 0: no histogram.
 */
double requests_quantile(const struct ledger_account *a, double q);

/* Those with an answer and those without: all that its parts are of. */
uint64_t requests_n(const struct request *r);

/*
 * Answers of an account that are errors: other than 0, and not its normal result. LEDGER_ALL: of
 * all requests. n: the kind's; NULL: AFP's.
 */
uint64_t requests_errors(const struct ledger *l, const struct account_names *n,
			 unsigned int number);

/* A share in per cent; 0 if whole is 0. */
double requests_percent(uint64_t part, uint64_t whole);

/*
 * Shares of one whole for one line, in units of which the whole has "of" (100: per cent), each
 * rounded; where that would add up to more than their sum, those that were rounded up most are
 * rounded down. All 0 if whole is 0.
 */
void requests_shares(unsigned int *out, const uint64_t *part, size_t n, uint64_t whole,
		     unsigned int of);

#endif
