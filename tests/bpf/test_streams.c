/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers with several connections in one process: each has its own stream of requests, in
 * whatever thread they are read and answered, in order or not. Tests bpf/stream.h.
 */
#include "clients.h"

#include "base/clock.h"

#include <pthread.h>

enum { INSIDE, AROUND }; /* what the child measured around its requests: ns */

/* TURNS requests of every connection, with n calls each. */
static void check_whole(const struct watched *x, uint64_t n)
{
	const struct afs_account *a;

	for (int i = 0; i < CONNS; i++) {
		a = account_of(&x->diff, i);
		assert_int_equal(a->begun, TURNS);
		assert_int_equal(a->answered, TURNS);
		assert_int_equal(a->errors, TURNS / 2);
		assert_int_equal(a->handed, 0);
		assert_int_equal(a->bytes_in, TURNS * (HEAD + 1));
		assert_int_equal(a->bytes_out, TURNS * (HEAD + 1));
		assert_int_equal(a->unexplained, 0);
		assert_int_equal(ledger_part_sum(&x->diff, AFS_ROLE_SERVER,
						 (unsigned int)(FIRST + i), LEDGER_ALL, LEDGER_ALL)
				     .calls,
				 TURNS * (n + (uint64_t)i));
	}
}

/* As many calls more as the connection's number. */
static void serve(int i, uint16_t id)
{
	take(i);
	for (int k = 0; k < i; k++)
		getppid();
	answer(i, id);
}

static void *serve_one(void *arg)
{
	int i = *(int *)arg;

	for (uint16_t id = 0; id < TURNS; id++) {
		ask(i, id);
		serve(i, id);
		hear(i);
	}
	return NULL;
}

static void a_thread_each(struct watched_shared *s)
{
	pthread_t thread[CONNS];
	int number[CONNS];

	(void)s;
	for (int i = 0; i < CONNS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, serve_one, &number[i]);
	}
	for (int i = 0; i < CONNS; i++)
		pthread_join(thread[i], NULL);
}

static void one_thread(struct watched_shared *s)
{
	(void)s;
	for (int k = 0; k < TURNS * CONNS; k++) {
		ask(k % CONNS, (uint16_t)(k / CONNS));
		serve(k % CONNS, (uint16_t)(k / CONNS));
		hear(k % CONNS);
	}
}

static void start(struct watched *x, void (*fn)(struct watched_shared *s))
{
	listen_here();
	connect_all();
	watched_start(x, fn);
	watched_open(x, whole_server());
}

static void stop(struct watched *x, struct run *r)
{
	watched_finish(x, r);
	close(listener);
	for (int i = 0; i < CONNS; i++) {
		close(client[i]);
		close(server[i]);
	}
}

/* Each connection is a session, of a process whose calls belong to all of them. */
static void check_sessions(const struct run *r, uint64_t requests)
{
	assert_int_equal(r->n_sessions, CONNS);
	for (size_t i = 0; i < r->n_sessions; i++) {
		assert_true(r->session[i].shared);
		assert_int_equal(r->session[i].requests, requests);
		assert_non_null(r->session[i].address);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(r->session[i].address, r->session[k].address);
	}
}

static void serve_and_check(void (*fn)(struct watched_shared *s))
{
	struct watched x;
	struct run r;

	start(&x, fn);
	watched_step(&x);
	check_whole(&x, 2);
	ledger_fini(&x.diff);
	watched_step(&x);
	check_whole(&x, 2);
	stop(&x, &r);
	check_sessions(&r, 2 * TURNS);
	check_habits(&r, 2 * TURNS);
	run_fini(&r);
}

static void connections_with_a_thread_each_are_exact(void **state)
{
	(void)state;
	serve_and_check(a_thread_each);
}

static void connections_of_one_thread_are_exact(void **state)
{
	(void)state;
	serve_and_check(one_thread);
}

/* Two clients' requests are read before the first is answered. */
static void serve_two(struct watched_shared *s)
{
	uint64_t around, inside;

	for (uint16_t id = 0; id < TURNS; id++) {
		ask(0, id);
		ask(1, id);
		around = clock_now_ns();
		take(0);
		inside = clock_now_ns();
		take(1);
		usleep(100);
		s->value[INSIDE] += clock_now_ns() - inside;
		answer(0, id);
		s->value[AROUND] += clock_now_ns() - around;
		answer(1, id);
		hear(0);
		hear(1);
	}
}

/* As the server itself has measured the time of connection 0's requests. */
static void check_time(const struct watched *x)
{
	uint64_t ns = account_of(&x->diff, 0)->ns;

	if (ns < x->shared->value[INSIDE] || ns > x->shared->value[AROUND])
		fail_msg("%llu ns, the server measured %llu to %llu", (unsigned long long)ns,
			 (unsigned long long)x->shared->value[INSIDE],
			 (unsigned long long)x->shared->value[AROUND]);
}

static void check_handed(const struct watched *x, int i, uint64_t n)
{
	const struct afs_account *a = account_of(&x->diff, i);

	assert_int_equal(a->begun, n);
	assert_int_equal(a->answered, n);
	assert_int_equal(a->handed, n);
	assert_int_equal(a->errors, n / 2);
	assert_int_equal(a->unexplained, 0);
}

static void requests_of_two_clients_in_one_thread_keep_their_time(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	start(&x, serve_two);
	watched_step(&x);
	check_handed(&x, 0, TURNS);
	check_handed(&x, 1, TURNS);
	check_time(&x);
	stop(&x, &r);
	run_fini(&r);
}

/* Requests that another thread is to answer. */
static struct {
	uint32_t turn; /* odd: the worker's */
	int i, n;
	uint16_t id[2 * TURNS];
} work;

static void pass(uint32_t turn)
{
	__atomic_store_n(&work.turn, turn, __ATOMIC_RELEASE);
	syscall(SYS_futex, &work.turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(uint32_t odd)
{
	uint32_t turn;

	while ((turn = __atomic_load_n(&work.turn, __ATOMIC_ACQUIRE)) % 2 != odd)
		syscall(SYS_futex, &work.turn, FUTEX_WAIT, turn, NULL, NULL, 0);
}

static void *work_on(void *arg)
{
	for (;;) {
		await(1);
		usleep(100);
		*(uint64_t *)arg += clock_now_ns();
		for (int k = work.n; k-- > 0;)
			answer(work.i, work.id[k]);
		pass(work.turn + 1);
	}
	return NULL;
}

static void start_worker(struct watched_shared *s)
{
	static pthread_t worker;

	if (!worker)
		pthread_create(&worker, NULL, work_on, &s->value[INSIDE]);
}

static void hand_over(struct watched_shared *s)
{
	start_worker(s);
	for (uint16_t id = 0; id < TURNS; id++) {
		ask(0, id);
		s->value[AROUND] -= clock_now_ns();
		take(0);
		s->value[INSIDE] -= clock_now_ns();
		work.n = 1;
		work.id[0] = id;
		pass(work.turn + 1);
		await(0);
		s->value[AROUND] += clock_now_ns();
		hear(0);
	}
}

static void requests_that_another_thread_answers_keep_their_time(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	start(&x, hand_over);
	watched_step(&x);
	check_handed(&x, 0, TURNS);
	check_time(&x);
	stop(&x, &r);
	run_fini(&r);
}

/* Overlapping requests, the last one answered first. */
static void answer_backwards(struct watched_shared *s)
{
	uint16_t id = 0;

	start_worker(s);
	for (int turn = 0; turn < TURNS / 10; turn++) {
		for (int k = 0; k < 10; k++) {
			work.id[k] = id;
			ask(turn % CONNS, id++);
			take(turn % CONNS);
		}
		work.i = turn % CONNS;
		work.n = 10;
		pass(work.turn + 1);
		await(0);
		for (int k = 0; k < 10; k++)
			hear(turn % CONNS);
	}
	/* One that is never answered, and an answer to none; then it is closed. */
	ask(0, 5000);
	take(0);
	answer(0, 6000);
	hear(0);
	close(client[0]);
	close(server[0]);
}

static void connect_and_answer_backwards(struct watched_shared *s)
{
	connect_all();
	answer_backwards(s);
}

static void requests_answered_in_any_order_are_matched_by_id(void **state)
{
	const char *unmatched = "requests without an answer or answers without a request";
	struct bpf_load_wish wish = {};
	uint64_t answered = 0, begun = 0;
	const struct afs_account *a;
	struct rung_rig g;
	struct run r;

	(void)state;
	wish.any_order = true;
	open_server(&g, &wish, connect_and_answer_backwards);
	rig_step(&g);
	rig_read(&g, &r);
	for (int i = 0; i < CONNS; i++) {
		a = account_of(&g.diff, i);
		assert_int_equal(a->handed, a->answered);
		assert_int_equal(a->errors, a->answered / 2);
		answered += a->answered;
		begun += a->begun;
	}
	assert_int_equal(answered, TURNS);
	assert_int_equal(begun, TURNS + 1);
	assert_int_equal(loss_of(&r, unmatched), 1);
	rig_close(&g, &r);
	close(listener);
}

/*
 * As afpd does that has as many sessions as it may: it reads the header of DSIOpenSession, answers
 * and closes. One session is opened, and asks.
 */
static void refuse_all_but_one(struct watched_shared *s)
{
	uint8_t frame[HEAD + 1] = { 0, 4 };

	(void)s;
	for (int i = 0; i < CONNS; i++) {
		connect_one(i);
		frame[0] = 0;
		frame[11] = 1;
		memset(frame + 4, 0, 4);
		if (send(client[i], frame, sizeof(frame), 0) != sizeof(frame) ||
		    recv(server[i], frame, i ? HEAD : HEAD + 1, 0) < HEAD)
			_exit(1);
		frame[0] = 1;
		frame[11] = 0;
		memset(frame + 4, i ? 0xfb : 0, 4); /* a result below 0 */
		if (send(server[i], frame, HEAD, 0) != HEAD)
			_exit(1);
		if (i) {
			close(server[i]);
			close(client[i]);
		}
	}
	if (recv(client[0], frame, HEAD, MSG_WAITALL) != HEAD)
		_exit(1);
	ask(0, 1);
	serve(0, 1);
	hear(0);
}

static void refused_sessions_are_a_number_of_their_own_and_no_loss(void **state)
{
	struct bpf_load_wish wish = {};
	struct rung_rig g;
	struct run r;

	(void)state;
	for (unsigned int any_order = 0; any_order < 2; any_order++) {
		wish.any_order = any_order;
		open_server(&g, &wish, refuse_all_but_one);
		rig_step(&g);
		rig_read(&g, &r);
		assert_int_equal(run_losses(&r), 0);
		assert_int_equal(r.n_sessions, 1);
		assert_int_equal(account_of(&g.diff, 0)->answered, 1);
		assert_non_null(
		    strstr(run_note_find(&r.warnings, "refused"), "the server refused 7 sessions"));
		rig_close(&g, &r);
		close(listener);
	}
}

#define SLOTS  4
#define ROUNDS 20

/* Three new connections, closed after a request each. */
static void come_and_go(struct watched_shared *s)
{
	(void)s;
	for (int i = 0; i < SLOTS - 1; i++) {
		connect_one(i);
		ask(i, 1);
		serve(i, 1);
		hear(i);
		close(client[i]);
		close(server[i]);
	}
}

static void slots_of_closed_connections_are_used_again(void **state)
{
	struct bpf_load_wish wish = {};
	uint64_t requests = 0;
	struct rung_rig g;
	struct run r;

	(void)state;
	wish.n_streams = SLOTS;
	open_server(&g, &wish, come_and_go);
	for (int i = 0; i < ROUNDS; i++) {
		rig_step(&g);
		rig_tick(&g);
	}
	rig_read(&g, &r);
	assert_int_equal(run_losses(&r), 0);
	assert_int_equal(r.n_sessions, ROUNDS * (SLOTS - 1));
	for (size_t i = 0; i < r.n_sessions; i++) {
		assert_int_equal(r.session[i].requests, 1);
		assert_true(r.session[i].begun_ns && r.session[i].ended_ns);
	}
	for (int i = 0; i < SLOTS - 1; i++)
		requests += account_of(&g.diff, i)->answered;
	assert_int_equal(requests, ROUNDS * (SLOTS - 1));
	rig_close(&g, &r);
	close(listener);
}

/* One connection, and work after it was closed, as a server that forks for each does. */
static void close_and_go_on(struct watched_shared *s)
{
	if (s->value[0]++) {
		for (int i = 0; i < TURNS; i++)
			getppid();
		return;
	}
	connect_one(0);
	ask(0, 1);
	serve(0, 1);
	hear(0);
	close(client[0]);
	close(server[0]);
}

static void a_session_has_all_calls_of_its_own_process(void **state)
{
	struct bpf_load_wish wish = {};
	uint64_t calls;
	struct rung_rig g;
	struct run r;

	(void)state;
	open_server(&g, &wish, close_and_go_on);
	rig_step(&g);
	rig_tick(&g);
	rig_step(&g);
	rig_read(&g, &r);
	calls = ledger_sum(&g.diff, AFS_ROLE_SERVER, AFS_N_CLASSES, AFS_N_OBJECTS).calls;
	assert_int_equal(r.n_sessions, 1);
	assert_false(r.session[0].shared);
	assert_in_range(r.session[0].calls, calls - 1, calls + 1); /* its wait at the ends */
	assert_true(r.session[0].ended_ns);
	rig_close(&g, &r);
	close(listener);
}

/* The process that accepts greets, and forks another one that serves. */
static void greet_and_fork(struct watched_shared *s)
{
	const uint8_t tickle[HEAD] = { 0, 5 };
	uint8_t got[HEAD];
	pid_t pid;

	(void)s;
	connect_one(0);
	if (send(server[0], tickle, HEAD, 0) != HEAD || recv(client[0], got, HEAD, 0) != HEAD)
		_exit(1);
	pid = fork();
	if (!pid) {
		ask(0, 1);
		serve(0, 1);
		hear(0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	close(client[0]);
	close(server[0]);
}

static void a_connection_that_another_process_greeted_is_one_session(void **state)
{
	struct bpf_load_wish wish = {};
	struct rung_rig g;
	struct run r;

	(void)state;
	open_server(&g, &wish, greet_and_fork);
	rig_step(&g);
	rig_read(&g, &r);
	assert_int_equal(run_losses(&r), 0);
	assert_int_equal(r.n_sessions, 1);
	assert_int_equal(r.session[0].requests, 1);
	assert_int_not_equal(r.session[0].pid, g.x.pid);
	rig_close(&g, &r);
	close(listener);
}

static void connect_and_serve(struct watched_shared *s)
{
	connect_all();
	one_thread(s);
}

static void connections_without_a_slot_are_a_loss(void **state)
{
	struct bpf_load_wish wish = {};
	struct rung_rig g;
	struct run r;

	(void)state;
	wish.n_streams = SLOTS;
	open_server(&g, &wish, connect_and_serve);
	rig_step(&g);
	rig_read(&g, &r);
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(account_of(&g.diff, i)->answered, TURNS);
	assert_null(ledger_account(&g.diff, FIRST + SLOTS));
	/* A read and a write of each request. */
	assert_int_equal(loss_of(&r, "calls on connections that found no slot"),
			 2 * TURNS * (CONNS - SLOTS));
	rig_close(&g, &r);
	close(listener);
}

/* The server has read half of a request when the watch begins. */
static void read_half_first(struct watched_shared *s)
{
	uint8_t half[HEAD / 2];

	if (!s->value[0]++) {
		ask(0, 1);
		if (recv(server[0], half, sizeof(half), MSG_WAITALL) != sizeof(half))
			_exit(1);
		return;
	}
	if (recv(server[0], half, sizeof(half), MSG_WAITALL) != sizeof(half) ||
	    recv(server[0], half, 1, 0) != 1)
		_exit(1);
	answer(0, 1);
	hear(0);
	one_thread(s);
}

static void a_connection_read_in_part_before_the_watch_is_found_again(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	listen_here();
	connect_all();
	watched_start(&x, read_half_first);
	watched_go(&x);
	watched_open(&x, whole_server());
	watched_step(&x);
	check_whole(&x, 2);
	stop(&x, &r);
	check_sessions(&r, TURNS);
	assert_non_null(run_note_find(&r.rungs, "requests.before"));
	run_fini(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_with_a_thread_each_are_exact),
		cmocka_unit_test(connections_of_one_thread_are_exact),
		cmocka_unit_test(requests_of_two_clients_in_one_thread_keep_their_time),
		cmocka_unit_test(requests_that_another_thread_answers_keep_their_time),
		cmocka_unit_test(requests_answered_in_any_order_are_matched_by_id),
		cmocka_unit_test(refused_sessions_are_a_number_of_their_own_and_no_loss),
		cmocka_unit_test(slots_of_closed_connections_are_used_again),
		cmocka_unit_test(a_session_has_all_calls_of_its_own_process),
		cmocka_unit_test(a_connection_that_another_process_greeted_is_one_session),
		cmocka_unit_test(connections_without_a_slot_are_a_loss),
		cmocka_unit_test(a_connection_read_in_part_before_the_watch_is_found_again),
	};

	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
