/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is concluded from figures that somebody else made up, or that stand in a run.json. The first
 * line that it prints has the rules of AFP servers, and the figures of one at which nothing is
 * wrong. Then, for each line of standard input, {"KEY": VALUE, ...} with the figures that are
 * known, a line with the diagnosis as run.json has it.
 */
#include "report/json/parts.h"
#include "unit/rules_rig.h"

#include <stdlib.h>

#define LINE_MAX_LEN (1 << 16)

static void print(const struct json_doc *d, json_t *o)
{
	if (json_line(stdout, d, o))
		exit(1);
	fflush(stdout);
}

static json_t *condition(const struct doctor_test *t)
{
	return json_pack("{s:s, s:f, s:b}", "figure", run_figures[t->figure].key, "limit", t->limit,
			 "most", t->most);
}

static json_t *rule(const struct doctor_rule *r)
{
	static const char *const kinds_of[] = { "fails", "work", "wait", "note" };
	json_t *tests = json_array();

	for (size_t i = 0; i < r->n_tests; i++)
		json_array_append_new(tests, condition(&r->test[i]));
	return json_pack("{s:s, s:s, s:b, s:o, s:s?, s:f}", "key", r->key, "kind",
			 kinds_of[r->kind], "whom", r->whom, "tests", tests, "harm",
			 r->harm < N_RUN_FIGURES ? run_figures[r->harm].key : NULL, "least",
			 r->least);
}

static void print_rules(const struct json_doc *d)
{
	struct run_figures f = healthy(&kind_afp.is);
	json_t *rules = json_array(), *figures = json_object();
	const struct doctor_rule *r;

	for (size_t i = 0; (r = doctor_rule_at(&f, i)); i++)
		json_array_append_new(rules, rule(r));
	for (size_t i = 0; i < N_RUN_FIGURES; i++)
		json_object_set_new(
		    figures, run_figures[i].key,
		    json_pack("{s:f, s:s}", "value", f.value[i], "unit", run_figures[i].unit));
	print(d, json_pack("{s:o, s:o}", "rules", rules, "healthy", figures));
}

static void take(struct run_figures *f, json_t *from)
{
	*f = (struct run_figures) { .kind = &kind_afp.is };
	for (size_t i = 0; i < N_RUN_FIGURES; i++) {
		json_t *v = json_object_get(from, run_figures[i].key);

		if (json_is_number(v))
			run_figure_set(f, (enum run_figure)i, json_number_value(v));
	}
}

int main(void)
{
	static char line[LINE_MAX_LEN];
	struct json_doc d = { 0 };
	struct run_figures f;
	json_t *from;

	print_rules(&d);
	while (fgets(line, sizeof(line), stdin)) {
		from = json_loads(line, 0, NULL);
		if (!from)
			return 1;
		take(&f, from);
		json_decref(from);
		print(&d, json_diagnosis(&d, &f));
	}
	return 0;
}
