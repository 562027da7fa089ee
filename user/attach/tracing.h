/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_TRACING_H
#define ATTACH_TRACING_H

/*
 * The trace of a command's run: options, and what connects the watch (server's records), the AFP
 * session (client's) and the writer. Every function but tracing_open accepts NULL and then does
 * nothing.
 */

#include "afp/afp.h"
#include "base/opt.h"
#include "run/run.h"
#include "watch/watch.h"

enum tracing_what { TRACING_OFF, TRACING_ALL, TRACING_REQUESTS };

struct tracing_cfg {
	int what; /* enum tracing_what */
	bool names;
	bool pinned;
	unsigned int cpu; /* where pinned: of the thread that writes */
	uint64_t max_len;
	uint64_t ring_len;
};

extern const char *const tracing_choices[];
int tracing_cpu(void *cfg, const char *arg, struct err *e); /* for the table of options */

/* clang-format off */
#define TRACING_OPTIONS(cfg_type, member)                                                          \
	{ 0, "trace", "WHAT", OPT_CHOICE, offsetof(cfg_type, member.what),                         \
	  "keep records of every request, call and wait; requests: without calls and waits", 0, 0, \
	  TRACING_ALL, tracing_choices, NULL },                                                    \
	{ 0, "names", NULL, OPT_FLAG, offsetof(cfg_type, member.names),                            \
	  "the trace has names of files and directories as text, not only as keyed hashes", 0, 0,  \
	  0, NULL, NULL },                                                                         \
	{ 0, "trace-buffer", "SIZE", OPT_SIZE, offsetof(cfg_type, member.ring_len),                \
	  "buffer for records on their way to the file (default: 16M)", 4096, 1u << 30, 0, NULL,   \
	  NULL },                                                                                  \
	{ 0, "trace-cpu", "CPU", OPT_CALL, offsetof(cfg_type, member),                             \
	  "the CPU that writes the trace, whichever CPUs the rest uses", 0, 0, 0, NULL,            \
	  tracing_cpu },                                                                           \
	{ 0, "max-size", "SIZE", OPT_SIZE, offsetof(cfg_type, member.max_len),                     \
	  "the trace ends when it would grow beyond this", 1u << 20, 0, 0, NULL, NULL }
/* clang-format on */

struct runs_folder;
struct tracing;

/* Refuses options of a trace without --trace. 0 or -EINVAL with a text. */
int tracing_check(const struct tracing_cfg *cfg, struct err *e);

/*
 * Opens the files, in trace/ of the run's folder; *out NULL where no trace is wanted. To be called
 * before the watch is opened, which gets tracing_sink. 0 or a negative errno and why.
 */
int tracing_open(struct tracing **out, const struct tracing_cfg *cfg,
		 const struct runs_folder *folder, struct run *r, struct err *e);
void tracing_sink(struct tracing *t, struct watch_sink *out);

/*
 * Begins, once the rights were given up. w: NULL, or it outlives tracing_finish; a: NULL, or the
 * session whose requests are the client's. Failures become warnings of the run.
 */
void tracing_start(struct tracing *t, struct watch *w, struct afp *a, struct run *r);

/* After watch_finish, before watch_free: the last records, and notes into the run. 0 or -ENOMEM. */
int tracing_finish(struct tracing *t, struct run *r);

void tracing_close(struct tracing *t);

#endif
