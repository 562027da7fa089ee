/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_MEASURE_PRIV_H
#define DOCTOR_MEASURE_PRIV_H

/* What the files that make the figures of an AFP server share. */

#include "report/view.h"
#include "run/requests.h"
#include "run/run.h"

struct measure {
	struct run_figures *out;
	const struct run *run;
	struct view view;
	struct requests requests;
	double ns;      /* watched */
	double all_ns;  /* of all requests in that time, with those that have no answer yet */
	double work_ns; /* of these, without stops, waiting for a CPU, and logins */
	/*
	 * All requests as people judge them: without the commands of logins if one was refused,
	 * which PAM answers late on purpose.
	 */
	struct ledger_account judged;
	/* In all_ns, of requests that began before the watch, by what they wait for. */
	double before_ns[ACCOUNT_N_COLUMNS];
};

/* A share of all_ns, or of work_ns, at most 1; a number in a second. */
void measure_share(struct measure *m, enum run_figure which, double ns);
void measure_share_of_work(struct measure *m, enum run_figure which, double ns);
void measure_per_second(struct measure *m, enum run_figure which, double n);

/* Time of a request, with what has no answer yet; of that alone; without stops and run queue. */
double measure_request_ns(const struct request *r);
double measure_pending_ns(const struct request *r);
double measure_own_ns(const struct request *r);

/* Of all requests, what went into a column of time, with those from before the watch. */
double measure_column(const struct measure *m, enum account_column column);
/* Of all requests, asleep until the CNID server answers. */
double measure_inside_ns(const struct measure *m);

bool measure_is(unsigned int account, const char *name);
bool measure_is_one_of(unsigned int account, const char *const *name, size_t n);
bool measure_is_login(unsigned int account);
bool measure_begins_login(unsigned int account);
/* Logins of this account that were refused. */
double measure_refused_logins(const struct measure *m, unsigned int account);

/* Calls of the serving threads, for requests. */
struct measure_calls {
	double n, ns;
};

void measure_calls_add(struct measure_calls *to, const struct ledger_part *p);

/* Adds those of its requests with an answer that took 100 ms or longer, and their time. */
void measure_long_ones(const struct request *r, struct measure_calls *to);

/*
 * Sets IN_SERVICE and OLDEST, of requests without an answer; skips (NULL: none): those of an
 * account that are no wait for the server.
 */
typedef bool measure_skips(unsigned int account);
void measure_service(struct run_figures *out, const struct run *r, measure_skips *skips);

/*
 * Of a number of stops between requests that took so long in all: the most of it that may have been
 * in sessions which ask for something so seldom that nobody need have waited. Of m only run, ns and
 * out are used.
 */
double measure_seldom_asked(const struct measure *m, double stopped_ns);

/* Whether a request of this process had no answer at the end. */
bool measure_is_in_service(const struct run *r, pid_t pid);

/* The figures, by what they are about: a file each. */
void measure_times(struct measure *m);
void measure_waits(struct measure *m);
void measure_logins(struct measure *m);
void measure_answers(struct measure *m);
void measure_commands(struct measure *m);
void measure_ends(struct measure *m);

#endif
