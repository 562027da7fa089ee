/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/unanswered.h"

#include "base/clock.h"
#include "base/vec.h"
#include "host/proc/sleeping.h"
#include "run/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request from before the watch is one only if it is at least so old: sessions also do small
 * things between two requests. */
#define LEAST_NS 1000000000u

static bool unanswered_has_port(const struct run_session *s, uint16_t port)
{
	const char *colon = s->address ? strrchr(s->address, ':') : NULL;

	return colon && port && strtoul(colon + 1, NULL, 10) == port;
}

/* Of a process that serves several clients it is the one with that port; NULL: not known. */
static const struct run_session *unanswered_session_of(const struct run *r, pid_t pid,
						       uint16_t port)
{
	const struct run_session *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n_sessions; i++) {
		if (r->session[i].pid != pid || r->session[i].ended_ns)
			continue;
		if (unanswered_has_port(&r->session[i], port))
			return &r->session[i];
		found = &r->session[i];
		n++;
	}
	return n == 1 ? found : NULL;
}

/* What most of its time since its last event went into: what it waits for now. */
static uint8_t column_of(const struct afs_record_requests *r)
{
	const uint64_t ns[ACCOUNT_N_COLUMNS] = {
#define X(type, name, unit, meaning) [AFS_COLUMN_##name] = r->name,
		AFS_COLUMNS(X)
#undef X
	};
	uint8_t most = ACCOUNT_OTHER;

	for (uint8_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		if (ns[i] > ns[most])
			most = i;
	return most;
}

static void take_running(void *user, const struct afs_record_requests *r,
			 const struct afs_named *name)
{
	struct unanswered *u = user;
	struct sleeping is = { 0 };

	(void)name;
	if (r->time_ns >= LEAST_NS && sleeping_read(&is, (pid_t)r->session, (pid_t)r->session))
		is.naps = false;
	if (account_is_request(r->command) &&
	    VEC_PUSH(u->running, u->n,
		     (struct run_service) { .pid = (pid_t)r->session,
					    .account = (uint16_t)r->command,
					    .column = column_of(r),
					    .naps = is.naps,
					    .age_ns = r->time_ns,
					    .port = (uint16_t)r->port }))
		u->failed = true;
}

/* It waited for the CNID server when it was last looked at, and its client has sent nothing since.
 */
static bool waited_for_cnid(const struct inservice *then, uint64_t now_ns,
			    const struct run_service *is)
{
	const struct run_service *was = inservice_of(then, is->pid);

	return was && was->column == ACCOUNT_CNID && is->age_ns >= now_ns - then->looked_ns;
}

/*
 * What a pause without a descriptor is for: the watch may know, or a look before this one; /proc
 * does not.
 */
static void explain_pauses(struct unanswered *u, const struct inservice *last, struct watch *w)
{
	struct inservice *now = &u->now;

	for (size_t i = 0; i < now->n; i++) {
		struct run_service *is = &now->request[i];

		if (is->column != ACCOUNT_OTHER ||
		    (watch_sleeps_on(w, is->pid) != AFS_OBJECT_BACKEND &&
		     (!is->pauses || (!waited_for_cnid(last, now->looked_ns, is) &&
				      !waited_for_cnid(&u->before, now->looked_ns, is)))))
			continue;
		is->column = ACCOUNT_CNID;
		snprintf(is->on, sizeof(is->on), INSERVICE_PAUSE);
	}
}

int unanswered_begin(struct unanswered *u, const struct servers_entry *s)
{
	unanswered_fini(u);
	return inservice_look(&u->before, s, &(struct inservice_known) { 0 });
}

static bool follows(const void *w, pid_t pid)
{
	return watch_follows(w, pid);
}

int unanswered_look(struct unanswered *u, struct watch *w, const struct servers_entry *s)
{
	const struct inservice_known known = { follows, w };
	struct inservice last = u->now;
	int e;

	u->n = 0;
	watch_running(w, clock_now_ns(), take_running, u);
	e = inservice_look(&u->now, s, &known);
	explain_pauses(u, &last, w);
	inservice_fini(&last);
	return u->failed ? -ENOMEM : e;
}

int unanswered_look_watched(struct unanswered *u, struct watch *w)
{
	u->n = 0;
	u->watched = true;
	watch_running(w, clock_now_ns(), take_running, u);
	return u->failed ? -ENOMEM : 0;
}

/* Into the run */

static bool is_running(const struct unanswered *u, pid_t pid)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->running[i].pid == pid)
			return true;
	return false;
}

/*
 * A request from before the watch, as old as is known, or 0: the session has none, or one that the
 * watch knows. What came from its client meanwhile may have been no more than a sign of life.
 */
static uint64_t older_ns(const struct unanswered *u, const struct run_session *s,
			 const struct run_service *is)
{
	const struct run_service *was = inservice_of(&u->before, is->pid);
	uint64_t age_ns = is->age_ns, since_ns = u->now.looked_ns - u->before.looked_ns;

	if (is_running(u, is->pid) || (s && s->requests))
		return 0;
	if (was && was->age_ns + since_ns > age_ns)
		age_ns = was->age_ns + since_ns;
	return age_ns >= LEAST_NS ? age_ns : 0;
}

static int oldest_first(const void *a, const void *b)
{
	const struct run_service *x = a, *y = b;

	return (x->age_ns < y->age_ns) - (x->age_ns > y->age_ns);
}

static int note_one(struct run *r, const struct run_service *is, uint64_t age_ns)
{
	const struct run_session *s = unanswered_session_of(r, is->pid, is->port);
	struct run_service *to = run_service(r);

	if (!to)
		return -ENOMEM;
	*to = *is;
	to->age_ns = age_ns;
	if (s && s->user)
		snprintf(to->user, sizeof(to->user), "%s", s->user);
	if (s && s->address)
		snprintf(to->address, sizeof(to->address), "%s", s->address);
	return 0;
}

int unanswered_note(const struct unanswered *u, struct run *r)
{
	uint64_t age_ns;
	int e = 0;

	for (size_t i = 0; i < u->n && !e; i++)
		e = note_one(r, &u->running[i], u->running[i].age_ns);
	for (size_t i = 0; i < u->now.n && !e; i++) {
		const struct run_service *is = &u->now.request[i];

		age_ns = older_ns(u, unanswered_session_of(r, is->pid, is->port), is);
		if (age_ns)
			e = note_one(r, is, age_ns);
	}
	if (r->n_service)
		qsort(r->service, r->n_service, sizeof(*r->service), oldest_first);
	r->has_service = u->now.known || u->watched;
	return e;
}

void unanswered_each_older(const struct unanswered *u,
			   void (*fn)(void *arg, const struct run_service *is), void *arg)
{
	for (size_t i = 0; i < u->now.n; i++) {
		struct run_service is = u->now.request[i];

		is.age_ns = older_ns(u, NULL, &is);
		if (is.age_ns)
			fn(arg, &is);
	}
}

void unanswered_fini(struct unanswered *u)
{
	inservice_fini(&u->before);
	inservice_fini(&u->now);
	free(u->running);
	*u = (struct unanswered) { 0 };
}
