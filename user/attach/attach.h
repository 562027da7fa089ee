/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

/*
 * A watch of a server that runs, whoever its clients are: what record, slow, top and exporter have
 * in common. One life of a server after the other:
 *
 *	attach_find, attach_open   the server, and its watch
 *	attach_begin, attach_loop  until it is over
 *	attach_finish              what the watch lost and cost is added to that of earlier ones
 *	attach_close
 */

#include "app/cmd.h"
#include "attach/guard.h"
#include "kinds/kind.h"

/* All 0 at first. */
struct attach {
	struct kind_found found;
	struct watch *watch; /* NULL: nothing is watched */
	struct guard guard;
	bool costly;               /* it took more than --max-cpu, so it is over */
	uint64_t begun_ns, end_ns; /* when it watched first; UINT64_MAX: without an end */
	uint64_t begun_cpu_ns;     /* own CPU time until then */
	/* Of the watches that have ended: what was lost, of all kinds; the programs' CPU time;
	 * whether a cross-check disagreed. */
	uint64_t lost, programs_ns;
	bool untrusted;
};

/* The exit code for what kind_find returned, which is not 0. */
enum outcome attach_not_found(int r);

/*
 * Finds the server, and says what is worth a line of it. k NULL: of any kind of
 * kind_find_live(). OUTCOME_OK, or another and why.
 */
enum outcome attach_find(struct attach *a, const struct kind *k, const struct kind_wish *wish,
			 struct err *e);

/*
 * Looks once for the server that takes the place of one that has ended: it has a process that
 * accepts connections. 0; or a negative errno and a text, and found is as it was: -ECHILD if only
 * sessions are left, else that of kind_find. attach_await: the same for so long, or until a signal,
 * for another process of the same user on that port; its number, or 0: none came.
 */
int attach_find_again(struct attach *a, const struct kind *k, const struct kind_wish *wish,
		      struct err *e);
#define ATTACH_COMEBACK_MS 5000 /* so long one that has ended is waited for */
pid_t attach_await(const struct attach *a, unsigned int port, unsigned int timeout_ms);

/* The TCP port on which the server is to be expected again; 0: not known. */
unsigned int attach_port(const struct attach *a, unsigned int asked);

/* With requests: it fails where the kernel shows none. 0 or a negative errno with a text. */
int attach_open(struct attach *a, const struct watch_opts *opts, bool requests, struct err *e);

/* The watched time begins; seconds 0: it has no end of itself. */
void attach_begin(struct attach *a, double max_cpu, unsigned int seconds);

/* What a command does meanwhile. Not 0, a negative errno, ends the loop. */
struct attach_steps {
	/* Waits until then (CLOCK_MONOTONIC) or for something to do, and does it. */
	int (*wait)(void *user, uint64_t until_ns);
	void (*tick)(void *user); /* ten times a second, after watch_tick; may be NULL */
	int (*look)(void *user);  /* once a second; may be NULL */
	bool (*is_over)(void *user);
};

/* Until it is over, a signal, a cost beyond --max-cpu, or the end of the server. */
int attach_loop(struct attach *a, const struct attach_steps *s, void *user);

/*
 * watch_stop() at the end of the watched time. With RIGHTS_PRIORITY this process goes before others
 * from then on: on an overloaded host, to read and write what is left would take seconds.
 */
uint64_t attach_stop(struct attach *a);

/* watch_finish(), once the server is idle or the watch was stopped. 0 or -ENOMEM. */
int attach_finish(struct attach *a, struct run *r);

/*
 * Looks again for a server whose processes do not descend from one, and warns of those that began
 * after since_ns (base/clock.h) and that the watch does not have in their role. 0 or -ENOMEM.
 */
int attach_note_new(const struct watch *w, const struct kind *k, const struct kind_wish *wish,
		    uint64_t since_ns, struct run *r);

/* Says that it was too costly, if it was. */
void attach_say_costly(const struct attach *a);

/* Ends the watch; forgets the server. */
void attach_close(struct attach *a);

#endif
