/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_LADDER_H
#define WATCH_LADDER_H

/*
 * What can be observed on this machine, and why not more: the rungs of each layer from the best to
 * the weakest, really tried and released again at once. No server is affected.
 */

#include "base/err.h"
#include "bpf/decoders.h"

#include <stdbool.h>
#include <stddef.h>

struct ladder_step {
	/*
	 * static. Ways to choose from: "calls", "objects", "requests", "times", "storage". Facts,
	 * never taken: "/proc", what is visible of other processes; "kernel", the machine.
	 */
	const char *layer;
	const char *rung;       /* static */
	bool ok;                /* it works here; a fact: it prevents nothing */
	bool taken;             /* the first that works in its layer: what a watch would use */
	char why[ERR_TEXT_MAX]; /* why not; if ok, what it gives; for a fact, its text */
};

#define LADDER_MAX 32

struct ladder {
	size_t n;
	struct ladder_step step[LADDER_MAX];
};

/* decoder: of the requests whose counting is tried. */
void ladder_look(struct ladder *out, enum afs_decoder decoder);

/* Whether every call of a visible process can be counted here. */
bool ladder_exact(const struct ladder *l);

/* The step that is taken in a layer; NULL: none. */
const struct ladder_step *ladder_taken(const struct ladder *l, const char *layer);

#endif
