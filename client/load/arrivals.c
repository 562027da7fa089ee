/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to begin and has no client yet. */
#include "load/arrivals.h"

#include "load/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

void arrivals_init(struct arrivals *q, struct worker *worker, unsigned int n_workers)
{
	*q = (struct arrivals) { .worker = worker, .n_workers = n_workers };
	pthread_mutex_init(&q->lock, NULL);
}

void arrivals_fini(struct arrivals *q)
{
	free(q->wait);
	pthread_mutex_destroy(&q->lock);
}

/* Of calloc(), so that pages which nobody uses take no memory. */
int arrivals_prepare(struct arrivals *q, const struct engine_job *job, struct err *e)
{
	const uint64_t before_ns = job->ramp_ns + job->settle_ns, ns = before_ns + job->duration_ns;
	struct pace_opts pace = job->pace;
	double most;

	if (job->rate)
		pace.rate_per_s = (rate_until(job->rate, (double)job->duration_ns / 1e9) -
				   rate_until(job->rate, -(double)before_ns / 1e9)) /
				  ((double)ns / 1e9);
	most = job->what == ENGINE_WORK ? pace_most(&pace, ns) : 0;

	free(q->wait);
	q->most = job->queue == ENGINE_QUEUE_ALL ? SIZE_MAX : job->queue;
	q->room = most < (double)ARRIVALS_MAX ? (size_t)most : ARRIVALS_MAX;
	q->at = q->n = 0;
	q->n_idle = q->n_held = 0;
	q->wait = calloc(q->room + 1, sizeof(*q->wait));
	return q->wait ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static struct arrival take_first(struct arrivals *q)
{
	struct arrival x = q->wait[q->at];

	q->at = (q->at + 1) % q->room;
	q->n--;
	return x;
}

/* A thread that has a client without work, and is not w; NULL: none. */
static struct worker *arrivals_free_thread(const struct arrivals *q, const struct worker *w)
{
	size_t own = (size_t)(w - q->worker);

	for (size_t i = 1; i < q->n_workers && q->n_idle; i++)
		if (q->worker[(own + i) % q->n_workers].n_idle)
			return &q->worker[(own + i) % q->n_workers];
	return NULL;
}

static void arrivals_hand_over(struct worker *to)
{
	if (to)
		eventfd_write(to->wake, 1);
}

static void use_idle(struct arrivals *q, struct worker *w)
{
	w->n_idle--;
	q->n_idle--;
}

enum arrival_way arrivals_come(struct arrivals *q, struct worker *w, struct arrival *x)
{
	enum arrival_way way = ARRIVAL_WAITS;
	struct worker *to = NULL;

	pthread_mutex_lock(&q->lock);
	/* those for which a client is free elsewhere only pass through */
	if (!q->n && w->n_idle) {
		use_idle(q, w);
		way = ARRIVAL_BEGINS;
	} else if (q->most < SIZE_MAX && q->n >= q->most + q->n_idle) {
		x->held |= q->n_held != 0;
		way = ARRIVAL_DROPPED;
	} else if (q->n == q->room) {
		way = ARRIVAL_LATER;
	} else {
		x->held |= q->n_held && q->n >= q->n_idle;
		q->wait[(q->at + q->n++) % q->room] = *x;
		if (!w->n_idle)
			to = arrivals_free_thread(q, w);
	}
	pthread_mutex_unlock(&q->lock);
	arrivals_hand_over(to);
	return way;
}

bool arrivals_take(struct arrivals *q, struct worker *w, struct arrival *out)
{
	struct worker *to = NULL;
	bool taken;

	pthread_mutex_lock(&q->lock);
	taken = q->n && w->n_idle;
	if (taken) {
		*out = take_first(q);
		use_idle(q, w);
	}
	if (q->n && !w->n_idle)
		to = arrivals_free_thread(q, w);
	pthread_mutex_unlock(&q->lock);
	arrivals_hand_over(to);
	return taken;
}

bool arrivals_next(struct arrivals *q, struct worker *w, struct arrival *out)
{
	bool taken;

	pthread_mutex_lock(&q->lock);
	taken = q->n;
	if (taken) {
		*out = take_first(q);
		out->held |= q->n_held != 0;
	} else {
		w->n_idle++;
		q->n_idle++;
	}
	pthread_mutex_unlock(&q->lock);
	return taken;
}

void arrivals_rest(struct arrivals *q, struct worker *w)
{
	pthread_mutex_lock(&q->lock);
	w->n_idle++;
	q->n_idle++;
	pthread_mutex_unlock(&q->lock);
}

void arrivals_leave(struct arrivals *q, struct worker *w)
{
	pthread_mutex_lock(&q->lock);
	use_idle(q, w);
	pthread_mutex_unlock(&q->lock);
}

void arrivals_hold(struct arrivals *q, struct worker *w, bool held)
{
	pthread_mutex_lock(&q->lock);
	if (w->held != held && (held || !q->n)) {
		w->held = held;
		q->n_held += held ? 1 : UINT32_MAX;
	}
	pthread_mutex_unlock(&q->lock);
}

bool arrivals_left(struct arrivals *q, struct arrival *out)
{
	if (!q->n)
		return false;
	*out = take_first(q);
	return true;
}
