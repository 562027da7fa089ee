/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a load sees of its server besides what its own clients do, as doctor does: drive/session.h
 */
#include "drive/session.h"

#include "base/clock.h"
#include "doctor/diagnose.h"

#include <errno.h>
#include <stdlib.h>

#define LOOK_NS 1000000000u

int session_look_find(struct session *s, pid_t pid, struct err *e)
{
	const struct kind_wish wish = { .whole = true, .pid = (unsigned int)pid };
	struct kind_found *found = calloc(1, sizeof(*found));
	int r = found ? kind_find(&kind_afp, found, &wish, e)
		      : err_set(e, -ENOMEM, "out of memory");

	if (r)
		free(found);
	else
		s->found = found;
	return r;
}

void session_look_begin(struct session *s)
{
	if (!s->watch || !watch_rung(s->watch))
		return;
	if (!s->look)
		s->look = calloc(1, sizeof(*s->look));
	if (!s->look)
		return;
	if (!s->found && s->whole)
		diagnose_machine_begin(s->look, s->watch);
	else if (s->found && !s->look->begun)
		diagnose_begin(s->look, s->watch, s->found);
}

/* The clients of a load go before it ends; a session of its own is there until then. */
void session_look_after(struct session *s)
{
	if (!s->look || !s->whole)
		return;
	if (s->found && s->look->begun)
		diagnose_after(s->look, s->watch, s->found);
	else
		diagnose_machine_after(s->look, s->watch);
}

void session_look_tick(struct session *s, uint64_t now_ns)
{
	if (!s->look || !s->look->begun || now_ns - s->ticked_ns < LOOK_NS)
		return;
	s->ticked_ns = now_ns;
	diagnose_tick(s->look);
}

int session_look_judge(struct session *s)
{
	struct diagnose none = { 0 };

	if (s->run.kind && !s->run.kind->has_diagnosis)
		return 0;
	return diagnose_load(s->look ? s->look : &none, s->watch, s->found, s->whole, &s->run);
}

void session_look_fini(struct session *s)
{
	if (s->look)
		diagnose_fini(s->look);
	free(s->look);
	s->look = NULL;
	if (s->found)
		kind_found_fini(s->found);
	free(s->found);
	s->found = NULL;
}

void session_keep_alive(struct session *s)
{
	struct io_wait w;

	session_look_tick(s, clock_now_ns());
	if (!s->store || s->cfg->local)
		return;
	store_wait(s->store, &w);
	store_advance(s->store, io_wait(&w, 0), NULL);
}
