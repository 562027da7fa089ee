/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client of the engine does next.
 *
 *	away -> opening -> resting <-> acting
 *	                        -> ending -> away
 *	          any: lost -> away
 */
#include "load/actions.h"

#include "base/clock.h"
#include "load/closed.h"
#include "load/pause.h"
#include "load/tally.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* Of pace_seed(): not one of those that clients and arrivals have. */
#define THINKING (2ull << 32)

/* Answers of one client before the others get their turn. One whose calls are made here is alone:
 * it goes on for ALONE_NS before its thread looks at the job. */
#define TURN     32
#define ALONE_NS 1000000u

/* ---- what it waits for ---- */

static void forget_fd(struct worker *w, struct actor *a)
{
	if (a->fd >= 0)
		epoll_ctl(w->epoll, EPOLL_CTL_DEL, a->fd, NULL);
	a->fd = -1;
	a->events = 0;
}

/* While it connects, its store may close a descriptor and open another with the same number. */
static void register_fd(struct worker *w, struct actor *a, const struct io_wait *wait)
{
	struct epoll_event event = { .data.ptr = a };

	if (a->fd == wait->fd && a->events == wait->events && a->state != ACTOR_OPENING &&
	    !a->store->dials)
		return;
	if (a->fd >= 0 && a->fd != wait->fd)
		epoll_ctl(w->epoll, EPOLL_CTL_DEL, a->fd, NULL);
	event.events = (wait->events & POLLIN ? EPOLLIN : 0u) |
		       (wait->events & POLLOUT ? EPOLLOUT : 0u);
	a->fd = wait->fd;
	a->events = wait->events;
	if (a->fd >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_MOD, a->fd, &event))
		epoll_ctl(w->epoll, EPOLL_CTL_ADD, a->fd, &event);
}

/*
 * Of a thread with one client: its store's operations are waited for here, and not by another
 * thread. In an open loop that would delay the arrivals.
 */
static bool actions_calls(const struct worker *w, const struct actor *a)
{
	return a->store->blocks && w->n == 1 && !tally_open_loop(w);
}

static int actions_advance(struct worker *w, struct actor *a, struct err *e)
{
	int r;

	if (!actions_calls(w, a))
		return store_advance(a->store, 0, e);
	r = a->store->type->work(a->store, 0, e);
	pause_called(w, a->store->called_ns); /* that may take long */
	return r;
}

/* true: its store can go on at once. */
static bool wait_again(struct worker *w, struct actor *a)
{
	struct io_wait wait;
	uint64_t due_ns;

	if (!a->store)
		return false;
	store_wait(a->store, &wait);
	if (!wait.due_ns)
		return true;
	register_fd(w, a, &wait);
	due_ns = a->state == ACTOR_RESTING && a->next_ns < wait.due_ns ? a->next_ns : wait.due_ns;
	if (due_ns != UINT64_MAX)
		timers_sooner(&w->timers, &a->timer, due_ns);
	return false;
}

/* ---- sessions ---- */

/* Its part in the job is over, with the action that it does or is to do. */
static void leave_job(struct worker *w, struct actor *a)
{
	if (a->state == ACTOR_OPENING)
		w->n_opening--;
	if (a->state == ACTOR_ACTING) {
		w->n_acting--;
		tally_cut(w, a, clock_now_ns());
	} else if (a->next_ns != UINT64_MAX && tally_open_loop(w)) {
		a->planned_ns = a->next_ns;
		tally_cut(w, a, clock_now_ns());
	}
	if (a->idle)
		arrivals_leave(w->arrivals, w);
	a->idle = false;
	if (!a->done)
		w->n_left--;
	a->next_ns = UINT64_MAX;
	a->done = true;
}

static void actions_forget(struct worker *w, struct actor *a)
{
	leave_job(w, a);
	forget_fd(w, a);
	timers_remove(&w->timers, &a->timer);
	store_close(a->store);
	a->store = NULL;
	a->state = ACTOR_AWAY;
}

/* The session is not to be used any more. Its end takes its time, also if it was lost. */
static void actions_end(struct worker *w, struct actor *a)
{
	a->state = ACTOR_ENDING;
	store_finish(a->store);
	actions_go_on(w, a);
}

static void actions_lose(struct worker *w, struct actor *a, const struct err *e)
{
	bool had = a->state != ACTOR_OPENING;

	if (a->state == ACTOR_ENDING) {
		actions_forget(w, a);
		return;
	}
	if (!w->load) { /* between jobs */
		if (!w->n_lost++)
			w->lost_why = *e;
		a->store->in_flight = 0;
		actions_end(w, a);
		return;
	}
	if (!*w->load->why)
		snprintf(w->load->why, sizeof(w->load->why), "%.255s", e->text);
	w->load->n_lost += had;
	a->out->lost = had;
	leave_job(w, a);
	a->state = ACTOR_AWAY;
	if (!a->store)
		return;
	a->store->in_flight = 0; /* the requests are the script's, and not used any more */
	actions_end(w, a);
}

static void open_one(struct worker *w, struct actor *a)
{
	struct err e = { 0 };

	a->state = ACTOR_OPENING;
	w->n_opening++;
	if (a->client.begin(a->client.user, &a->store, w->scratch, &e))
		actions_lose(w, a, &e);
	else
		actions_go_on(w, a);
}

void actors_open_more(struct worker *w)
{
	struct actor *a;

	if (w->job->what != ENGINE_OPEN || (w->give_up_ns && !w->job->ignores_stop))
		return;
	while (w->next_open < w->n && w->n_opening < w->opening_max) {
		a = &w->actor[w->next_open++];
		if (a->in_job)
			open_one(w, a);
	}
}

static void actions_opened(struct worker *w, struct actor *a)
{
	w->n_opening--;
	w->n_left--;
	w->load->n_open++;
	w->blocks = a->store->blocks;
	a->state = ACTOR_RESTING;
	a->done = true;
	a->out->opened = true;
	if (a->client.opened)
		a->client.opened(a->client.user, a->store);
}

/* ---- actions ---- */

static void begin_action(struct worker *w, struct actor *a, uint64_t planned_ns, uint64_t now_ns)
{
	int class = a->script->type->begin(a->script, a->store);
	uint64_t none = 0;

	a->next_ns = UINT64_MAX;
	a->aside_ns = a->script->aside_ns;
	if (class == SCRIPT_LATER) {
		closed_plan(w, a, now_ns);
		return;
	}
	if (class < 0) {
		a->done = true;
		w->n_left--;
		atomic_compare_exchange_strong(&w->times->first_ns, &none,
					       tally_own_ns(w, a, now_ns));
		if (tally_open_loop(w))
			tally_dropped(w, &a->arrival);
		return;
	}
	a->action = (unsigned int)class;
	a->planned_ns = planned_ns;
	a->begun_ns = now_ns;
	a->out->first_ns = a->out->first_ns ? a->out->first_ns : now_ns;
	a->bytes_before = a->script->bytes;
	a->bytes_counted = 0;
	a->n_answered = 0;
	a->over_network = a->store->has_trips;
	chain_begin(&a->chain);
	a->handed_late = a->at_once = false;
	a->contended_before = a->script->contended;
	a->aside_planned_ns = a->aside_begun_ns = a->aside_ns;
	a->state = ACTOR_ACTING;
	w->n_acting++;
}

static void rest(struct worker *w, struct actor *a)
{
	a->idle = true;
	a->next = NULL;
	*w->idle_tail = a;
	w->idle_tail = &a->next;
}

/* The next action of a client in a closed loop, or the next arrival that waits for one. */
static void plan_next(struct worker *w, struct actor *a, uint64_t now_ns)
{
	if (!tally_open_loop(w)) {
		closed_plan(w, a, now_ns);
		return;
	}
	a->next_ns = UINT64_MAX;
	if (now_ns >= w->end_ns) /* nothing begins any more */
		return;
	a->queued = arrivals_next(w->arrivals, w, &a->arrival);
	if (a->queued)
		a->next_ns = a->arrival.due_ns;
	else
		rest(w, a);
}

/* Whether its next action begins, in this thread, when the last one has ended. */
static bool actions_is_unpaced(const struct worker *w, const struct actor *a)
{
	const struct engine_job *job = w->job;

	return actions_calls(w, a) && !job->pause_ns && !job->think && !job->crowd &&
	       !a->script->type->due;
}

/* It took until the last answer was there, at last_ns: what the script made of that is no part. */
static void actions_end_action(struct worker *w, struct actor *a, enum script_state how,
			       uint64_t last_ns, const struct err *e)
{
	if (how == SCRIPT_FAILED && !*w->load->first_failure)
		snprintf(w->load->first_failure, sizeof(w->load->first_failure), "%.255s", e->text);
	tally_action(w, a, last_ns > a->begun_ns ? last_ns : pause_now(w), how == SCRIPT_FAILED);
	a->state = ACTOR_RESTING;
	w->n_acting--;
	/* counting it is no part of the next one */
	plan_next(w, a, actions_is_unpaced(w, a) ? w->alive_ns : pause_now(w));
}

/* Submits what the script has, as long as there is room. Not 0: the store is lost. A script that
 * neither asks nor ends would never be called again. */
static int actions_submit(struct actor *a, struct err *e)
{
	struct store_op *op;
	int r = 0;

	while (!r && (op = a->script->type->next(a->script))) {
		if (a->over_network)
			chain_sent(&a->chain, op);
		r = store_submit(a->store, op, e);
	}
	if (r == -EAGAIN)
		r = err_set(e, -EPROTO, "a defect of the workload: it asks for too much at a time");
	if (!r && !a->store->in_flight)
		r = err_set(e, -EPROTO,
			    "a defect of afpscope: an action neither sends a request nor ends");
	return r;
}

/*
 * Where a thread of the store carries requests out, that it began one later than it was to is this
 * program's delay; an action begins with its first request. So does one that begins at once.
 */
static void note_handed(struct worker *w, struct actor *a, const struct store_op *op)
{
	const uint64_t late_ns = op->t.handed_ns ? op->t.begun_ns - op->t.handed_ns : 0;

	if (!a->n_answered++ && (op->t.handed_ns || a->at_once)) {
		a->begun_ns = op->t.begun_ns;
		a->aside_begun_ns = a->script->aside_ns;
		a->planned_ns = a->at_once ? a->begun_ns : a->planned_ns;
		a->aside_planned_ns = a->at_once ? a->aside_begun_ns : a->aside_planned_ns;
	}
	if (!op->t.handed_ns)
		return;
	tally_handed(w, late_ns, !a->handed_late);
	a->handed_late |= late_ns > TALLY_LATE_NS;
}

/* 0 or a negative errno: the store is lost. */
static int actions_answered(struct worker *w, struct actor *a, struct store_op *op, struct err *e)
{
	const uint64_t answered_ns = op->t.last_ns, before = a->script->bytes;
	enum script_state how;
	int r;

	if (answered_ns > w->alive_ns)
		pause_now(w);
	r = tally_request(w, op, e);
	note_handed(w, a, op);
	if (a->over_network)
		chain_answered(&a->chain, op);
	a->aside_ns = a->script->aside_ns;
	how = a->script->type->answered(a->script, op, e);
	tally_bytes(w, a, a->script->bytes - before, answered_ns);
	if (how == SCRIPT_GOES_ON)
		return r ? r : actions_submit(a, e);
	actions_end_action(w, a, how, answered_ns, e);
	return r;
}

/* Takes answers. 0 or a negative errno: the store is lost. */
static int actions_take(struct worker *w, struct actor *a, unsigned int *turn, struct err *e)
{
	struct store_op *op;
	int r = 0;

	while (!r && *turn && a->state == ACTOR_ACTING && (op = store_take(a->store))) {
		(*turn)--;
		r = actions_answered(w, a, op, e);
	}
	return r;
}

/* After the end nothing begins any more. */
static void give_back(struct worker *w, struct actor *a)
{
	if (tally_open_loop(w) && a->next_ns != UINT64_MAX)
		tally_waiting(w->load, &a->arrival, w->end_ns);
	a->next_ns = UINT64_MAX;
}

/* 0 or a negative errno: the store is lost. */
static int begin_due(struct worker *w, struct actor *a, uint64_t now_ns, struct err *e)
{
	uint64_t free_ns;

	if (!closed_may_begin(w, a, now_ns))
		return 0;
	free_ns = closed_free_ns(w, a);
	if (!a->queued && !a->arrival.late)
		tally_late(w, free_ns, now_ns);
	begin_action(w, a, closed_due_ns(w, a), now_ns);
	if (w->load->late && a->state == ACTOR_ACTING)
		hist_add(w->load->late, now_ns - free_ns);
	return a->state == ACTOR_ACTING ? actions_submit(a, e) : 0;
}

/* Begins what is due. 0 or a negative errno: the store is lost. */
static int act(struct worker *w, struct actor *a, unsigned int *turn, struct err *e)
{
	uint64_t now_ns;
	int r = 0;

	do {
		if (a->state == ACTOR_ACTING)
			r = actions_take(w, a, turn, e);
		if (r || a->state != ACTOR_RESTING || a->next_ns == UINT64_MAX)
			return r;
		now_ns = pause_now(w);
		if (now_ns >= w->end_ns)
			give_back(w, a);
		if (a->next_ns > now_ns || !*turn)
			return 0;
		r = begin_due(w, a, now_ns, e);
	} while (!r);
	return r;
}

/*
 * Its calls are made here, one after the other and action after action, as long as nothing has to
 * be waited for: such a call may take less than a microsecond. 0 or a negative errno: the store is
 * lost.
 */
static int act_alone(struct worker *w, struct actor *a, uint64_t until_ns, struct err *e)
{
	struct store_op *op;
	int r = 0;

	while (!r && a->state == ACTOR_ACTING && w->alive_ns < until_ns) {
		r = actions_advance(w, a, e);
		op = r ? NULL : store_take(a->store);
		if (!op)
			break;
		r = actions_answered(w, a, op, e);
		if (r || a->state != ACTOR_RESTING || a->next_ns > w->alive_ns ||
		    w->alive_ns >= w->end_ns)
			continue;
		r = begin_due(w, a, w->alive_ns, e);
		a->at_once = !a->script->type->due;
	}
	return r;
}

void actions_go_on(struct worker *w, struct actor *a)
{
	const uint64_t until_ns = w->alive_ns + ALONE_NS;
	unsigned int turn = TURN;
	struct err e = { 0 };
	int r = 0;

	do {
		if (a->state == ACTOR_OPENING && a->store->state == STORE_IS_OPEN)
			actions_opened(w, a);
		if (a->state == ACTOR_ACTING || a->state == ACTOR_RESTING)
			r = act(w, a, &turn, &e);
		if (a->state == ACTOR_ENDING && a->store->state == STORE_ENDED) {
			actions_forget(w, a);
			return;
		}
		if (!turn) /* the others first: those that are due already */
			timers_sooner(&w->timers, &a->timer, clock_now_ns());
		if (r || !turn || !wait_again(w, a))
			break;
		if (a->state == ACTOR_ACTING && actions_calls(w, a)) {
			r = act_alone(w, a, until_ns, &e);
			turn = w->alive_ns < until_ns ? turn : 1;
		} else {
			r = actions_advance(w, a, &e);
		}
	} while (!r && turn--);
	if (r)
		actions_lose(w, a, &e);
}

/* ---- the job ---- */

static bool actions_is_wanted(const struct engine_job *job, const struct actor *a)
{
	if (a->number < job->from || (job->to && a->number >= job->to))
		return false;
	if (job->what == ENGINE_OPEN)
		return a->state == ACTOR_AWAY;
	return job->what == ENGINE_END ? a->state != ACTOR_AWAY : a->state == ACTOR_RESTING;
}

/* When its first action is to begin. */
static void plan_first(struct worker *w, struct actor *a)
{
	if (tally_open_loop(w)) { /* other threads may have begun already */
		arrivals_rest(w->arrivals, w);
		rest(w, a);
		return;
	}
	closed_first(w, a);
	timers_sooner(&w->timers, &a->timer, a->next_ns);
}

void actor_begin_job(struct worker *w, struct actor *a)
{
	const struct engine_job *job = w->job;

	a->script = NULL;
	a->next_ns = UINT64_MAX;
	a->arrival = (struct arrival) { 0 };
	a->queued = a->idle = false;
	a->in_job = actions_is_wanted(job, a);
	if (a->in_job && job->what == ENGINE_WORK) {
		a->script = job->script(a->client.user);
		a->in_job = a->script || job->duration_ns;
	}
	a->done = !a->in_job;
	a->out->opened = a->state == ACTOR_RESTING;
	w->load->n_open += a->out->opened;
	w->n_left += a->in_job;
	pace_seed(a->random, job->pace.seed, THINKING + a->of_all);
	a->aside_job_ns = a->aside_ns = a->script ? a->script->aside_ns : 0;
	if (a->script)
		plan_first(w, a);
	else if (a->in_job && job->what == ENGINE_END && a->state == ACTOR_RESTING)
		actions_end(w, a);
}

/* What is still under way after a stop is given up: the store's state is not known. */
static void end_job(struct worker *w, struct actor *a)
{
	const struct err e = { -EINTR, "interrupted: no answer came in time" };

	give_back(w, a);
	if (a->script)
		tally_rtt(w, a);
	w->load->aside_ns += a->script ? a->script->aside_ns - a->aside_job_ns : 0;
	if (a->state == ACTOR_ACTING || a->state == ACTOR_OPENING)
		actions_lose(w, a, &e);
	a->in_job = false;
}

void actors_end_job(struct worker *w)
{
	if (tally_open_loop(w) && pace_due_ns(&w->pace) < w->end_ns)
		w->load->unoffered_ns = w->end_ns - pace_due_ns(&w->pace);
	for (size_t i = 0; i < w->n; i++)
		end_job(w, &w->actor[i]);
}

/* ---- what happens ---- */

void actor_events(struct worker *w, struct actor *a, uint32_t events)
{
	struct err e = { 0 };
	short happened = 0;
	int r;

	if (!a->store)
		return;
	if (events & EPOLLIN)
		happened |= POLLIN;
	if (events & EPOLLOUT)
		happened |= POLLOUT;
	if (events & (EPOLLERR | EPOLLHUP))
		happened |= POLLIN | POLLERR;
	r = store_advance(a->store, happened, &e);
	if (r)
		actions_lose(w, a, &e);
	else
		actions_go_on(w, a);
}

void actor_time(struct worker *w, struct actor *a, uint64_t now_ns)
{
	struct io_wait wait;
	struct err e = { 0 };
	int r = 0;

	if (!a->store)
		return;
	store_wait(a->store, &wait);
	if (wait.due_ns <= now_ns)
		r = actions_advance(w, a, &e);
	if (r)
		actions_lose(w, a, &e);
	else
		actions_go_on(w, a);
}
