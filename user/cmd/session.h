/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

/*
 * What the commands that load a server share: one AFP session, the watch of the process that
 * serves it, the run that both fill, and the cleaning up after any kind of end.
 */

#include "cmd/connect.h"
#include "cmd/runs.h"
#include "cmd/sampler.h"
#include "cmd/tracing.h"
#include "run/run.h"
#include "watch/watch.h"

#include <stdio.h>

/* Rows of a table of options over a struct that has a session_cfg as member "member". */
struct session_cfg {
	struct connect_cfg c;
	int watch; /* enum watch_mode */
	unsigned int hz;
	struct tracing_cfg trace;
	struct runs_cfg runs;
};

extern const char *const session_watch_choices[];

/* clang-format off */
#define SESSION_WATCH_OPTIONS(cfg_type, member)                                                    \
	{ 0, "watch", "HOW", OPT_CHOICE, offsetof(cfg_type, member.watch),                         \
	  "how the server is observed (default: auto, the best that works here)", 0, 0, 0,         \
	  session_watch_choices, NULL },                                                           \
	{ 0, "sample", "HZ", OPT_UINT, offsetof(cfg_type, member.hz), SAMPLER_HELP, 1,             \
	  SAMPLE_HZ_MAX, 0, NULL, NULL },                                                          \
	TRACING_OPTIONS(cfg_type, member.trace)
/* clang-format on */

#define SESSION_BASES 2 /* directories that a workload may leave behind: one a volume */

struct session {
	const struct session_cfg *cfg;
	struct afp afp;
	struct afp_server server;
	struct run run;
	struct watch *watch;     /* NULL: nothing is watched */
	struct sampler *sampler; /* NULL: no time series */
	struct tracing *tracing; /* NULL: no trace */
	struct runs_folder folder;
	struct ledger before; /* of the region */
	bool has_before;
	struct procfs_times times[AFS_N_ROLES];
	bool has_times[AFS_N_ROLES], has_runq;
	uint64_t runq_ns; /* of this thread when the region began */
	int schedstat;    /* descriptor it is read from; 0: not opened yet, or -errno */
	FILE *progress;
	enum afp_stage stage;
	uint8_t refused;                        /* the AFP command that was refused last */
	char base[SESSION_BASES][32];           /* still on the volume; "" when not */
	const char *base_volume[SESSION_BASES]; /* where; NULL: that of cfg */
};

/* Connects, logs in, opens the volume, begins run and watch. cfg and progress are set before. */
enum outcome session_open(struct session *s, const char *command, const char *set,
			  unsigned int window, struct err *e);

/* The counters before and after a timed region, into p: hooks of load.h. */
void session_region_begin(struct session *s);
void session_region_end(struct session *s, struct run_phase *p);

/* Before the first timed region, after first use of the volume: finds the CNID server, samples. */
void session_ready(struct session *s);

/*
 * The workload has returned r (load.h): ends the watch, makes the cross-checks, and returns the
 * outcome. The text of a broken run is in e.
 */
enum outcome session_finish(struct session *s, int r, const struct err *e);

/* Saves the run and prints where it is; returns o or a worse outcome. */
enum outcome session_save(struct session *s, enum outcome o);

/* Removes what is left of base in a new session, or says how it can be removed. */
void session_remove_left(struct session *s);

void session_close(struct session *s);

#endif
