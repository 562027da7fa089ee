/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_MIX_PROBE_H
#define WORK_MIX_PROBE_H

/*
 * The probe: one more client, which does by turns what a user does and waits for: stat of a file,
 * read 4 KiB of it (open, read, close), write 4 KiB (open, write, close).
 */

#include "load/actor.h"

/* Its actions. X(NAME, key) */
#define PROBE_ACTIONS(X)                                                                           \
	X(STAT, "stat")                                                                            \
	X(READ, "read 4 KiB")                                                                      \
	X(WRITE, "write 4 KiB")

enum probe_action {
#define X(name, key) PROBE_##name,
	PROBE_ACTIONS(X)
#undef X
	    N_PROBE_ACTIONS
};

const char *probe_action_name(unsigned int a);

#define PROBE_LEN 4096

struct probe;

/*
 * base: a directory in the root of the volume, which exists; borrowed. The scripts are used one
 * after the other: make (its file), use (for ever), remove. NULL without memory.
 */
struct probe *probe_new(const char *base);
void probe_free(struct probe *p);

struct script *probe_make(struct probe *p);
struct script *probe_use(struct probe *p); /* class: enum probe_action */
struct script *probe_remove(struct probe *p);

#endif
