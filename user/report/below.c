/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of the storage ledger, and which of them are known. */
#include "report/below.h"

const struct below_field below_fields[AFS_N_STORAGE] = {
#define X(key, item, unit, text) { #key, AFS_STORAGE_##item, AFS_UNIT_##unit },
	AFS_STORAGE(X)
#undef X
};

uint64_t below_get(const struct afs_storage *s, enum afs_storage_field field)
{
	return ((const __u64 *)s)[field];
}

void below_known(const struct ledger *l, bool out[AFS_N_STORAGE])
{
	struct afs_storage all = ledger_storage_sum(l, LEDGER_ALL, LEDGER_ALL);
	uint64_t n[AFS_N_STORAGE_ITEMS] = { 0 }, ns[AFS_N_STORAGE_ITEMS] = { 0 };
	bool times[AFS_N_STORAGE_ITEMS] = { 0 };

	for (unsigned int i = 0; i < AFS_N_STORAGE; i++) {
		const struct below_field *f = &below_fields[i];

		if (f->unit == AFS_UNIT_N)
			n[f->item] += below_get(&all, i);
		times[f->item] |= f->unit == AFS_UNIT_NS;
		if (f->unit == AFS_UNIT_NS)
			ns[f->item] += below_get(&all, i);
	}
	for (unsigned int i = 0; i < AFS_N_STORAGE; i++) {
		const struct below_field *f = &below_fields[i];
		bool numbers = times[f->item] && n[f->item] && !ns[f->item];

		out[i] = l->has_storage && l->has_item[f->item] &&
			 (f->unit == AFS_UNIT_N || !numbers);
	}
}
