/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logins. A wrong password is answered late on purpose (PAM waits for some seconds): as many of the
 * longest answers as were refusals are left out of the mean.
 */
#include "doctor/figures/measure_priv.h"

#include "base/hist.h"
#include "doctor/rules/rules.h"

#include <math.h>

#define LOGIN_LATE 4e9 /* ns: PAM refuses after 2 s, if not told otherwise, by chance up to 3 */

struct logins {
	double ended, ended_ns; /* that succeeded */
	double refused;
	double pending, pending_ns;
	double cpu_ns;             /* of all with an answer */
	struct measure_calls slow; /* likewise, with that */
	double all_ns;             /* with those that were refused, for a CPU too */
};

/* On a CPU or waiting for one, the programs that check passwords included. */
static double login_cpu_ns(const struct measure *m, const struct request *r)
{
	struct afs_part helper = ledger_part_sum(&m->view.all, AFS_ROLE_HELPER, r->number,
						 LEDGER_ALL, LEDGER_ALL);

	return (double)(r->time_ns[ACCOUNT_RUNQ] + r->time_ns[ACCOUNT_USER] +
			r->time_ns[ACCOUNT_CALLS] + helper.runq_ns + helper.cpu_ns);
}

double measure_refused_logins(const struct measure *m, unsigned int account)
{
	const struct ledger *l = &m->view.all;
	double n = 0;

	if (!measure_is_login(account))
		return 0;
	for (size_t i = 0; i < l->n_results; i++)
		if (l->result[i].account == account && l->result[i].code != AFP_ERR_CONTINUE)
			n += (double)l->result[i].n;
	return n;
}

/* The time of all answers but the n longest ones. */
static double without_longest_ns(const struct ledger_account *a, double n)
{
	double ns = (double)a->sum.ns, middle, k;

	for (size_t i = AFS_REQUEST_BUCKETS; i-- && n > 0;) {
		k = (double)a->hist[i] < n ? (double)a->hist[i] : n;
		middle = (double)(hist_low(i, AFS_REQUEST_BITS) +
				  hist_low(i + 1, AFS_REQUEST_BITS)) /
			 2;
		if (a->max_ns && middle > (double)a->max_ns)
			middle = (double)a->max_ns;
		ns -= k * middle;
		n -= k;
	}
	return ns > 0 ? ns : 0;
}

static void add_login(struct logins *to, const struct measure *m, const struct request *r)
{
	double not = measure_refused_logins(m, r->number), cpu = login_cpu_ns(m, r), pending;
	double done = without_longest_ns(&r->a, not );

	to->refused += not ;
	if (measure_begins_login(r->number))
		to->ended += (double)r->a.sum.answered;
	to->ended_ns += done > cpu ? done - cpu : 0;
	to->all_ns += measure_request_ns(r);
	to->cpu_ns += cpu;
	measure_long_ones(r, &to->slow);
	pending = measure_pending_ns(r);
	if (pending <= 0)
		return;
	to->pending_ns += pending;
	to->pending += (double)(r->a.sum.begun - r->a.sum.answered);
}

/*
 * The oldest that has no answer; one from before the watch has no user yet. *awake: the oldest that
 * does not sleep, as PAM does for as long as FAIL_DELAY says before it refuses a password.
 */
static double oldest_ns(const struct measure *m, double *awake)
{
	double oldest = 0;

	*awake = 0;
	for (size_t i = 0; i < m->run->n_service; i++) {
		const struct run_service *s = &m->run->service[i];

		if (!(account_is_request(s->account) ? measure_is_login(s->account) : !*s->user))
			continue;
		oldest = fmax(oldest, (double)s->age_ns);
		if (!s->naps)
			*awake = fmax(*awake, (double)s->age_ns);
	}
	return oldest;
}

/*
 * One that has no answer yet may be of a wrong password: slow logins are shown by others, or not,
 * unless all of it is too little to harm.
 */
static void may_be_refused(struct measure *m, const struct logins *l, bool sleeps)
{
	const char *why =
	    sleeps ? "a login without an answer sleeps, as PAM does before it refuses one"
		   : "a login has had no answer for less time than PAM takes to refuse one";
	double most = fmin(l->ended_ns + l->pending_ns, l->all_ns);

	run_figure_who(m->out, RUN_FIGURE_LOGIN, "%s", why);
	run_figure_who(m->out, RUN_FIGURE_LOGIN_WAIT, "%s", why);
	if (most < LOGIN_HARM * m->all_ns)
		measure_share(m, RUN_FIGURE_LOGIN_WAIT, most);
}

void measure_logins(struct measure *m)
{
	struct logins l = { 0 };
	double awake, oldest = oldest_ns(m, &awake), mean, waits;

	for (size_t i = 0; i < m->requests.n; i++)
		if (measure_is_login(m->requests.request[i].number))
			add_login(&l, m, &m->requests.request[i]);
	l.ended = l.ended > l.refused ? l.ended - l.refused : 0;
	/* The oldest is at least as old as their mean; that all of them sleep has to be seen. */
	if (l.pending > 0 && l.pending_ns / l.pending > oldest) {
		if (awake > 0 || oldest <= 0)
			awake = l.pending_ns / l.pending;
		oldest = l.pending_ns / l.pending;
	}
	mean = l.ended > 0 ? l.ended_ns / l.ended : 0;
	run_figure_set(m->out, RUN_FIGURE_LOGIN_REFUSED, l.refused);
	run_figure_set(m->out, RUN_FIGURE_LOGIN_PENDING, l.pending);
	measure_per_second(m, RUN_FIGURE_LOGINS, l.ended);
	if (l.ended > 0)
		run_figure_set(m->out, RUN_FIGURE_LOGIN_MEAN, mean);
	if (oldest > 0)
		run_figure_set(m->out, RUN_FIGURE_LOGIN_OLDEST, oldest);
	measure_share(m, RUN_FIGURE_LOGIN_LOAD, l.all_ns);
	if (oldest >= LOGIN_SOME && awake < LOGIN_LATE && mean < LOGIN_LONG) {
		may_be_refused(m, &l, oldest >= LOGIN_LATE);
		return;
	}
	/* PAM refuses late: where some were refused, the late ones may be these. */
	if (fmax(mean, awake) < LOGIN_SOME && !l.refused && l.slow.n > 0 &&
	    l.slow.n < l.ended / 2 && l.slow.ns - l.cpu_ns > l.ended_ns / 2)
		run_figure_who(m->out, RUN_FIGURE_LOGIN,
			       "most logins are quick, and some are slow");
	else if (l.ended > 0 || awake > 0)
		run_figure_set(m->out, RUN_FIGURE_LOGIN, fmax(mean, awake));
	waits = l.ended_ns + l.pending_ns;
	measure_share(m, RUN_FIGURE_LOGIN_WAIT, waits < l.all_ns ? waits : l.all_ns);
}
