/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

/* The options of afpscope replay. */

#include "drive/workload.h"
#include "replay/recording.h"
#include "replay/replay_clients.h"

#define REPLAY_SET "replay-1"

struct replay_cfg {
	struct workload_cfg w;
	const char *recording; /* NULL: not given */
	double speed, from_s, to_s;
	bool no_think, dry_run, prepare, keep;
	int live; /* enum ticker_how */
};

#define REPLAY_DEFAULTS                                                                            \
	{                                                                                          \
		.w = WORKLOAD_DEFAULTS, .speed = 1                                                 \
	}

extern const struct job_type replay_job;

/* What no table of options can check. 0, or -EINVAL and a text. */
int replay_check(const struct replay_cfg *cfg, struct err *e);

/* For workload_type.parse: cfg is a replay_cfg. 0, or a negative errno and a text. */
int replay_parse(struct workload_cfg *cfg, struct job *j, struct err *e);

/* Of the plan. */
struct replay_opts replay_opts_of(const struct replay_cfg *cfg);

/* What the run remembers. 0 or -ENOMEM. */
int replay_describe(const struct replay_cfg *cfg, const struct replay_plan *p,
		    const struct recording *about, struct run_notes *o);

/* ---- replay_text.c: what is said of a recording ---- */

/* Image, requests, and what cannot be replayed. */
void replay_say(FILE *out, const struct replay_plan *p, const struct recording *about);

/* Of a recording that is not whole, and of requests that are not replayed: warnings of the run. */
int replay_note_recording(const struct replay_plan *p, const struct recording *about,
			  struct run_notes *warnings);

/* What came of a replay: warnings of the run, and what it keeps. NULL without memory. */
int replay_note_done(const struct replay_done *done, struct run_notes *warnings);
struct run_replay *replay_result(const struct replay_plan *p, const struct replay_done *done,
				 const struct run_load *load);

#endif
