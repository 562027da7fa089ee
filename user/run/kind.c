/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run says of its kind of server. */
#include "run/kind.h"

#include "run/run.h"

const char *run_kind_name(const struct run *r)
{
	return r->kind ? r->kind->name : "afp";
}

bool run_has_requests(const struct run *r)
{
	return !r->kind || r->kind->has_requests;
}

bool run_has_threads(const struct run *r)
{
	return r->kind && r->kind->has_threads;
}

bool run_has_metrics(const struct run *r)
{
	return !r->kind || r->kind->has_metrics;
}

const char *run_account_name(const struct run *r, unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	return account_name_of(r->kind ? r->kind->accounts : NULL, number, buf);
}

const char *run_role_name(const struct run *r, unsigned int role)
{
	const char *name = r->kind && role < AFS_N_ROLES ? r->kind->role[role] : NULL;

	return name ? name : ledger_role_name(role);
}

bool run_has_metric(const struct run *r, unsigned int metric)
{
	if (run_has_metrics(r) || metric == METRIC_ELAPSED)
		return true;
	/* of the client */
	for (size_t i = 0; i < r->n_phases && metric < METRIC_AFPD_SYSCR; i++)
		if (r->phase[i]->known[metric])
			return true;
	return false;
}
