/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known delays in a server, and they must be in the right column of the time table. Other programs
 * share the machine, so that only lower bounds and ratios are asserted. Tests bpf/time.h.
 */
#include "delays_rig.h"

#include "host/proc/tasks.h"

#include <bpf/bpf.h>

/*
 * Of a column, with the waiting for a CPU after it: all that the server itself measured, of which
 * at least "least" per request was injected; and no other column has it.
 */
static void check_column(int command, enum account_column column, uint64_t least)
{
	uint64_t out[ACCOUNT_N_COLUMNS], truth;

	rig_step(command, TURNS);
	columns(command, TURNS, out);
	truth = rig.d.truth->ns[command];
	printf("    command %2d: measured by the server %6.1f ms:", command, (double)truth / 1e6);
	for (int i = 0; i < ACCOUNT_N_COLUMNS; i++)
		if (out[i])
			printf(" %s %.1f", account_columns[i].key, (double)out[i] / 1e6);
	printf("\n");
	assert_true(truth >= least * TURNS);
	assert_true(out[column] + out[ACCOUNT_RUNQ] >= truth / 10 * 9);
	assert_true(out[column] >= least * TURNS / 2);
	for (int i = ACCOUNT_DISK; i < ACCOUNT_N_COLUMNS; i++)
		if (i != (int)column)
			assert_true(out[i] <= out[column] / 4);
}

static void blocked_time_is_in_the_column_of_what_blocked(void **state)
{
	(void)state;
	rig_start(false, false);
	check_column(REF_DO_SLEEP, ACCOUNT_OTHER, 20 * REF_MS);
	check_column(REF_DO_PIPE, ACCOUNT_OTHER, REF_HOLD_NS / 2);
	check_column(REF_DO_LOCK, ACCOUNT_LOCK, REF_HOLD_NS / 2);
	check_column(REF_DO_FLOCK, ACCOUNT_LOCK, REF_HOLD_NS / 2);
	check_column(REF_DO_LARGE, ACCOUNT_NET, REF_HOLD_NS / 2);
	check_column(REF_DO_BUSY, ACCOUNT_CNID, 20 * REF_MS);
	check_column(REF_DO_IDLE, ACCOUNT_OTHER, 20 * REF_MS);
	rig_stop();
}

static void waiting_for_room_to_send_is_network(void **state)
{
	(void)state;
	rig_start(true, false);
	check_column(REF_DO_LARGE, ACCOUNT_NET, REF_HOLD_NS / 2);
	check_column(REF_DO_SLEEP, ACCOUNT_OTHER, 20 * REF_MS);
	rig_stop();
}

static void waiting_for_the_rest_of_a_request_is_network(void **state)
{
	uint64_t truth;
	struct run r;

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		rig_start(waits, false);
		check_column(REF_DO_UPLOAD, ACCOUNT_NET, REF_HOLD_NS / 2);
		truth = rig.d.truth->ns[REF_DO_UPLOAD];
		check_column(REF_DO_PIPE, ACCOUNT_OTHER, REF_HOLD_NS / 2);
		check_column(REF_DO_LARGE, ACCOUNT_NET, REF_HOLD_NS / 2);
		rig_finish(&r);
		assert_int_equal(r.n_sessions, 1);
		assert_in_range(r.session[0].habit.upload_ns, truth / 10 * 9, truth);
		run_fini(&r);
	}
}

static void own_code_is_own_code(void **state)
{
	uint64_t out[ACCOUNT_N_COLUMNS];

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_BURN, TURNS);
	columns(REF_DO_BURN, TURNS, out);
	assert_true(out[ACCOUNT_USER] >= 19 * REF_MS * TURNS);
	assert_true(out[ACCOUNT_USER] + out[ACCOUNT_RUNQ] >= rig.d.truth->ns[REF_DO_BURN] / 10 * 9);
	assert_true(out[ACCOUNT_USER] > 4 * out[ACCOUNT_CALLS]);
	rig_stop();
}

static void keep_busy(struct ref_delays *d)
{
	(void)d;
	for (;;)
		;
}

/*
 * The kernel's own account of the server's waiting for a CPU is the judge; of the time on one it
 * takes away what interrupts and the host used.
 */
static void waiting_for_a_cpu_is_what_the_kernel_says(void **state)
{
	struct procfs_times did;
	struct tasks times = { 0 };
	uint64_t out[ACCOUNT_N_COLUMNS], runq, all = 0, cpu = 0, kernel;
	const struct ledger_part *p;

	(void)state;
	rig_start(false, false);
	rig.rival = start(keep_busy);
	pin(rig.rival, 0);
	pin(rig.x.pid, 0);
	assert_int_equal(tasks_look(&times, rig.x.pid), 0);
	rig_step(REF_DO_BURN, TURNS);
	assert_int_equal(tasks_look(&times, rig.x.pid), 0);
	did = tasks_sum(&times);
	tasks_fini(&times);
	columns(REF_DO_BURN, TURNS, out);
	for (size_t i = 0; i < rig.x.diff.n_parts; i++) {
		p = &rig.x.diff.part[i];
		if (p->role != AFS_ROLE_SERVER)
			continue;
		all += p->part.runq_ns;
		cpu += p->part.cpu_ns;
	}
	runq = did.runq_ns;
	kernel = did.cpu_ns;
	printf(
	    "    run queue %.2f ms, the kernel says %.2f; on a CPU %.2f ms, the kernel says %.2f\n",
	    (double)all / 1e6, (double)runq / 1e6, (double)cpu / 1e6, (double)kernel / 1e6);
	assert_true(out[ACCOUNT_RUNQ] >= 5 * REF_MS * TURNS);
	assert_in_range(all, runq / 10 * 9 - REF_MS, runq / 10 * 11 + REF_MS);
	assert_in_range(cpu, kernel / 10 * 8 - REF_MS, kernel / 10 * 12 + REF_MS);
	rig_stop();
}

static void a_sync_that_lasts_is_disk(void **state)
{
	uint64_t out[ACCOUNT_N_COLUMNS], in_sync;
	struct afs_part sync;

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_SYNC, TURNS);
	columns(REF_DO_SYNC, TURNS, out);
	sync = ledger_part_sum(&rig.x.diff, AFS_ROLE_SERVER, REF_DO_SYNC, AFS_CLASS_SYNC,
			       AFS_OBJECT_DATA);
	in_sync = sync.blocked_ns + sync.cpu_ns + sync.runq_ns;
	printf(
	    "    fdatasync %.1f ms by the server itself; blocked %.1f, on a CPU %.1f, run queue %.1f\n",
	    (double)rig.d.truth->ns[REF_DO_SYNC] / 1e6, (double)sync.blocked_ns / 1e6,
	    (double)sync.cpu_ns / 1e6, (double)sync.runq_ns / 1e6);
	assert_int_equal(sync.calls, TURNS);
	if (syncs_last(REF_DO_SYNC)) {
		assert_in_range(in_sync, rig.d.truth->ns[REF_DO_SYNC] / 10 * 9,
				rig.d.truth->ns[REF_DO_SYNC] / 10 * 11);
		assert_true(out[ACCOUNT_DISK] >= sync.blocked_ns);
		assert_true(out[ACCOUNT_DISK] > 4 * out[ACCOUNT_OTHER]);
		assert_true(sync.blocked_ns >= in_sync / 4);
	}
	rig_stop();
}

/* Short requests: the clock is read several times in each of them. */
static void the_time_of_short_requests_is_explained(void **state)
{
	uint64_t out[ACCOUNT_N_COLUMNS];

	(void)state;
	for (int i = 0; i < 2; i++) {
		rig_start(i, false);
		rig_step(REF_DO_NOTHING, 20000);
		columns(REF_DO_NOTHING, 20000, out);
		rig_step(REF_DO_ASK, 5000);
		columns(REF_DO_ASK, 5000, out);
		rig_stop();
	}
}

/* Its own code, until it is told to make a call. */
static void spin(struct watched_shared *s)
{
	__atomic_store_n(&s->value[0], 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->value[1], __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&s->value[1], 0, __ATOMIC_RELEASE);
}

#define THREADS_LEN (AFS_N_THREADS * sizeof(struct afs_thread))

/* What the programs keep of a watched thread, in the map of whichever watch is its. */
static struct afs_thread *find_thread(pid_t tid, void **map)
{
	struct bpf_map_info info;
	struct afs_thread *t;
	__u32 id = 0, len;
	int fd;

	while (!bpf_map_get_next_id(id, &id)) {
		fd = bpf_map_get_fd_by_id(id);
		len = sizeof(info);
		memset(&info, 0, sizeof(info));
		*map = MAP_FAILED;
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    !strcmp(info.name, "thread") && info.value_size == sizeof(*t))
			*map = mmap(NULL, THREADS_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (fd >= 0)
			close(fd);
		if (*map == MAP_FAILED)
			continue;
		for (t = *map; t < (struct afs_thread *)*map + AFS_N_THREADS; t++)
			if (t->tid == tid)
				return t;
		munmap(*map, THREADS_LEN);
	}
	return NULL;
}

/* Takes back what the programs were told of the spinning thread: that it got a CPU. */
static void *unsay(void *arg)
{
	struct watched *x = arg;
	struct afs_thread *t;
	void *map;

	while (!__atomic_load_n(&x->shared->value[0], __ATOMIC_ACQUIRE))
		usleep(200);
	x->shared->value[0] = 0;
	t = find_thread(x->pid, &map);
	if (t) {
		__atomic_store_n(&t->off, AFS_OFF_RUNQ, __ATOMIC_RELEASE);
		munmap(map, THREADS_LEN);
	}
	usleep(1000);
	__atomic_store_n(&x->shared->value[1], 1, __ATOMIC_RELEASE);
	return t;
}

/* How often the kernel says that a process of one thread has got a CPU. */
static unsigned long long times_on_a_cpu(pid_t pid)
{
	unsigned long long n = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %*u %llu", &n), 1);
	fclose(f);
	return n;
}

/*
 * Some kernels skip a program now and then: the next call shows it, and the run says so. Besides
 * the switches that the test takes back the kernel may skip others of this thread.
 */
static void a_switch_that_was_not_told_is_seen_at_the_next_call(void **state)
{
	const struct sched_param first = { .sched_priority = 1 };
	unsigned long long missed = 0, on;
	struct afs_part own;
	pthread_t thread;
	struct watched x;
	const char *note;
	cpu_set_t all;
	void *found;
	struct run r;

	(void)state;
	assert_int_equal(sched_getaffinity(getpid(), sizeof(all), &all), 0);
	watched_start(&x, spin);
	watched_open(&x, (struct target) {});
	/* Were it preempted in between, the switch that follows would tell. */
	assert_int_equal(sched_setscheduler(x.pid, SCHED_FIFO, &first), 0);
	pin(x.pid, 0);
	pin(getpid(), 1);
	on = times_on_a_cpu(x.pid);
	for (int i = 0; i < 20; i++) {
		ledger_fini(&x.diff);
		assert_int_equal(pthread_create(&thread, NULL, unsay, &x), 0);
		watched_step(&x);
		pthread_join(thread, &found);
		assert_non_null(found);
		own = ledger_part_sum(&x.diff, AFS_ROLE_SERVER, LEDGER_ALL, AFS_CLASS_USER,
				      LEDGER_ALL);
		assert_true(own.cpu_ns + own.runq_ns >= REF_MS);
	}
	on = times_on_a_cpu(x.pid) - on;
	assert_int_equal(sched_setaffinity(getpid(), sizeof(all), &all), 0);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(x.w, &r), 0);
	note = run_note_find(&r.rungs, "times.missed");
	assert_non_null(note);
	assert_int_equal(sscanf(note, "%llu times a thread got a CPU", &missed), 1);
	assert_in_range(missed, 1, 20 + on);
	run_fini(&r);
	watched_end(&x);
}

/* An argument is the name of a test, or a pattern. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocked_time_is_in_the_column_of_what_blocked),
		cmocka_unit_test(waiting_for_room_to_send_is_network),
		cmocka_unit_test(waiting_for_the_rest_of_a_request_is_network),
		cmocka_unit_test(own_code_is_own_code),
		cmocka_unit_test(waiting_for_a_cpu_is_what_the_kernel_says),
		cmocka_unit_test(a_sync_that_lasts_is_disk),
		cmocka_unit_test(the_time_of_short_requests_is_explained),
		cmocka_unit_test(a_switch_that_was_not_told_is_seen_at_the_next_call),
	};

	ref_reserve();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
