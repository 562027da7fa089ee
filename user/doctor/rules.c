/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/rules.h"

#include <string.h>

static const struct doctor_rules *const all[] = {
	&doctor_rules_server,  &doctor_rules_gluster, &doctor_rules_machine,
	&doctor_rules_clients, &doctor_rules_rx,
};

static bool is_for(const struct doctor_rules *r, const struct run_figures *f)
{
	const char *kind = *f->kind ? f->kind : "afp", *at = r->kinds;
	size_t len = strlen(kind);

	/* None of their names is a part of another one. */
	at = strstr(at, kind);
	return at && (!at[len] || at[len] == ' ');
}

const struct doctor_rule *doctor_rule_at(const struct run_figures *f, size_t i)
{
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		if (!is_for(all[k], f))
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
