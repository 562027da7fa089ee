/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_RULES_RULES_PRIV_H
#define DOCTOR_RULES_RULES_PRIV_H

/* Words for the tables of causes. */

#include "doctor/rules/rules.h"

#define F(name) RUN_FIGURE_##name
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
#define WORTH_US(v)       .worth_ns = 1e3 * (v)
#define UNSURE            .unsure = true
#define NO_HARM           .harm = N_RUN_FIGURES
#define EVIDENCE(...)                                                                              \
	.n_evidence = sizeof((enum run_figure[]) { __VA_ARGS__ }) / sizeof(enum run_figure),       \
	.evidence = { __VA_ARGS__ }

#endif
