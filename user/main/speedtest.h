/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_SPEEDTEST_H
#define MAIN_SPEEDTEST_H

/* Between the two files of the command: what was asked for. */

#include "drive/workload.h"
#include "work/speedtest/speedtest.h"

#define SPEEDTEST_SIZES_MAX 64

struct speedtest_cfg {
	struct workload_cfg w;
	struct speedtest_opts o;
	uint64_t size[SPEEDTEST_SIZES_MAX];
	double delay_s;
	unsigned int each; /* -V */
	bool each_request; /* shown on stderr */
	bool statistics, interactive;
	bool no_flush, no_null; /* as the options say it; o.flush and null are what follows */
	bool sweep;             /* a list of sizes: -z, or no size was given */
	bool narrow;            /* 32-bit requests only */
	bool null;              /* compare with the null peer */
	bool live;              /* print netatalk's text during the run, on stdout */
	int set_choice, data, receive, units;
	const char *set;
};

extern const char *const speedtest_data_choices[];
extern const char *const speedtest_receive_choices[];
extern const char *const speedtest_unit_choices[];

extern const struct job_type speedtest_job;

/*
 * Defaults, and what the arguments say; argv[0] decides whether to behave as netatalk's tool
 * (compat/peer.h). Opens nothing. 0, or a negative errno (-ERANGE: a number) and a text; help is
 * set when it was asked for.
 */
int speedtest_parse(struct speedtest_cfg *cfg, struct job *j, struct err *e);
void speedtest_help(const struct speedtest_cfg *cfg, FILE *out);

#endif
