/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_LIVE_TABLE_H
#define TOP_LIVE_TABLE_H

/* Sums of requests by name. The number of rows is bounded; all that do not fit are one sum. */

#include "run/account.h"

#include <sys/types.h>

#define LIVE_ROWS 4096

struct live_sum {
	uint64_t requests, errors, bytes_in, bytes_out;
	uint64_t ns;                         /* of these requests, begin to end */
	uint64_t service_ns;                 /* in service in the time, with an answer or without */
	uint64_t handed;                     /* requests whose parts are not known */
	uint64_t time_ns[ACCOUNT_N_COLUMNS]; /* parts of ns; the rest is unexplained */
	uint64_t hist[AFS_REQUEST_BUCKETS];  /* how long each took: ns, AFS_REQUEST_BITS */
};

void live_sum_add(struct live_sum *to, const struct live_sum *from);

/* Nearest rank, at most 1/16 off; 0: no request. */
double live_sum_quantile(const struct live_sum *s, double q);

/* In ns; 0: no request. */
double live_sum_mean(const struct live_sum *s);

/* Texts are as they came from elsewhere: to be cleaned. Empty: not known. */
struct live_row {
	char *name;                   /* owned; of a session: user, address and process */
	char *user, *client, *volume; /* owned; of a session; else NULL */
	pid_t pid;                    /* of a session; else 0 */
	uint64_t in_service,
	    oldest_ns; /* requests now, age of the oldest; not of commands, files */
	struct live_sum sum;
};

struct live_table {
	size_t n;
	struct live_row **row; /* in no order */
	uint64_t more;         /* how often a row did not fit */
	struct live_sum rest;  /* of these */
	size_t room;           /* rows that are allocated */
	uint32_t *index;       /* by hash of the name: row + 1; 0: free */
};

struct live_table *live_table_new(void); /* NULL: no memory */
void live_table_free(struct live_table *t);
void live_table_clear(struct live_table *t);

/* The row of that name, made if there is none. NULL: it does not fit, or no memory: use t->rest. */
struct live_row *live_table_row(struct live_table *t, const char *name);

#endif
