/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis on one screen: what is wrong, ranked, with what shows it and what to do. */
#include "base/typed.h"
#include "doctor/judge.h"
#include "doctor/say.h"
#include "report/cell.h"
#include "report/report.h"
#include "report/screen/screen.h"
#include "report/section.h"
#include "run/kind.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS      3 /* shown with all that belongs to them */
#define OPINIONS      2 /* below other figures */
#define NOTES         2 /* facts that harm nobody */
#define MORE          1 /* shown in a line */
#define TEXT_MAX      1024
#define VERDICT_LINES 8
#define PART_LEAST    0.01 /* of request time, to be named */
#define NAME_LINES    2
#define UNSEEN_LINES  2
#define HALF_LINES    2
#define ALIKE         3  /* named of those that are not seen for the same reason */
#define NAME_LOSS     14 /* columns of a line that indenting and wrapping may take */
#define NAME_MORE     20 /* columns for " and N more" */

static void screen_doctor_put_label(const struct paint *p, const char *label, const char *text)
{
	char first[16];

	snprintf(first, sizeof(first), "   %s", label);
	put_indented(p->out, first, text, 12, p->width);
}

/* why: also why it is not sure. */
static void put_evidence(const struct paint *p, const struct run_figures *f,
			 const struct doctor_finding *found, bool why)
{
	const struct doctor_rule *r = found->rule;
	struct screen_text t = { 0 };
	char value[96];

	for (size_t i = 0; i < r->n_evidence; i++) {
		enum run_figure which = r->evidence[i];

		if (!doctor_shows(f, which))
			continue;
		screen_add(&t, "%s%s" GLUE "%s", t.len ? ", " : "", run_figures[which].key,
			   doctor_value(value, sizeof(value), f, which));
	}
	screen_add(&t, "; %s", found->sure ? "sure" : "likely");
	if (why && !found->sure && !found->small)
		screen_add(&t, ": %s", doctor_say_doubt(value, sizeof(value), f, found));
	if (found->small)
		screen_add(&t, "; little: %s of the %s that a request takes on average",
			   cell_time(found->weight * doctor_mean_ns(f)).text,
			   cell_time(doctor_mean_ns(f)).text);
	screen_doctor_put_label(p, "shown by", t.text);
}

static void put_finding(const struct paint *p, const struct run_figures *f, size_t number,
			const struct doctor_finding *found, unsigned int lines)
{
	const struct doctor_rule *r = found->rule;
	struct doctor_advice a = doctor_advice(f, r);
	char text[TEXT_MAX];
	struct screen_text t = { 0 };

	screen_add(&t, "%zu. %s", number, doctor_say(text, sizeof(text), f, r->says));
	screen_put(p, INK_BOLD, t.text, lines);
	put_evidence(p, f, found, number == 1);
	screen_doctor_put_label(p, "try", doctor_say(text, sizeof(text), f, a.todo));
	screen_doctor_put_label(p, "wrong if", doctor_say(text, sizeof(text), f, a.disproof));
	screen_doctor_put_label(p, "next", doctor_say(text, sizeof(text), f, a.next));
}

/* Requests that hang are said before everything else. */
static void put_hanging(const struct paint *p, const struct run_figures *f)
{
	static const char words[] =
	    "Requests that have had no answer for 1s or more: {in_service}[; the oldest "
	    "({oldest.who}) for at least {oldest}][, of {in_service.who}].";
	char text[TEXT_MAX];

	if (f->known[RUN_FIGURE_IN_SERVICE] && f->value[RUN_FIGURE_IN_SERVICE] > 0)
		screen_put(p, INK_RED, doctor_say(text, sizeof(text), f, words), 2);
}

/* Facts that harm nobody now. */
static void screen_doctor_put_notes(const struct paint *p, const struct run_figures *f,
				    const struct diagnosis *d, size_t most)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < d->n_notes && i < most; i++) {
		struct screen_text t = { 0 };

		screen_add(&t, "Note: %s", doctor_note(text, sizeof(text), f, d->note[i]));
		screen_put(p, INK_NONE, t.text, d->n_found < FINDINGS ? 3 : 1);
	}
	if (d->n_notes > most)
		fprintf(p->out, "and %zu more notes (-v has all)\n", d->n_notes - most);
}

static void put_verdict(const struct paint *p, const struct run_figures *f,
			const struct diagnosis *d)
{
	char text[TEXT_MAX];

	if (*doctor_verdict(text, sizeof(text), f, d))
		screen_put(p, INK_BOLD, text, VERDICT_LINES);
}

struct time_part {
	enum run_figure figure;
	const char *text;
	double value;
	const char *more; /* what is seen of it, where most of the time is in this; NULL: nothing */
};

static int largest_first(const void *a, const void *b)
{
	const struct time_part *x = a, *y = b;

	return (x->value < y->value) - (x->value > y->value);
}

/* What request time went into, where no cause says it. */
static void screen_doctor_put_parts(const struct paint *p, const struct run_figures *f)
{
	struct time_part part[] = {
		{ RUN_FIGURE_CPU, "on a CPU", 0, NULL },
		{ RUN_FIGURE_WAIT_CPU, "waiting for a CPU", 0, NULL },
		{ RUN_FIGURE_WAIT_DISK, "waiting for files and disks", 0,
		  "[The busiest disk of the volumes, {device_busy.who}, was busy {device_busy} of the "
		  "time: where that is little, they wait for something above it, such as a lock of "
		  "the kernel, a frozen file system or another program in the same folder.]" },
		{ RUN_FIGURE_CNID, "waiting for the {backend} or database", 0,
		  "[In {cnid_mute} of all request time no process of the {backend} was seen at "
		  "work for them.]" },
		{ RUN_FIGURE_LOCK, "waiting for file locks", 0, NULL },
		{ RUN_FIGURE_NET, "waiting for clients", 0, NULL },
		{ RUN_FIGURE_OTHER, "asleep, or waiting for other processes", 0,
		  "[{sleep} in calls that wait for no descriptor][, {names} at sockets of other "
		  "programs.]" },
		{ RUN_FIGURE_WAIT_THREAD, "in which no thread did anything for them", 0, NULL },
		{ RUN_FIGURE_UNEXPLAINED, "not seen", 0, NULL },
	};
	size_t n = sizeof(part) / sizeof(part[0]);
	struct screen_text t = { 0 };
	char value[64], text[TEXT_MAX], more[TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		part[i].value = f->known[part[i].figure] ? f->value[part[i].figure] : 0;
	qsort(part, n, sizeof(part[0]), largest_first);
	for (size_t i = 0; i < n && part[i].value >= PART_LEAST; i++)
		screen_add(&t, "%s%s %s", t.len ? ", " : "Their time: ",
			   doctor_value(value, sizeof(value), f, part[i].figure),
			   run_kind_text(f->kind, part[i].text, text, sizeof(text)));
	if (t.len)
		screen_put(p, INK_NONE, t.text, 3);
	run_kind_text(f->kind, part[0].more ? part[0].more : "", more, sizeof(more));
	if (t.len && *doctor_say(text, sizeof(text), f, more))
		screen_put(p, INK_NONE, text, 3);
	if (run_kind_judged(f->kind) != RUN_JUDGED_SESSIONS)
		screen_doctor_put_label(
		    p, "next", "afpscope record --kind KIND -v: requests, calls and threads");
	else
		screen_doctor_put_label(
		    p, "next",
		    "afpscope slow -v: each slow request with its longest calls and waits");
}

/* As many whole names as fit, and how many more there are. */
static void put_names(const struct paint *p, const char *label, const struct doctor_rule **rule,
		      size_t n)
{
	size_t room = NAME_LINES * (p->width - NAME_LOSS) - NAME_MORE, i;
	struct screen_text t = { 0 };

	for (i = 0; i < n; i++) {
		if (t.len + strlen(rule[i]->name) > room)
			break;
		screen_add(&t, "%s%s", i ? ", " : label, rule[i]->name);
	}
	if (i < n)
		screen_add(&t, " and %zu more", n - i);
	if (n)
		screen_put(p, INK_NONE, t.text, NAME_LINES);
}

static const char *why_unseen(const struct run_figures *f, const struct doctor_rule *r)
{
	enum run_figure lacks = doctor_lacks(f, r);

	if (lacks != N_RUN_FIGURES)
		return f->who[lacks];
	return f->value[RUN_FIGURE_UNCOUNTED] >= 1 ? "not all was counted" : "too few requests";
}

/* How many rules from the first on are not seen for the same reason as it. */
static size_t alike(const struct run_figures *f, const struct doctor_rule *const *rule, size_t n)
{
	size_t same = 1;

	while (same < n && !strcmp(why_unseen(f, rule[0]), why_unseen(f, rule[same])))
		same++;
	return same;
}

/* "Not seen: locks, lost packets (there were no clients ...); full disk" */
static void screen_doctor_put_reasons(const struct paint *p, const struct run_figures *f,
				      const char *label, const struct doctor_rule *const *rule,
				      size_t n, size_t lines)
{
	struct screen_text t = { 0 };

	for (size_t i = 0, same; i < n; i += same) {
		const char *why = why_unseen(f, rule[i]);
		size_t named;

		same = alike(f, rule + i, n - i);
		named = *why && same > ALIKE + 1 ? ALIKE : same;
		screen_add(&t, "%s", i ? "; " : label);
		for (size_t k = 0; k < named; k++)
			screen_add(&t, "%s%s", k ? ", " : "", rule[i + k]->name);
		if (named < same)
			screen_add(&t, " and %zu more", same - named);
		if (*why)
			screen_add(&t, " (%s)", why);
	}
	if (n)
		screen_put(p, INK_NONE, t.text, lines);
}

static void put_unseen(const struct paint *p, const struct run_figures *f,
		       const struct diagnosis *d)
{
	screen_doctor_put_reasons(
	    p, f, "Requests wait for what this would explain, but it is not seen here: ", d->half,
	    d->n_half, HALF_LINES);
	screen_doctor_put_reasons(p, f, "Not seen: ", d->unseen, d->n_unseen, UNSEEN_LINES);
}

/* That the first findings explain about as much: their order says nothing. */
static void screen_doctor_put_rivals(const struct paint *p, const struct diagnosis *d)
{
	size_t n = doctor_rivals(d);
	struct screen_text t = { 0 };
	double most, least;

	if (n < 2)
		return;
	most = round(100 * d->found[0].weight);
	least = round(100 * d->found[n - 1].weight);
	screen_add(&t, "Which of the first %zu causes counts more cannot be told: each explains ",
		   n);
	if (least < most)
		screen_add(&t, "%.0f to ", least);
	screen_add(&t, "%.0f%% of what %s", most,
		   d->found[0].rule->kind == DOCTOR_FAILS ? "failed" : "was waited for");
	screen_put(p, INK_NONE, t.text, 2);
}

/* The first ones whole, some more in a line, the others as a number. */
static void put_ranked(const struct paint *p, const struct run_figures *f, size_t i,
		       const struct diagnosis *d)
{
	struct screen_text t = { 0 };
	char text[TEXT_MAX];

	if (i < FINDINGS) {
		put_finding(p, f, i + 1, &d->found[i], d->n_found > 1 ? 2 : 3);
	} else if (i < FINDINGS + MORE) {
		screen_add(&t, "%zu. %s", i + 1,
			   doctor_say(text, sizeof(text), f, d->found[i].rule->says));
		screen_put(p, INK_NONE, t.text, 1);
	} else if (i == FINDINGS + MORE) {
		fprintf(p->out, "and %zu more (--short shows all)\n", d->n_found - i);
	}
}

static const struct section_type looked_for = {
	.key = "looked_for",
	.title = "Causes that doctor looked for",
	.rest =
	    "  possible: requests wait for what it would\n       explain, but it is not seen here",
};

/* All reasons, where the first screen has some. */
static void screen_doctor_note_reasons(struct section *s, const char *label,
				       const struct run_figures *f,
				       const struct doctor_rule *const *rule, size_t n)
{
	section_note(s, label, "%s", "");
	for (size_t i = 0, same; i < n; i += same) {
		const char *why = why_unseen(f, rule[i]);

		same = alike(f, rule + i, n - i);
		for (size_t k = 0; k < same; k++)
			section_more(s, "%s%s", k ? ", " : i ? "; " : "", rule[i + k]->name);
		if (*why)
			section_more(s, " (%s)", why);
	}
}

static void screen_doctor_note_all(struct section *s, const struct run_figures *f,
				   const struct diagnosis *d)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < d->n_found; i++)
		section_note(s, i ? "" : "Found", "%s; %s",
			     doctor_say(text, sizeof(text), f, d->found[i].rule->says),
			     d->found[i].sure ? "sure" : "likely");
	for (size_t i = 0; i < d->n_notes; i++)
		section_note(s, i ? "" : "No harm", "%s",
			     doctor_note(text, sizeof(text), f, d->note[i]));
	section_note(s, "Ruled out", "%s", "");
	for (size_t i = 0; i < d->n_out; i++)
		section_more(s, "%s%s", i ? ", " : "", d->out[i]->name);
	screen_doctor_note_reasons(s, "Possible", f, d->half, d->n_half);
	screen_doctor_note_reasons(s, "Not seen", f, d->unseen, d->n_unseen);
}

int paint_looked_for(const struct paint *p)
{
	const struct run_figures *f = p->view.run->figures;
	struct diagnosis d;
	struct section s;
	int e = f ? doctor_judge(&d, f) : 0;

	if (!f || e)
		return e;
	if (d.verdict != DOCTOR_TOO_FEW && d.verdict != DOCTOR_UNSEEN) {
		section_open(&s, p, &looked_for);
		screen_doctor_note_all(&s, f, &d);
		e = section_close(&s);
	}
	diagnosis_fini(&d);
	return e;
}

int screen_doctor(const struct paint *p, const struct run_figures *f, bool brief)
{
	struct diagnosis d;
	char text[TEXT_MAX];
	int e = doctor_judge(&d, f);

	if (e)
		return e;
	put_hanging(p, f);
	put_verdict(p, f, &d);
	if (d.verdict == DOCTOR_SLOW && !brief)
		screen_doctor_put_parts(p, f);
	if (!brief)
		screen_doctor_put_rivals(p, &d);
	for (size_t i = 0; i < d.n_found; i++) {
		if (brief)
			fprintf(p->out, "%zu. %s\n", i + 1,
				doctor_say(text, sizeof(text), f, d.found[i].rule->says));
		else
			put_ranked(p, f, i, &d);
	}
	if (!brief && d.verdict != DOCTOR_UNSEEN) {
		fputc('\n', p->out);
		screen_doctor_put_notes(p, f, &d, NOTES);
		put_names(p, "Ruled out: ", d.out, d.n_out);
		put_unseen(p, f, &d);
	}
	diagnosis_fini(&d);
	return 0;
}

int screen_opinion(const struct paint *p, const struct run_figures *f)
{
	char text[TEXT_MAX];
	struct diagnosis d;
	int e = doctor_judge(&d, f);

	if (e)
		return e;
	if (d.verdict != DOCTOR_TOO_FEW && d.verdict != DOCTOR_UNSEEN) {
		fputc('\n', p->out);
		put_hanging(p, f);
		put_verdict(p, f, &d);
		for (size_t i = 0; i < d.n_found && i < OPINIONS; i++) {
			screen_put(p, INK_BOLD,
				   doctor_say(text, sizeof(text), f, d.found[i].rule->says), 3);
			if (i)
				continue;
			put_evidence(p, f, &d.found[i], true);
			screen_doctor_put_label(p, "try",
						doctor_say(text, sizeof(text), f,
							   doctor_advice(f, d.found[i].rule).todo));
		}
		screen_doctor_put_rivals(p, &d);
		if (d.n_found)
			screen_put(p, INK_NONE,
				   "afpscope doctor RUN: more of this, and what would disprove it",
				   1);
		put_unseen(p, f, &d);
	}
	diagnosis_fini(&d);
	return 0;
}

/* The first finding; where there is none, the verdict. */
static char *screen_doctor_first(char *out, size_t len, const struct run_figures *f,
				 const struct diagnosis *d)
{
	return d->n_found ? doctor_say(out, len, f, d->found[0].rule->says)
			  : doctor_verdict(out, len, f, d);
}

int screen_doctor_line(const struct paint *p, const struct run_figures *f)
{
	char text[TEXT_MAX];
	struct screen_text t = { 0 };
	struct diagnosis d;
	int e = doctor_judge(&d, f);

	if (e)
		return e;
	put_hanging(p, f);
	if (d.verdict != DOCTOR_TOO_FEW && d.verdict != DOCTOR_UNSEEN) {
		screen_add(&t, "Doctor: %s", screen_doctor_first(text, sizeof(text), f, &d));
		screen_put(p, d.n_found ? INK_BOLD : INK_NONE, t.text, VERDICT_LINES);
		screen_doctor_put_rivals(p, &d);
		if (d.n_found > 1)
			typed_print(p->out, "  and %zu more: afpscope doctor RUN\n", d.n_found - 1);
	}
	diagnosis_fini(&d);
	return 0;
}

int report_doctor(const struct run_figures *f, const struct report_opts *opts, bool brief,
		  FILE *out)
{
	const struct paint p = { .out = out,
				 .color = opts->color,
				 .width = opts->width && opts->width < SCREEN_WIDTH
					      ? opts->width
					      : SCREEN_WIDTH };
	int e = screen_doctor(&p, f, brief);

	if (!e && (fflush(out) || ferror(out)))
		e = errno ? -errno : -EIO;
	return e;
}

int report_doctor_first(const struct run_figures *f, char *out, size_t len)
{
	struct diagnosis d;
	char *end;
	int e = doctor_judge(&d, f);

	if (e)
		return e;
	screen_doctor_first(out, len, f, &d);
	end = strstr(out, ". ");
	if (end)
		end[1] = '\0';
	diagnosis_fini(&d);
	return 0;
}
