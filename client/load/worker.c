/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread of the engine: waits for the connections and the times of its clients, and goes on
 * with those that can. actions.c says what a client does next.
 */
#include "load/worker.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/kernel.h"
#include "load/actions.h"
#include "load/pause.h"
#include "load/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S     1000000000u
#define EVENTS       256
#define SLICE_NS     100000000u /* how soon a stop is noticed */
#define COMMANDS_MAX 40         /* more than the commands of any job */
#define EVEN         9          /* a begin that is a tenth of all at most changes no mean */
#define CATCH_UP_MAX 1000       /* turns with arrivals that were due before the end */

_Static_assert(offsetof(struct actor, timer) == 0, "a timer is the head of its actor");

static bool worker_stopped(const struct worker *w)
{
	return w->stop && *w->stop && !w->job->ignores_stop;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long this thread has run and has waited for a CPU, ns. false: the kernel does not say. */
static bool thread_sched_ns(uint64_t *cpu_ns, uint64_t *runq_ns)
{
	char text[96];

	return !file_line(text, sizeof(text), "/proc/thread-self/schedstat") &&
	       sscanf(text, "%" SCNu64 " %" SCNu64, cpu_ns, runq_ns) == 2;
}

/* How long it has waited for a CPU since a look that has shown from_ns; 0: it is not known. */
static uint64_t thread_waited_ns(uint64_t from_ns)
{
	uint64_t cpu_ns, runq_ns;

	return thread_sched_ns(&cpu_ns, &runq_ns) && runq_ns > from_ns ? runq_ns - from_ns : 0;
}

/*
 * Whether the mean may say less than how busy a thread was at times: of a load that changes, or
 * whose times a recording gives, and where it is also of a long begin, with fewer clients.
 */
static bool worker_is_uneven(const struct engine_job *job)
{
	return job->rate || job->crowd || job->keeps_late ||
	       (job->duration_ns && (job->ramp_ns + job->settle_ns) * EVEN >= job->duration_ns);
}

/* The busiest second of such a load. */
static void worker_note_busy(struct worker *w, uint64_t now_ns)
{
	uint64_t cpu_ns, runq_ns, all_ns, busy_ns, took_ns = now_ns - w->busy_at_ns;

	if (!worker_is_uneven(w->job) || now_ns < w->measure_ns || now_ns >= w->end_ns ||
	    (w->busy_at_ns && took_ns < NS_PER_S))
		return;
	/* this look, or the one before, may have failed: more than any other */
	all_ns = thread_sched_ns(&cpu_ns, &runq_ns) ? cpu_ns + runq_ns : UINT64_MAX;
	if (w->busy_at_ns && all_ns > w->busy_ns && all_ns < UINT64_MAX) {
		busy_ns = (uint64_t)((double)(all_ns - w->busy_ns) / (double)took_ns * NS_PER_S);
		if (busy_ns > w->load->busy_second_ns)
			w->load->busy_second_ns = busy_ns;
	}
	w->busy_at_ns = now_ns;
	w->busy_ns = all_ns;
}

int worker_init(struct worker *w, size_t n, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN }; /* without an actor */

	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->scratch = malloc(STORE_SCRATCH_LEN);
	w->actor = calloc(n + 1, sizeof(*w->actor));
	w->timers.heap = calloc(n + 2, sizeof(struct timer *));
	w->n = n;
	pthread_mutex_init(&w->looked_on, NULL);
	if (w->epoll < 0 || w->wake < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->wake, &event))
		return err_set(e, -errno, "cannot wait for many connections: %s", strerror(errno));
	if (!w->scratch || !w->actor || !w->timers.heap)
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

void worker_fini(struct worker *w)
{
	for (size_t i = 0; w->actor && i < w->n; i++)
		store_close(w->actor[i].store);
	if (w->epoll >= 0)
		close(w->epoll);
	if (w->wake >= 0)
		close(w->wake);
	pthread_mutex_destroy(&w->looked_on);
	free(w->scratch);
	free(w->actor);
	free(w->timers.heap);
	run_clear_commands(&w->region);
}

/* ---- the job's begin and end ---- */

static void worker_take_times(struct worker *w)
{
	w->measure_ns = atomic_load_explicit(&w->times->measure_ns, memory_order_relaxed);
	w->end_ns = atomic_load_explicit(&w->times->end_ns, memory_order_relaxed);
}

/* Sessions that were lost before the job are missing in it. */
static void tell_lost(struct worker *w)
{
	w->load->n_lost += w->n_lost;
	if (w->n_lost)
		snprintf(w->load->why, sizeof(w->load->why), "%.255s", w->lost_why.text);
	w->n_lost = 0;
}

int worker_prepare(struct worker *w, const struct engine_job *job, struct err *e)
{
	w->job = job;
	w->n_done = 0;
	memset(w->command, 0, sizeof(w->command));
	run_clear_commands(&w->region);
	w->later = false;
	if (run_reserve_commands(&w->region, COMMANDS_MAX))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

static void begin_job(struct worker *w)
{
	worker_take_times(w);
	tell_lost(w);
	w->alive_ns = clock_now_ns();
	w->pause_from_ns = w->pause_to_ns = 0;
	w->n_opening = w->n_acting = w->n_left = 0;
	w->give_up_ns = 0;
	w->n_catch_up = 0;
	w->busy_at_ns = 0;
	w->next_open = 0;
	pthread_mutex_lock(&w->looked_on);
	for (size_t i = 0; i < RECENT_SECONDS; i++)
		w->recent[i].number = 0;
	pthread_mutex_unlock(&w->looked_on);
	w->idle = NULL;
	w->idle_tail = &w->idle;
	w->busy = true;
	pace_begin(&w->pace, &w->job->pace, w->number, w->n_workers, w->begin_ns);
	if (w->job->rate)
		pace_follow(&w->pace, w->job->rate, w->job->ramp_ns + w->job->settle_ns, w->number,
			    w->n_workers);
	for (size_t i = 0; i < w->n; i++)
		actor_begin_job(w, &w->actor[i]);
}

/* Whether a client has something to do; in an open loop one of any thread is enough. */
static bool has_clients(struct worker *w)
{
	if (w->n_left)
		return true;
	if (w->busy)
		atomic_fetch_sub(w->n_busy, 1);
	w->busy = false;
	return w->job->pace.kind != PACE_CLOSED && atomic_load(w->n_busy);
}

static void end_earlier(struct worker *w, uint64_t end_ns)
{
	if (end_ns >= w->end_ns)
		return;
	tally_end_earlier(w, w->end_ns - end_ns);
	w->end_ns = end_ns;
}

/* Whether it is to look, after the end, at what was due before it. */
static bool catches_up(struct worker *w)
{
	return pace_due_ns(&w->pace) < w->end_ns && !w->later && !w->give_up_ns &&
	       w->n_catch_up++ < CATCH_UP_MAX;
}

static bool worker_is_over(struct worker *w, uint64_t now_ns)
{
	if (w->give_up_ns && now_ns >= w->give_up_ns)
		return true;
	switch (w->job->what) {
	case ENGINE_OPEN:
		return !w->n_opening && (worker_stopped(w) || w->next_open == w->n);
	case ENGINE_WORK:
		if (now_ns < w->end_ns && !has_clients(w))
			end_earlier(w, now_ns);
		return !w->n_acting && now_ns >= w->end_ns && !catches_up(w);
	default:
		return !w->n_left;
	}
}

/* ---- waiting ---- */

static uint64_t next_due_ns(const struct worker *w, uint64_t now_ns)
{
	const struct timer *first = timers_first(&w->timers);
	uint64_t due_ns = now_ns + SLICE_NS, pace_ns = pace_due_ns(&w->pace);

	if (first && first->due_ns < due_ns)
		due_ns = first->due_ns;
	if (!w->load)
		return due_ns;
	if (w->job->what == ENGINE_WORK && pace_ns < w->end_ns && !w->later && pace_ns < due_ns)
		due_ns = pace_ns;
	if (now_ns < w->end_ns && w->end_ns < due_ns)
		due_ns = w->end_ns;
	if (w->give_up_ns && w->give_up_ns < due_ns)
		due_ns = w->give_up_ns;
	return due_ns;
}

static int wait_for_events(struct worker *w, struct epoll_event *event)
{
	uint64_t now_ns = pause_now(w); /* what began since the last look took its time */
	uint64_t due_ns = next_due_ns(w, now_ns), left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
	int n = kernel_epoll_wait(w->epoll, event, EVENTS, left_ns); /* a slice is less than 1 s */

	w->alive_ns = clock_now_ns();
	if (w->alive_ns > now_ns + left_ns + PAUSE_LEAST_NS)
		pause_note(w, now_ns, w->alive_ns, w->alive_ns - now_ns - left_ns);
	return n;
}

/* What has woken it is read. */
static void take_wake(struct worker *w)
{
	char byte;
	eventfd_t count;

	eventfd_read(w->wake, &count);
	while (w->shared_wake >= 0 && recv(w->shared_wake, &byte, 1, MSG_DONTWAIT) > 0)
		;
}

static void handle_events(struct worker *w, const struct epoll_event *event, int n)
{
	for (int i = 0; i < n; i++) {
		if (event[i].data.ptr)
			actor_events(w, event[i].data.ptr, event[i].events);
		else
			take_wake(w);
	}
}

static void handle_timers(struct worker *w)
{
	struct timer *t;
	uint64_t now_ns = clock_now_ns();

	/* not more than are there now; who has used up his turn is due after now_ns, and waits */
	for (size_t n = w->timers.n; n; n--) {
		t = timers_first(&w->timers);
		if (!t || t->due_ns > now_ns)
			break;
		timers_remove(&w->timers, t);
		actor_time(w, (struct actor *)t, now_ns);
	}
}

static void note_stop(struct worker *w, uint64_t now_ns)
{
	if (!worker_stopped(w))
		return;
	if (!w->give_up_ns)
		w->give_up_ns = now_ns + w->patience_ns;
	end_earlier(w, w->give_up_ns - w->patience_ns);
}

void worker_run(struct worker *w)
{
	struct epoll_event event[EVENTS];
	uint64_t cpu_ns = thread_cpu_ns(), ran_ns, runq_ns, now_ns;
	bool known = thread_sched_ns(&ran_ns, &runq_ns);
	int n;

	prctl(PR_SET_TIMERSLACK, 1);
	w->load = w->result;
	begin_job(w);
	for (;;) {
		now_ns = pause_now(w);
		worker_take_times(w);
		note_stop(w, now_ns);
		worker_note_busy(w, now_ns);
		actors_open_more(w);
		actors_arrive(w, now_ns);
		if (worker_is_over(w, now_ns))
			break;
		n = wait_for_events(w, event);
		handle_events(w, event, n);
		handle_timers(w);
	}
	actors_end_job(w);
	w->load->n_realtime = w->realtime;
	w->load->cpu_ns = thread_cpu_ns() - cpu_ns;
	w->load->runq_ns = known ? thread_waited_ns(runq_ns) : 0;
	w->load = NULL;
}

void worker_keep(struct worker *w)
{
	struct epoll_event event[EVENTS];
	uint64_t now_ns = clock_now_ns(), due_ns = next_due_ns(w, now_ns);
	int ms = due_ns > now_ns ? (int)((due_ns - now_ns + 999999) / 1000000) : 0;

	/* a millisecond does not matter here */
	handle_events(w, event, epoll_wait(w->epoll, event, EVENTS, ms));
	handle_timers(w);
}

void worker_wake(struct worker *w)
{
	eventfd_write(w->wake, 1);
}
