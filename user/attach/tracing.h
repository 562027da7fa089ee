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
	bool replayable;
	bool pinned;
	unsigned int cpu; /* where pinned: of the thread that writes */
	uint64_t max_len;
	uint64_t ring_len;
};

extern const char *const tracing_choices[];
int tracing_cpu(void *cfg, const char *arg, struct err *e); /* for the table of options */

/* clang-format off */
#define TRACING_OPTIONS(cfg_type, member)                                                          \
	{ .name = "trace", .arg = "WHAT", .type = OPT_CHOICE,                                      \
	  .offset = offsetof(cfg_type, member.what),                                               \
	  .value = TRACING_ALL, .choice = tracing_choices,                                         \
	  .help = "keep records of every request, call and wait; requests: without calls and "     \
		  "waits",                                                                         \
	  .more = "Without it all is meant. The records are in trace/ of the run's folder, in "    \
		  "the Common Trace Format (docs/trace.md; babeltrace2 reads it)." },              \
	{ .name = "names", .type = OPT_FLAG,                                                       \
	  .offset = offsetof(cfg_type, member.names),                                              \
	  .help = "the trace has names of files and directories as text, not only as keyed "       \
		  "hashes",                                                                        \
	  .more = "The texts are its stream texts. The key of the hashes is not stored, so that "  \
		  "names cannot be found by trying." },                                            \
	{ .name = "replayable", .type = OPT_FLAG,                                                  \
	  .offset = offsetof(cfg_type, member.replayable),                                         \
	  .help = "the trace has what each request asked for, so that it can be sent again",       \
	  .more = "That is its stream operations: sizes, places in files, flags; names and ids "   \
		  "as keyed hashes, never data." },                                                \
	{ .name = "trace-buffer", .arg = "SIZE", .type = OPT_SIZE,                                 \
	  .offset = offsetof(cfg_type, member.ring_len),                                           \
	  .min = 4096, .max = 1u << 30,                                                            \
	  .help = "buffer for records on their way to the file (default: 16M)",                    \
	  .more = "Records that do not fit are lost, and counted." },                              \
	{ .name = "trace-cpu", .arg = "CPU", .type = OPT_CALL,                                     \
	  .offset = offsetof(cfg_type, member),                                                    \
	  .call = tracing_cpu,                                                                     \
	  .help = "the CPU that writes the trace, whichever CPUs the rest uses",                   \
	  .more = "The rest may be kept on others by `taskset`(1)." },                             \
	{ .name = "max-size", .arg = "SIZE", .type = OPT_SIZE,                                     \
	  .offset = offsetof(cfg_type, member.max_len),                                            \
	  .min = 1u << 20,                                                                         \
	  .help = "the trace ends when it would grow beyond this",                                 \
	  .more = "The run goes on." }
/* clang-format on */

struct runs_folder;
struct tracing;

/* Refuses options of a trace without --trace. 0 or -EINVAL with a text. */
int tracing_check(const struct tracing_cfg *cfg, struct err *e);
/* That it is possible with this kind of server. 0, or -EINVAL and a text. */
int tracing_check_kind(const struct tracing_cfg *c, const struct run_kind *kind, struct err *e);

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
