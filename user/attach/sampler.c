/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects the sampler of user/watch, the watch that knows the processes, and the run. */
#include "attach/sampler.h"

#include "base/clock.h"
#include "base/vec.h"
#include "host/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000u
#define POINTS   2000 /* of a process; from half of them on the readings are further apart */

struct sampler {
	struct sample *sample;
	struct watch *watch;
	unsigned int hz;
	size_t n_seen;
	pid_t *seen;        /* owned; at each place of the watch's processes at the last look */
	size_t not_sampled; /* processes */
	struct err why_not; /* of the first */
	uint64_t begun_ns, cpu_ns, missed;
	pthread_t thread;
	bool runs;
	int stop; /* atomic */
};

static uint64_t cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Notes the process at place i. Without memory it counts as new each time, which is only slower. */
static bool sampler_is_new(struct sampler *s, size_t i, pid_t pid)
{
	while (i >= s->n_seen)
		if (!VEC_ADD(s->seen, s->n_seen))
			return true;
	if (s->seen[i] == pid)
		return false;
	s->seen[i] = pid;
	return true;
}

void sampler_look(struct sampler *s)
{
	struct err why = { 0 };
	pid_t pid;
	int r;

	if (!s)
		return;
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		for (size_t at = 0; (pid = watch_process(s->watch, role, &at));) {
			if (!sampler_is_new(s, at - 1, pid))
				continue;
			/* A process that has ended meanwhile has no series. */
			r = sample_add(s->sample, pid, role, &why);
			if (!r || r == -ESRCH)
				continue;
			if (!s->not_sampled++)
				s->why_not = why;
		}
	}
}

int sampler_open(struct sampler **out, unsigned int hz, struct watch *w, struct err *e)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	r = sample_open(&s->sample, hz, POINTS, e);
	if (r) {
		free(s);
		return r;
	}
	s->watch = w;
	s->hz = hz;
	s->begun_ns = clock_now_ns();
	sampler_look(s);
	*out = s;
	return 0;
}

uint64_t sampler_period_ns(const struct sampler *s)
{
	return NS_PER_S / s->hz;
}

uint64_t sampler_next(uint64_t due_ns, uint64_t period_ns, uint64_t now_ns, uint64_t *missed)
{
	uint64_t late = now_ns > due_ns ? (now_ns - due_ns) / period_ns : 0;

	*missed = late;
	return due_ns + (late + 1) * period_ns;
}

void sampler_tick(struct sampler *s, uint64_t missed)
{
	uint64_t cpu_ns;

	if (!s)
		return;
	cpu_ns = cpu_now_ns();
	sample_tick(s->sample);
	s->missed += missed;
	s->cpu_ns += cpu_now_ns() - cpu_ns;
}

static void *tick_until_stopped(void *arg)
{
	struct sampler *s = arg;
	uint64_t period_ns = sampler_period_ns(s), due_ns = clock_now_ns() + period_ns, missed = 0;
	uint64_t cpu_ns = cpu_now_ns();

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		if (clock_sleep_until(due_ns))
			continue;
		sampler_tick(s, missed);
		due_ns = sampler_next(due_ns, period_ns, clock_now_ns(), &missed);
	}
	s->cpu_ns = cpu_now_ns() - cpu_ns;
	return NULL;
}

int sampler_start(struct sampler *s, struct err *e)
{
	sigset_t all, before;
	int r;

	if (!s || s->runs)
		return 0;
	s->stop = 0;
	/* Signals are for the thread that waits for the server. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&s->thread, NULL, tick_until_stopped, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return err_set(e, -r, "start a thread: %s", strerror(r));
	s->runs = true;
	return 0;
}

static void sampler_stop(struct sampler *s)
{
	if (!s || !s->runs)
		return;
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	pthread_join(s->thread, NULL);
	s->runs = false;
}

static int copy(const struct sample_series *from, struct run *r)
{
	struct run_series *to = run_series(r, SAMPLE_N_VALUES, from->n);

	if (!to)
		return -ENOMEM;
	to->pid = from->pid;
	to->role = run_role_name(r, from->role);
	to->ended = from->ended;
	to->n_threads = from->n_lost;
	to->start_ns = from->point[0].t_ns;
	for (size_t v = 0; v < SAMPLE_N_VALUES; v++) {
		to->value[v].key = sample_values[v].key;
		to->value[v].unit = sample_values[v].unit;
		if (!from->why[v][0])
			continue;
		to->value[v].why = strdup(from->why[v]);
		if (!to->value[v].why)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->n; i++) {
		to->t_ns[i] = from->point[i].t_ns - to->start_ns;
		memcpy(&to->point[i * SAMPLE_N_VALUES], from->point[i].value,
		       sizeof(from->point[i].value));
	}
	return 0;
}

static int note_how(const struct sampler *s, struct run *r)
{
	double ns = (double)(clock_now_ns() - s->begun_ns);
	char missed[64] = "";
	int err;

	if (s->missed)
		snprintf(missed, sizeof(missed), ", %" PRIu64 " ticks were missed", s->missed);
	err = run_note(&r->rungs, "samples",
		       "/proc and taskstats, %u times a second%s; %.2f %% of one CPU to read them",
		       s->hz, missed, ns > 0 ? 100 * (double)s->cpu_ns / ns : 0);
	if (!err && !sample_series(s->sample, 0))
		err = run_note(&r->warnings, "samples",
			       "nothing was sampled: no process of the server is known");
	if (!err && s->not_sampled)
		err = run_note(&r->warnings, "samples", "%zu processes have no time series: %s",
			       s->not_sampled, s->why_not.text);
	return err;
}

int sampler_note(struct sampler *s, struct run *r)
{
	const struct sample_series *series;
	int err;

	if (!s)
		return 0;
	sampler_stop(s);
	sample_now(s->sample);
	err = note_how(s, r);
	for (size_t i = 0; !err && (series = sample_series(s->sample, i)); i++)
		err = copy(series, r);
	return err;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	sample_close(s->sample);
	free(s->seen);
	free(s);
}
