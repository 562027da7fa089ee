/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CNID servers: for whom they work, and what they did while a session waited for them. Tests
 * bpf/link.h.
 */
#include "delays_rig.h"

static const char *const inside_names[AFS_N_INSIDE] = {
#define X(name, text) text,
	AFS_INSIDE(X)
#undef X
};

/* What the CNID server did while it was waited for; the asker sees nothing but CNID. */
static void check_waited(int command, enum afs_inside inside, uint64_t least)
{
	const struct ledger_account *a;
	uint64_t out[ACCOUNT_N_COLUMNS], sum = 0;

	a = columns(command, TURNS, out);
	printf("    command %d: CNID %.2f ms, of which", command, (double)out[ACCOUNT_CNID] / 1e6);
	for (int i = 0; i < AFS_N_INSIDE; i++) {
		sum += a->sum.inside[i];
		if (a->sum.inside[i])
			printf(" [%s] %.2f", inside_names[i], (double)a->sum.inside[i] / 1e6);
	}
	printf("\n");
	if (inside == AFS_INSIDE_SYNC && !syncs_last(command))
		return;
	assert_true(out[ACCOUNT_CNID] + out[ACCOUNT_RUNQ] >= rig.d.truth->ns[command] / 10 * 9);
	assert_in_range(sum, out[ACCOUNT_CNID] / 10 * 9, out[ACCOUNT_CNID] / 10 * 11 + 1);
	assert_true(a->sum.inside[inside] >= least * TURNS / 10 * 8);
	assert_true(a->sum.inside[AFS_INSIDE_UNKNOWN] <= sum / 20);
}

static void check_inside(int what, enum afs_inside inside, uint64_t least)
{
	rig_step(REF_DO_ASK + what, TURNS);
	check_waited(REF_DO_ASK + what, inside, least);
}

static void what_the_cnid_server_did_meanwhile_is_inside(void **state)
{
	struct afs_part lock;

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_ASK, 20);
	check_inside(REF_ASK_LOCK, AFS_INSIDE_LOCK, REF_HOLD_NS / 2);
	lock = ledger_part_sum(&rig.x.diff, AFS_ROLE_BACKEND, REF_DO_ASK + REF_ASK_LOCK,
			       AFS_CLASS_LOCK, LEDGER_ALL);
	assert_int_equal(lock.calls, 2 * TURNS);
	assert_true(lock.blocked_ns >= REF_HOLD_NS / 4 * TURNS);
	check_inside(REF_ASK_BURN, AFS_INSIDE_CPU, 20 * REF_MS);
	check_inside(REF_ASK_PIPE, AFS_INSIDE_IO, REF_HOLD_NS / 2);
	check_inside(REF_ASK_SYNC, AFS_INSIDE_SYNC, 0);
	rig_stop();
}

/*
 * One session, two volumes. The first server still works at what it was asked last when the next
 * request comes: who asks sleeps before it is read. The second one has done more until then.
 */
static void each_cnid_server_is_looked_at_by_those_who_wait_for_it(void **state)
{
	const int command = REF_DO_ASK + REF_ASK_MORE;
	uint64_t out[ACCOUNT_N_COLUMNS], works, sum = 0;
	const struct ledger_account *a;

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_ASK2 + REF_ASK_BURN, 2 * TURNS);
	rig_step_two(command, REF_DO_ASK2, TURNS + 1);
	a = columns(command, TURNS + 1, out);
	works = a->sum.inside[AFS_INSIDE_CPU] + a->sum.inside[AFS_INSIDE_RUNQ];
	for (int i = 0; i < AFS_N_INSIDE; i++)
		sum += a->sum.inside[i];
	printf("    CNID %.2f ms, parts of it %.2f, the server at work %.2f\n",
	       (double)out[ACCOUNT_CNID] / 1e6, (double)sum / 1e6, (double)works / 1e6);
	assert_true(out[ACCOUNT_CNID] >= 15 * REF_MS * TURNS);
	assert_int_equal(sum, out[ACCOUNT_CNID]);
	assert_true(works >= sum / 20 * 19);
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
	for (int i = 0; i < 3; i++) {
		memset(&rig, 0, sizeof(rig));
		rig.d.reads_first = i == 1;
		/* Beyond the descriptors that the process's own table remembers. */
		rig.d.high = i == 2 ? AFS_N_FDS + 30 : 0;
		rig_start_set();
		/* Found reading: whose request it will be is not known yet. */
		rig_step(REF_DO_ASK, 1);
		rig_step(REF_DO_ASK, n);
		check_part(AFS_ROLE_SERVER, REF_DO_ASK, AFS_CLASS_WRITE, AFS_OBJECT_BACKEND, n);
		check_part(AFS_ROLE_SERVER, REF_DO_ASK, AFS_CLASS_READ, AFS_OBJECT_BACKEND, n);
		check_part(AFS_ROLE_BACKEND, REF_DO_ASK, AFS_CLASS_READ, AFS_OBJECT_BACKEND, n);
		check_part(AFS_ROLE_BACKEND, REF_DO_ASK, AFS_CLASS_WRITE, AFS_OBJECT_BACKEND, n);
		check_part(AFS_ROLE_BACKEND, LEDGER_ALL, AFS_CLASS_READ, LEDGER_ALL, n);
		check_part(AFS_ROLE_BACKEND, REF_DO_ASK, AFS_CLASS_WAIT, LEDGER_ALL, 0);
		check_part(AFS_ROLE_BACKEND, AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, LEDGER_ALL, n);
		rig_stop();
	}
}

/* A server with threads takes locks of its own and works on. */
static void a_cnid_servers_lock_is_no_end_of_its_work(void **state)
{
	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_ASK, 1);
	check_inside(REF_ASK_FUTEX, AFS_INSIDE_LOCK, 20 * REF_MS);
	check_part(AFS_ROLE_BACKEND, REF_DO_ASK + REF_ASK_FUTEX, AFS_CLASS_WAIT, LEDGER_ALL, TURNS);
	check_part(AFS_ROLE_BACKEND, REF_DO_ASK + REF_ASK_FUTEX, AFS_CLASS_WRITE, LEDGER_ALL,
		   TURNS);
	rig_stop();
}

static void what_the_cnid_server_does_after_its_answer_is_the_askers_still(void **state)
{
	struct afs_part own, between;
	cpu_set_t all;

	(void)state;
	assert_int_equal(sched_getaffinity(getpid(), sizeof(all), &all), 0);
	rig_start(false, false);
	/* Left alone, it is not interrupted until it waits. */
	pin(rig.cnid[0], 0);
	pin(getpid(), 1);
	rig_step(REF_DO_ASK + REF_ASK_MORE, TURNS);
	assert_int_equal(sched_setaffinity(getpid(), sizeof(all), &all), 0);
	own = ledger_part_sum(&rig.x.diff, AFS_ROLE_BACKEND, REF_DO_ASK + REF_ASK_MORE,
			      AFS_CLASS_USER, LEDGER_ALL);
	between = ledger_part_sum(&rig.x.diff, AFS_ROLE_BACKEND, AFS_ACCOUNT_BETWEEN,
				  AFS_CLASS_USER, LEDGER_ALL);
	printf("    %.1f ms on a CPU, %.1f in the run queue\n", (double)own.cpu_ns / 1e6,
	       (double)own.runq_ns / 1e6);
	assert_true(own.cpu_ns + own.runq_ns >= 19 * REF_MS * TURNS);
	assert_true(between.cpu_ns <= own.cpu_ns / 20);
	rig_stop();
}

/* An argument is the name of a test, or a pattern. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_cnid_server_did_meanwhile_is_inside),
		cmocka_unit_test(each_cnid_server_is_looked_at_by_those_who_wait_for_it),
		cmocka_unit_test(the_cnid_server_works_for_the_one_who_asks),
		cmocka_unit_test(a_cnid_servers_lock_is_no_end_of_its_work),
		cmocka_unit_test(what_the_cnid_server_does_after_its_answer_is_the_askers_still),
	};

	ref_reserve();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
