/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_OPINION_H
#define TOP_OPINION_H

/* The first sentence of a diagnosis of a running server, of its last seconds, again and again. */

#include "doctor/diagnose.h"
#include "top/live.h"

#define OPINION_FIRST_NS 5000000000u
#define OPINION_NS       10000000000u
#define OPINION_MAX      400

struct opinion {
	struct diagnose d;
	uint64_t due_ns;        /* when the next one is made */
	uint64_t looked_ns;     /* at the clients' connections */
	uint64_t older_due_ns;  /* when requests from before the watch are looked for again */
	char text[OPINION_MAX]; /* empty: none yet; not cleaned */
};

/* When the watch has begun, also another one; o was all 0 at first. 0 or -ENOMEM. */
int opinion_begin(struct opinion *o, const struct watch *w, const struct kind_found *found);

/* Requests from before the watch that are in service now, as unanswered_each_older. */
int opinion_older(struct opinion *o, struct watch *w, const struct kind_found *found,
		  void (*fn)(void *arg, const struct run_service *is), void *arg);

/* Makes one if it is due; to be called again and again. 0 or a negative errno. */
int opinion_look(struct opinion *o, struct live *l, struct watch *w,
		 const struct kind_found *found);

void opinion_end(struct opinion *o);

#endif
