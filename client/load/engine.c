/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine's threads: hands them jobs and adds what they did. worker.c is what each does. */
#include "load/engine.h"

#include "base/clock.h"
#include "base/realtime.h"
#include "load/tally.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Rows of seconds beyond a job's duration, for what ends later. */
#define SECONDS_MORE 10

#define PATIENCE_NS  5000000000ull

struct engine {
	struct engine_opts opts;
	unsigned int n_clients, n_started;
	struct worker *worker;
	pthread_t *thread;
	struct engine_times times;
	atomic_uint n_busy; /* see worker.h */
	struct arrivals arrivals;
	struct run_load *load;
	struct pulse pulse; /* of threads that wait in calls themselves */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	unsigned int turn; /* counts jobs: a new one is there */
	unsigned int n_working;
	bool leave;
};

struct entry {
	struct engine *g;
	struct worker *w;
};

/* ---- threads ---- */

/* Waits for the next job, keeping the sessions alive; false: the thread is to end. */
static bool next_job(struct engine *g, struct worker *w, unsigned int *turn)
{
	bool leave, there;

	for (;;) {
		pthread_mutex_lock(&g->lock);
		leave = g->leave;
		there = g->turn != *turn;
		*turn = g->turn;
		pthread_mutex_unlock(&g->lock);
		if (leave || there)
			return !leave;
		worker_keep(w);
	}
}

static void wake_all(struct engine *g)
{
	for (unsigned int k = 0; k < g->n_started; k++)
		worker_wake(&g->worker[k]);
}

static void *engine_thread_main(void *arg)
{
	struct entry *entry = arg;
	struct engine *g = entry->g;
	struct worker *w = entry->w;
	unsigned int turn = 0;

	free(entry);
	w->realtime = g->opts.realtime && !realtime_begin(false);
	while (next_job(g, w, &turn)) {
		worker_run(w);
		pthread_mutex_lock(&g->lock);
		g->n_working--;
		pthread_cond_broadcast(&g->changed);
		pthread_mutex_unlock(&g->lock);
	}
	return NULL;
}

static int engine_start_thread(struct engine *g, unsigned int k, struct err *e)
{
	struct entry *entry = malloc(sizeof(*entry));
	int r;

	if (!entry)
		return err_set(e, -ENOMEM, "out of memory");
	*entry = (struct entry) { g, &g->worker[k] };
	r = pthread_create(&g->thread[k], NULL, engine_thread_main, entry);
	if (r) {
		free(entry);
		return err_set(e, -r, "cannot start a thread: %s", strerror(r));
	}
	g->n_started++;
	return 0;
}

/* Client i belongs to thread i modulo their number. */
static int deal_out(struct engine *g, const struct engine_client *clients, struct err *e)
{
	unsigned int t = g->opts.n_threads;
	struct worker *w;
	struct actor *a;
	int r = 0;

	for (unsigned int k = 0; k < t; k++)
		g->worker[k].epoll = g->worker[k].wake = g->worker[k].shared_wake = -1;
	for (unsigned int k = 0; !r && k < t; k++) {
		w = &g->worker[k];
		w->number = g->opts.first + k * g->opts.step;
		w->n_workers = t * g->opts.step;
		w->n_clients = g->opts.all;
		w->stop = g->opts.stop;
		w->opening_max = g->opts.opening_max;
		w->patience_ns = g->opts.patience_ns ? g->opts.patience_ns : PATIENCE_NS;
		w->n_busy = &g->n_busy;
		w->arrivals = &g->arrivals;
		r = worker_init(w, (g->n_clients + t - 1 - k) / t, e);
	}
	for (unsigned int i = 0; !r && i < g->n_clients; i++) {
		a = &g->worker[i % t].actor[i / t];
		a->client = clients[i];
		a->number = i;
		a->of_all = g->opts.first + i * g->opts.step;
		a->fd = -1;
	}
	return r;
}

int engine_new(struct engine **out, const struct engine_opts *o,
	       const struct engine_client *clients, unsigned int n_clients, struct err *e)
{
	struct engine *g = calloc(1, sizeof(*g));
	pthread_condattr_t attr;
	int r = 0;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	g->opts = *o;
	g->n_clients = n_clients;
	if (!o->step) {
		g->opts.step = 1;
		g->opts.all = n_clients;
	}
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->changed, &attr);
	pthread_condattr_destroy(&attr);
	g->worker = calloc(o->n_threads, sizeof(*g->worker));
	g->thread = calloc(o->n_threads, sizeof(*g->thread));
	for (unsigned int k = 0; g->worker && k < o->n_threads; k++)
		g->worker[k].epoll = g->worker[k].shared_wake = -1;
	if (!g->worker || !g->thread)
		r = err_set(e, -ENOMEM, "out of memory");
	arrivals_init(&g->arrivals, g->worker, g->worker ? o->n_threads : 0);
	r = r ? r : deal_out(g, clients, e);
	for (unsigned int k = 0; !r && k < o->n_threads; k++)
		r = engine_start_thread(g, k, e);
	if (r)
		engine_free(g);
	else
		*out = g;
	return r;
}

/* ---- jobs ---- */

static size_t engine_seconds_of(const struct engine_job *job)
{
	uint64_t s = (job->duration_ns + job->ramp_ns + job->settle_ns + 999999999u) / 1000000000u;

	if (!job->duration_ns)
		return 0;
	s += SECONDS_MORE;
	return s > RUN_SECONDS_MAX ? RUN_SECONDS_MAX : (size_t)s;
}

static void name_actions(struct run_load *l, const struct engine_job *job)
{
	for (unsigned int i = 0; i < job->n_actions; i++)
		l->action[i].name = job->action_name(i);
}

static int engine_keep_stages(const struct engine_job *job, struct run_load *l)
{
	const struct rate *of = job->rate ? job->rate : job->crowd;
	struct run_stage *stages;
	size_t n;
	int r;

	if (!of)
		return 0;
	stages = calloc(RATE_POINTS_MAX + 1, sizeof(*stages));
	if (!stages)
		return -ENOMEM;
	n = rate_stages(of, (double)job->duration_ns / 1e9, stages);
	l->stages_of_clients = !job->rate;
	r = run_load_keep_stages(l, stages, n);
	free(stages);
	return r;
}

/* What the job asks for beside the counts. 0 or -ENOMEM. */
static int engine_keep(const struct engine_job *job, struct run_load *l)
{
	if ((job->keeps_progress && run_load_keep_progress(l)) ||
	    (job->keeps_late && run_load_keep_late(l)))
		return -ENOMEM;
	return engine_keep_stages(job, l);
}

/* Each thread's own accounts. */
static int engine_prepare(struct engine *g, const struct engine_job *job, struct err *e)
{
	size_t seconds = engine_seconds_of(job);
	struct worker *w;
	int r;

	g->load = run_load_new(g->n_clients, job->n_actions, seconds);
	if (!g->load)
		return err_set(e, -ENOMEM, "out of memory");
	name_actions(g->load, job);
	r = arrivals_prepare(&g->arrivals, job, e);
	if (r)
		return r;
	if (engine_keep(job, g->load))
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int k = 0; k < g->opts.n_threads; k++) {
		w = &g->worker[k];
		r = worker_prepare(w, job, e);
		if (r)
			return r;
		w->result = run_load_new(0, job->n_actions, seconds);
		if (!w->result || engine_keep(job, w->result))
			return err_set(e, -ENOMEM, "out of memory");
		name_actions(w->result, job);
		w->keeps_recent = job->keeps_recent || seconds;
		for (size_t i = 0; i < w->n; i++)
			w->actor[i].out = &g->load->client[w->actor[i].number];
	}
	return 0;
}

static void engine_set_times(struct engine *g, const struct engine_job *job)
{
	struct run_load *l = g->load;

	l->begin_ns = job->begin_ns ? job->begin_ns : clock_now_ns();
	l->measure_ns = l->begin_ns + job->ramp_ns + job->settle_ns;
	l->end_ns = job->duration_ns ? l->measure_ns + job->duration_ns : UINT64_MAX;
	l->n_threads = g->opts.n_threads;
	l->rate_per_s = job->pace.kind == PACE_CLOSED ? 0 : job->pace.rate_per_s;
	g->times.first_ns = 0;
	g->times.measure_ns = l->measure_ns;
	g->times.end_ns = l->end_ns;
	for (unsigned int k = 0; k < g->opts.n_threads; k++) {
		g->worker[k].begin_ns = l->begin_ns;
		g->worker[k].times = &g->times;
	}
}

uint64_t engine_done(const struct engine *g)
{
	uint64_t n = 0;

	for (unsigned int k = 0; k < g->opts.n_threads; k++)
		n += atomic_load_explicit(&g->worker[k].n_done, memory_order_relaxed);
	return n;
}

/* What a thread has of a second that is over; NULL: nothing, or it was long ago in a long job. */
static const struct run_second *engine_recent(const struct worker *w, uint64_t second)
{
	const struct recent_second *r = &w->recent[second % RECENT_SECONDS];

	if (r->number == second + 1)
		return &r->s;
	return r->number > second + 1 && w->result->n_seconds && w->result->seconds_each == 1
		   ? run_load_second(w->result, second)
		   : NULL;
}

size_t engine_first_second(const struct engine *g)
{
	uint64_t now_ns = clock_now_ns(), begin_ns = g->load->begin_ns;
	size_t under_way = now_ns > begin_ns ? (size_t)((now_ns - begin_ns) / 1000000000u) : 0;

	/* The next one may be begun while this is read. */
	return g->load->n_seconds || under_way + 2 < RECENT_SECONDS
		   ? 0
		   : under_way + 2 - RECENT_SECONDS;
}

bool engine_second(const struct engine *g, size_t i, struct run_second *out)
{
	const struct run_second *of_thread;
	struct worker *w;
	/* a thread may have taken the time of an end shortly before the second was over */
	uint64_t over_ns = g->load->begin_ns + (i + 1) * 1000000000u + 100000000u;

	memset(out, 0, sizeof(*out));
	if (clock_now_ns() < over_ns || i < engine_first_second(g) || !g->worker->keeps_recent)
		return false;
	for (unsigned int k = 0; k < g->opts.n_threads; k++) {
		w = &g->worker[k];
		pthread_mutex_lock(&w->looked_on); /* one that was late may still count in it */
		of_thread = engine_recent(w, i);
		if (of_thread)
			run_second_add(out, of_thread);
		pthread_mutex_unlock(&w->looked_on);
	}
	return true;
}

void engine_retime(struct engine *g, uint64_t measure_ns, uint64_t end_ns)
{
	if (measure_ns)
		g->times.measure_ns = g->load->measure_ns = measure_ns;
	g->times.end_ns = g->load->end_ns = end_ns;
}

static void free_loads(struct engine *g)
{
	for (unsigned int k = 0; k < g->opts.n_threads; k++) {
		run_load_free(g->worker[k].result);
		g->worker[k].result = NULL;
	}
	run_load_free(g->load);
	g->load = NULL;
}

/* Where a thread waits in its one client's calls, it cannot tell by itself whether it ran. */
static int engine_begin_pulse(struct engine *g, const struct engine_job *job, struct err *e)
{
	bool blocks = false;
	int r = 0;

	for (unsigned int k = 0; k < g->opts.n_threads; k++) {
		g->worker[k].pulse = &g->pulse;
		blocks |= g->worker[k].n == 1 && g->worker[k].blocks;
	}
	if (blocks && job->what == ENGINE_WORK && job->pace.kind == PACE_CLOSED)
		r = pulse_begin(&g->pulse);
	return r ? err_set(e, r, "cannot start a thread: %s", strerror(-r)) : 0;
}

int engine_start(struct engine *g, const struct engine_job *job, struct err *e)
{
	int r = engine_prepare(g, job, e);

	r = r ? r : engine_begin_pulse(g, job, e);
	if (r) {
		free_loads(g);
		return r;
	}
	engine_set_times(g, job);
	atomic_store(&g->n_busy, g->opts.n_threads);
	pthread_mutex_lock(&g->lock);
	g->turn++;
	g->n_working = g->opts.n_threads;
	pthread_mutex_unlock(&g->lock);
	wake_all(g);
	return 0;
}

bool engine_wait(struct engine *g, uint64_t ns)
{
	uint64_t until_ns = clock_now_ns() + ns;
	const struct timespec until = { (time_t)(until_ns / 1000000000u),
					(long)(until_ns % 1000000000u) };
	bool ended;
	int r = 0;

	pthread_mutex_lock(&g->lock);
	while (g->n_working && !r)
		r = pthread_cond_timedwait(&g->changed, &g->lock, &until);
	ended = !g->n_working;
	pthread_mutex_unlock(&g->lock);
	return ended;
}

/* Of a client that has a thread of its own, the latencies are the thread's. */
static void note_latencies(const struct worker *w)
{
	struct run_client *c = w->n == 1 ? w->actor->out : NULL;
	struct run_action all;

	if (!c || !c->actions)
		return;
	run_load_all(w->result, &all);
	c->begun_p50_ns = hist_quantile(&all.begun, 0.5);
	c->begun_p99_ns = hist_quantile(&all.begun, 0.99);
	c->begun_max_ns = all.begun.max;
}

/* What no thread has taken. */
static void count_left(struct engine *g, struct run_load *to, uint64_t end_ns)
{
	struct arrival x;

	while (arrivals_left(&g->arrivals, &x))
		tally_waiting(to, &x, end_ns);
}

int engine_join(struct engine *g, struct run_load **load, struct run_phase *phase, struct err *e)
{
	struct worker *w;
	uint64_t end_ns = 0;
	int r = 0;

	while (!engine_wait(g, 1000000000u))
		;
	for (unsigned int k = 0; k < g->opts.n_threads; k++) {
		w = &g->worker[k];
		if (phase && !r && run_add_commands(phase, &w->region))
			r = err_set(e, -ENOMEM, "out of memory");
		if (w->end_ns > end_ns)
			end_ns = w->end_ns;
		note_latencies(w);
		if (k + 1 == g->opts.n_threads)
			count_left(g, w->result, end_ns);
		run_load_add(g->load, w->result);
	}
	g->load->end_ns = end_ns;
	g->load->queue_processes = arrivals_processes(&g->arrivals);
	g->load->common_ns = g->times.first_ns;
	*load = g->load;
	g->load = NULL;
	free_loads(g);
	return r;
}

void engine_free(struct engine *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->leave = true;
	pthread_mutex_unlock(&g->lock);
	wake_all(g);
	for (unsigned int k = 0; k < g->n_started; k++)
		pthread_join(g->thread[k], NULL);
	pulse_end(&g->pulse);
	arrivals_fini(&g->arrivals);
	for (unsigned int k = 0; g->worker && k < g->opts.n_threads; k++)
		worker_fini(&g->worker[k]);
	if (g->worker)
		free_loads(g);
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g->worker);
	free(g->thread);
	free(g);
}
