/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_SLOW_H
#define REPORT_SLOW_H

/* A slow request as it is shown, the moment it is known (afpscope slow). */

#include "bpf/records.h"
#include "run/account.h"
#include "run/run.h"

#include <stdio.h>

/* A system call or a wait made for it. */
struct slow_call {
	uint64_t t, ns; /* begin (CLOCK_MONOTONIC), how long */
	uint8_t kind;   /* enum afs_kind; 0: a call */
	uint8_t class, object;
	const char *name; /* static, of a call; NULL: not known */
	int32_t fd;       /* -1: none */
	int64_t ret;
};

#define SLOW_CALLS 16

/* Of the calls and waits of a request the longest, in the order of their beginning. */
struct slow_calls {
	struct slow_call call[SLOW_CALLS];
	uint32_t n;
	uint64_t more, more_ns; /* those that are not among them; waits are within calls */
};

struct slow_request {
	struct afs_record_requests r; /* running: as if it ended now */
	bool running;                 /* it has not ended: no result yet */
	bool before; /* it began before the watch: its command is not known, and it is at least so
			old */
	const struct run_session *session; /* NULL: not known */
	struct afs_record_names name;      /* timestamp 0: it names nothing */
	const char *text;                  /* the name in words; NULL: not asked for */
	const struct slow_calls *calls;    /* NULL: not asked for */
};

struct slow_view {
	size_t width;                /* columns of a line */
	int64_t offset_ns;           /* from CLOCK_MONOTONIC to wall time */
	const struct run_kind *kind; /* of the server; NULL: AFP's */
};

/* What is known at the end. */
struct slow_sum {
	uint64_t over_ns, ns;                    /* the limit; how long it was watched */
	uint64_t requests, slow, left_out, lost; /* slow: with an answer; lost: of all kinds */
	uint64_t running;           /* at the last look: slow, and without an answer yet */
	uint64_t attach_ns, cpu_ns; /* own CPU time: until it watched, while it did */
	uint64_t programs_ns;       /* of the programs in the kernel */
};

struct slow_part {
	const char *key, *text; /* text: as account_columns has it */
	uint64_t ns;
};

/*
 * The parts of a request's time that are not 0, the longest first; with what is in no part, by its
 * name (run_kind_rest(); of a request that has a part: "unexplained"). Returns how many.
 */
#define SLOW_PARTS (ACCOUNT_N_COLUMNS + 1)
size_t slow_parts(const struct afs_record_requests *r, const struct run_kind *kind,
		  struct slow_part out[SLOW_PARTS]);

/* Text: a line, and below it the calls. Names are cleaned. 0 or -ENOMEM. */
int slow_text(FILE *out, const struct slow_request *q, const struct slow_view *v);
void slow_text_heads(FILE *out, const struct slow_view *v);
/* "12 s watched: ...": three lines. */
void slow_text_sum(FILE *out, const struct slow_sum *s);

/* JSON: an object on a line of its own, in ASCII. 0 or -ENOMEM. */
int slow_json(FILE *out, const struct slow_request *q, const struct slow_view *v);
/* {"event": event, "n": n} */
int slow_json_count(FILE *out, const char *event, uint64_t n);
int slow_json_process(FILE *out, const char *event, pid_t pid);
int slow_json_sum(FILE *out, const struct slow_sum *s);

#endif
