/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

/* The options of afpscope replay. */

#include "drive/slo.h"
#include "drive/users.h"
#include "drive/workload.h"
#include "replay/recording.h"
#include "replay/replay_clients.h"

#define REPLAY_SET         "replay-1"

#define REPLAY_OF_USER_MAX 64

struct replay_cfg {
	struct workload_cfg w;
	const char *recording; /* NULL: not given */
	double speed, from_s, to_s;
	bool no_think, dry_run, prepare, keep, realtime;
	int live;                                /* enum ticker_how */
	unsigned int copies, threads;            /* threads 0: not given */
	unsigned int sessions;                   /* at most, of all copies; 0: not given */
	const char *of_user[REPLAY_OF_USER_MAX]; /* each one or more, with commas between; NULL */
	const char *users_file;                  /* NULL: not given */
	/* Of it; user i of the new server is recorded[i] of the recording. */
	struct users users;
	const char **recorded;
	struct slos slos;
};

#define REPLAY_DEFAULTS                                                                            \
	{                                                                                          \
		.w = WORKLOAD_DEFAULTS, .speed = 1, .copies = 1                                    \
	}

extern const struct job_type replay_job;

/* What no table of options can check. 0, or -EINVAL and a text. */
int replay_check(const struct replay_cfg *cfg, struct err *e);

/* For workload_type.parse: cfg is a replay_cfg. 0, or a negative errno and a text. */
int replay_parse(struct workload_cfg *cfg, struct job *j, struct err *e);

/* Of the plan. */
struct replay_opts replay_opts_of(const struct replay_cfg *cfg);

/* Whether --sessions is enough for the plan. 0, or -EINVAL and a text. */
int replay_check_sessions(const struct replay_cfg *cfg, const struct replay_plan *p, struct err *e);

/* The plan of the recording, or why there is nothing to send: -ENODATA; else as recording_plan().
 */
int replay_read(const struct replay_cfg *cfg, struct replay_plan **plan, struct recording *about,
		struct err *e);

/* What the run remembers. 0 or -ENOMEM. */
int replay_describe(const struct replay_cfg *cfg, const struct replay_plan *p,
		    const struct recording *about, struct run_notes *o);

/* ---- replay_judge.c ---- */

/* Whether each limit is of a request that there is. 0, or -EINVAL and a text. */
int replay_check_slos(const struct slos *s, struct err *e);

/*
 * Judges the limits, into load, and whether the server kept up: 99 of 100 requests were answered
 * within a second of when they were due, or within a tenth of the time of all where that is less,
 * whatever their answers are. Late because of this program,
 * or because clients waited for each other, is not late because of the server: then it cannot be
 * told; nor of clients that seldom paused, or that share a session, nor where more than one of 100
 * requests that was done in the recording was refused, not sent or moved fewer bytes, or cannot be
 * replayed, or is not in the recording any more (gone: so many); in the last two cases no limit is
 * kept either. Returns the worst of the limits.
 */
#define REPLAY_GONE_UNKNOWN UINT64_MAX /* some are, how many is not known */
/* Those that are never replayed, or were not asked for, are no warning. */
bool replay_is_usual(enum replay_reason reason);
/* Whether these, and what cannot be replayed, are more than one of 100. */
bool replay_has_less(const struct replay_plan *p, uint64_t gone);
enum run_slo_verdict replay_judge(const struct slos *s, const struct replay_plan *p,
				  const struct replay_done *done, uint64_t gone,
				  struct run_load *load, struct run_slo *kept_up, bool stopped);

/* How many requests are of clients that hardly paused in the recording. */
uint64_t replay_unpaused(const struct replay_plan *p);

/* ---- replay_text.c: what is said of a recording ---- */

/* Image, requests, and what cannot be replayed. */
void replay_say(FILE *out, const struct replay_cfg *cfg, const struct replay_plan *p,
		const struct recording *about);

/* How many requests are not in the recording; REPLAY_GONE_UNKNOWN: parts of it cannot be read, and
 * nothing says how many they had. */
uint64_t replay_gone(const struct recording *about);

/* Of a recording that is not whole, and of requests that are not replayed: warnings of the run. */
int replay_note_recording(const struct replay_plan *p, const struct recording *about,
			  struct run_notes *warnings);

/* What came of a replay: warnings of the run, and what it keeps; gone: requests that were recorded
 * and are not in the recording. NULL without memory. */
int replay_note_done(const struct replay_done *done, struct run_notes *warnings);
struct run_replay *replay_result(const struct replay_plan *p, unsigned int copies, uint64_t gone,
				 const struct replay_done *done, const struct run_load *load);

/* ---- replay_users.c: whose sessions, and who they log in as ---- */

/* Reads --users, if it is given: cfg->users and recorded. 0, or a negative errno and a text. */
int replay_users_read(struct replay_cfg *cfg, struct err *e);
void replay_users_free(struct replay_cfg *cfg);

/*
 * Who each client of the plan logs in as (replay_clients_opts.account): *out, to be freed; NULL
 * without --users. 0 or -ENOMEM.
 */
int replay_users_accounts(const struct replay_cfg *cfg, const struct replay_plan *p,
			  const struct recording *about, const struct user ***out);

/* A line for each user of the recording. */
void replay_users_say(FILE *out, const struct replay_cfg *cfg, const struct recording *about);

/* Those that --users does not name: a warning of the run. 0 or -ENOMEM. */
int replay_users_note(const struct replay_cfg *cfg, const struct replay_plan *p,
		      const struct recording *about, struct run_notes *warnings);

#endif
