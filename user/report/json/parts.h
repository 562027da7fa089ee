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

/* A load of many clients; NULL: null. */
json_t *json_load(struct json_doc *d, const struct run_load *l);

/* A phase in time: what the server did, what was changed. */
json_t *json_intervals(struct json_doc *d, const struct run_timeline *t);
json_t *json_marks(struct json_doc *d, const struct run_timeline *t);

/* What each kind of action took. */
json_t *json_actions(struct json_doc *d, const struct run_load *l);

/* An array, one object a process that had a share of the clients. */
json_t *json_ranks(struct json_doc *d, const struct run_load *l);

/* All figures by key, {"value", "unit", "who"}; and what is concluded from them. */
json_t *json_figures(struct json_doc *d, const struct run_figures *f);
json_t *json_names(struct json_doc *d, const struct run_figures *f);
json_t *json_diagnosis(struct json_doc *d, const struct run_figures *f);

json_t *json_ledger(struct json_doc *d, const struct ledger *l);

#endif
