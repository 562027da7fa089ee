/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A load of many clients, and its probe. */
#include "report/json/parts.h"

#include "run/doubts.h"

static json_t *action(struct json_doc *d, const struct run_action *a, const struct json_ways *ways)
{
	json_t *o = json_object();

	json_put(d, o, "name", json_text(a->name));
	json_put(d, o, "n", json_number(a->n));
	json_put(d, o, "failed", json_number(a->failed));
	json_put(d, o, "planned", json_latency(d, &a->planned));
	json_put(d, o, "begun", json_latency(d, &a->begun));
	json_put(d, o, "round_trips", json_trips(d, a, ways));
	return o;
}

json_t *json_actions(struct json_doc *d, const struct run_load *l, const struct run_rtts *at)
{
	const struct json_ways ways = { .here_ns = run_load_rtt(l),
					.at = at ? *at : (struct run_rtts) { 0 } };
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_actions; i++)
		if (l->action[i].n)
			json_add(d, a, action(d, &l->action[i], &ways));
	return a;
}

/* One row for so many seconds, also those in which nothing ended; after the last that has
 * something: none. */
static json_t *json_load_seconds(struct json_doc *d, const struct run_load *l)
{
	json_t *a = json_array();
	size_t n = l->n_seconds;

	while (n && !l->second[n - 1].n && !l->second[n - 1].dropped)
		n--;
	for (size_t i = 0; i < n; i++) {
		const struct run_second *s = &l->second[i];
		uint64_t bucket[HIST_BUCKETS(RUN_SECOND_BITS)];
		json_t *o = json_object();

		for (size_t k = 0; k < HIST_BUCKETS(RUN_SECOND_BITS); k++)
			bucket[k] = s->bucket[k];
		json_put(d, o, "n", json_number(s->n));
		json_put(d, o, "failed", json_number(s->failed));
		json_put(d, o, "dropped", json_number(s->dropped));
		json_put(d, o, "bytes", json_number(s->bytes));
		json_put(d, o, "sum_ns", json_number(s->sum_ns));
		json_put(d, o, "max_ns", s->n > s->failed ? json_number(s->max_ns) : json_null());
		json_put(d, o, "histogram",
			 json_buckets(d, RUN_SECOND_BITS, bucket, HIST_BUCKETS(RUN_SECOND_BITS)));
		json_add(d, a, o);
	}
	return a;
}

/* The parts of a rate that changes, or of a number of clients. */
static json_t *json_load_stages(struct json_doc *d, const struct run_load *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n_stages; i++) {
		const struct run_stage *s = &l->stage[i];
		const bool crowd = l->stages_of_clients;
		json_t *o = json_object();

		json_put(d, o, "from_s", json_real(s->from_s));
		json_put(d, o, "to_s", json_real(s->to_s));
		json_put(d, o, "from_per_s", crowd ? json_null() : json_real(s->from_per_s));
		json_put(d, o, "to_per_s", crowd ? json_null() : json_real(s->to_per_s));
		json_put(d, o, "from_clients", crowd ? json_real(s->from_per_s) : json_null());
		json_put(d, o, "to_clients", crowd ? json_real(s->to_per_s) : json_null());
		json_put(d, o, "planned", crowd ? json_null() : json_number(s->n_planned));
		json_put(d, o, "n", json_number(s->done.n));
		json_put(d, o, "failed", json_number(s->done.failed));
		json_put(d, o, "latency", json_latency(d, &s->done.planned));
		json_add(d, a, o);
	}
	return a;
}

/* 0: null */
static json_t *known(uint64_t v)
{
	return v ? json_number(v) : json_null();
}

static json_t *clients(struct json_doc *d, const struct run_load *l)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < l->n_clients; i++) {
		const struct run_client *c = &l->client[i];
		json_t *o = json_object();

		json_put(d, o, "actions", json_number(c->actions));
		json_put(d, o, "failed", json_number(c->failed));
		json_put(d, o, "bytes", json_number(c->bytes));
		json_put(d, o, "last_ns", c->last_ns ? json_number(c->last_ns) : json_null());
		json_put(d, o, "sum_ns", json_number(c->sum_ns));
		json_put(d, o, "max_ns",
			 c->actions > c->failed ? json_number(c->max_ns) : json_null());
		json_put(d, o, "outlasting_ns", known(c->outlasting_ns));
		json_put(d, o, "begun_p50_ns", known(c->begun_p50_ns));
		json_put(d, o, "begun_p99_ns", known(c->begun_p99_ns));
		json_put(d, o, "begun_max_ns", known(c->begun_max_ns));
		json_put(d, o, "lost", json_boolean(c->lost));
		json_put(d, o, "address", *c->address ? json_text(c->address) : json_null());
		json_add(d, a, o);
	}
	return a;
}

static unsigned int json_load_opened(const struct run_load *l)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->n_clients; i++)
		n += l->client[i].opened;
	return n;
}

/* Of a latency in ns, as always; of another figure in its unit. */
json_t *json_slo(struct json_doc *d, const struct run_slo *s)
{
	static const char *const verdicts[] = { "kept", "broken", "cannot tell" };
	static const char *const units[] = { "ns", "1/s", "share", "1" };
	bool ns = s->unit == RUN_SLO_NS, sure = s->verdict != RUN_SLO_UNSURE;
	json_t *o = json_object();

	json_put(d, o, "text", json_text(s->text));
	json_put(d, o, "limit_ns", ns ? json_number((uint64_t)s->limit) : json_null());
	json_put(d, o, "value_ns", ns && s->known ? json_number((uint64_t)s->value) : json_null());
	json_put(d, o, "kept", sure ? json_boolean(s->verdict == RUN_SLO_KEPT) : json_null());
	json_put(d, o, "verdict", json_text(verdicts[s->verdict]));
	json_put(d, o, "unit", json_text(units[s->unit]));
	json_put(d, o, "limit", json_real(s->limit));
	json_put(d, o, "value", s->known ? json_real(s->value) : json_null());
	json_put(d, o, "value_at_least", json_boolean(s->value_at_least));
	json_put(d, o, "value_of_others", json_boolean(s->value_of_others));
	json_put(d, o, "why", json_text(s->why));
	return o;
}

static json_t *slos(struct json_doc *d, const struct run_load *l)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < l->n_slos; i++)
		json_add(d, a, json_slo(d, &l->slo[i]));
	return a;
}

/* Why its figures are not those of the load that was asked for. */
static json_t *json_load_doubts(struct json_doc *d, const struct run_load *l)
{
	json_t *a = json_array();
	char text[RUN_DOUBT_LEN];

	for (int i = 0; i < N_RUN_DOUBTS; i++) {
		json_t *o;

		if (!run_load_doubt(l, (enum run_doubt)i, text))
			continue;
		o = json_object();
		json_put(d, o, "what", json_text(run_doubt_name((enum run_doubt)i)));
		json_put(d, o, "text", json_text(text));
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_load_gaps(struct json_doc *d, const struct run_load *l)
{
	json_t *a = json_array(), *o;

	for (unsigned int i = 0; i < l->n_gaps && i < RUN_GAPS_MAX; i++) {
		o = json_object();
		json_put(d, o, "from_ns", json_number(l->gap[i].from_ns));
		json_put(d, o, "to_ns", known(l->gap[i].to_ns));
		json_put(d, o, "why", json_text(l->gap[i].why));
		json_add(d, a, o);
	}
	return a;
}

static json_t *json_load_figure(const struct run_load *l, const struct run_load_figure *f)
{
	const void *at = (const char *)l + f->at;
	const bool open = l->rate_per_s > 0;

	if ((f->of == RUN_LOAD_OPEN && !open) || (f->of == RUN_LOAD_CLOSED && open) ||
	    (f->of == RUN_LOAD_GIVEN && !l->common_ns))
		return json_null();
	return json_number(f->len == sizeof(uint64_t) ? *(const uint64_t *)at
						      : *(const unsigned int *)at);
}

static json_t *json_load_silence(struct json_doc *d, const struct run_load *l)
{
	struct run_silence s;
	json_t *o;

	if (!run_load_silence(l, &s))
		return json_null();
	o = json_object();
	json_put(d, o, "from_ns", json_number(s.from_ns));
	json_put(d, o, "ns", json_number(s.ns));
	json_put(d, o, "clients", json_integer(s.n_clients));
	json_put(d, o, "ranks", l->n_ranks ? json_integer(s.n_ranks) : json_null());
	json_put(d, o, "of_ranks", known(l->n_ranks));
	return o;
}

json_t *json_load(struct json_doc *d, const struct run_load *l, const struct run_rtts *at)
{
	json_t *o;

	if (!l)
		return json_null();
	o = json_object();
	json_put(d, o, "clients", json_integer(l->n_clients));
	for (size_t i = 0; i < RUN_LOAD_N_FIGURES; i++)
		if (run_load_figures[i].key)
			json_put(d, o, run_load_figures[i].key,
				 json_load_figure(l, &run_load_figures[i]));
	json_put(d, o, "realtime", json_boolean(l->n_realtime == l->n_threads));
	json_put(d, o, "opened", json_integer(json_load_opened(l)));
	json_put(d, o, "rtt_ns", l->rtt_n ? json_real(run_load_rtt(l)) : json_null());
	json_put(d, o, "rate_per_s", l->rate_per_s > 0 ? json_real(l->rate_per_s) : json_null());
	json_put(d, o, "undone", json_latency(d, &l->undone));
	json_put(d, o, "saturated", json_boolean(run_load_saturated(l)));
	json_put(d, o, "behind", json_boolean(run_load_behind(l)));
	json_put(d, o, "fairness", json_real(run_load_fairness(l)));
	json_put(d, o, "steady_ns", l->steady_ns ? json_number(l->steady_ns) : json_null());
	json_put(d, o, "verified_files", json_number(l->verified_files));
	json_put(d, o, "verified_wrong", json_number(l->verified_wrong));
	json_put(d, o, "verified_bytes", json_number(l->verified_bytes));
	json_put(d, o, "starved", json_integer(l->starved));
	json_put(d, o, "silence", json_load_silence(d, l));
	json_put(d, o, "slo", slos(d, l));
	json_put(d, o, "doubts", json_load_doubts(d, l));
	json_put(d, o, "actions", json_actions(d, l, at));
	json_put(d, o, "gaps", json_integer(l->n_gaps));
	json_put(d, o, "gaps_ns", json_number(l->gaps_ns));
	json_put(d, o, "each_gap", json_load_gaps(d, l));
	json_put(d, o, "seconds", json_load_seconds(d, l));
	json_put(d, o, "stages", json_load_stages(d, l));
	json_put(d, o, "each_client", clients(d, l));
	return o;
}
