/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_JSON_PARTS_H
#define REPORT_JSON_PARTS_H

/* The parts of a run's JSON, each made in a file of its own. */

#include "report/json/doc.h"
#include "run/ledger.h"
#include "run/run.h"

/* An array, one object a process. */
json_t *json_series(struct json_doc *d, const struct run *r);

/* The transfer of a phase that moves a file, else null. */
json_t *json_transfer(struct json_doc *d, const struct run *r, const struct run_phase *p);
/* {"key", "unit", "meaning"} of the values of a look at TCP, and of a verdict's figures. */
json_t *json_tcp_definitions(struct json_doc *d);
json_t *json_verdict_definitions(struct json_doc *d);

/* The round-trip time of a load, ns (0: not known), and those that are asked about. */
struct json_ways {
	double here_ns;
	struct run_rtts at;
};

/* A load of many clients; NULL: null. */
json_t *json_load(struct json_doc *d, const struct run_load *l, const struct run_rtts *at);
json_t *json_replay(struct json_doc *d, const struct run_replay *r);

/* A limit, and whether it was kept. */
json_t *json_slo(struct json_doc *d, const struct run_slo *s);

/* A phase in time: what the server did, what was changed. */
json_t *json_intervals(struct json_doc *d, const struct run_timeline *t);
json_t *json_marks(struct json_doc *d, const struct run_timeline *t);

/* What each kind of action took; at NULL: nothing is said of other round-trip times. */
json_t *json_actions(struct json_doc *d, const struct run_load *l, const struct run_rtts *at);

/* Round trips of an action; null: not known. */
json_t *json_trips(struct json_doc *d, const struct run_action *is, const struct json_ways *ways);

/* An array, one object a process that had a share of the clients. */
json_t *json_ranks(struct json_doc *d, const struct run_load *l);

/* All figures by key, {"value", "unit", "who"}; and what is concluded from them. */
json_t *json_figures(struct json_doc *d, const struct run_figures *f);
json_t *json_names(struct json_doc *d, const struct run_figures *f);
json_t *json_diagnosis(struct json_doc *d, const struct run_figures *f);

json_t *json_ledger(struct json_doc *d, const struct ledger *l);

#endif
