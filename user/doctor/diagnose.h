/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_DIAGNOSE_H
#define DOCTOR_DIAGNOSE_H

/*
 * What a diagnosis needs besides the ledger: the machine before and after, the clients'
 * connections, and the volumes.
 */

#include "app/cmd.h"
#include "attach/connections.h"
#include "attach/unanswered.h"
#include "host/fanotify.h"
#include "host/filesystem.h"
#include "host/machine.h"
#include "host/proc/procfs.h"
#include "kinds/afp/settings.h"
#include "kinds/kind.h"
#include "run/run.h"
#include "watch/watch.h"

struct diagnose_session {
	pid_t pid;
	struct procfs_times times;
};

#define DIAGNOSE_VOLUMES_MAX 64

struct diagnose {
	struct machine before, after; /* after: of a time that has ended */
	struct settings settings;
	size_t n_volumes;
	struct filesystem volume[DIAGNOSE_VOLUMES_MAX];
	/* Who is asked before files on them may be used; looked for at most once a minute. */
	struct fanotify_watcher scanner;
	int scanner_error;
	uint64_t scanned_ns; /* 0: never */
	struct connections connections;
	struct unanswered unanswered;
	/* When the watched time began. */
	struct run_ends ends[AFS_N_ROLES];
	uint64_t begun_ns, traced_ns, stops[AFS_N_ROLES];
	/* Owned; CPU time of those that there were when it began, and at its end (diagnose_after).
	 */
	size_t n_sessions, n_last;
	struct diagnose_session *session, *last;
	size_t working[DIAGNOSE_VOLUMES_MAX + 1]; /* of the latter, how many in each volume */
	bool begun;
};

/* Just before the watched time. 0 or -ENOMEM. */
int diagnose_begin(struct diagnose *d, const struct watch *w, const struct kind_found *found);
/* The same for the time that follows on that of a run; d is that run's. 0 or -ENOMEM. */
int diagnose_again(struct diagnose *d, const struct watch *w, const struct kind_found *found);
/* Once a second. */
void diagnose_tick(struct diagnose *d);

/* When the watched time ends, while the watch still counts. 0 or -ENOMEM. */
int diagnose_last(struct diagnose *d, struct watch *w, const struct kind_found *found);

/*
 * Just after the watched time, where its clients go before diagnose_end() comes: what is known of
 * them, and of the machine. Of several times the last counts. 0 or -ENOMEM.
 */
int diagnose_after(struct diagnose *d, const struct watch *w, const struct kind_found *found);

/* After the run's phases are complete; gives the run its figures. 0 or -ENOMEM. */
int diagnose_end(struct diagnose *d, struct watch *w, const struct kind_found *found,
		 struct run *r);

/*
 * The same of a run of our own clients. found NULL: the server's settings, volumes and connections
 * are not seen, but what its ledger and sessions have, and what the machine did between
 * diagnose_machine_begin() and diagnose_machine_after(). whole: all sessions were watched. w NULL:
 * nothing was. 0 or -ENOMEM.
 */
int diagnose_load(struct diagnose *d, struct watch *w, const struct kind_found *found, bool whole,
		  struct run *r);
void diagnose_machine_begin(struct diagnose *d, const struct watch *w);
void diagnose_machine_after(struct diagnose *d, const struct watch *w);

/* OUTCOME_OK: healthy or idle; OUTCOME_FAILED: findings, or slow; OUTCOME_UNTRUSTED: no verdict. */
enum outcome diagnose_outcome(const struct run_figures *f);

void diagnose_fini(struct diagnose *d); /* all 0 then */

/* What a diagnosis of others' clients and one of our own share (diagnose_load.c). */

/* The watched processes, in ascending order. */
struct diagnose_own {
	pid_t *pid; /* owned */
	size_t n;
};

/* 0 or -ENOMEM; to be freed also then. */
int diagnose_own(struct diagnose_own *out, const struct watch *w);

/* Gives a run figures of which none is known. 0 or -ENOMEM. */
int diagnose_new_figures(struct run *r);

/* Takes back what is not known after all, and why. */
void diagnose_hide(struct run_figures *f, const enum run_figure *which, size_t n, const char *why);

/* How often processes were paused, when and how long, and which one was last (pauses.c). */
void diagnose_look_stops(const struct diagnose *d, const struct watch *w, struct run_figures *out);

/* For how long and when: kept stops of which n are new since begun_ns; as "for 600ms at 1.2s of the
 * watch, for 2s at 3.0s". */
void pauses_say(char *out, size_t len, const struct watch_stops *s, uint64_t n, uint64_t begun_ns);

/* Sets "who" of a figure of the same stops: the process of the last one, of how many processes they
 * are as far as is known, and when they were. */
void pauses_who(struct run_figures *out, enum run_figure which, const struct watch_stops *s,
		uint64_t n, uint64_t begun_ns);

/* Where a cause is found, the run's warning of the same setting advises nothing else. 0 or -ENOMEM.
 */
int diagnose_advise_once(struct run *r);

/* What was watched may be a relay in front of the server. */
void diagnose_look_passed_on(const struct watch *w, struct run *r);

/*
 * A debugger, strace: what it stops does nothing meanwhile. It may be there and not be what has
 * stopped the server, or have left. before_ns: watch_traced_ns() when the watched time began.
 */
void diagnose_look_tracers(struct watch *w, uint64_t before_ns, struct run *r);

/*
 * What the machine did between two looks; volume: those of the server, n, if they are known. 0 or
 * -ENOMEM.
 */
int diagnose_machine(const struct machine *before, const struct machine *after,
		     const struct diagnose_own *own, const struct filesystem *volume, size_t n,
		     struct run *r);

#endif
