/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_GUARD_H
#define ATTACH_GUARD_H

/* --max-cpu: a watch that costs more CPU time than was allowed ends by itself. */

#include "base/err.h"
#include "base/opt.h"
#include "watch/watch.h"

/* The cost is judged over this time, so that a moment of much work ends nothing. */
#define GUARD_WINDOW_NS 5000000000u

struct guard {
	double most;            /* share of one CPU; 0: no limit */
	bool knows_programs;    /* the programs' time is in "used" */
	uint64_t others_ns;     /* CPU time of other processes that work for it, the caller's */
	double share;           /* of the last window; before the first one has ended 0 */
	uint64_t t_ns, used_ns; /* begin of the window; CPU time used until then */
};

/* clang-format off */
/* A row for a table of options over a struct that has the share as member "member" (double). */
#define GUARD_OPTION(cfg_type, member)                                                             \
	{ .name = "max-cpu", .arg = "PERCENT", .type = OPT_SHARE,                                  \
	  .offset = offsetof(cfg_type, member), .max = 100000,                                     \
	  .help = "end by itself if watching takes more than this share of one CPU, such as 2%",  \
	  .more = "That is its own time and that of its programs in the kernel, over five "         \
		  "seconds. What was seen until then is kept, and the exit code is as ever." }
/* clang-format on */

/* When the watch has begun. Keeps others_ns. */
void guard_begin(struct guard *g, double most, struct watch *w);

/* Whether it has cost too much; to be called about once a second. */
bool guard_over(struct guard *g, struct watch *w);

/* The same at now_ns with used_ns of CPU time used so far. */
bool guard_judge(struct guard *g, uint64_t now_ns, uint64_t used_ns);

/* What the watch cost and why it ended, as a sentence. Returns buf. */
#define GUARD_TEXT_MAX 160
char *guard_text(const struct guard *g, char buf[GUARD_TEXT_MAX]);

/* CPU time of this process so far: all threads, and processes of its own that have ended. */
uint64_t guard_own_ns(void);

#endif
