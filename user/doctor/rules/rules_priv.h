/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_RULES_RULES_PRIV_H
#define DOCTOR_RULES_RULES_PRIV_H

/* Words for the tables of causes. */

#include "doctor/rules/rules.h"

#define F(name)  RUN_FIGURE_##name
#define OF(name) (1u << RUN_JUDGED_##name)

/* Limits that stand in more than one row: what is harm by itself, and what stands out. */
#define STOPPED_LEAST    0.02
#define STOPPED_FEW      1e9 /* ns, of a few sessions */
#define STOPPED_FEW_HARM 0.01
#define TRACED_LEAST     100e6 /* ns, of all threads */
#define LOG_CALLS_LEAST  0.5
#define LOG_HARM         0.05
#define QUOTA_ALONE      0.75 /* of the requests' time: beside it others explain little */
#define SELF_CPU         0.25 /* of the server's CPUs, by this afpscope */
#define READ_LITTLE      50e3 /* bytes a second: below it requests wait for writes, not reads */
#define ASKED_MUCH       0.1  /* from here on a slow list is due to the cache, not to the folder */

#define LEAST(name, v)                                                                             \
	{                                                                                          \
		F(name), v, false                                                                  \
	}
#define MOST(name, v)                                                                              \
	{                                                                                          \
		F(name), v, true                                                                   \
	}
/* A figure that is 0 or 1, or a number of things. */
#define ANY(name) LEAST(name, 0.5)
#define TESTS(...)                                                                                 \
	.n_tests = sizeof((struct doctor_test[]) { __VA_ARGS__ }) / sizeof(struct doctor_test),    \
	.test = { __VA_ARGS__ }
#define HARM(name, v)     .harm = F(name), .least = (v)
#define OWN_HARM(name, v) HARM(name, v), .own = true
#define WITHIN(name)      .within = F(name)
#define WORTH_US(v)       .worth_ns = 1e3 * (v)
#define UNSURE            .unsure = true
#define NO_HARM           .harm = N_RUN_FIGURES
#define REASONS(...)                                                                               \
	.n_reasons = sizeof((enum run_figure[]) { __VA_ARGS__ }) / sizeof(enum run_figure),        \
	.reason = { __VA_ARGS__ }
#define EVIDENCE(...)                                                                              \
	.n_evidence = sizeof((enum run_figure[]) { __VA_ARGS__ }) / sizeof(enum run_figure),       \
	.evidence = { __VA_ARGS__ }

#endif
