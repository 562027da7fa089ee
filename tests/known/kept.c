/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said of replays whose requests somebody else made up. For each line of standard input,
 *
 *   {"clients": [{"due": [MS, ...], "took": [MS, ...]}, ...], "after": [MS, ...], "late": N,
 *    "late_by": MS, "cpu": SHARE}
 *
 * prints whether the server kept up: "kept", "broken" or "cannot tell". due and took: when each
 * request of a client was sent in the recording, and how long it took there; after: how long after
 * they were due all requests of the replay were answered; late: so many began late because of the
 * load generator, by so much at most; one of its threads was busy for that share of the time.
 */
#include "replay/replay.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define MS 1e6

static uint64_t ns_of(const json_t *list, size_t i)
{
	return (uint64_t)(MS * json_number_value(json_array_get(list, i)));
}

static void plan_clients(struct replay_plan *p, const json_t *clients)
{
	size_t n = 0, at = 0;
	const json_t *due, *took;

	for (size_t i = 0; i < json_array_size(clients); i++)
		n += json_array_size(json_object_get(json_array_get(clients, i), "due"));
	*p = (struct replay_plan) { .n_clients = (uint32_t)json_array_size(clients),
				    .n_steps = (uint32_t)n };
	p->o.speed = 1;
	p->client = calloc(p->n_clients, sizeof(*p->client));
	p->step = calloc(n, sizeof(*p->step));
	for (uint32_t i = 0; i < p->n_clients; i++) {
		struct replay_client_plan *c = &p->client[i];

		due = json_object_get(json_array_get(clients, i), "due");
		took = json_object_get(json_array_get(clients, i), "took");
		c->n_steps = (uint32_t)json_array_size(due);
		c->step = calloc(c->n_steps, sizeof(*c->step));
		for (uint32_t k = 0; k < c->n_steps; k++, at++) {
			c->step[k] = (uint32_t)at;
			p->step[at].due_ns = ns_of(due, k);
			p->step[at].time_ns = ns_of(took, k);
			if (p->step[at].due_ns > p->last_due_ns)
				p->last_due_ns = p->step[at].due_ns;
		}
	}
}

static struct run_load *load_of(const struct replay_plan *p, const json_t *after, double busy)
{
	struct run_load *l = run_load_new(p->n_clients, 1, 0);
	struct run_action *a = l->action;
	uint64_t ns;

	l->n_open = p->n_clients;
	l->n_threads = 1;
	for (uint32_t i = 0; i < p->n_clients; i++)
		l->client[i].opened = true;
	a->name = "read";
	a->n = json_array_size(after);
	l->end_ns = p->last_due_ns;
	for (size_t i = 0; i < a->n; i++) {
		ns = ns_of(after, i);
		hist_add(&a->planned, ns);
		if (p->last_due_ns + ns > l->end_ns)
			l->end_ns = p->last_due_ns + ns;
	}
	l->done_ns = l->end_ns;
	l->cpu_max_ns = (uint64_t)(busy * (double)l->end_ns);
	return l;
}

static const char *judged(const json_t *from)
{
	static const char *const words[] = { [RUN_SLO_KEPT] = "kept",
					     [RUN_SLO_BROKEN] = "broken",
					     [RUN_SLO_UNSURE] = "cannot tell" };
	const struct replay_done done = {
		.n_delayed = (uint64_t)json_integer_value(json_object_get(from, "late")),
		.delayed_max_ns = (uint64_t)(MS *
					     json_number_value(json_object_get(from, "late_by")))
	};
	const struct slos none = { 0 };
	struct run_slo kept_up;
	struct replay_plan p;
	struct run_load *l;

	plan_clients(&p, json_object_get(from, "clients"));
	l = load_of(&p, json_object_get(from, "after"),
		    json_number_value(json_object_get(from, "cpu")));
	replay_judge(&none, &p, &done, 0, l, &kept_up, false);
	run_load_free(l);
	for (uint32_t i = 0; i < p.n_clients; i++)
		free(p.client[i].step);
	free(p.client);
	free(p.step);
	return words[kept_up.verdict];
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	json_t *from;

	while (getline(&line, &room, stdin) > 0) {
		from = json_loads(line, 0, NULL);
		if (!from)
			return 1;
		puts(judged(from));
		json_decref(from);
	}
	free(line);
	return 0;
}
