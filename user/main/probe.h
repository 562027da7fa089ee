/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_PROBE_H
#define MAIN_PROBE_H

/* The options of afpscope probe. */

#include "drive/slo.h"
#include "drive/workload.h"

struct probe_cfg {
	struct workload_cfg w;
	unsigned int duration_s;
	struct slos slos;
	bool direct, quiet;
};

extern const struct job_type probe_job;

/* For workload_type.parse: cfg is a probe_cfg. 0, or a negative errno and a text. */
int probe_parse(struct workload_cfg *cfg, struct job *j, struct err *e);

#endif
