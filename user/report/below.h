/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_BELOW_H
#define REPORT_BELOW_H

/* What is known of the layer below the system calls, as both text and JSON need it. */

#include "run/ledger.h"

struct below_field {
	const char *key; /* static */
	enum afs_storage_item item;
	enum afs_unit unit;
};

extern const struct below_field below_fields[AFS_N_STORAGE];

uint64_t below_get(const struct afs_storage *s, enum afs_storage_field field);

/*
 * Which fields the ledger's rows hold. If an item is only counted, its calls have no time at all:
 * then its times and bytes are not known.
 */
void below_known(const struct ledger *l, bool out[AFS_N_STORAGE]);

#endif
