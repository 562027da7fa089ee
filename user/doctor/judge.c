/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/judge.h"

#include "run/kind.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTICED_SLOW   0.1   /* share of request time */
#define NOTICED_P99    100e6 /* ns */
#define NOTICED_P50    30e6  /* ns */
#define NOTICED_UNREAD 20e6  /* ns, on average */
#define NOTICED_OLDEST 1e9   /* ns: a request without an answer */
#define NOTICED_REPLY  100e6 /* ns that a reply is on its way to a client, on average */
#define NOTICED_LINK   1e9   /* ns that replies were on their way to it */
#define IDLE_BUSY      0.05  /* requests at a time */
#define IDLE_UNREAD    5e6   /* ns, on average: more is no idle server */
#define SURE           1.5   /* times the limit */
#define SURE_WEIGHT    0.5   /* share that it explains */
#define LEAD           1.5   /* times the next: it counts more */
#define SURE_REQUESTS  (4 * DOCTOR_REQUESTS)
#define SLOW_REQUESTS  3 /* so many say as much as DOCTOR_REQUESTS of any length */

static bool at_least(const struct run_figures *f, enum run_figure which, double limit)
{
	return f->known[which] && f->value[which] >= limit;
}

static bool is_noticed(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_SLOW, NOTICED_SLOW) ||
	       at_least(f, RUN_FIGURE_P99, NOTICED_P99) ||
	       at_least(f, RUN_FIGURE_P50, NOTICED_P50) ||
	       at_least(f, RUN_FIGURE_UNREAD, NOTICED_UNREAD) ||
	       at_least(f, RUN_FIGURE_OLDEST, NOTICED_OLDEST);
}

/* A figure that must be small, too, is as good as that where it is not known. */
enum run_figure doctor_lacks(const struct run_figures *f, const struct doctor_rule *r)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (!f->known[r->test[i].figure] && (!i || !r->test[i].most))
			return r->test[i].figure;
	return r->harm < N_RUN_FIGURES && !f->known[r->harm] ? r->harm : N_RUN_FIGURES;
}

/* A limit so many times as large; of a share at most half of the way to 1. */
static double beyond(const struct doctor_test *t, double times)
{
	bool is_share = !strcmp(run_figures[t->figure].unit, "share");

	return times > 1 && is_share ? fmin(t->limit * times, (1 + t->limit) / 2)
				     : t->limit * times;
}

static bool holds(const struct run_figures *f, const struct doctor_test *t, double times)
{
	/* What is not known may be as large as it likes: that is not far from a limit. */
	if (!f->known[t->figure])
		return t->most && times <= 1;
	if (t->most && f->at_least[t->figure] && times > 1)
		return false;
	return t->most ? f->value[t->figure] * times <= t->limit
		       : f->value[t->figure] >= beyond(t, times);
}

static bool all_hold(const struct run_figures *f, const struct doctor_rule *r, double times)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (!holds(f, &r->test[i], times))
			return false;
	return true;
}

/* A figure of its resource is known, and is not as it says. */
static bool is_refuted(const struct run_figures *f, const struct doctor_rule *r)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (f->known[r->test[i].figure] && !holds(f, &r->test[i], 1))
			return true;
	return false;
}

/* A share of own time as one of the request time. */
static double of_all(const struct run_figures *f, const struct doctor_rule *r, double share)
{
	return r->own && f->known[RUN_FIGURE_OWN] ? share * f->value[RUN_FIGURE_OWN] : share;
}

/* What it explains; 0: it is not known to explain anything. */
static double weight(const struct run_figures *f, const struct doctor_rule *r)
{
	return r->harm < N_RUN_FIGURES && f->known[r->harm] ? of_all(f, r, f->value[r->harm]) : 0;
}

/* The most that its harm may be, for all that is known. */
static double most_harm(const struct run_figures *f, const struct doctor_rule *r)
{
	if (f->known[r->harm])
		return f->value[r->harm];
	return r->within && f->known[r->within] ? f->value[r->within] : HUGE_VAL;
}

/* Causes first, of these what fails; then most weight, then as in the tables. */
static int judge_by_weight(const void *a, const void *b)
{
	const struct doctor_finding *x = a, *y = b;
	bool fails = x->rule->kind == DOCTOR_FAILS;

	if (x->rule->whom != y->rule->whom)
		return x->rule->whom ? 1 : -1;
	if (fails != (y->rule->kind == DOCTOR_FAILS))
		return fails ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool is_rival(const struct doctor_finding *first, const struct doctor_finding *next)
{
	return next->rule->whom == first->rule->whom &&
	       (next->rule->kind == DOCTOR_FAILS) == (first->rule->kind == DOCTOR_FAILS) &&
	       next->weight * LEAD > first->weight && (next->sure || !first->sure);
}

size_t doctor_rivals(const struct diagnosis *d)
{
	size_t n = d->n_found ? 1 : 0;

	while (n && n < d->n_found && is_rival(&d->found[0], &d->found[n]))
		n++;
	return n;
}

double doctor_mean_ns(const struct run_figures *f)
{
	/* Of servers whose requests are parked it is in part in their time already. */
	const bool apart = run_kind_judged(f->kind) == RUN_JUDGED_SESSIONS;
	double unread = apart && f->known[RUN_FIGURE_UNREAD] ? f->value[RUN_FIGURE_UNREAD] : 0;

	return 1e9 * f->value[RUN_FIGURE_BUSY] / f->value[RUN_FIGURE_RATE] + unread;
}

/* A verdict on how requests wait needs requests, or some that are slow. */
static bool judge_is_enough(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_REQUESTS, DOCTOR_REQUESTS) ||
	       at_least(f, RUN_FIGURE_SLOW_N, SLOW_REQUESTS) ||
	       at_least(f, RUN_FIGURE_PENDING, NOTICED_OLDEST) ||
	       at_least(f, RUN_FIGURE_OLDEST, NOTICED_OLDEST);
}

/* What would make it less sure is known: losses, and the own time of which its share is one. */
static bool is_whole(const struct run_figures *f, const struct doctor_rule *r)
{
	return f->known[RUN_FIGURE_UNCOUNTED] && (!r->own || f->known[RUN_FIGURE_OWN]);
}

/* Counts are not complete. */
static bool is_lossy(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_UNCOUNTED, 1);
}

static void rule_out(struct diagnosis *d, const struct run_figures *f, const struct doctor_rule *r)
{
	if (is_lossy(f))
		d->unseen[d->n_unseen++] = r;
	else
		d->out[d->n_out++] = r;
}

/* Whether it can be said for sure: many requests, or one that waits for long. */
static bool is_plenty(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_REQUESTS, SURE_REQUESTS) ||
	       at_least(f, RUN_FIGURE_OLDEST, SURE * NOTICED_OLDEST);
}

/* A client waits for replies that the server has sent: no time of a request shows that. */
static bool is_way_noticed(const struct run_figures *f)
{
	return at_least(f, RUN_FIGURE_LINK_REPLY, NOTICED_REPLY) && f->known[RUN_FIGURE_LINK] &&
	       at_least(f, RUN_FIGURE_ELAPSED,
			NOTICED_LINK / fmax(f->value[RUN_FIGURE_LINK], 1e-9));
}

static bool is_of_way(const struct doctor_rule *r)
{
	return r->harm == RUN_FIGURE_NET_WAIT || r->harm == RUN_FIGURE_NET ||
	       r->harm == RUN_FIGURE_TAKING;
}

/* What explains so much makes the average request so much longer that it is a cause even if nobody
 * notices. */
static bool is_worth(const struct run_figures *f, const struct doctor_rule *r, double explains)
{
	return r->worth_ns > 0 && f->known[RUN_FIGURE_BUSY] && at_least(f, RUN_FIGURE_RATE, 1e-9) &&
	       explains * doctor_mean_ns(f) >= r->worth_ns;
}

/* What would harm users by so much, where they notice that requests are slow, or the way is. */
static bool harms(const struct run_figures *f, const struct doctor_rule *r, bool noticed, bool way,
		  double harm)
{
	if (r->kind == DOCTOR_NOTE || (r->kind == DOCTOR_WAIT && !noticed && !way &&
				       !is_worth(f, r, fmin(of_all(f, r, harm), 1))))
		return false;
	if (r->kind != DOCTOR_FAILS && !judge_is_enough(f) && !way)
		return false;
	return r->harm == N_RUN_FIGURES || harm >= r->least;
}

/* Users are harmed by it. */
static bool is_harm(const struct run_figures *f, const struct doctor_rule *r, bool noticed)
{
	bool known = r->harm == N_RUN_FIGURES || f->known[r->harm];

	return known && harms(f, r, noticed, is_of_way(r) && is_way_noticed(f),
			      r->harm == N_RUN_FIGURES ? 0 : f->value[r->harm]);
}

/* For all that is known it may be a cause: of that which says why. */
static bool may_be(const struct run_figures *f, const struct doctor_rule *r, bool noticed)
{
	bool way = is_of_way(r) && (is_way_noticed(f) || !f->known[RUN_FIGURE_LINK_REPLY] ||
				    !f->known[RUN_FIGURE_LINK]);

	return !r->whom && !is_refuted(f, r) &&
	       harms(f, r, noticed, way, r->harm == N_RUN_FIGURES ? 0 : most_harm(f, r));
}

bool doctor_would_harm(const struct run_figures *f, const struct doctor_rule *r)
{
	return !r->whom && is_harm(f, r, true);
}

static bool is_partly_known(const struct run_figures *f, enum run_figure which)
{
	return f->known[which] || f->at_least[which];
}

/* What its reasons explain of the same time, as far as is known: the largest of them, or the first
 * of which nothing is; N_RUN_FIGURES: it has none. */
static enum run_figure judge_reason(const struct run_figures *f, const struct doctor_rule *r)
{
	enum run_figure most = N_RUN_FIGURES;

	for (size_t i = 0; i < r->n_reasons; i++) {
		if (!is_partly_known(f, r->reason[i]))
			return r->reason[i];
		if (most == N_RUN_FIGURES || f->value[r->reason[i]] > f->value[most])
			most = r->reason[i];
	}
	return most;
}

/* Why what it explains does not make it sure; DOCTOR_NO_DOUBT: that does. */
static enum doctor_doubt doubt_of_weight(const struct run_figures *f, const struct doctor_rule *r,
					 enum run_figure *about)
{
	double explains = weight(f, r);

	*about = judge_reason(f, r);
	if (explains < SURE_WEIGHT)
		return DOCTOR_DOUBT_WEIGHT;
	if (*about == N_RUN_FIGURES)
		return DOCTOR_NO_DOUBT;
	if (!is_partly_known(f, *about))
		return DOCTOR_DOUBT_UNKNOWN;
	return explains - f->value[*about] < SURE_WEIGHT ? DOCTOR_DOUBT_REASON : DOCTOR_NO_DOUBT;
}

/* The first figure that is not far from its limit, or not known. */
static enum doctor_doubt doubt_of_limits(const struct run_figures *f, const struct doctor_rule *r,
					 enum run_figure *about)
{
	for (size_t i = 0; i < r->n_tests; i++) {
		*about = r->test[i].figure;
		if (!f->known[*about])
			return DOCTOR_DOUBT_UNKNOWN;
		if (r->test[i].most && f->at_least[*about])
			return DOCTOR_DOUBT_BOUND;
		if (!holds(f, &r->test[i], SURE))
			return DOCTOR_DOUBT_LIMIT;
	}
	return DOCTOR_NO_DOUBT;
}

static enum doctor_doubt judge_doubt(const struct run_figures *f, const struct doctor_rule *r,
				     bool small, enum run_figure *about)
{
	enum doctor_doubt of;

	*about = N_RUN_FIGURES;
	if (r->whom)
		return DOCTOR_DOUBT_WHOM;
	if (is_lossy(f))
		return DOCTOR_DOUBT_LOSSES;
	*about = f->known[RUN_FIGURE_UNCOUNTED] ? RUN_FIGURE_OWN : RUN_FIGURE_UNCOUNTED;
	if (!is_whole(f, r))
		return DOCTOR_DOUBT_UNKNOWN;
	if (small)
		return DOCTOR_DOUBT_SMALL;
	if (r->kind != DOCTOR_FAILS && !is_plenty(f))
		return DOCTOR_DOUBT_FEW;
	of = doubt_of_weight(f, r, about);
	if (of == DOCTOR_NO_DOUBT)
		of = doubt_of_limits(f, r, about);
	return of == DOCTOR_NO_DOUBT && r->unsure ? DOCTOR_DOUBT_RULE : of;
}

static bool is_about_a_figure(enum doctor_doubt doubt)
{
	return doubt == DOCTOR_DOUBT_UNKNOWN || doubt == DOCTOR_DOUBT_REASON ||
	       doubt == DOCTOR_DOUBT_LIMIT || doubt == DOCTOR_DOUBT_BOUND;
}

static void add_finding(struct diagnosis *d, const struct run_figures *f,
			const struct doctor_rule *r, size_t place, bool noticed)
{
	double explains = weight(f, r);
	bool small = r->kind == DOCTOR_WAIT && !noticed && is_worth(f, r, explains);
	enum run_figure about;
	enum doctor_doubt doubt = judge_doubt(f, r, small, &about);

	d->found[d->n_found++] = (struct doctor_finding) {
		.rule = r,
		.place = place,
		.weight = explains,
		.small = small,
		.sure = doubt == DOCTOR_NO_DOUBT,
		.doubt = doubt,
		.about = is_about_a_figure(doubt) ? about : N_RUN_FIGURES,
	};
}

/* Too little is waited for it, or fails, for a cause, whatever its resource does; nor is that worth
 * a note. */
static bool is_harmless(const struct run_figures *f, const struct doctor_rule *r)
{
	return r->harm != N_RUN_FIGURES && !r->fact && most_harm(f, r) < r->least;
}

/* A rule of which a figure is missing. */
static void judge_lacking(struct diagnosis *d, const struct run_figures *f,
			  const struct doctor_rule *r, bool noticed)
{
	if (is_refuted(f, r) || is_harmless(f, r)) {
		rule_out(d, f, r);
		return;
	}
	/* Where no harm is needed (least 0), none is shown. */
	if (is_harm(f, r, noticed) && r->harm != N_RUN_FIGURES && r->least > 0)
		d->half[d->n_half++] = r;
	else
		d->unseen[d->n_unseen++] = r;
	if (may_be(f, r, noticed))
		d->open[d->n_open++] = r;
}

/* It explains as much as a cause does, of what is too little for a verdict. */
static bool is_too_few_for(const struct run_figures *f, const struct doctor_rule *r)
{
	return (r->kind == DOCTOR_WORK || r->kind == DOCTOR_WAIT) && !judge_is_enough(f) &&
	       r->harm != N_RUN_FIGURES && at_least(f, r->harm, r->least);
}

static void judge_rule(struct diagnosis *d, const struct run_figures *f,
		       const struct doctor_rule *r, size_t place, bool noticed)
{
	bool harm = is_harm(f, r, noticed);

	if (doctor_lacks(f, r) != N_RUN_FIGURES) {
		judge_lacking(d, f, r, noticed);
	} else if (!all_hold(f, r, 1)) {
		rule_out(d, f, r);
	} else if (harm) {
		add_finding(d, f, r, place, noticed);
	} else if (r->kind == DOCTOR_NOTE || r->fact || doctor_would_harm(f, r)) {
		d->note[d->n_notes++] = r;
	} else if (is_too_few_for(f, r)) {
		d->unseen[d->n_unseen++] = r;
		d->open[d->n_open] = r;
		d->n_open += !r->whom;
	} else {
		rule_out(d, f, r);
	}
}

/* What stands out, whether it harms anybody or not. */
static void judge_time(struct diagnosis *d, const struct run_figures *f)
{
	const struct doctor_rules *all = &doctor_rules_time;

	for (size_t i = 0; i < all->n && doctor_rules_apply(all, f); i++) {
		const struct doctor_rule *r = &all->rule[i];

		if (doctor_lacks(f, r) == N_RUN_FIGURES && all_hold(f, r, 1) &&
		    (r->harm == N_RUN_FIGURES || at_least(f, r->harm, r->least)))
			d->took[d->n_took++] = (struct doctor_finding) { .rule = r,
									 .place = i,
									 .weight = weight(f, r) };
	}
	qsort(d->took, d->n_took, sizeof(*d->took), judge_by_weight);
}

/* A wait for files and disks, or a part of it. */
static bool is_of_disk(const struct doctor_rule *r)
{
	return r->harm == RUN_FIGURE_WAIT_DISK || r->harm == RUN_FIGURE_SYNC ||
	       r->harm == RUN_FIGURE_OPEN;
}

/* fsync and opening a file are different calls. */
static bool are_apart(const struct doctor_rule *a, const struct doctor_rule *b)
{
	return a->harm != b->harm && a->harm != RUN_FIGURE_WAIT_DISK &&
	       b->harm != RUN_FIGURE_WAIT_DISK;
}

/*
 * What keeps a disk busy, or requests from it, cannot be told by the wait: beside a cause that is
 * there and may explain as much of it, none is sure.
 */
static void doubt_beside_others(struct diagnosis *d)
{
	for (size_t i = 0; i < d->n_found; i++) {
		struct doctor_finding *is = &d->found[i];

		for (size_t k = 0; k < d->n_found && is->sure && is_of_disk(is->rule); k++) {
			const struct doctor_finding *other = &d->found[k];

			if (!other->rule->unsure || other->rule->whom || !is_of_disk(other->rule) ||
			    are_apart(is->rule, other->rule) ||
			    is->weight - other->weight >= SURE_WEIGHT)
				continue;
			is->sure = false;
			is->doubt = DOCTOR_DOUBT_OTHER;
		}
	}
}

/* The first finding says why, if any does. */
static bool says_why(const struct diagnosis *d)
{
	return d->n_found && !d->found[0].rule->whom;
}

/* Where a cause is found, who does what besides is of no interest. */
static void drop_whom(struct diagnosis *d, const struct run_figures *f)
{
	size_t n = d->n_notes;

	d->n_notes = 0;
	for (size_t i = 0; i < n; i++) {
		if (d->note[i]->whom)
			rule_out(d, f, d->note[i]);
		else
			d->note[d->n_notes++] = d->note[i];
	}
}

static bool has_key(const struct doctor_rule *const *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i]->key, key))
			return true;
	return false;
}

static bool is_found(const struct diagnosis *d, const char *key)
{
	for (size_t i = 0; i < d->n_found; i++)
		if (!strcmp(d->found[i].rule->key, key))
			return true;
	return false;
}

/* Each key once, and none that is found by another rule. */
static void keep_open(struct diagnosis *d)
{
	size_t n = d->n_open;

	d->n_open = 0;
	for (size_t i = 0; i < n; i++)
		if (!is_found(d, d->open[i]->key) && !has_key(d->open, d->n_open, d->open[i]->key))
			d->open[d->n_open++] = d->open[i];
}

/* Several rules may have one key: what one of them says, the others neither miss nor rule out. */
static void judge_say_once(struct diagnosis *d)
{
	const struct {
		const struct doctor_rule **rule;
		size_t *n;
	} list[] = { { d->note, &d->n_notes },
		     { d->half, &d->n_half },
		     { d->unseen, &d->n_unseen },
		     { d->out, &d->n_out } };

	for (size_t l = 0; l < sizeof(list) / sizeof(list[0]); l++) {
		size_t n = *list[l].n, kept = 0;

		for (size_t i = 0; i < n; i++) {
			const char *key = list[l].rule[i]->key;
			bool said = is_found(d, key) || has_key(list[l].rule, kept, key);

			for (size_t k = 0; k < l; k++)
				said |= has_key(list[k].rule, *list[k].n, key);
			if (!said)
				list[l].rule[kept++] = list[l].rule[i];
		}
		*list[l].n = kept;
	}
	keep_open(d);
}

static enum doctor_verdict judge_verdict(const struct diagnosis *d, const struct run_figures *f)
{
	if (says_why(d))
		return DOCTOR_FOUND;
	if (!f->known[RUN_FIGURE_REQUESTS])
		return DOCTOR_UNSEEN;
	if (judge_is_enough(f) && is_noticed(f))
		return DOCTOR_SLOW;
	if (d->n_found)
		return DOCTOR_FOUND;
	if (is_lossy(f))
		return DOCTOR_LOST;
	if (!at_least(f, RUN_FIGURE_REQUESTS, DOCTOR_REQUESTS))
		return DOCTOR_TOO_FEW;
	if (d->n_open)
		return DOCTOR_PARTLY;
	return at_least(f, RUN_FIGURE_BUSY, IDLE_BUSY) ||
		       at_least(f, RUN_FIGURE_UNREAD, IDLE_UNREAD)
		   ? DOCTOR_HEALTHY
		   : DOCTOR_IDLE;
}

int doctor_judge(struct diagnosis *out, const struct run_figures *f)
{
	size_t n = doctor_rules_count(f);

	*out = (struct diagnosis) { .found = calloc(n, sizeof(*out->found)),
				    .took = calloc(doctor_rules_time.n, sizeof(*out->took)),
				    .note = calloc(n, sizeof(*out->note)),
				    .out = calloc(n, sizeof(*out->out)),
				    .half = calloc(n, sizeof(*out->half)),
				    .unseen = calloc(n, sizeof(*out->unseen)),
				    .open = calloc(n, sizeof(*out->open)) };
	if (!out->found || !out->took || !out->note || !out->out || !out->half || !out->unseen ||
	    !out->open) {
		diagnosis_fini(out);
		return -ENOMEM;
	}
	out->verdict = DOCTOR_UNSEEN;
	if (at_least(f, RUN_FIGURE_PROGRAM_32BIT, 1))
		return 0;
	judge_time(out, f);
	for (size_t i = 0; i < n; i++)
		judge_rule(out, f, doctor_rule_at(f, i), i, is_noticed(f));
	doubt_beside_others(out);
	qsort(out->found, out->n_found, sizeof(*out->found), judge_by_weight);
	if (says_why(out))
		drop_whom(out, f);
	judge_say_once(out);
	out->verdict = judge_verdict(out, f);
	return 0;
}

void diagnosis_fini(struct diagnosis *d)
{
	free(d->found);
	free(d->took);
	free(d->note);
	free(d->out);
	free(d->half);
	free(d->unseen);
	free(d->open);
	*d = (struct diagnosis) { 0 };
}
