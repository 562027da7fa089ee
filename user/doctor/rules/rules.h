/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_RULES_RULES_H
#define DOCTOR_RULES_RULES_H

/*
 * What can be wrong with a server, as tables: a cause is named only with figures of the resource
 * that it blames and with a figure of the harm, what users wait for or what fails because of it. A
 * new cause is a row.
 *
 * Texts may have figures in them: {wait_cpu} is its value with its unit, {wait_cpu.who} whom it is
 * about (doctor/say.h has all forms). A part in square brackets is left out if a figure in it is
 * not known, about nobody, a number of things that is 0, or a share that would be shown as 0.
 */

#include "run/figures.h"

#include <stddef.h>

/* Share of what requests wait from which on stops are the cause. */
#define STOPPED_HARM 0.1

/* Of the time of calls over Rx, in those that lost packets made long: it is a cause from here on.
 */
#define RESENDS_LEAST 0.4

/* Shares of the requests' time in a wait: from these on it stands out, and is a harm by itself. */
#define CPU_HARM       0.25
#define DISK_HARM      0.3
#define LOCK_HARM      0.1
#define NET_HARM       0.4
#define CNID_WAIT_HARM 0.4

/* Of logins: how long they take for a cause of much of the time, and for one of some of it. */
#define LOGIN_SOME 80e6 /* ns */
#define LOGIN_LONG 1e9  /* ns */
#define LOGIN_HARM 0.1  /* share of the requests' time: the least that is a cause */

/* Of the time of a brick's io-threads, what they are at work: there are too few. */
#define IO_THREADS_MANY 0.8

/* Of what clients wait for: a way from here on, round trips or delayed acknowledgements. */
#define NET_WAIT_HARM   0.3
#define DIRCACHE_AGAIN  0.2
#define DIRCACHE_HARM   0.05
#define TRIPS_WAIT_HARM 0.2
#define ACKS_WAIT_HARM  0.2

/* Of clients: below these the way to them is not slow, nor what they send late. */
#define SLOW_REPLY      5e6 /* ns that a reply is on its way */
#define SLOW_TRIP       2e6 /* ns of a round trip */
#define MUCH_UPLOAD     0.4 /* of a client's time: requests that had not come whole */
#define ACKS_RATE_MOST  60  /* requests a second of which half wait for 36 ms: no more */

#define DOCTOR_TESTS    8
#define DOCTOR_EVIDENCE 7
#define DOCTOR_REASONS  3

/* A figure that is at least, or (most) at most, so large. */
struct doctor_test {
	enum run_figure figure;
	double limit;
	bool most;
};

enum doctor_kind {
	DOCTOR_FAILS, /* requests or sessions fail: before everything that only makes users wait */
	DOCTOR_WORK,  /* requests cost more than they need: wrong also where nobody notices */
	DOCTOR_WAIT,  /* normal under load: wrong where people notice (judge.h), or by worth_ns */
	DOCTOR_NOTE,  /* worth knowing; harms nobody by itself */
};

/* What to try, what would show that the finding is mistaken, and a command that looks further. */
struct doctor_advice {
	const char *todo, *disproof, *next;
};

struct doctor_rule {
	const char *key;  /* for scripts: "other-programs" */
	const char *name; /* for lists: "other programs" */
	enum doctor_kind kind;
	bool
	    whom; /* it says only who or where: after all that say why; a note, only without them */
	/* Of the resource: all must hold. */
	size_t n_tests;
	struct doctor_test test[DOCTOR_TESTS];
	/*
	 * The share of what users waited for, or of what failed, that it explains: a cause where it
	 * is at least so large. N_RUN_FIGURES: not measured, little. own: a share of own time.
	 */
	enum run_figure harm;
	double least;
	bool own;
	/* What the harm is a part of: if it is not measured, it is at most so much. 0: nothing. */
	enum run_figure within;
	/*
	 * Of DOCTOR_WAIT: where nobody notices, it is a cause if it explains so much of a request,
	 * on average; 0: it is none there.
	 */
	double worth_ns;
	/* No figure says how much the resource does: never sure. */
	bool unsure;
	/*
	 * Shares of the same time that other causes explain, such as work that keeps this resource
	 * busy: it is sure only by what it explains besides the largest of them.
	 */
	size_t n_reasons;
	enum run_figure reason[DOCTOR_REASONS];
	size_t n_evidence;
	enum run_figure evidence[DOCTOR_EVIDENCE];
	const char *says, *todo, *disproof, *next;
	/*
	 * Of a state that may be over when the watch ends: what is said in place of the last three
	 * unless this figure is known to be 1 or more. All NULL: nothing else.
	 */
	enum run_figure now;
	struct doctor_advice over;
	const char *fact; /* what is said where it harms nobody; NULL: nothing */
};

/* Those of one or more kinds of servers, in the order in which equals are named. */
struct doctor_rules {
	unsigned int of;         /* servers that are judged by these: bits, 1 << enum run_judged */
	unsigned int with_files; /* more of them, where the server has files of its own */
	size_t n;
	const struct doctor_rule *rule;
};

extern const struct doctor_rules doctor_rules_way, doctor_rules_server, doctor_rules_machine,
    doctor_rules_clients, doctor_rules_rx, doctor_rules_gluster, doctor_rules_smb, doctor_rules_nfs,
    doctor_rules_stops, doctor_rules_storage;
/* What stands out in the time of requests: facts, those that are not whom before the others. */
extern const struct doctor_rules doctor_rules_time;

/* The i-th rule for the kind of server that the figures are of; NULL: no more. */
const struct doctor_rule *doctor_rule_at(const struct run_figures *f, size_t i);

/* Whether these rules are for that kind of server. */
bool doctor_rules_apply(const struct doctor_rules *r, const struct run_figures *f);

/* How many there are. */
size_t doctor_rules_count(const struct run_figures *f);

#endif
