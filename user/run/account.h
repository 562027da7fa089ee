/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_ACCOUNT_H
#define RUN_ACCOUNT_H

/*
 * The names of accounts and of the columns of their time, and the column to which a part belongs.
 * Every nanosecond of a request is in exactly one column.
 */

#include "run/ledger.h"

/* Columns of time. X(name, key, text); text may have words of run/kind.h in it. */
#define ACCOUNT_COLUMNS(X)                                                                         \
	X(USER, "user", "own code")      /* on a CPU, the program's own code */                    \
	X(CALLS, "calls", "in calls")    /* on a CPU, in system calls */                           \
	X(RUNQ, "runq", "run queue")     /* runnable, waiting for a CPU */                         \
	X(DISK, "disk", "disk")          /* blocked in a call on files, directories, paths */      \
	X(CNID, "cnid", "{asked}")       /* blocked on the CNID server or database */              \
	X(LOCK, "lock", "lock")          /* blocked in fcntl and flock locks */                    \
	X(LOG, "log", "log")             /* blocked writing a log */                               \
	X(NET, "net", "network")         /* blocked on the client's socket */                      \
	X(OTHER, "other", "other")       /* blocked otherwise: sleeps, futexes, pipes */           \
	X(STOPPED, "stopped", "stopped") /* by a signal, a debugger, or a freezer */

enum account_column {
#define X(name, key, text) ACCOUNT_##name,
	ACCOUNT_COLUMNS(X)
#undef X
	    ACCOUNT_N_COLUMNS
};

struct account_column_def {
	const char *key, *text;
};

extern const struct account_column_def account_columns[ACCOUNT_N_COLUMNS];

#define ACCOUNT_NAME_MAX 32

/*
 * A result other than 0 that a request of an account gets where nothing is wrong: that a list has
 * no more entries, that a name which a client looks up is not there. Not what was counted as a
 * result, but what people read as errors is without these. Each account has one such result at
 * most.
 */
struct account_normal {
	uint16_t account;
	int32_t code; /* as on the wire; not 0 */
};

/* The names of the accounts of a kind of server. */
struct account_names {
	const char *name[AFS_N_ACCOUNTS]; /* static; NULL: a number that has no name */
	/* Prints one for a number that has none. */
	void (*unnamed)(unsigned int number, char buf[ACCOUNT_NAME_MAX]);
	const struct account_normal *normal; /* static */
	size_t n_normal;
	/* Of a kind that is not AFP. login: the account of requests that log in, whose last step is
	 * answered by another result than its normal one. idle: those of requests which wait until
	 * something happens, for as long as they like. 0: there is none. */
	uint16_t login, idle[AFS_N_IDLE];
};

/* n NULL: AFP's. Returns buf or a constant. */
const char *account_name_of(const struct account_names *n, unsigned int number,
			    char buf[ACCOUNT_NAME_MAX]);

/* NULL: a number that has no name. n NULL: AFP's. */
const char *account_known_name_of(const struct account_names *n, unsigned int number);
/* AFP's. */
const char *account_known_name(unsigned int number);
/* AFP's, whether it has a name or not. */
const char *account_name(unsigned int number, char buf[ACCOUNT_NAME_MAX]);

/*
 * Numbers the requests that have a name, from 1 on; 0 for all others. Returns how many there are.
 * n NULL: AFP's.
 */
unsigned int account_number_named(const struct account_names *n,
				  uint8_t number[AFS_ACCOUNT_BETWEEN]);

/* The normal result of an account that is not 0; 0: there is none. n NULL: AFP's. */
int32_t account_normal_result(const struct account_names *n, unsigned int number);

/* One that waits until something happens, for as long as it likes. n NULL: AFP's. */
bool account_is_idle(const struct account_names *n, unsigned int number);

/* A request, not time outside requests. */
bool account_is_request(unsigned int number);

/* A request about files or folders that changes none of them. */
bool account_changes_nothing(unsigned int number);

/* The column in which a part's blocked time belongs. */
enum account_column account_blocked_column(unsigned int class, unsigned int object);

/* Adds a part's times to out[]. */
void account_add_part(uint64_t out[ACCOUNT_N_COLUMNS], const struct ledger_part *part);

/* The columns of one role's part of an account, in ns. */
void account_times(const struct ledger *l, unsigned int role, unsigned int number,
		   uint64_t out[ACCOUNT_N_COLUMNS]);

#endif
