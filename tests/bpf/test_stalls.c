/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that take long: how long, and whether a process was stopped meanwhile. */
#include "delays_rig.h"

#include "base/clock.h"

/* Not the sums of the watch until now: an earlier, longer request is in none of them. */
static void shortest_and_longest_are_those_of_the_step(void **state)
{
	const struct ledger_account *a;
	uint64_t slow, n = 0;

	(void)state;
	rig_start(false, false);
	for (int fast = 0; fast < 2; fast++) {
		/* A byte for each request that is to find one. */
		for (int i = 0; i < TURNS * fast; i++)
			assert_int_equal(write(rig.d.pipe[1], "x", 1), 1);
		rig_step(REF_DO_PIPE, TURNS);
		a = ledger_account(&rig.x.diff, REF_DO_PIPE);
		assert_non_null(a);
		assert_true(a->min_ns > 0 && a->min_ns * TURNS <= a->sum.ns);
		assert_true(a->max_ns * TURNS >= a->sum.ns);
		n = 0;
		for (int i = 0; i < AFS_REQUEST_BUCKETS; i++)
			n += a->hist[i];
		assert_int_equal(n, TURNS);
		assert_true(a->hist[hist_index(a->max_ns, AFS_REQUEST_BITS)]);
		assert_true(a->hist[hist_index(a->min_ns, AFS_REQUEST_BITS)]);
		if (!fast)
			slow = a->min_ns;
		else
			assert_true(a->max_ns < slow);
	}
	assert_true(slow >= REF_HOLD_NS / 2);
	rig_stop();
}

struct stops {
	pid_t pid;
	const uint64_t *begun; /* not 0 once the first request is done */
};

/* Stops and continues it, while requests are served. */
static void *stop_and_go(void *arg)
{
	const struct stops *s = arg;

	while (!__atomic_load_n(s->begun, __ATOMIC_ACQUIRE))
		usleep(1000);
	for (int i = 0; i < TURNS; i++) {
		REF_MUST(!kill(s->pid, SIGSTOP));
		usleep(REF_HOLD_NS / 1000);
		REF_MUST(!kill(s->pid, SIGCONT));
		usleep(10000);
	}
	return NULL;
}

static void stop_during(pid_t pid, int command, int turns, uint64_t out[ACCOUNT_N_COLUMNS])
{
	struct stops s = { pid, &rig.d.truth->ns[command] };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, stop_and_go, &s), 0);
	rig_step(command, turns);
	pthread_join(thread, NULL);
	columns(command, (uint64_t)turns, out);
}

/* Each stop of the process is counted once, and none of the others. */
static void stops_are(enum afs_role role, pid_t pid)
{
	struct watch_stops is = watch_stops(rig.x.w, role);

	assert_int_equal(is.n, TURNS);
	assert_int_equal(is.n_kept, TURNS < WATCH_STOPS_KEPT ? TURNS : WATCH_STOPS_KEPT);
	for (size_t i = 0; i < is.n_kept; i++) {
		assert_int_equal(is.kept[i].pid, pid);
		assert_true(is.kept[i].to_ns - is.kept[i].from_ns >= REF_HOLD_NS / 10 * 9);
		assert_true(is.kept[i].to_ns <= clock_now_ns());
		assert_true(!i || is.kept[i].from_ns > is.kept[i - 1].to_ns);
	}
	role = role == AFS_ROLE_SERVER ? AFS_ROLE_BACKEND : AFS_ROLE_SERVER;
	assert_int_equal(watch_stops(rig.x.w, role).n, 0);
}

/* Not disk, which page faults are. */
static void time_of_a_stopped_server_is_stopped(void **state)
{
	uint64_t out[ACCOUNT_N_COLUMNS], all_ns;

	(void)state;
	rig_start(false, false);
	stop_during(rig.x.pid, REF_DO_BURN, 40, out);
	/* On a slow machine a stop may fall between two requests. */
	all_ns = ledger_part_sum(&rig.x.diff, AFS_ROLE_SERVER, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL)
		     .stopped_ns;
	printf("    stopped %.1f ms, %.1f of it in requests, disk %.1f ms\n", (double)all_ns / 1e6,
	       (double)out[ACCOUNT_STOPPED] / 1e6, (double)out[ACCOUNT_DISK] / 1e6);
	assert_true(all_ns >= REF_HOLD_NS / 10 * 9 * TURNS);
	assert_true(out[ACCOUNT_STOPPED] >= REF_HOLD_NS / 10 * 9);
	assert_true(out[ACCOUNT_DISK] <= out[ACCOUNT_STOPPED] / 10);
	stops_are(AFS_ROLE_SERVER, rig.x.pid);
	rig_stop();
}

static void time_of_a_stopped_cnid_server_is_named(void **state)
{
	const struct ledger_account *a;
	uint64_t out[ACCOUNT_N_COLUMNS];

	(void)state;
	rig_start(false, false);
	stop_during(rig.cnid[0], REF_DO_ASK + REF_ASK_BURN, 40, out);
	a = ledger_account(&rig.x.diff, REF_DO_ASK + REF_ASK_BURN);
	printf("    stopped %.1f ms, not seen %.1f ms\n",
	       (double)a->sum.inside[AFS_INSIDE_STOPPED] / 1e6,
	       (double)a->sum.inside[AFS_INSIDE_UNKNOWN] / 1e6);
	assert_true(a->sum.inside[AFS_INSIDE_STOPPED] >= REF_HOLD_NS / 10 * 9 * TURNS);
	assert_true(a->sum.inside[AFS_INSIDE_UNKNOWN] <= REF_HOLD_NS / 5 * TURNS);
	assert_int_equal(out[ACCOUNT_STOPPED], 0);
	stops_are(AFS_ROLE_BACKEND, rig.cnid[0]);
	rig_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shortest_and_longest_are_those_of_the_step),
		cmocka_unit_test(time_of_a_stopped_server_is_stopped),
		cmocka_unit_test(time_of_a_stopped_cnid_server_is_named),
	};

	ref_reserve();
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
