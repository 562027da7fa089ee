/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_JUDGE_H
#define DOCTOR_JUDGE_H

/*
 * A diagnosis from figures and rules, a pure function of the figures. What people notice: requests
 * of 100 ms or more, or half of them of 30 ms, or requests that wait long before they are read, or
 * one that has had no answer for a second. What costs less than that may be a cause, too, if the
 * rule says so (worth_ns), but never for sure.
 */

#include "doctor/rules/rules.h"

/* Fewer requests than this, and none under way: too little is known of how the server works. */
#define DOCTOR_REQUESTS 50

enum doctor_verdict {
	DOCTOR_FOUND,   /* findings */
	DOCTOR_SLOW,    /* people notice, and no finding says why */
	DOCTOR_HEALTHY, /* it works, and nothing is wrong with it: each cause is ruled out */
	DOCTOR_IDLE,    /* the same; so little of the time that the wait is elsewhere */
	DOCTOR_PARTLY,  /* what was seen is right, but there may be a cause that was not (open) */
	DOCTOR_TOO_FEW, /* requests for a verdict */
	DOCTOR_LOST,    /* no findings, but something was lost */
	DOCTOR_UNSEEN,  /* requests were not counted */
};

/* Why a finding is likely, and not sure: the first of these that holds. */
enum doctor_doubt {
	DOCTOR_NO_DOUBT,
	DOCTOR_DOUBT_WHOM,    /* it says only who */
	DOCTOR_DOUBT_LOSSES,  /* not all was counted */
	DOCTOR_DOUBT_UNKNOWN, /* a figure is not known */
	DOCTOR_DOUBT_SMALL,   /* people do not notice that requests are slow */
	DOCTOR_DOUBT_FEW,     /* few requests were seen */
	DOCTOR_DOUBT_WEIGHT,  /* it explains less than half */
	DOCTOR_DOUBT_REASON,  /* besides a figure, another cause's, it explains less than half */
	DOCTOR_DOUBT_BOUND,   /* a figure that must be small may be larger than is known */
	DOCTOR_DOUBT_LIMIT,   /* a figure is near its limit */
	DOCTOR_DOUBT_RULE,    /* its rule is never sure: other causes have the same figures */
	DOCTOR_DOUBT_OTHER,   /* beside what another finding may explain of the same time, that is
				 less than half */
};

struct doctor_finding {
	const struct doctor_rule *rule;
	size_t place;  /* of the rule among those of its kind of server */
	double weight; /* share of what users waited for, or of what failed, that it explains */
	/* Without it at least half of that would not be, by figures that are far from their limits.
	 */
	bool sure;
	bool small; /* people do not notice that requests are slow */
	enum doctor_doubt doubt;
	enum run_figure about; /* of UNKNOWN, REASON, BOUND and LIMIT; else N_RUN_FIGURES */
};

struct diagnosis {
	enum doctor_verdict verdict;
	size_t n_found, n_took, n_notes, n_out, n_half, n_unseen, n_open;
	struct doctor_finding *found;    /* owned; causes before those that say only who */
	struct doctor_finding *took;     /* owned; where the time of requests went; no causes */
	const struct doctor_rule **note; /* owned; doctor_note: they harm nobody now */
	/* Owned; a condition does not hold, or too little is waited for it; nothing was lost. */
	const struct doctor_rule **out;
	const struct doctor_rule **half;   /* owned; users wait for it; the resource is not seen */
	const struct doctor_rule **unseen; /* owned; a figure is missing, or requests are */
	/*
	 * Owned; of half and unseen, those that may be causes: no figure that is known speaks
	 * against it.
	 */
	const struct doctor_rule **open;
};

/* 0 or -ENOMEM. */
int doctor_judge(struct diagnosis *out, const struct run_figures *f);

/*
 * How many findings explain about as much as the first, itself included: which of them counts more
 * cannot be told. They are the first of d->found. 1 or 0: the first stands alone, or there is none.
 */
size_t doctor_rivals(const struct diagnosis *d);

/* The first figure without which nothing is known of a cause; N_RUN_FIGURES: none is missing. */
enum run_figure doctor_lacks(const struct run_figures *f, const struct doctor_rule *r);

/* Whether a note would be a finding if people noticed that requests are slow. */
bool doctor_would_harm(const struct run_figures *f, const struct doctor_rule *r);

/* Of a request, on average, before it was read and in the server; where RATE is known, not 0. */
double doctor_mean_ns(const struct run_figures *f);

void diagnosis_fini(struct diagnosis *d);

#endif
