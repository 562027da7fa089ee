/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

/* A recording (record --trace --replayable) as the plan of a replay. */

#include "trace/reader.h"
#include "work/replay/replay.h"

struct recording {
	char uuid[33];
	struct trace_read found;
	uint64_t lost;               /* requests that were lost while it was made */
	uint64_t missing;            /* that were written, as its run.json says */
	uint64_t n_lost_before;      /* requests before which others of their session were lost */
	uint64_t sessions, n_before; /* of them those that were there before it began */
	uint64_t users;              /* accounts that these worked as */
};

/*
 * Reads the recording in a folder (of a run, or of its trace). *out is the caller's, also when
 * nothing can be sent. 0, or a negative errno with a text.
 */
int recording_plan(struct replay_plan **out, struct recording *about, const char *folder,
		   const struct replay_opts *o, struct err *e);

#endif
