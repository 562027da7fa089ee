/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_LEDGER_H
#define RUN_LEDGER_H

/*
 * Ledgers as parts of a result: what the watched processes did in an interval. A ledger is sparse
 * (it has no rows that are all 0) and owns its rows.
 */

#include "bpf/events.h"
#include "bpf/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_row {
	uint8_t role, class, object; /* enum afs_role, afs_class, afs_object */
	struct afs_cell cell;
};

/* One role's work for one account in one state. */
struct ledger_part {
	uint16_t account;    /* enum afs_account_number */
	uint8_t role, class; /* class: also AFS_CLASS_USER, the program's own code */
	uint8_t object;
	struct afs_part part;
};

/*
 * The requests of one account, as the server served them. Shortest and longest are those of the
 * interval, 0 where the account has no histogram: commands without a name.
 */
struct ledger_account {
	uint16_t account; /* below AFS_ACCOUNT_BETWEEN */
	uint64_t min_ns, max_ns;
	struct afs_account sum;
	__u64 hist[AFS_REQUEST_BUCKETS]; /* ns, AFS_REQUEST_BITS */
};

/* How often an account's requests had one result. */
struct ledger_result {
	uint16_t account;
	int32_t code; /* as on the wire; not 0 */
	__u64 n;
};

/* What one role did for one account below its system calls. */
struct ledger_storage {
	uint16_t account;
	uint8_t role;
	struct afs_storage sum;
};

/* Datagrams and the packets in them, one way; only of kinds whose clients send such. */
struct ledger_packets {
	uint8_t from_server;
	struct afs_packets sum;
};

struct ledger {
	bool has_calls;    /* rows were counted, not sampled */
	bool has_requests; /* parts, accounts, results were counted */
	bool has_storage;  /* storage was counted, where an item is known */
	bool has_item[AFS_N_STORAGE_ITEMS];
	bool filled;                  /* made by ledger_diff or ledger_add; false when fresh */
	bool has_compat[AFS_N_ROLES]; /* compat[role] was measured */
	struct afs_compat compat[AFS_N_ROLES];
	size_t n_rows;
	struct ledger_row *row; /* by role, class, object */
	/* The requests ledger: sums of parts over accounts are the calls ledger. */
	size_t n_parts, n_accounts, n_results, n_storage, n_packets;
	struct ledger_part *part;       /* by role, account, class, object */
	struct ledger_account *account; /* by number */
	struct ledger_result *result;   /* by account, code */
	struct ledger_storage *storage; /* by role, account */
	struct ledger_packets *packets; /* to the server, from it */
};

void ledger_fini(struct ledger *l);

/* Adds an account's requests to another's. */
void ledger_account_add(struct ledger_account *to, const struct ledger_account *from);

/*
 * out = later - earlier, both running totals of one watch; out need not be initialised.
 * A part counts as measured if both have it; not if a total went backwards. Shortest and longest
 * are those of later: of the time since watch_span. 0 or -ENOMEM.
 */
int ledger_diff(struct ledger *out, const struct ledger *later, const struct ledger *earlier);

/*
 * Adds from's rows to "to"; measured flags are kept only where both have them, unless "to" is
 * new (nothing was added yet). 0, or -ENOMEM and "to" is as before.
 */
int ledger_add(struct ledger *to, const struct ledger *from);

/*
 * The same, but of each two totals takes the larger: a total of "to" never goes backwards, whatever
 * a later reading says.
 */
int ledger_raise(struct ledger *to, const struct ledger *from);

void ledger_compat_add(struct afs_compat *to, const struct afs_compat *from);
/* false: "from" had less of something. */
bool ledger_compat_subtract(struct afs_compat *from, const struct afs_compat *what);

/* Puts parts and results in order and adds up equal ones, which several CPUs may have counted. */
void ledger_join(struct ledger *l);

/* Sum of cells; AFS_N_ROLES, AFS_N_CLASSES and AFS_N_OBJECTS stand for all. */
struct afs_cell ledger_sum(const struct ledger *l, unsigned int role, unsigned int class,
			   unsigned int object);

/* NULL: no request of this account. */
const struct ledger_account *ledger_account(const struct ledger *l, unsigned int number);

/* Packets of one way; all 0 if there were none. */
struct afs_packets ledger_packets(const struct ledger *l, bool from_server);

/* Requests that were answered. */
uint64_t ledger_answered(const struct ledger *l);

/* Sum of parts; LEDGER_ALL stands for all (of the classes: AFS_CLASS_USER, too). */
#define LEDGER_ALL 0xffffu
struct afs_part ledger_part_sum(const struct ledger *l, unsigned int role, unsigned int account,
				unsigned int class, unsigned int object);

/* Sum of storage rows; LEDGER_ALL stands for all. */
struct afs_storage ledger_storage_sum(const struct ledger *l, unsigned int role,
				      unsigned int account);

const char *ledger_role_name(unsigned int role);
const char *ledger_class_name(unsigned int class);
const char *ledger_object_name(unsigned int object);

/*
 * A copy of a role's n rows, to be freed: most time first, or most calls where calls were not
 * timed; waits last. NULL: no memory.
 */
struct ledger_row *ledger_rows_of(const struct ledger *l, unsigned int role, size_t *n);

#endif
