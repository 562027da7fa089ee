/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_KIND_H
#define RUN_KIND_H

/* What kind of server was watched, as far as output needs to know. user/kinds has the kinds. */

#include "bpf/events.h"

#include <stdbool.h>

struct run_kind {
	const char *name;              /* "afp" */
	const char *role[AFS_N_ROLES]; /* names of its processes; NULL: as bpf/events.h has it */
	bool has_requests;             /* its protocol is decoded: calls and times by request */
};

struct run;

/* "afp" */
const char *run_kind_name(const struct run *r);
/* Whether calls and times are by request. */
bool run_has_requests(const struct run *r);
/* Whether a metric has a meaning for this kind of server. */
bool run_has_metric(const struct run *r, unsigned int metric);
/* The name of a role's processes. */
const char *run_role_name(const struct run *r, unsigned int role);

#endif
