/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

/* A recording (record --trace --replayable) as the plan of a replay. */

#include "replay/recording_users.h"
#include "trace/reader.h"
#include "work/replay/replay.h"

struct recording {
	char uuid[33];
	struct trace_read found;
	uint64_t lost;          /* requests that were lost while it was made */
	uint64_t n_lost_before; /* requests before which others of their session were lost */
	struct recording_users users;
};

/*
 * Reads the recording in a folder (of a run, or of its trace). *out and *about are the caller's,
 * also when nothing can be sent. only: the users whose sessions are wanted. 0, or a negative errno
 * with a text.
 */
int recording_plan(struct replay_plan **out, struct recording *about, const char *folder,
		   const struct replay_opts *o, const struct recording_choice *only, struct err *e);
void recording_free(struct recording *about);

#endif
