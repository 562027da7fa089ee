/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A phase in time. */
#include "report/json/parts.h"

static json_t *json_timeline_commands(struct json_doc *d, const struct run_interval *i)
{
	char name[ACCOUNT_NAME_MAX];
	json_t *a = json_array();

	for (size_t k = 0; k < i->n_commands; k++) {
		const struct run_moment_command *c = &i->command[k];
		json_t *o = json_object();

		json_put(d, o, "name", json_text(run_account_name(d->run, c->account, name)));
		json_put(d, o, "n", json_number(c->n));
		json_put(d, o, "ns", json_number(c->ns));
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_timeline_parts(struct json_doc *d, const struct run_interval *i)
{
	json_t *o = json_object();

	for (size_t k = 0; k < ACCOUNT_N_COLUMNS; k++)
		json_put(d, o, account_columns[k].key, json_number(i->time_ns[k]));
	return o;
}

json_t *json_intervals(struct json_doc *d, const struct run_timeline *t)
{
	json_t *a = json_array();

	for (size_t k = 0; k < t->n_intervals; k++) {
		const struct run_interval *i = &t->interval[k];
		json_t *o = json_object();

		json_put(d, o, "end_ns", json_number(i->end_ns));
		json_put(d, o, "answered", i->known ? json_number(i->answered) : json_null());
		json_put(d, o, "unread_ns", i->known ? json_number(i->unread_ns) : json_null());
		json_put(d, o, "parts", i->known ? json_timeline_parts(d, i) : json_null());
		json_put(d, o, "commands", i->known ? json_timeline_commands(d, i) : json_null());
		json_add(d, a, o);
	}
	return a;
}

json_t *json_marks(struct json_doc *d, const struct run_timeline *t)
{
	json_t *a = json_array();

	for (size_t k = 0; k < t->n_marks; k++) {
		json_t *o = json_object();

		json_put(d, o, "at_ns", json_number(t->mark[k].at_ns));
		json_put(d, o, "text", json_text(t->mark[k].text));
		json_add(d, a, o);
	}
	return a;
}
