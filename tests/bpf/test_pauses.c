/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For whom a session pauses between two attempts: the call itself does not say.
 * Tests user/watch/bpf/running.c.
 */
#include "delays_rig.h"

#define PAUSE_NS (20 * REF_MS)

static uint64_t waited_ns(unsigned int account, enum afs_object object)
{
	return ledger_part_sum(&rig.x.diff, AFS_ROLE_SERVER, account, AFS_CLASS_WAIT, object)
	    .blocked_ns;
}

/* All of the pauses are for this object, and none for another. */
static void pauses_are_for(int command, enum afs_object object)
{
	uint64_t all_ns;

	rig_step(command, TURNS);
	all_ns = waited_ns((unsigned int)command, LEDGER_ALL);
	printf("    command %2d: waits of %.1f ms, %.1f of them for %s\n", command,
	       (double)all_ns / 1e6, (double)waited_ns((unsigned int)command, object) / 1e6,
	       ledger_object_name(object));
	assert_true(all_ns >= PAUSE_NS / 10 * 9 * TURNS);
	assert_int_equal(waited_ns((unsigned int)command, object), all_ns);
}

static void a_pause_after_a_wait_in_vain_is_for_the_cnid_server(void **state)
{
	uint64_t out[ACCOUNT_N_COLUMNS];

	(void)state;
	rig_start(false, false);
	pauses_are_for(REF_DO_LATE, AFS_OBJECT_BACKEND);
	columns(REF_DO_LATE, TURNS, out);
	assert_true(out[ACCOUNT_CNID] >= PAUSE_NS / 10 * 9 * TURNS);
	/* Not in the next request, which does not ask it, nor where it answered. */
	rig_step_two(REF_DO_LATE, REF_DO_SLEEP, TURNS);
	assert_true(waited_ns(REF_DO_SLEEP, AFS_OBJECT_NONE) >= PAUSE_NS / 10 * 9 * TURNS);
	assert_int_equal(waited_ns(REF_DO_SLEEP, AFS_OBJECT_BACKEND), 0);
	pauses_are_for(REF_DO_PAUSE, AFS_OBJECT_NONE);
	rig_stop();
}

/* Its end is closed with what it has not read, or without. */
static void a_cnid_server_has_gone(bool unread)
{
	rig_start(false, false);
	pauses_are_for(REF_DO_PAUSE, AFS_OBJECT_NONE);
	if (unread) {
		kill(rig.cnid[1], SIGSTOP);
		usleep(10000);
		assert_int_equal(write(rig.d.asks[1], "x", 1), 1);
	}
	end_process(rig.holder); /* it has what all have */
	end_process(rig.cnid[1]);
	rig.holder = rig.cnid[1] = 0;
	pauses_are_for(REF_DO_GONE, AFS_OBJECT_BACKEND);
	rig_stop();
}

static void a_pause_after_the_end_of_the_connection_is_for_it(void **state)
{
	(void)state;
	a_cnid_server_has_gone(false);
}

static void a_pause_after_a_reset_is_for_it(void **state)
{
	(void)state;
	a_cnid_server_has_gone(true);
}

static void *drive_late(void *arg)
{
	(void)arg;
	for (int i = 0; i < TURNS; i++)
		request(REF_DO_LATE, 0);
	request(0, 0);
	return NULL;
}

/* What top and doctor ask of a session that pauses now. */
static void who_pauses_for_it_is_known_while_it_pauses(void **state)
{
	uint32_t step;
	pthread_t thread;
	int n = 0;

	(void)state;
	rig_start(false, false);
	rig_step(REF_DO_LATE, 1);
	step = rig.x.shared->step;
	assert_int_equal(pthread_create(&thread, NULL, drive_late, NULL), 0);
	__atomic_store_n(&rig.x.shared->step, step + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &rig.x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&rig.x.shared->done, __ATOMIC_ACQUIRE) != step + 1) {
		n += watch_sleeps_on(rig.x.w, rig.x.pid) == AFS_OBJECT_BACKEND;
		usleep(1000);
	}
	pthread_join(thread, NULL);
	printf("    %d looks saw it\n", n);
	assert_true(n > TURNS);
	assert_true(watch_settle(rig.x.w));
	assert_true(watch_sleeps_on(rig.x.w, rig.x.pid) != AFS_OBJECT_BACKEND);
	assert_int_equal(watch_sleeps_on(rig.x.w, 1), AFS_N_OBJECTS);
	rig_stop();
}

/* A name service, say; but what is written to it between two requests is waited for by nobody. */
static void a_wait_after_a_call_on_another_socket_is_for_that(void **state)
{
	(void)state;
	rig_start(true, false);
	pauses_are_for(REF_DO_TELL, AFS_OBJECT_SOCKET);
	assert_true(waited_ns(AFS_ACCOUNT_BETWEEN, LEDGER_ALL) > 0);
	assert_int_equal(waited_ns(AFS_ACCOUNT_BETWEEN, AFS_OBJECT_SOCKET), 0);
	/* The next request has no such call. */
	rig_step_two(REF_DO_TELL, REF_DO_SLEEP, TURNS);
	assert_int_equal(waited_ns(REF_DO_SLEEP, AFS_OBJECT_SOCKET), 0);
	rig_stop();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_after_a_wait_in_vain_is_for_the_cnid_server),
		cmocka_unit_test(a_pause_after_the_end_of_the_connection_is_for_it),
		cmocka_unit_test(a_pause_after_a_reset_is_for_it),
		cmocka_unit_test(who_pauses_for_it_is_known_while_it_pauses),
		cmocka_unit_test(a_wait_after_a_call_on_another_socket_is_for_that),
	};

	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, remove_files, remove_files);
}
