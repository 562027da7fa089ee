/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_LEDGER_H
#define BASE_LEDGER_H

/*
 * Ledgers as a result holds them: what the watched processes did in an interval.
 * A ledger is sparse (rows that are all 0 are not there) and owns its rows.
 */

#include "bpf/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_row {
	uint8_t role, class, object; /* enum afs_role, afs_class, afs_object */
	struct afs_cell cell;
};

struct ledger {
	bool has_calls;               /* rows were counted, not sampled */
	bool filled;                  /* made by ledger_diff or ledger_add; false when fresh */
	bool has_compat[AFS_N_ROLES]; /* compat[role] was measured */
	struct afs_compat compat[AFS_N_ROLES];
	size_t n_rows;
	struct ledger_row *row; /* by role, class, object */
};

void ledger_fini(struct ledger *l);

/*
 * out = later - earlier, both running totals of one watch; out need not be initialised.
 * Measured is what both have measured; a total that went backwards is not. 0 or -ENOMEM.
 */
int ledger_diff(struct ledger *out, const struct ledger *later, const struct ledger *earlier);

/*
 * Adds from's rows to "to"; measured flags are kept only where both have them, unless "to" is
 * new (nothing was added yet). 0, or -ENOMEM and "to" is as before.
 */
int ledger_add(struct ledger *to, const struct ledger *from);

/* Sum of cells; AFS_N_ROLES, AFS_N_CLASSES and AFS_N_OBJECTS stand for all. */
struct afs_cell ledger_sum(const struct ledger *l, unsigned int role, unsigned int class,
			   unsigned int object);

const char *ledger_role_name(unsigned int role);
const char *ledger_class_name(unsigned int class);
const char *ledger_object_name(unsigned int object);

#endif
