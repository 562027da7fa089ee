/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_UNANSWERED_H
#define ATTACH_UNANSWERED_H

/*
 * Requests that have no answer yet: those that the watch has seen begin, and those from before it,
 * which only what their session waits for shows.
 */

#include "kinds/afp/inservice.h"
#include "watch/watch.h"

struct unanswered {
	struct inservice before, now; /* when the watched time began, and at the last look */
	size_t n;
	struct run_service *running; /* owned; that the watch has seen begin; at the last look */
	bool failed;                 /* no memory */
	bool watched;                /* only of the watch: unanswered_look_watched() */
};

/* When the watched time begins; u is all 0 or of an earlier time. 0 or -ENOMEM. */
int unanswered_begin(struct unanswered *u, const struct servers_entry *s);

/* When it ends, while the watch still counts. 0 or -ENOMEM. */
int unanswered_look(struct unanswered *u, struct watch *w, const struct servers_entry *s);

/* The same of a server whose threads park requests (bpf/park.h), of which the watch knows all but
 * those from before it. 0 or -ENOMEM. */
int unanswered_look_watched(struct unanswered *u, struct watch *w);

/* Notes what was found at the last look into a run whose sessions are known. 0 or -ENOMEM. */
int unanswered_note(const struct unanswered *u, struct run *r);

/*
 * Calls fn for each request of the last look that began before the watch and is a second old or
 * more: with what is known of it without the sessions of a run.
 */
void unanswered_each_older(const struct unanswered *u,
			   void (*fn)(void *arg, const struct run_service *is), void *arg);

void unanswered_fini(struct unanswered *u);

#endif
