/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of accounts and their parts, as shares of the time of all requests. */
#include "doctor/figures/measure.h"

#include "doctor/figures/clients.h"
#include "doctor/figures/kinds.h"
#include "doctor/figures/measure_priv.h"
#include "doctor/figures/sessions.h"
#include "doctor/rules/rules.h"

#include <errno.h>
#include <math.h>

static void look_time(struct measure *m)
{
	for (size_t i = 0; i < m->run->n_phases; i++) {
		const struct run_phase *p = m->run->phase[i];

		if (!p->complete || !p->known[METRIC_ELAPSED])
			continue;
		m->ns += (double)p->value[METRIC_ELAPSED];
	}
	if (m->ns > 0)
		run_figure_set(m->out, RUN_FIGURE_ELAPSED, m->ns);
}

/* Where something was lost, all that is not seen may be in it. */
static void look_lost(struct measure *m)
{
	const struct run *r = m->run;

	if (r->n_losses)
		run_figure_set(m->out, RUN_FIGURE_UNCOUNTED, (double)run_losses(r));
	for (size_t i = r->n_losses; i--;)
		if (r->loss[i].n)
			run_figure_who(m->out, RUN_FIGURE_UNCOUNTED, "%s", r->loss[i].what);
}

/* Requests from before the watch were in service all of it, or since their begin. */
static void measure_sum_up(struct measure *m)
{
	for (size_t i = 0; i < m->run->n_service; i++) {
		const struct run_service *s = &m->run->service[i];

		if (s->before && s->column < ACCOUNT_N_COLUMNS)
			m->before_ns[s->column] += fmin((double)s->age_ns, m->ns);
	}
	m->all_ns = measure_request_ns(&m->requests.all);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		m->all_ns += m->before_ns[i];
	m->work_ns = m->all_ns - measure_column(m, ACCOUNT_STOPPED) -
		     measure_column(m, ACCOUNT_RUNQ);
	for (size_t i = 0; i < m->requests.n; i++) {
		const struct request *r = &m->requests.request[i];

		if (measure_is_login(r->number))
			m->work_ns -= measure_own_ns(r);
		if (!measure_refused_logins(m, r->number))
			ledger_account_add(&m->judged, &r->a);
	}
}

/*
 * Clients whose connections are not seen may have waited so, too: what is no harm without them, and
 * may be with them, is not known.
 */
static void network_share(const struct measure *m, enum run_figure which, double part, double all,
			  double harm)
{
	struct run_figures *f = m->out;
	double unseen = f->value[RUN_FIGURE_TCP_UNSEEN];
	double most = part / all * (1 - unseen) + unseen;

	run_figure_share(f, which, part, all);
	if (!f->known[which] || f->value[which] >= harm || most < harm)
		return;
	/* As a reason for another cause it counts as it is known: they are one of their own. */
	f->known[which] = false;
	f->at_least[which] = true;
	run_figure_who(f, which, "the connections of %s are not seen",
		       f->who[RUN_FIGURE_TCP_UNSEEN]);
}

/*
 * Replies on their way, round trips and delayed acknowledgements are in no request's time, but
 * clients wait for them.
 */
static void look_network(struct measure *m)
{
	const struct run_figures *f = m->out;
	double drain = f->value[RUN_FIGURE_DRAIN], trips = f->value[RUN_FIGURE_TRIP_CLIENTS];
	double acks = f->known[RUN_FIGURE_ACK_CLIENTS] ? f->value[RUN_FIGURE_ACK_CLIENTS] : 0;
	double busy = f->value[RUN_FIGURE_BUSY], all = drain + trips + acks + busy;

	if (!f->known[RUN_FIGURE_DRAIN] || !f->known[RUN_FIGURE_TRIP_CLIENTS] ||
	    !f->known[RUN_FIGURE_BUSY] || !f->known[RUN_FIGURE_NET])
		return;
	network_share(m, RUN_FIGURE_NET_WAIT, drain + busy * f->value[RUN_FIGURE_NET], all,
		      NET_WAIT_HARM);
	network_share(m, RUN_FIGURE_TRIPS_WAIT, trips, all, TRIPS_WAIT_HARM);
	if (f->known[RUN_FIGURE_ACK_CLIENTS])
		network_share(m, RUN_FIGURE_ACKS_WAIT, acks, all, ACKS_WAIT_HARM);
}

static int measure_requests(struct measure *m)
{
	int e = requests_init(&m->requests, &m->view.all);

	if (e)
		return e;
	measure_sum_up(m);
	run_name_set(m->out, RUN_NAME_BACKEND, "%s", view_role_name(m->run, AFS_ROLE_BACKEND));
	measure_times(m);
	measure_waits(m);
	measure_logins(m);
	measure_answers(m);
	measure_commands(m);
	measure_ends(m);
	doctor_sessions(m->out, m->run, m->ns);
	doctor_clients(m->out, m->run);
	look_network(m);
	requests_fini(&m->requests);
	return 0;
}

int doctor_measure(struct run_figures *out, const struct run *r)
{
	struct measure m = { .out = out, .run = r };
	int e = view_init(&m.view, r);

	if (e)
		return e;
	out->kind = r->kind;
	look_time(&m);
	look_lost(&m);
	if (run_kind_judged(r->kind) == RUN_JUDGED_CALLS)
		doctor_rx(out, r, &m.view, m.ns);
	else if (run_kind_judged(r->kind) == RUN_JUDGED_BRICKS)
		e = doctor_gluster(out, r, &m.view, m.ns);
	else if (run_kind_judged(r->kind) == RUN_JUDGED_SHARES)
		e = doctor_smb(out, r, &m.view, m.ns);
	else if (run_kind_judged(r->kind) == RUN_JUDGED_EXPORTS)
		e = doctor_nfs(out, r, &m.view, m.ns);
	else if (m.view.all.has_requests)
		e = measure_requests(&m);
	view_fini(&m.view);
	return e;
}
