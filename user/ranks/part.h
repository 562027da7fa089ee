/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_PART_H
#define RANKS_PART_H

/*
 * What one rank did, as bytes for rank 0: the load, the commands that its clients sent, and the
 * addresses of their sessions. Fixed widths, network byte order, a version. Who reads them checks
 * every number that could harm: they come from another host.
 */

#include "attach/others.h"
#include "base/err.h"
#include "run/run.h"

enum part_end {
	PART_DONE,
	PART_STOPPED,  /* interrupted before its end */
	PART_ORPHANED, /* likewise, as the launcher's process was killed */
};

struct part {
	enum part_end end;
	uint64_t late_ns; /* it was told to begin when that moment had passed */
	struct run_load *load;
	struct run_phase commands; /* only these */
	/* Sessions that its clients began while they worked, and how many the server greeted. */
	struct others_list visits;
	uint64_t greeted;
};

/* The bytes, to be freed, and their number; NULL without memory. */
uint8_t *part_pack(const struct part *p, size_t *len);

struct part_like {
	const struct run_load *load; /* rank 0's own: the same actions, and as many seconds */
	unsigned int n_clients;
	/* A command's name, static. NULL: there is no such command. */
	const char *(*command)(void *user, uint8_t code);
	void *user;
};

/* 0, or a negative errno and a text; part_fini also then. */
int part_unpack(struct part *out, const void *data, size_t len, const struct part_like *like,
		struct err *e);
void part_fini(struct part *p);

#endif
