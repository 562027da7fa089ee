/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_ACTOR_H
#define LOAD_ACTOR_H

/*
 * What the engine drives: an actor is one client of the server, a store and a script that decides
 * what the client does on it. A script is a state machine: it does no I/O, never waits, allocates
 * nothing once it is made, and reads no clock but for aside_ns. The engine asks it for requests,
 *submits them, and hands it the answers.
 *
 * A script's work is a sequence of actions ("save a document"), each of some requests. Actions have
 * classes, small numbers from 0, by which the engine keeps latencies.
 *
 *	begin -> class of the next action, SCRIPT_END or SCRIPT_LATER
 *	next  -> a request to submit, as often as it gives one
 *	answered(request), and again next, until the script says that the action is complete
 */

#include "store/store.h"

/* begin: there is nothing more to do; or nothing now: due() says anew when. */
#define SCRIPT_END   (-1)
#define SCRIPT_LATER (-2)

/* due: as soon as the last action has ended. */
#define SCRIPT_AT_ONCE UINT64_MAX

enum script_state {
	SCRIPT_GOES_ON, /* more requests, or answers to come */
	SCRIPT_DONE,    /* the action is complete, none of its requests is lent */
	SCRIPT_FAILED,  /* likewise, but the server's answer was not what the action needs */
};

struct script;

struct script_type {
	/* The class of the next action on this store, the client's, or SCRIPT_END. */
	int (*begin)(struct script *s, const struct store *store);
	/* A request, owned by the script and lent until it is answered; NULL: none now. Not more at
	 * a time than the store's window. */
	struct store_op *(*next)(struct script *s);
	/* op has its answer. e, not NULL: the text of SCRIPT_FAILED, why the action failed. */
	enum script_state (*answered)(struct script *s, struct store_op *op, struct err *e);
	/*
	 * Closed loop, in place of its pauses: when the next action is due, ns from the job's
	 * begin; NULL: the job says it. It begins then, or as soon as the last one has ended.
	 */
	uint64_t (*due)(struct script *s);
	/*
	 * Whether the action that is due may begin; asked again soon if not, the later the longer
	 * it has waited (10 ms at most), with how long that has gone on. Only with due; NULL:
	 * always.
	 */
	bool (*may_begin)(struct script *s, uint64_t waited_ns);
};

/* The head of every script. */
struct script {
	const struct script_type *type;
	uint64_t bytes;     /* file data moved by answered requests, a running total */
	uint64_t contended; /* actions that met a lock of another, likewise */
	/*
	 * How long it has made data to be written, or compared what was read, likewise. In a closed
	 * loop that is no part of what the client does: its time stands still meanwhile.
	 */
	uint64_t aside_ns;
};

#endif
