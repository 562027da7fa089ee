/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_WATCH_PRIV_H
#define WATCH_WATCH_PRIV_H

/*
 * What a watch consists of. watch.c has what both rungs can; functions of watch.h that only the bpf
 * rung can answer are where it knows the answer, in watch/bpf.
 */

#include "host/net/tcpdiag.h"
#include "host/proc/tasks.h"
#include "kinds/target.h"
#include "watch/bpf/rung.h"
#include "watch/proc/procio.h"
#include "watch/watch.h"

struct watch_process {
	struct target_process is; /* pid 0: none */
	bool has_times;
	struct tasks tasks;
};

struct watch {
	const char *rung;           /* "bpf", "proc"; NULL: off */
	struct bpf_rung *bpf;       /* NULL: it is not the rung */
	struct procio proc;         /* if it is the rung */
	struct err no_bpf, no_proc; /* why not this rung; code 0: not tried, or taken */
	char off[ERR_TEXT_MAX];     /* why nothing is measured */
	struct err look;            /* what went wrong when looking again */
	struct target t;
	char foreign[32]; /* name of the server if it is foreign (struct target); else empty */
	struct watch_sink sink;
	uint64_t begun_ns; /* base/clock.h */
	uint64_t metad_ns; /* when target_look_metad() was called */
	unsigned int unsettled;
	uint64_t patience_ns; /* of the next watch_settle; 0: all of it */
	struct tcpdiag tcp;   /* the server's end of the client's connection */
	size_t n;             /* places; the server has the first */
	struct watch_process process[TARGET_PROCESSES_MAX];
};

/* Notes in r->server where a process is; 0 or -ENOMEM. */
int place_note(struct run *r, const struct target_process *p);
/* The same about this program, in r->environment. */
int place_note_self(struct run *r);

#endif
