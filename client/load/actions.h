/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_ACTIONS_H
#define LOAD_ACTIONS_H

/* What a client of the engine does next. Only for client/load. */

#include "load/worker.h"

/* Before the first wait of a job, and after its last. */
void actor_begin_job(struct worker *w, struct actor *a);
void actors_end_job(struct worker *w);

/* Begins as many sessions as may be opened at a time. */
void actors_open_more(struct worker *w);

/* Open loop: begins the actions whose time has come. */
void actors_arrive(struct worker *w, uint64_t now_ns);

/* As far as it can without waiting, but not longer than its turn. */
void actions_go_on(struct worker *w, struct actor *a);

/* Its connection has these events (epoll). */
void actor_events(struct worker *w, struct actor *a, uint32_t events);

/* Its time has come; its timer is not set any more. */
void actor_time(struct worker *w, struct actor *a, uint64_t now_ns);

#endif
