/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_DELAYS_H
#define REF_DELAYS_H

/*
 * A server whose AFP commands stand for known delays, its CNID server, and a process that holds
 * locks: each runs in a child of its own.
 */

#include "ref/work.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REF_MS      1000000ull
#define REF_HOLD_NS (50 * REF_MS)
#define REF_LARGE   (1024 * 1024)
#define REF_DB      REF_DIR "/db"

/* AFP commands, and what the server does for them. */
enum {
	REF_DO_NOTHING = 1,
	REF_DO_SLEEP,
	REF_DO_LOCK,
	REF_DO_FLOCK,
	REF_DO_BURN,
	REF_DO_SYNC,
	REF_DO_PIPE,
	REF_DO_LARGE, /* a reply of a megabyte */
	REF_DO_ASK,   /* + what the CNID server does before it answers */
	REF_DO_MAX = REF_DO_ASK + 8,
};

enum {
	REF_ASK_NOTHING,
	REF_ASK_LOCK,
	REF_ASK_SYNC,
	REF_ASK_BURN,
	REF_ASK_PIPE,
	REF_ASK_MORE, /* answers, and then has something to do */
};

/* What the server measured itself: how long the delay lasted. In shared memory. */
struct ref_truth {
	uint64_t ns[REF_DO_MAX];
	uint32_t ready; /* the CNID server has its name and its files */
};

struct ref_delays {
	struct ref_truth *truth;
	int client, server, asks, asked; /* ends of connections */
	int data, lock, db_data, db_lock, pipe[2], to_holder[2], from_holder[2];
	bool waits;       /* the server's end does not block */
	bool reads_first; /* the CNID server is found reading, not waiting */
};

/* Makes files, pipes and connections. */
void ref_delays_open(struct ref_delays *d);
void ref_delays_close(struct ref_delays *d);

/* Until the client closes the session. */
void ref_delays_serve(struct ref_delays *d);

/* These do not return. */
void ref_delays_serve_cnid(struct ref_delays *d);
void ref_delays_hold(struct ref_delays *d);

#endif
