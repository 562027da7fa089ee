/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_KIND_H
#define RUN_KIND_H

/* What kind of server was watched, as far as output needs to know. user/kinds has the kinds. */

#include "run/account.h"

#include <stdbool.h>
#include <stdint.h>

struct run_kind {
	const char *name;              /* "afp" */
	const char *role[AFS_N_ROLES]; /* names of its processes; NULL: as bpf/events.h has it */
	bool has_requests;             /* its protocol is decoded: requests by account */
	bool has_threads;              /* its threads' names say what they are for */
	bool has_metrics;              /* all of run/run.h and findings are of this kind */
	bool has_diagnosis;
	const struct account_names *accounts;     /* NULL: AFP's */
	const char *(*result_text)(int32_t code); /* NULL: AFP's; it may return NULL: no name */
};

struct run;

/* "afp" */
const char *run_kind_name(const struct run *r);
/* Whether its requests are known. */
bool run_has_requests(const struct run *r);
/* Whether its threads are shown by name. */
bool run_has_threads(const struct run *r);
/* Whether all metrics and findings have a meaning for this kind of server. */
bool run_has_metrics(const struct run *r);
/* The name of an account. Returns buf or a constant. */
const char *run_account_name(const struct run *r, unsigned int number, char buf[ACCOUNT_NAME_MAX]);
/* Whether a metric has a meaning for this kind of server. */
bool run_has_metric(const struct run *r, unsigned int metric);
/* The name of a role's processes. */
const char *run_role_name(const struct run *r, unsigned int role);

#endif
