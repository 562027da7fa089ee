/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known delays in a server, and they must be in the right column of the time table. Other
 * programs share the machine, so that only lower bounds and ratios are asserted.
 */
#include "watched.h"

#include "base/account.h"
#include "ref/delays.h"
#include "ref/work.h"
#include "watch/cputime.h"

#include <bpf/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define HEAD  16
#define TURNS 4

struct rig {
	struct ref_delays d;
	pid_t holder, cnid, rival;
	struct watched x;
};

static struct rig rig;

static void serve(struct watched_shared *s)
{
	(void)s;
	ref_delays_serve(&rig.d);
}

static pid_t start(void (*fn)(struct ref_delays *d))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fn(&rig.d);
	_exit(1);
}

static void rig_start(bool waits, bool reads_first)
{
	struct stat st;

	memset(&rig, 0, sizeof(rig));
	rig.d.waits = waits;
	rig.d.reads_first = reads_first;
	ref_delays_open(&rig.d);
	rig.holder = start(ref_delays_hold);
	rig.cnid = start(ref_delays_serve_cnid);
	close(rig.d.asked);
	rig.d.asked = -1;
	watched_start(&rig.x, serve);
	assert_int_equal(fstat(rig.d.server, &st), 0);
	while (!__atomic_load_n(&rig.d.truth->ready, __ATOMIC_ACQUIRE))
		usleep(1000);
	/* Into its first call. */
	usleep(20000);
	watched_open(&rig.x, (struct target) { .client = st.st_ino });
}

static void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void rig_stop(void)
{
	watched_end(&rig.x);
	end_process(rig.holder);
	end_process(rig.cnid);
	end_process(rig.rival);
	ref_delays_close(&rig.d);
}

/* One request and its reply, of which the client lets the first byte wait. */
static void request(int command, uint64_t wait_ns)
{
	static uint8_t buf[HEAD + REF_LARGE];
	static uint16_t id;
	size_t len = HEAD, at = 0;
	ssize_t r;

	memset(buf, 0, HEAD + 1);
	buf[1] = command ? 2 : 1;
	buf[2] = (uint8_t)(++id >> 8);
	buf[3] = (uint8_t)id;
	buf[11] = 1;
	buf[HEAD] = (uint8_t)command;
	assert_int_equal(send(rig.d.client, buf, HEAD + 1, 0), HEAD + 1);
	if (!command)
		return;
	if (wait_ns)
		usleep((useconds_t)(wait_ns / 1000));
	for (; at < len; at += (size_t)r) {
		r = recv(rig.d.client, buf + at, sizeof(buf) - at, 0);
		assert_true(r > 0);
		if (at + (size_t)r >= HEAD)
			len = HEAD + ((size_t)buf[9] << 16 | (size_t)buf[10] << 8 | buf[11]);
	}
}

static void *write_pipe_later(void *arg)
{
	(void)arg;
	usleep(REF_HOLD_NS / 1000);
	REF_MUST(write(rig.d.pipe[1], "x", 1) == 1);
	return NULL;
}

/* What has to happen around a command. */
static void delayed(int command)
{
	pthread_t thread;
	char byte = 0;

	switch (command) {
	case REF_DO_LOCK:
	case REF_DO_FLOCK:
	case REF_DO_ASK + REF_ASK_LOCK:
		assert_int_equal(write(rig.d.to_holder[1], &byte, 1), 1);
		assert_int_equal(read(rig.d.from_holder[0], &byte, 1), 1);
		request(command, 0);
		break;
	case REF_DO_PIPE:
	case REF_DO_ASK + REF_ASK_PIPE:
		assert_int_equal(pthread_create(&thread, NULL, write_pipe_later, NULL), 0);
		request(command, 0);
		pthread_join(thread, NULL);
		break;
	default:
		request(command, command == REF_DO_LARGE ? REF_HOLD_NS : 0);
	}
}

struct load {
	int command, turns;
};

static void *drive(void *arg)
{
	const struct load *l = arg;

	for (int i = 0; i < l->turns; i++)
		delayed(l->command);
	request(0, 0);
	return NULL;
}

/* So many requests of a command; rig.x.diff is what was counted. */
static void rig_step(int command, int turns)
{
	struct load l = { command, turns };
	pthread_t thread;

	ledger_fini(&rig.x.diff);
	memset(rig.d.truth->ns, 0, sizeof(rig.d.truth->ns));
	assert_int_equal(pthread_create(&thread, NULL, drive, &l), 0);
	watched_step(&rig.x);
	pthread_join(thread, NULL);
}

typedef unsigned long long ull;

/* The columns of an account, which must add up to its time, and all of it be explained. */
static const struct ledger_account *columns(int command, uint64_t n,
					    uint64_t out[ACCOUNT_N_COLUMNS])
{
	const struct ledger_account *a = ledger_account(&rig.x.diff, (unsigned int)command);
	uint64_t sum = 0, gap;

	assert_non_null(a);
	account_times(&rig.x.diff, AFS_ROLE_AFPD, (unsigned int)command, out);
	for (int i = 0; i < ACCOUNT_N_COLUMNS; i++)
		sum += out[i];
	assert_int_equal(a->sum.answered, n);
	gap = sum > a->sum.ns ? sum - a->sum.ns : a->sum.ns - sum;
	if (gap > a->sum.ns / 1000 || a->sum.unexplained_ns > a->sum.ns / 1000)
		fail_msg("command %d: columns are %llu ns, requests %llu ns, unexplained %llu ns",
			 command, (ull)sum, (ull)a->sum.ns, (ull)a->sum.unexplained_ns);
	if (a->sum.unexplained > n / 100)
		fail_msg("command %d: %llu of %llu requests have time that is in no part", command,
			 (ull)a->sum.unexplained, (ull)n);
	return a;
}

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

static void pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
}

/*
 * The kernel's own account of the server's waiting for a CPU is the judge; of the time on one it
 * takes away what interrupts and the host used.
 */
static void waiting_for_a_cpu_is_what_the_kernel_says(void **state)
{
	struct watch_times before, after;
	struct cputime times;
	uint64_t out[ACCOUNT_N_COLUMNS], runq, all = 0, cpu = 0, kernel;
	const struct ledger_part *p;

	(void)state;
	rig_start(false, false);
	rig.rival = start(keep_busy);
	pin(rig.rival, 0);
	pin(rig.x.pid, 0);
	assert_int_equal(cputime_open(&times, rig.x.pid), 0);
	before = cputime_read(&times);
	rig_step(REF_DO_BURN, TURNS);
	after = cputime_read(&times);
	cputime_close(&times);
	columns(REF_DO_BURN, TURNS, out);
	for (size_t i = 0; i < rig.x.diff.n_parts; i++) {
		p = &rig.x.diff.part[i];
		if (p->role != AFS_ROLE_AFPD)
			continue;
		all += p->part.runq_ns;
		cpu += p->part.cpu_ns;
	}
	runq = after.runq_ns - before.runq_ns;
	kernel = after.cpu_ns - before.cpu_ns;
	printf(
	    "    run queue %.2f ms, the kernel says %.2f; on a CPU %.2f ms, the kernel says %.2f\n",
	    (double)all / 1e6, (double)runq / 1e6, (double)cpu / 1e6, (double)kernel / 1e6);
	assert_true(out[ACCOUNT_RUNQ] >= 5 * REF_MS * TURNS);
	assert_in_range(all, runq / 10 * 9 - REF_MS, runq / 10 * 11 + REF_MS);
	assert_in_range(cpu, kernel / 10 * 8 - REF_MS, kernel / 10 * 12 + REF_MS);
	rig_stop();
}

/* A disk that blocks is the real one: where the sync does not last, nothing is asserted. */
static bool syncs_last(int command)
{
	if (rig.d.truth->ns[command] >= TURNS * REF_MS)
		return true;
	print_message("    fdatasync takes no time here\n");
	return false;
}

static void a_sync_that_lasts_is_disk(void **state)
{
	uint64_t out[ACCOUNT_N_COLUMNS], in_sync;
	struct afs_part sync;

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_SYNC, TURNS);
	columns(REF_DO_SYNC, TURNS, out);
	sync = ledger_part_sum(&rig.x.diff, AFS_ROLE_AFPD, REF_DO_SYNC, AFS_CLASS_SYNC,
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

/* What the CNID server did while it was waited for; the asker sees nothing but CNID. */
static void check_inside(int what, enum afs_inside inside, uint64_t least)
{
	int command = REF_DO_ASK + what;
	const struct ledger_account *a;
	uint64_t out[ACCOUNT_N_COLUMNS], sum = 0;

	rig_step(command, TURNS);
	a = columns(command, TURNS, out);
	printf("    asked %d: CNID %.2f ms, of which", what, (double)out[ACCOUNT_CNID] / 1e6);
	for (int i = 0; i < AFS_N_INSIDE; i++) {
		sum += a->sum.inside[i];
		if (a->sum.inside[i])
			printf(" [%s] %.2f", ledger_inside_name((unsigned int)i),
			       (double)a->sum.inside[i] / 1e6);
	}
	printf("\n");
	if (what == REF_ASK_SYNC && !syncs_last(command))
		return;
	assert_true(out[ACCOUNT_CNID] + out[ACCOUNT_RUNQ] >= rig.d.truth->ns[command] / 10 * 9);
	assert_in_range(sum, out[ACCOUNT_CNID] / 10 * 9, out[ACCOUNT_CNID] / 10 * 11 + 1);
	assert_true(a->sum.inside[inside] >= least * TURNS / 10 * 8);
	assert_true(a->sum.inside[AFS_INSIDE_UNKNOWN] <= sum / 20);
}

static void what_the_cnid_server_did_meanwhile_is_inside(void **state)
{
	struct afs_part lock;

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_ASK, 20);
	check_inside(REF_ASK_LOCK, AFS_INSIDE_LOCK, REF_HOLD_NS / 2);
	lock = ledger_part_sum(&rig.x.diff, AFS_ROLE_CNID, REF_DO_ASK + REF_ASK_LOCK,
			       AFS_CLASS_LOCK, LEDGER_ALL);
	assert_int_equal(lock.calls, 2 * TURNS);
	assert_true(lock.blocked_ns >= REF_HOLD_NS / 4 * TURNS);
	check_inside(REF_ASK_BURN, AFS_INSIDE_CPU, 20 * REF_MS);
	check_inside(REF_ASK_PIPE, AFS_INSIDE_IO, REF_HOLD_NS / 2);
	check_inside(REF_ASK_SYNC, AFS_INSIDE_SYNC, 0);
	rig_stop();
}

static void check_part(enum afs_role role, unsigned int account, enum afs_class class,
		       enum afs_object object, uint64_t calls)
{
	struct afs_part part = ledger_part_sum(&rig.x.diff, role, account, class, object);

	if (part.calls != calls)
		fail_msg("%s, account %u, %s on %s: %llu calls, not %llu", ledger_role_name(role),
			 account, ledger_class_name(class), ledger_object_name(object),
			 (ull)part.calls, (ull)calls);
}

/* From the read of the request to the next wait. */
static void the_cnid_server_works_for_the_one_who_asks(void **state)
{
	const int n = 1000;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rig_start(false, i);
		/* Found reading: whose request it will be is not known yet. */
		rig_step(REF_DO_ASK, 1);
		rig_step(REF_DO_ASK, n);
		check_part(AFS_ROLE_AFPD, REF_DO_ASK, AFS_CLASS_WRITE, AFS_OBJECT_CNID, n);
		check_part(AFS_ROLE_AFPD, REF_DO_ASK, AFS_CLASS_READ, AFS_OBJECT_CNID, n);
		check_part(AFS_ROLE_CNID, REF_DO_ASK, AFS_CLASS_READ, AFS_OBJECT_CNID, n);
		check_part(AFS_ROLE_CNID, REF_DO_ASK, AFS_CLASS_WRITE, AFS_OBJECT_CNID, n);
		check_part(AFS_ROLE_CNID, LEDGER_ALL, AFS_CLASS_READ, LEDGER_ALL, n);
		check_part(AFS_ROLE_CNID, REF_DO_ASK, AFS_CLASS_WAIT, LEDGER_ALL, 0);
		check_part(AFS_ROLE_CNID, AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, LEDGER_ALL, n);
		rig_stop();
	}
}

static void what_the_cnid_server_does_after_its_answer_is_the_askers_still(void **state)
{
	struct afs_part own, between;
	cpu_set_t all;

	(void)state;
	assert_int_equal(sched_getaffinity(getpid(), sizeof(all), &all), 0);
	rig_start(false, false);
	/* Left alone, it is not interrupted until it waits. */
	pin(rig.cnid, 0);
	pin(getpid(), 1);
	rig_step(REF_DO_ASK + REF_ASK_MORE, TURNS);
	assert_int_equal(sched_setaffinity(getpid(), sizeof(all), &all), 0);
	own = ledger_part_sum(&rig.x.diff, AFS_ROLE_CNID, REF_DO_ASK + REF_ASK_MORE, AFS_CLASS_USER,
			      LEDGER_ALL);
	between = ledger_part_sum(&rig.x.diff, AFS_ROLE_CNID, AFS_ACCOUNT_BETWEEN, AFS_CLASS_USER,
				  LEDGER_ALL);
	printf("    %.1f ms on a CPU, %.1f in the run queue\n", (double)own.cpu_ns / 1e6,
	       (double)own.runq_ns / 1e6);
	assert_true(own.cpu_ns + own.runq_ns >= 19 * REF_MS * TURNS);
	assert_true(between.cpu_ns <= own.cpu_ns / 20);
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

/* Some kernels skip a program now and then: the next call shows it, and the run says so. */
static void a_switch_that_was_not_told_is_seen_at_the_next_call(void **state)
{
	unsigned long long missed = 0;
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
	/* Where it is preempted in between, the switch that follows tells. */
	pin(x.pid, 0);
	pin(getpid(), 1);
	for (int i = 0; i < 20; i++) {
		ledger_fini(&x.diff);
		assert_int_equal(pthread_create(&thread, NULL, unsay, &x), 0);
		watched_step(&x);
		pthread_join(thread, &found);
		assert_non_null(found);
		own = ledger_part_sum(&x.diff, AFS_ROLE_AFPD, LEDGER_ALL, AFS_CLASS_USER,
				      LEDGER_ALL);
		assert_true(own.cpu_ns + own.runq_ns >= REF_MS);
	}
	assert_int_equal(sched_setaffinity(getpid(), sizeof(all), &all), 0);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(x.w, &r), 0);
	note = run_note_find(&r.rungs, "times.missed");
	assert_non_null(note);
	assert_int_equal(sscanf(note, "%llu times a thread got a CPU", &missed), 1);
	assert_in_range(missed, 1, 20);
	run_fini(&r);
	watched_end(&x);
}

static int remove_files(void **state)
{
	(void)state;
	return system("rm -rf " REF_DIR);
}

/* An argument is the name of a test, or a pattern. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocked_time_is_in_the_column_of_what_blocked),
		cmocka_unit_test(waiting_for_room_to_send_is_network),
		cmocka_unit_test(own_code_is_own_code),
		cmocka_unit_test(waiting_for_a_cpu_is_what_the_kernel_says),
		cmocka_unit_test(a_sync_that_lasts_is_disk),
		cmocka_unit_test(what_the_cnid_server_did_meanwhile_is_inside),
		cmocka_unit_test(the_cnid_server_works_for_the_one_who_asks),
		cmocka_unit_test(what_the_cnid_server_does_after_its_answer_is_the_askers_still),
		cmocka_unit_test(the_time_of_short_requests_is_explained),
		cmocka_unit_test(a_switch_that_was_not_told_is_seen_at_the_next_call),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
