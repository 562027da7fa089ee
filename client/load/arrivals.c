/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to begin and has no client yet. */
#include "load/arrivals.h"

#include "load/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#define NOBODY UINT32_MAX

void arrivals_init(struct arrivals *q, struct worker *worker, unsigned int n_workers)
{
	*q = (struct arrivals) { .worker = worker, .n_workers = n_workers, .out = -1 };
}

static void arrivals_release(struct arrivals *q)
{
	if (q->q && q->len) {
		arrivals_unshare(q);
	} else if (q->q) {
		pthread_mutex_destroy(&q->q->lock);
		free(q->q);
	}
	q->q = NULL;
}

void arrivals_fini(struct arrivals *q)
{
	arrivals_release(q);
}

/* Of calloc(), so that pages which nobody uses take no memory. */
int arrivals_prepare(struct arrivals *q, const struct engine_job *job, struct err *e)
{
	const uint64_t before_ns = job->ramp_ns + job->settle_ns, ns = before_ns + job->duration_ns;
	struct pace_opts pace = job->pace;
	double most;
	size_t room;

	if (job->rate)
		pace.rate_per_s = (rate_until(job->rate, (double)job->duration_ns / 1e9) -
				   rate_until(job->rate, -(double)before_ns / 1e9)) /
				  ((double)ns / 1e9);
	most = job->what == ENGINE_WORK ? pace_most(&pace, ns) : 0;
	room = most < (double)ARRIVALS_MAX ? (size_t)most : ARRIVALS_MAX;
	arrivals_release(q);
	if (!job->share || most <= 0 || job->pace.kind == PACE_CLOSED ||
	    !arrivals_share(q, job->share, room, job->queue)) {
		q->q = calloc(1, sizeof(*q->q) + (room + 1) * sizeof(*q->q->wait));
		if (!q->q)
			return err_set(e, -ENOMEM, "out of memory");
		arrivals_queue_init(q->q, room, false);
		arrivals_join(q, job->queue);
	}
	return 0;
}

unsigned int arrivals_processes(struct arrivals *q)
{
	return q->q->n_processes;
}

static struct arrival take_first(struct arrivals_queue *q)
{
	struct arrival x = q->wait[q->at];

	q->at = (q->at + 1) % q->room;
	q->n--;
	return x;
}

static struct arrivals_thread *arrivals_thread_of(const struct arrivals *q, const struct worker *w)
{
	return &q->q->thread[q->first + (uint32_t)(w - q->worker)];
}

/* A thread that has a client without work, and is not w; NOBODY: none. */
static uint32_t arrivals_free_thread(const struct arrivals *q, const struct worker *w)
{
	const struct arrivals_queue *s = q->q;
	const uint32_t own = q->first + (uint32_t)(w - q->worker);

	for (uint32_t i = 1; i < s->n_threads && s->n_idle; i++)
		if (s->thread[(own + i) % s->n_threads].n_idle)
			return (own + i) % s->n_threads;
	return NOBODY;
}

/* Its process has died: its clients will take nothing. */
static void arrivals_forget(struct arrivals_queue *q, struct arrivals_thread *t)
{
	arrivals_lock(q);
	q->n_idle -= t->n_idle;
	q->n_held -= t->held;
	*t = (struct arrivals_thread) { 0 };
	pthread_mutex_unlock(&q->lock);
}

static void arrivals_hand_over(struct arrivals *q, const struct worker *w, uint32_t to)
{
	while (to != NOBODY) {
		if (to - q->first < q->n_workers) {
			eventfd_write(q->worker[to - q->first].wake, 1);
			return;
		}
		if (arrivals_wake(q, to))
			return;
		arrivals_forget(q->q, &q->q->thread[to]);
		arrivals_lock(q->q);
		to = arrivals_free_thread(q, w);
		pthread_mutex_unlock(&q->q->lock);
	}
}

static void use_idle(struct arrivals_queue *q, struct arrivals_thread *t)
{
	t->n_idle--;
	q->n_idle--;
}

enum arrival_way arrivals_come(struct arrivals *q, struct worker *w, struct arrival *x)
{
	enum arrival_way way = ARRIVAL_WAITS;
	struct arrivals_thread *t = arrivals_thread_of(q, w);
	struct arrivals_queue *s = q->q;
	uint32_t to = NOBODY;

	arrivals_lock(s);
	if (*q->name)
		arrivals_unlist(q);
	/* those for which a client is free elsewhere only pass through */
	if (!s->n && t->n_idle) {
		use_idle(s, t);
		way = ARRIVAL_BEGINS;
	} else if (s->most < UINT64_MAX && s->n >= s->most + s->n_idle) {
		x->held |= s->n_held != 0;
		way = ARRIVAL_DROPPED;
	} else if (s->n == s->room) {
		way = ARRIVAL_LATER;
	} else {
		way = s->n < s->n_idle ? ARRIVAL_GOES : ARRIVAL_WAITS;
		x->held |= s->n_held && way == ARRIVAL_WAITS;
		s->wait[(s->at + s->n++) % s->room] = *x;
		if (!t->n_idle)
			to = arrivals_free_thread(q, w);
	}
	pthread_mutex_unlock(&s->lock);
	arrivals_hand_over(q, w, to);
	return way;
}

bool arrivals_take(struct arrivals *q, struct worker *w, struct arrival *out)
{
	struct arrivals_thread *t = arrivals_thread_of(q, w);
	struct arrivals_queue *s = q->q;
	uint32_t to = NOBODY;
	bool taken;

	arrivals_lock(s);
	taken = s->n && t->n_idle;
	if (taken) {
		*out = take_first(s);
		use_idle(s, t);
	}
	if (s->n && !t->n_idle)
		to = arrivals_free_thread(q, w);
	pthread_mutex_unlock(&s->lock);
	arrivals_hand_over(q, w, to);
	return taken;
}

bool arrivals_next(struct arrivals *q, struct worker *w, struct arrival *out)
{
	struct arrivals_queue *s = q->q;
	bool taken;

	arrivals_lock(s);
	taken = s->n;
	if (taken) {
		*out = take_first(s);
		out->held |= s->n_held != 0;
	} else {
		arrivals_thread_of(q, w)->n_idle++;
		s->n_idle++;
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

void arrivals_rest(struct arrivals *q, struct worker *w)
{
	arrivals_lock(q->q);
	arrivals_thread_of(q, w)->n_idle++;
	q->q->n_idle++;
	pthread_mutex_unlock(&q->q->lock);
}

void arrivals_leave(struct arrivals *q, struct worker *w)
{
	arrivals_lock(q->q);
	use_idle(q->q, arrivals_thread_of(q, w));
	pthread_mutex_unlock(&q->q->lock);
}

void arrivals_hold(struct arrivals *q, struct worker *w, bool held)
{
	struct arrivals_thread *t = arrivals_thread_of(q, w);
	struct arrivals_queue *s = q->q;

	arrivals_lock(s);
	if (t->held != held && (held || !s->n)) {
		t->held = held;
		s->n_held += held ? 1 : UINT32_MAX;
	}
	pthread_mutex_unlock(&s->lock);
}

bool arrivals_is_held(const struct arrivals *q, const struct worker *w)
{
	return arrivals_thread_of(q, w)->held;
}

bool arrivals_left(struct arrivals *q, struct arrival *out)
{
	bool left;

	arrivals_lock(q->q);
	left = q->q->n;
	if (left)
		*out = take_first(q->q);
	pthread_mutex_unlock(&q->q->lock);
	return left;
}
