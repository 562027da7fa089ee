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
	struct procfs_times before;
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
	uint64_t traced_ns;
	size_t n_sessions;
	struct diagnose_session *session; /* owned; CPU time of those that there were */
	bool begun;
};

/* Just before the watched time. 0 or -ENOMEM. */
int diagnose_begin(struct diagnose *d, const struct watch *w, const struct kind_found *found);
/*
 * The same for the time that follows on that of a run, whose sessions are known; d is that run's.
 * 0 or -ENOMEM.
 */
int diagnose_again(struct diagnose *d, const struct watch *w, const struct kind_found *found,
		   const struct run *r);
/* Once a second. */
void diagnose_tick(struct diagnose *d);

/* When the watched time ends, while the watch still counts. 0 or -ENOMEM. */
int diagnose_last(struct diagnose *d, struct watch *w, const struct kind_found *found);

/* After the run's phases are complete; gives the run its figures. 0 or -ENOMEM. */
int diagnose_end(struct diagnose *d, struct watch *w, const struct kind_found *found,
		 struct run *r);

/*
 * Gives a run its figures as far as its own ledger and sessions have them, and what the machine did
 * between two looks around what was watched by w (all 0: not the whole server was watched). The
 * server's volumes, its settings and its clients' connections are not seen. 0 or -ENOMEM.
 */
int diagnose_run(struct run *r, struct watch *w, const struct machine *before,
		 const struct machine *after);

/* OUTCOME_OK: healthy or idle; OUTCOME_FAILED: findings, or slow; OUTCOME_UNTRUSTED: no verdict. */
enum outcome diagnose_outcome(const struct run_figures *f);

void diagnose_fini(struct diagnose *d); /* all 0 then */

#endif
