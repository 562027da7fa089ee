/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics that follow from a phase's load or its ledger, and why those of roles are absent. */
#include "run/account.h"
#include "run/run.h"

#include <string.h>

int run_absent(struct run *r, unsigned int role, const char *part, const char *why)
{
	static const char *const begin[AFS_N_ROLES + 1] = {
		[AFS_ROLE_SERVER] = "afpd_", [AFS_ROLE_BACKEND] = "cnid_", [AFS_N_ROLES] = ""
	};
	int err = 0;

	for (int i = 0; i < N_METRICS && !err; i++)
		if (!strncmp(run_metrics[i].key, begin[role], strlen(begin[role])) &&
		    strstr(run_metrics[i].key, part) &&
		    !run_note_find(&r->absent, run_metrics[i].key))
			err = run_note(&r->absent, run_metrics[i].key, "%s", why);
	return err;
}

void run_phase_from_load(struct run_phase *p)
{
	const struct run_load *load = p->load;
	uint64_t bytes = 0, requests = 0;
	struct run_action all;

	run_load_all(load, &all);
	for (unsigned int i = 0; i < load->n_clients; i++)
		bytes += load->client[i].bytes;
	for (size_t i = 0; i < p->n_commands; i++)
		requests += p->command[i]->latency.n;
	run_set(p, METRIC_ELAPSED,
		load->done_ns > load->begin_ns ? load->done_ns - load->begin_ns
					       : load->end_ns - load->begin_ns);
	run_set(p, METRIC_OPS, requests);
	run_set(p, METRIC_ERRORS, all.failed);
	run_set(p, METRIC_BYTES, bytes);
	run_set(p, METRIC_CLIENT_CPU, load->cpu_ns);
}

void run_phase_from_ledger(struct run_phase *p)
{
	static const struct {
		enum afs_role role;
		enum metric syscr, syscw, rchar, wchar, calls, call_time;
	} roles[] = {
		{ AFS_ROLE_SERVER, METRIC_AFPD_SYSCR, METRIC_AFPD_SYSCW, METRIC_AFPD_RCHAR,
		  METRIC_AFPD_WCHAR, METRIC_AFPD_CALLS, METRIC_AFPD_CALL_TIME },
		{ AFS_ROLE_BACKEND, METRIC_CNID_SYSCR, METRIC_CNID_SYSCW, METRIC_CNID_RCHAR,
		  METRIC_CNID_WCHAR, METRIC_CNID_CALLS, METRIC_CNID_CALL_TIME },
	};
	const struct ledger *l = &p->ledger;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		const struct afs_compat *c = &l->compat[roles[i].role];
		struct afs_cell all, waits;

		p->known[roles[i].syscr] = p->known[roles[i].syscw] = false;
		p->known[roles[i].rchar] = p->known[roles[i].wchar] = false;
		p->known[roles[i].calls] = p->known[roles[i].call_time] = false;
		if (l->has_compat[roles[i].role]) {
			run_set(p, roles[i].syscr, c->syscr);
			run_set(p, roles[i].syscw, c->syscw);
			run_set(p, roles[i].rchar, c->rchar);
			run_set(p, roles[i].wchar, c->wchar);
		}
		if (!l->has_calls)
			continue;
		all = ledger_sum(l, roles[i].role, AFS_N_CLASSES, AFS_N_OBJECTS);
		/* Without any process of this role known, 0 calls are "not measured". */
		if (!all.calls && !l->has_compat[roles[i].role])
			continue;
		waits = ledger_sum(l, roles[i].role, AFS_CLASS_WAIT, AFS_N_OBJECTS);
		run_set(p, roles[i].calls, all.calls);
		run_set(p, roles[i].call_time, all.ns - waits.ns);
	}
}

void run_phase_times(struct run *r, struct run_phase *p)
{
	static const struct {
		enum afs_role role;
		enum metric cpu, runq;
	} roles[] = {
		{ AFS_ROLE_SERVER, METRIC_AFPD_CPU, METRIC_AFPD_RUNQ },
		{ AFS_ROLE_BACKEND, METRIC_CNID_CPU, METRIC_CNID_RUNQ },
	};
	static const char why[] = "only watching by BPF times sessions that come and go";
	struct afs_part sum;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!run_has_metric(r, roles[i].cpu))
			continue;
		if (!p->ledger.has_requests) {
			run_note(&r->absent, run_metrics[roles[i].cpu].key, "%s", why);
			run_note(&r->absent, run_metrics[roles[i].runq].key, "%s", why);
		} else if (p->ledger.has_compat[roles[i].role]) {
			sum = ledger_part_sum(&p->ledger, roles[i].role, LEDGER_ALL, LEDGER_ALL,
					      LEDGER_ALL);
			run_set(p, roles[i].cpu, sum.cpu_ns);
			run_set(p, roles[i].runq, sum.runq_ns);
		}
	}
}
