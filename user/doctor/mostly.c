/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/mostly.h"

#include "run/kind.h"

void doctor_mostly(struct run_figures *out, const struct run *r, const struct requests *all,
		   bool (*skip)(const void *user, unsigned int account), const void *user)
{
	const struct ledger_account *most = NULL;
	char name[ACCOUNT_NAME_MAX];
	double ns = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct request *is = &all->request[i];

		if (!is->a.sum.answered || (skip && skip(user, is->number)))
			continue;
		ns += (double)is->a.sum.ns;
		if (most && is->a.sum.ns <= most->sum.ns)
			continue;
		most = &is->a;
		run_figure_who(out, RUN_FIGURE_MOSTLY, "%s", run_account_name(r, is->number, name));
	}
	if (!most || !(ns > 0))
		return;
	run_figure_share(out, RUN_FIGURE_MOSTLY, (double)most->sum.ns, ns);
	if (!(requests_quantile(most, 0.5) > 0))
		return;
	run_figure_set(out, RUN_FIGURE_MOSTLY_P50, requests_quantile(most, 0.5));
	run_figure_set(out, RUN_FIGURE_MOSTLY_P99, requests_quantile(most, 0.99));
}
