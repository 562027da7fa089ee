/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_REPLAY_REPLAY_CLIENT_H
#define WORK_REPLAY_REPLAY_CLIENT_H

/*
 * A client of a replay: makes its part of the image, then sends the requests of one recorded
 * session, each at its time, in their order and after those of others that it needs. Works on any
 * store: over AFP by the ids of directories, else by paths.
 */

#include "load/actor.h"
#include "work/replay/replay.h"

/* What came of a request. X(NAME, what is said of such) */
#define REPLAY_OUTCOMES(X)                                                                         \
	X(NEW_ERROR, "refused, but not in the recording")                                          \
	X(NO_ERROR, "not refused, but in the recording")                                           \
	X(OTHER_ERROR, "refused for another reason than in the recording")                         \
	X(OTHER_SIZE, "answered with another size than in the recording")                          \
	X(UNSENT, "not sent, as what they are about is not there or not open")                     \
	X(LACKS, "not supported by this kind of place")                                            \
	X(AS_RECORDED, "answered as in the recording")

enum replay_outcome {
#define X(name, text) REPLAY_##name,
	REPLAY_OUTCOMES(X)
#undef X
	    REPLAY_N_OUTCOMES
};

/* "refused, but not in the recording" */
const char *replay_outcome_text(enum replay_outcome o);

struct replay_done {
	uint64_t n[N_STORE_VERBS][REPLAY_N_OUTCOMES];
	/* Of NEW_ERROR, UNSENT and LACKS those that were not refused in the recording; and reads
	 * and writes of fewer bytes. */
	uint64_t n_refused_anew;
	uint64_t n_were_done; /* that were not refused in the recording, whatever came of them */
	uint64_t read_b, written_b;
	uint64_t n_waited;    /* that had to wait for requests of others */
	uint64_t n_unordered; /* that were sent before one that they need, as it did not come */
	/*
	 * That began more than 1 ms later than they would have if this program were never late and
	 * waited for no other client, and by how much at most: a delay is in all requests of a
	 * client until it has caught up.
	 */
	uint64_t n_delayed, delayed_max_ns;
	char first[256]; /* the first that was answered in another way; "" */
};

/*
 * A copy of what was recorded: a client for each of the plan's, and an image of its own. What its
 * clients have in common; the plan, which all copies share, is only read. Borrowed.
 */
struct replay_copy {
	const struct replay_plan *plan;
	const char *base;  /* directory in the root, which exists */
	const char *below; /* directory in base that is this copy's, and is made; NULL: base */
	bool found;        /* base was there: it may have a part of the image, or more */
	bool for_all;      /* the clients log in as several users: each may use all of the image */
	uint64_t later_ns; /* than the plan says */
	uint64_t begin_ns; /* of the replay, CLOCK_MONOTONIC; 0: delays are not counted */
	const void *data;  /* what is written: data_len bytes */
	size_t data_len;
	atomic_uchar *answered; /* of each step; set while it is replayed */
	_Atomic uint64_t *id;   /* of each object: the store's directory; 0: none yet */
	atomic_uint *progress; /* of each client: changes with all it does; REPLAY_NONE: given up */
};

/* Makes the last three; plan is set, and closed. 0 or -ENOMEM; replay_copy_fini in any case. */
int replay_copy_init(struct replay_copy *c);
void replay_copy_fini(struct replay_copy *c);

struct replay_client;

/* number: of the plan's. sink: room for what is read, sink_len bytes, which clients of one thread
 * share. NULL without memory. */
struct replay_client *replay_client_new(const struct replay_copy *c, unsigned int number,
					void *sink, size_t sink_len);
void replay_client_free(struct replay_client *c);

/* Client 0 of a copy makes all its directories first; then all make the files. */
struct script *replay_client_make_dirs(struct replay_client *c);
struct script *replay_client_make_files(struct replay_client *c);
/* The requests. */
struct script *replay_client_use(struct replay_client *c);
/* Closes what was not closed in the recording; with for_all lets all users remove what is in its
 * directories. */
struct script *replay_client_finish(struct replay_client *c);

void replay_client_add_done(const struct replay_client *c, struct replay_done *to);

#endif
