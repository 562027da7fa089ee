/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis on one screen: what is wrong, ranked, with what shows it and what to do. */
#include "doctor/judge.h"
#include "doctor/say.h"
#include "report/report.h"
#include "report/text/screen.h"

#include <errno.h>

#define FINDINGS 3 /* shown with all that belongs to them */
#define MORE     4 /* shown in a line */
#define TEXT_MAX 400

static void put_label(const struct paint *p, const char *label, const char *text)
{
	char first[16];

	snprintf(first, sizeof(first), "   %s", label);
	put_indented(p->out, first, text, 12, p->width);
}

static void put_evidence(const struct paint *p, const struct run_figures *f,
			 const struct doctor_finding *found)
{
	const struct doctor_rule *r = found->rule;
	struct screen_text t = { 0 };
	char value[64];

	for (size_t i = 0; i < r->n_evidence; i++) {
		enum run_figure which = r->evidence[i];

		if (!f->known[which])
			continue;
		screen_add(&t, "%s%s" GLUE "%s", t.len ? ", " : "", run_figures[which].key,
			   doctor_value(value, sizeof(value), f, which));
	}
	screen_add(&t, "; %s", found->sure ? "sure" : "likely");
	put_label(p, "shown by", t.text);
}

static void put_finding(const struct paint *p, const struct run_figures *f, size_t number,
			const struct doctor_finding *found)
{
	const struct doctor_rule *r = found->rule;
	char text[TEXT_MAX];
	struct screen_text t = { 0 };

	screen_add(&t, "%zu. %s", number, doctor_say(text, sizeof(text), f, r->says));
	screen_put(p, INK_BOLD, t.text, 2);
	put_evidence(p, f, found);
	put_label(p, "try", r->todo);
	put_label(p, "wrong if", r->disproof);
	put_label(p, "next", r->next);
}

static void put_verdict(const struct paint *p, const struct run_figures *f,
			const struct diagnosis *d)
{
	static const char *const words[] = {
		[DOCTOR_FOUND] = NULL,
		[DOCTOR_HEALTHY] = "Nothing is wrong with the server: half of the requests took "
				   "{p50}, 99% at most {p99}, the longest {longest}[ "
				   "({longest.who})]. Before that they lay unread for {unread} on "
				   "average.",
		[DOCTOR_IDLE] =
		    "The server is idle: {requests} requests, {busy} at a time, half of them took "
		    "{p50}, 99% at most {p99}. If users wait, they wait for their own machine or "
		    "the network.",
		[DOCTOR_TOO_FEW] =
		    "No verdict: too few requests were seen ({requests}). Watch longer "
		    "(-d), or while users wait.",
		[DOCTOR_UNSEEN] =
		    "No verdict: requests cannot be counted here; afpscope check says "
		    "why.",
	};
	char text[TEXT_MAX];

	if (words[d->verdict])
		screen_put(p, INK_BOLD, doctor_say(text, sizeof(text), f, words[d->verdict]), 3);
}

static void put_names(const struct paint *p, const char *label, const struct doctor_rule **rule,
		      size_t n)
{
	struct screen_text t = { 0 };

	for (size_t i = 0; i < n; i++)
		screen_add(&t, "%s%s", i ? ", " : label, rule[i]->name);
	if (n)
		screen_put(p, INK_NONE, t.text, 4);
}

/* The first ones whole, some more in a line, the others as a number. */
static void put_ranked(const struct paint *p, const struct run_figures *f, size_t i,
		       const struct diagnosis *d)
{
	struct screen_text t = { 0 };
	char text[TEXT_MAX];

	if (i < FINDINGS) {
		put_finding(p, f, i + 1, &d->found[i]);
	} else if (i < FINDINGS + MORE) {
		screen_add(&t, "%zu. %s", i + 1,
			   doctor_say(text, sizeof(text), f, d->found[i].rule->says));
		screen_put(p, INK_NONE, t.text, 1);
	} else if (i == FINDINGS + MORE) {
		fprintf(p->out, "and %zu more (--short shows all)\n", d->n_found - i);
	}
}

int screen_doctor(const struct paint *p, const struct run_figures *f, bool brief)
{
	struct diagnosis d;
	char text[TEXT_MAX];
	int e = doctor_judge(&d, f);

	if (e)
		return e;
	put_verdict(p, f, &d);
	for (size_t i = 0; i < d.n_found; i++) {
		if (brief)
			fprintf(p->out, "%zu. %s\n", i + 1,
				doctor_say(text, sizeof(text), f, d.found[i].rule->says));
		else
			put_ranked(p, f, i, &d);
	}
	if (!brief && d.verdict != DOCTOR_UNSEEN) {
		fputc('\n', p->out);
		put_names(p, "Ruled out: ", d.out, d.n_out);
		put_names(p, "Not seen: ", d.unseen, d.n_unseen);
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
