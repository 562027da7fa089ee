/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/notable.h"

#include "doctor/judge.h"
#include "doctor/say.h"
#include "report/transfer.h"

#define TEXT_MAX 400

int doctor_notable(struct run_notes *out, const struct run *r)
{
	struct diagnosis d;
	char text[TEXT_MAX];
	int e;

	if (!r->figures || transfer_run(r))
		return 0;
	e = doctor_judge(&d, r->figures);
	if (e)
		return e;
	for (size_t i = 0; i < d.n_took && !e; i++) {
		const struct doctor_rule *rule = d.took[i].rule;

		if (!run_note_find(out, rule->key))
			e = run_note(out, rule->key, "%s",
				     doctor_say(text, sizeof(text), r->figures, rule->fact));
	}
	diagnosis_fini(&d);
	return e;
}
