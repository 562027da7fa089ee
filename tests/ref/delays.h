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
#define REF_UPLOAD  1000 /* bytes */
#define REF_DB      REF_DIR "/db"
#define REF_SQLITE  REF_DIR "/cnid"

/* AFP commands, and what the server does for them. */
enum {
	REF_DO_NOTHING = 1,
	REF_DO_SLEEP,
	REF_DO_LOCK,
	REF_DO_FLOCK,
	REF_DO_BURN,
	REF_DO_SYNC,
	REF_DO_PIPE,
	REF_DO_LARGE,  /* a reply of a megabyte */
	REF_DO_UPLOAD, /* whose data come later, in two pieces */
	REF_DO_BUSY,   /* sleeps between two calls on its own CNID database */
	REF_DO_IDLE,   /* sleeps after such a call, but another one is between */
	REF_DO_LATE,   /* waits 5 ms for the second CNID server, in vain, and pauses */
	REF_DO_GONE,   /* reads from it, which gives nothing or an error, and pauses */
	REF_DO_PAUSE,  /* asks it, is answered, and pauses */
	REF_DO_TELL,   /* tells another process, waits for it, and tells it more after the reply */
	REF_DO_ASK,    /* + what the CNID server does before it answers */
	REF_DO_ASK2 = REF_DO_ASK + 8, /* the same of the second CNID server */
	REF_DO_MAX = REF_DO_ASK2 + 8,
};

#define REF_CNID_SERVERS 2

enum {
	REF_ASK_NOTHING,
	REF_ASK_LOCK,
	REF_ASK_SYNC,
	REF_ASK_BURN,
	REF_ASK_PIPE,
	REF_ASK_MORE,  /* answers, and then has something to do */
	REF_ASK_FUTEX, /* waits for a lock of its own, and works on */
};

/* What the server measured itself: how long the delay lasted. In shared memory. */
struct ref_truth {
	uint64_t ns[REF_DO_MAX];
	uint32_t ready; /* CNID servers that have their names and files */
	uint32_t never; /* nobody wakes who waits here */
};

struct ref_delays {
	struct ref_truth *truth;
	int client, server; /* ends of connections */
	int asks[REF_CNID_SERVERS], asked[REF_CNID_SERVERS];
	int data, lock, sqlite, db_data, db_lock, pipe[2], to_holder[2], from_holder[2], told[2];
	int high;         /* the least descriptor of connections to CNID servers; 0: any */
	bool waits;       /* the server's end does not block */
	bool reads_first; /* the CNID server is found reading, not waiting */
};

/* Makes files, pipes and connections. */
void ref_delays_open(struct ref_delays *d);
void ref_delays_close(struct ref_delays *d);

/* Until the client closes the session. */
void ref_delays_serve(struct ref_delays *d);

/* These do not return. */
void ref_delays_serve_cnid(struct ref_delays *d, int which);
void ref_delays_hold(struct ref_delays *d);

#endif
