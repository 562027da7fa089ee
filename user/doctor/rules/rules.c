/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/rules/rules.h"

#include "run/kind.h"

static const struct doctor_rules *const all[] = {
	&doctor_rules_server,  &doctor_rules_gluster, &doctor_rules_rx,  &doctor_rules_smb,
	&doctor_rules_nfs,     &doctor_rules_stops,   &doctor_rules_way, &doctor_rules_storage,
	&doctor_rules_machine, &doctor_rules_clients,
};

bool doctor_rules_apply(const struct doctor_rules *r, const struct run_figures *f)
{
	unsigned int by = 1u << run_kind_judged(f->kind);

	return by & (r->of | (f->known[RUN_FIGURE_FILE_SYSTEMS] ? r->with_files : 0));
}

const struct doctor_rule *doctor_rule_at(const struct run_figures *f, size_t i)
{
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		if (!doctor_rules_apply(all[k], f))
			continue;
		if (i < all[k]->n)
			return &all[k]->rule[i];
		i -= all[k]->n;
	}
	return NULL;
}

size_t doctor_rules_count(const struct run_figures *f)
{
	size_t n = 0;

	while (doctor_rule_at(f, n))
		n++;
	return n;
}
