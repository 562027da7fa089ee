/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures and what is concluded from them. */
#include "doctor/judge.h"
#include "doctor/say.h"
#include "report/json/parts.h"
#include "run/kind.h"

#define TEXT_MAX 1024

/* Whether the server is judged by it, or it has something to say. */
static bool is_of_kind(const struct run_figures *f, size_t i)
{
	return run_kind_judged(f->kind) == run_figure_of(i) || f->known[i] || *f->who[i];
}

json_t *json_figures(struct json_doc *d, const struct run_figures *f)
{
	json_t *all = json_object();
	char text[64];

	for (size_t i = 0; i < N_RUN_FIGURES; i++) {
		json_t *o;

		if (!is_of_kind(f, i))
			continue;
		o = json_object();
		json_put(d, o, "value", f->known[i] ? json_real(f->value[i]) : json_null());
		json_put(d, o, "unit", json_text(run_figures[i].unit));
		if (f->known[i])
			json_put(
			    d, o, "text",
			    json_text(doctor_value(text, sizeof(text), f, (enum run_figure)i)));
		json_put(d, o, "meaning", json_said(d, run_figures[i].meaning));
		if (*f->who[i])
			json_put(d, o, f->known[i] ? "who" : "why", json_text(f->who[i]));
		json_put(d, all, run_figures[i].key, o);
	}
	return all;
}

json_t *json_names(struct json_doc *d, const struct run_figures *f)
{
	json_t *all = json_object();

	for (size_t i = 0; i < RUN_N_NAMES; i++)
		if (*f->name[i])
			json_put(d, all, run_names[i].key, json_text(f->name[i]));
	return all;
}

/* Why it is likely, and the figure that this is about. */
static json_t *json_doubt(struct json_doc *d, const struct run_figures *f,
			  const struct doctor_finding *found)
{
	json_t *o = json_object();
	char text[TEXT_MAX];

	json_put(d, o, "text", json_text(doctor_say_doubt(text, sizeof(text), f, found)));
	if (found->about < N_RUN_FIGURES)
		json_put(d, o, "about", json_text(run_figures[found->about].key));
	return o;
}

static json_t *finding(struct json_doc *d, const struct run_figures *f,
		       const struct doctor_finding *found)
{
	json_t *o = json_object(), *evidence = json_array();
	const struct doctor_rule *r = found->rule;
	const struct doctor_advice a = doctor_advice(f, r);
	char text[TEXT_MAX];

	for (size_t i = 0; i < r->n_evidence; i++)
		if (doctor_shows(f, r->evidence[i]))
			json_add(d, evidence, json_text(run_figures[r->evidence[i]].key));
	json_put(d, o, "key", json_text(r->key));
	json_put(d, o, "text", json_text(doctor_say(text, sizeof(text), f, r->says)));
	json_put(d, o, "weight", json_real(found->weight));
	json_put(d, o, "sure", json_boolean(found->sure));
	if (!found->sure)
		json_put(d, o, "doubt", json_doubt(d, f, found));
	json_put(d, o, "small", json_boolean(found->small));
	json_put(d, o, "whom", json_boolean(r->whom));
	json_put(d, o, "evidence", evidence);
	json_put(d, o, "todo", json_text(doctor_say(text, sizeof(text), f, a.todo)));
	json_put(d, o, "disproof", json_text(doctor_say(text, sizeof(text), f, a.disproof)));
	json_put(d, o, "next", json_text(doctor_say(text, sizeof(text), f, a.next)));
	return o;
}

static json_t *json_doctor_notes(struct json_doc *d, const struct run_figures *f,
				 const struct diagnosis *is)
{
	json_t *a = json_array();
	char text[TEXT_MAX];

	for (size_t i = 0; i < is->n_notes; i++) {
		json_t *o = json_object();

		json_put(d, o, "key", json_text(is->note[i]->key));
		json_put(d, o, "text", json_text(doctor_note(text, sizeof(text), f, is->note[i])));
		json_put(d, o, "harms", json_boolean(doctor_would_harm(f, is->note[i])));
		json_add(d, a, o);
	}
	return a;
}

static json_t *keys(struct json_doc *d, const struct doctor_rule **rule, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_add(d, a, json_text(rule[i]->key));
	return a;
}

/* What the screen calls the causes that could not be seen: their keys are no words for people. */
static json_t *json_called(struct json_doc *d, const struct diagnosis *is)
{
	json_t *o = json_object();

	for (size_t i = 0; i < is->n_half; i++)
		json_put(d, o, is->half[i]->key, json_text(is->half[i]->name));
	for (size_t i = 0; i < is->n_unseen; i++)
		json_put(d, o, is->unseen[i]->key, json_text(is->unseen[i]->name));
	return o;
}

json_t *json_diagnosis(struct json_doc *d, const struct run_figures *f)
{
	static const char *const verdicts[] = {
		[DOCTOR_FOUND] = "findings",  [DOCTOR_SLOW] = "slow",
		[DOCTOR_HEALTHY] = "healthy", [DOCTOR_IDLE] = "idle",
		[DOCTOR_PARTLY] = "partly",   [DOCTOR_TOO_FEW] = "too_few",
		[DOCTOR_LOST] = "incomplete", [DOCTOR_UNSEEN] = "not_counted",
	};
	json_t *o = json_object(), *found = json_array();
	char text[TEXT_MAX];
	struct diagnosis is;

	if (doctor_judge(&is, f)) {
		d->failed = true;
		json_decref(found);
		return o;
	}
	for (size_t i = 0; i < is.n_found; i++)
		json_add(d, found, finding(d, f, &is.found[i]));
	json_put(d, o, "verdict", json_text(verdicts[is.verdict]));
	json_put(d, o, "text",
		 *doctor_verdict(text, sizeof(text), f, &is) ? json_text(text) : json_null());
	json_put(d, o, "findings", found);
	json_put(d, o, "rivals", json_number(doctor_rivals(&is)));
	json_put(d, o, "notes", json_doctor_notes(d, f, &is));
	json_put(d, o, "ruled_out", keys(d, is.out, is.n_out));
	json_put(d, o, "waited_for_but_not_seen", keys(d, is.half, is.n_half));
	json_put(d, o, "not_seen", keys(d, is.unseen, is.n_unseen));
	json_put(d, o, "may_be", keys(d, is.open, is.n_open));
	json_put(d, o, "called", json_called(d, &is));
	diagnosis_fini(&is);
	return o;
}
