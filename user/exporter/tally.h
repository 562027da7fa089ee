/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EXPORTER_TALLY_H
#define EXPORTER_TALLY_H

/*
 * Running totals of a server over several watches, one after the other: each begins at 0, and goes
 * on where the last one ended. No total goes backwards.
 */

#include "run/account.h"

/* Numbers that are no ledger's. Times in ns. */
enum tally_number {
	TALLY_REFUSED,     /* sessions */
	TALLY_AGREE,       /* ended processes whose counts are those of the kernel */
	TALLY_DISAGREE,    /* ... and those whose counts differ */
	TALLY_PROGRAMS_NS, /* CPU time of the programs in the kernel */
	TALLY_LOGINS,      /* that succeeded; tally_take() counts them */
	TALLY_CPU_NS,      /* of each role, then */
	TALLY_RUNQ_NS = TALLY_CPU_NS + AFS_N_ROLES,
	TALLY_IO = TALLY_RUNQ_NS + AFS_N_ROLES, /* of each role, TALLY_N_IO */
	TALLY_N = TALLY_IO + 4 * AFS_N_ROLES,
};

/* What the kernel counts of every process. */
enum tally_io { TALLY_READS, TALLY_WRITES, TALLY_READ_BYTES, TALLY_WRITTEN_BYTES, TALLY_N_IO };

struct tally_loss {
	char what[96];
	uint64_t n;
};

#define TALLY_LOSSES   96
#define TALLY_TEXT_MAX 64

/* One reading of one watch. */
struct tally_reading {
	char rung[16];               /* as watch_rung */
	char server[TALLY_TEXT_MAX]; /* its program and version, by its own words; empty: unknown */
	unsigned int port;           /* 0: unknown */
	uint64_t sessions;
	bool known[TALLY_N];
	uint64_t n[TALLY_N];
	size_t n_losses;
	struct tally_loss loss[TALLY_LOSSES];
	struct ledger ledger;
};

struct tally {
	const struct account_names *names;  /* of the kind that is watched; NULL: AFP's */
	bool up;                            /* a server is watched */
	uint64_t watches;                   /* that were begun */
	struct tally_reading base;          /* the sum of the watches that have ended */
	struct tally_reading shown;         /* with the last reading of the present one */
	uint64_t parked_ns[AFS_N_ACCOUNTS]; /* requests_parked_ns(), by account */
};

/* A reading of the present watch, which is then the caller's as before. 0 or -ENOMEM. */
int tally_take(struct tally *t, const struct tally_reading *r);

/* The watch has ended. 0 or -ENOMEM. */
int tally_end(struct tally *t);

void tally_fini(struct tally *t);

/* Adds to the loss of this name. */
void tally_lose(struct tally_reading *r, const char *what, uint64_t n);

#endif
