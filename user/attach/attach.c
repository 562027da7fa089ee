/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/attach.h"

#include "attach/sampler.h"
#include "base/clock.h"
#include "base/realtime.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#define LOOK_MS  100
#define TICK_NS  100000000u
#define NS_PER_S 1000000000u

enum outcome attach_not_found(int r)
{
	return r == -EACCES ? OUTCOME_UNTRUSTED : OUTCOME_NO_SESSION;
}

static int attach_look(struct kind_found *out, const struct kind *k, const struct kind_wish *wish,
		       struct err *e)
{
	return k ? kind_find(k, out, wish, e) : kind_find_live(out, wish, e);
}

enum outcome attach_find(struct attach *a, const struct kind *k, const struct kind_wish *wish,
			 struct err *e)
{
	int r = attach_look(&a->found, k, wish, e);

	if (r)
		return attach_not_found(r);
	if (*a->found.note)
		cmd_say("%s", a->found.note);
	return OUTCOME_OK;
}

int attach_find_again(struct attach *a, const struct kind *k, const struct kind_wish *wish,
		      struct err *e)
{
	struct kind_found found = { 0 };
	int r;

	*e = (struct err) { 0 };
	r = attach_look(&found, k, wish, e);
	if (!r && !found.target.server)
		r = err_set(e, -ECHILD, "the process that accepts connections has ended");
	if (!r) {
		kind_found_fini(&a->found);
		a->found = found;
		return 0;
	}
	kind_found_fini(&found);
	return r;
}

pid_t attach_await(const struct attach *a, unsigned int port, unsigned int timeout_ms)
{
	const struct kind_wish wish = { .port = port, .owner = &a->found.owner };
	uint64_t until_ns = clock_now_ns() + timeout_ms * 1000000ull;
	struct attach next = { 0 };
	struct err e;
	pid_t pid = 0;

	while (port && !pid && !cmd_stop && clock_now_ns() < until_ns) {
		poll(NULL, 0, LOOK_MS);
		if (!attach_find_again(&next, a->found.kind, &wish, &e) &&
		    next.found.target.server != a->found.target.server)
			pid = next.found.target.server;
	}
	attach_close(&next);
	return pid;
}

unsigned int attach_port(const struct attach *a, unsigned int asked)
{
	const struct servers *s = &a->found.servers;

	return asked ? asked : s->n && s->entry[0].n_ports ? s->entry[0].port[0] : 0;
}

int attach_open(struct attach *a, const struct watch_opts *opts, bool requests, struct err *e)
{
	struct ledger now = { 0 };
	int r;

	cmd_allow_files();
	r = watch_open_traced(&a->watch, opts, &a->found.target, e);
	if (!r && requests && !watch_read(a->watch, &now) && !now.has_requests)
		r = err_set(e, -ENOTSUP, "the kernel does not allow reading its memory");
	ledger_fini(&now);
	return r;
}

void attach_begin(struct attach *a, double max_cpu, unsigned int seconds)
{
	a->begun_ns = clock_now_ns();
	a->end_ns = seconds ? a->begun_ns + (uint64_t)seconds * NS_PER_S : UINT64_MAX;
	a->begun_cpu_ns = guard_own_ns();
	guard_begin(&a->guard, max_cpu, a->watch);
}

int attach_loop(struct attach *a, const struct attach_steps *s, void *user)
{
	uint64_t now = clock_now_ns(), tick_ns = now + TICK_NS, look_ns = now + NS_PER_S, missed;
	int r = 0;

	while (!r && !cmd_stop && !a->costly && now < a->end_ns && !s->is_over(user) &&
	       watch_lives(a->watch)) {
		r = s->wait(user, tick_ns < a->end_ns ? tick_ns : a->end_ns);
		now = clock_now_ns();
		if (!r && now >= tick_ns) {
			tick_ns = sampler_next(tick_ns, TICK_NS, now, &missed);
			watch_tick(a->watch);
			if (s->tick)
				s->tick(user);
		}
		if (!r && now >= look_ns) {
			look_ns = now + NS_PER_S;
			r = s->look ? s->look(user) : 0;
			a->costly = guard_over(&a->guard, a->watch);
		}
	}
	return r;
}

uint64_t attach_stop(struct attach *a)
{
	realtime_begin(true);
	return watch_stop(a->watch);
}

int attach_finish(struct attach *a, struct run *r)
{
	int e = watch_finish(a->watch, r);

	if (e)
		return e;
	a->programs_ns += run_note_number(&r->rungs, RUNGS_PRICE_NS);
	a->lost += run_losses(r);
	a->untrusted |= !run_books_closed(r);
	return 0;
}

/* Not a client's, which comes and goes as it likes; nor a session whose client has just gone. */
static bool is_new(const struct watch *w, const struct target_process *p, double since_s)
{
	struct procstat st;

	return p->role != AFS_ROLE_CLIENT && !watch_has(w, p->pid, (enum afs_role)p->role) &&
	       !watch_has(w, p->pid, AFS_ROLE_SERVER) && !procstat_read(&st, p->pid) &&
	       !st.is_ending && procfs_age_s(st.started) < since_s;
}

int attach_note_new(const struct watch *w, const struct kind *k, const struct kind_wish *wish,
		    uint64_t since_ns, struct run *r)
{
	const double since_s = (double)(clock_now_ns() - since_ns) / NS_PER_S;
	const struct target_process *first = NULL, *p;
	struct kind_found *now;
	struct err none = { 0 };
	char name[32] = "?";
	size_t n = 0;
	int e = 0;

	if (!run_has_requests(r) || run_is_by_session(r))
		return 0;
	now = calloc(1, sizeof(*now));
	if (!now)
		return -ENOMEM;
	if (!kind_find(k, now, wish, &none))
		for (size_t i = 0; i < now->target.n; i++) {
			p = &now->target.process[i];
			if (is_new(w, p, since_s))
				first = n++ ? first : p;
		}
	if (first) {
		procfs_thread_name(name, sizeof(name), first->pid, first->pid);
		e = run_note(&r->warnings, "found",
			     "process %d (%s)%s began while the watch went on: what it did is not "
			     "in the figures of the %s",
			     first->pid, name, n > 1 ? ", and others," : "",
			     run_role_name(r, first->role));
	}
	kind_found_fini(now);
	free(now);
	return e;
}

void attach_say_costly(const struct attach *a)
{
	char text[GUARD_TEXT_MAX];

	if (a->costly)
		cmd_say("%s", guard_text(&a->guard, text));
}

void attach_close(struct attach *a)
{
	watch_free(a->watch);
	a->watch = NULL;
	kind_found_fini(&a->found);
	a->found = (struct kind_found) { 0 };
}
