/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engine: a time in which the generator itself did not run is told, and is in no latency. Tests
 * client/load/pause.c, pulse.c, tally.c.
 */
#include "unit/engine_rig.h"

#include "base/clock.h"
#include "load/pause.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPPED_MS 2000
/* A busy machine makes latencies too, but shorter ones than the stop does. */
#define TOO_LONG_MS (STOPPED_MS / 2)

/* Another process that wakes up all the time: where it did not, the machine gave nobody a CPU. */
struct witness {
	pid_t pid;
	volatile uint64_t *gap_ns; /* the longest */
};

static struct witness witness_begin(void)
{
	struct witness w = { .gap_ns = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	uint64_t last_ns, now_ns;

	assert_true(w.gap_ns != MAP_FAILED);
	w.pid = fork();
	if (w.pid)
		return w;
	for (last_ns = clock_now_ns();; last_ns = now_ns) {
		usleep(5000);
		now_ns = clock_now_ns();
		if (now_ns - last_ns > *w.gap_ns)
			*w.gap_ns = now_ns - last_ns;
	}
}

/* Whether what was measured meanwhile says something. */
static bool witness_end(const struct witness *w)
{
	bool quiet = *w->gap_ns < 200 * MS;

	kill(w->pid, SIGKILL);
	assert_int_equal(waitpid(w->pid, NULL, 0), w->pid);
	munmap((void *)w->gap_ns, sizeof(uint64_t));
	return quiet;
}

/* Stops this process for a while, from another one. */
static pid_t stop_for(unsigned int ms, unsigned int stopped_ms)
{
	pid_t me = getpid(), child = fork();

	if (child)
		return child;
	usleep(1000 * ms);
	kill(me, SIGSTOP);
	usleep(1000 * stopped_ms);
	kill(me, SIGCONT);
	_exit(0);
}

static pid_t stop_after(unsigned int ms)
{
	return stop_for(ms, STOPPED_MS);
}

static void is_told(struct rig *g)
{
	const struct run_load *l = g->load;
	struct run_action all;

	run_load_all(l, &all);
	assert_int_equal(l->n_pauses, 1);
	/* what was waited for anyway is not in it */
	assert_true(l->paused_ns > (STOPPED_MS - 150) * MS);
	assert_true(l->paused_ns < (STOPPED_MS + 600) * MS);
	assert_true(l->longest_pause_ns == l->paused_ns);
	assert_true(l->paused_measured_ns > (STOPPED_MS - 150) * MS);
	assert_true(l->paused_measured_ns <= l->paused_ns);
	assert_true(l->n_paused > 0);
	assert_true(l->paused_max_ns > (STOPPED_MS - 150) * MS);
	assert_true(all.planned.max < TOO_LONG_MS * MS);
	assert_int_equal(all.planned.n, all.n - all.failed - l->n_paused);
	assert_int_equal(all.begun.n, all.planned.n);
	for (unsigned int i = 0; i < g->n; i++)
		assert_true(l->client[i].max_ns < TOO_LONG_MS * MS);
	for (size_t i = 0; i < l->n_seconds; i++)
		assert_true(l->second[i].max_ns < TOO_LONG_MS * MS);
	for (size_t i = 0; i < g->phase.n_commands; i++)
		assert_true(g->phase.command[i]->latency.max < TOO_LONG_MS * MS);
}

/* So often what a busy machine spoilt is tried again; the last time it is judged all the same. */
#define TRIES 5

/* Whether it was judged. */
static bool is_stopped_at(const struct engine_job *work, unsigned int n_threads, bool last)
{
	struct witness w = witness_begin();
	struct rig *g = rig_of(4, n_threads);
	pid_t child;
	bool quiet;

	for (unsigned int k = 0; k < 4; k++)
		g->play[k].slow.service_ns = 20 * MS;
	rig_open(g);
	child = stop_after(300);
	rig_do(g, work);
	assert_int_equal(waitpid(child, NULL, 0), child);
	quiet = witness_end(&w) || last;
	if (quiet)
		is_told(g);
	rig_free(g);
	return quiet;
}

static void a_stopped_generator_is_no_slow_server(void **state)
{
	struct engine_job work[] = { rig_work(2600 * MS), rig_work(2600 * MS) };

	(void)state;
	/* What came meanwhile waits longer after it than it lasted. */
	work[1] = rig_work(4100 * MS);
	work[1].pace = (struct pace_opts) { PACE_FIXED, 150, 0 };
	work[1].queue = 4 * 1000;
	for (size_t i = 0; i < 2; i++)
		for (unsigned int t = 1; t <= 2; t++)
			for (int n = 1; !is_stopped_at(&work[i], t, n == TRIES); n++)
				print_message("the machine was busy: again\n");
}

static bool waits_for_a_slow_server(bool last)
{
	const struct engine_job work = rig_work(1500 * MS);
	struct witness w = witness_begin();
	struct rig *g = rig_of(2, 1);
	bool quiet;

	g->play[0].slow.service_ns = 900 * MS;
	g->play[1].slow.service_ns = 10 * MS;
	rig_open(g);
	rig_do(g, &work);
	quiet = witness_end(&w) || last;
	if (quiet) {
		assert_int_equal(g->load->n_pauses, 0);
		assert_int_equal(g->load->n_paused, 0);
	}
	assert_true(g->load->action[0].planned.max >= 900 * MS);
	rig_free(g);
	return quiet;
}

/* Its thread ran, and waited. */
static void a_slow_server_is_no_pause(void **state)
{
	(void)state;
	for (int n = 1; !waits_for_a_slow_server(n == TRIES); n++)
		print_message("the machine was busy: again\n");
}

/* At least so long since then. */
static bool pulse_missed_ms(const struct pulse *p, uint64_t since_ns, unsigned int ms)
{
	uint64_t from_ns, to_ns;

	if (!pulse_missed(p, since_ns, clock_now_ns(), &from_ns, &to_ns))
		return false;
	assert_true(from_ns <= to_ns && to_ns >= since_ns && to_ns <= clock_now_ns());
	return to_ns - from_ns >= ms * MS;
}

static void pulse_stop(unsigned int stopped_ms)
{
	pid_t child = stop_for(100, stopped_ms);

	assert_int_equal(waitpid(child, NULL, 0), child);
	usleep(400000);
}

/* Where the machine is busy, it soon misses more. */
static void a_pulse_shows_when_the_process_was_stopped(void **state)
{
	uint64_t begun_ns = clock_now_ns(), then_ns;
	struct pulse p = { 0 };

	(void)state;
	assert_false(pulse_missed_ms(&p, begun_ns, 0));
	assert_int_equal(pulse_begin(&p), 0);
	assert_int_equal(pulse_begin(&p), 0);
	assert_false(pulse_missed_ms(&p, begun_ns, STOPPED_MS - 150));
	pulse_stop(STOPPED_MS);
	assert_true(pulse_missed_ms(&p, begun_ns, STOPPED_MS - 150));
	then_ns = clock_now_ns();
	for (int i = 0; i < 3; i++)
		pulse_stop(400);
	assert_true(pulse_missed_ms(&p, begun_ns, STOPPED_MS - 150));
	assert_true(pulse_missed_ms(&p, then_ns, 250));
	assert_false(pulse_missed_ms(&p, then_ns, STOPPED_MS - 150));
	pulse_end(&p);
	pulse_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_generator_is_no_slow_server),
		cmocka_unit_test(a_slow_server_is_no_pause),
		cmocka_unit_test(a_pulse_shows_when_the_process_was_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
