/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/rules/rules.h"

#include <string.h>

static const struct doctor_rules *const all[] = {
	&doctor_rules_server,  &doctor_rules_gluster, &doctor_rules_rx,
	&doctor_rules_storage, &doctor_rules_machine, &doctor_rules_clients,
};

/* None of the kinds' names is a part of another one. */
static bool has_word(const char *words, const char *word)
{
	const char *at = words ? strstr(words, word) : NULL;

	return at && (!at[strlen(word)] || at[strlen(word)] == ' ');
}

bool doctor_rules_apply(const struct doctor_rules *r, const struct run_figures *f)
{
	const char *kind = *f->kind ? f->kind : "afp";

	return has_word(r->kinds, kind) ||
	       (f->known[RUN_FIGURE_FILE_SYSTEMS] && has_word(r->with_files, kind));
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
