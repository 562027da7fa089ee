/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests from before the watch, of sessions that really wait; what the watch itself knows of
 * those that began in it is for tests/bpf.
 */
#include "attach/unanswered.h"

#include "unit/server_tree.h"

#include "kinds/target.h"
#include "run/account.h"

#define MS 1000000ull
#define N  3

struct scene {
	struct tree t;
	struct watch *w;
	struct unanswered u;
	struct run r;
};

static void sits(int client, const struct tree_ends *ends)
{
	char c;

	(void)ends;
	if (read(client, &c, 1) < 0)
		_exit(1);
}

static void begin_with(struct scene *s, tree_session_fn *const *fn, size_t n)
{
	struct target target = { 0 };
	struct err e = { 0 };

	memset(s, 0, sizeof(*s));
	tree_start(&s->t, n, fn);
	for (size_t i = 0; i < n; i++)
		wait_asleep(s->t.session[i]);
	target.server = s->t.master;
	if (watch_open_target(&s->w, WATCH_PROC, &target, &e))
		fail_msg("%s", e.text);
	assert_int_equal(run_init(&s->r, "doctor", "doctor"), 0);
	assert_int_equal(unanswered_begin(&s->u, &s->t.entry), 0);
}

/* Two sessions that pause within a request, and one that has none. */
static void begin(struct scene *s)
{
	tree_session_fn *const fn[N] = { session_naps, session_naps, sits };

	begin_with(s, fn, N);
}

static void end(struct scene *s)
{
	unanswered_fini(&s->u);
	run_fini(&s->r);
	watch_free(s->w);
	tree_end(&s->t);
}

static void look_and_note(struct scene *s)
{
	assert_int_equal(unanswered_look(&s->u, s->w, &s->t.entry), 0);
	assert_int_equal(unanswered_note(&s->u, &s->r), 0);
	assert_true(s->r.has_service);
}

static void what_is_younger_than_a_second_is_not_said(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	look_and_note(&s);
	assert_int_equal(s.u.before.n, 2);
	assert_int_equal(s.u.now.n, 2);
	assert_int_equal(s.r.n_service, 0);
	end(&s);
}

static void add_one(void *arg, const struct run_service *is)
{
	*(uint64_t *)arg += is->age_ns;
}

/* One client has said something meanwhile, which was a sign of life; the oldest comes first. */
static void a_sign_of_life_makes_no_request_younger(void **state)
{
	uint64_t older_ns, sum_ns = 0;
	struct scene s;

	(void)state;
	begin(&s);
	usleep(400000);
	assert_int_equal(unanswered_begin(&s.u, &s.t.entry), 0); /* another time begins */
	assert_int_equal(send(s.t.client[0], "", 1, 0), 1);
	usleep(800000);
	look_and_note(&s);
	assert_int_equal(s.r.n_service, 2);
	older_ns = s.u.now.looked_ns - s.u.before.looked_ns;
	for (int i = 0; i < 2; i++) {
		assert_in_range(s.r.service[i].age_ns, older_ns + 385 * MS, older_ns + 3000 * MS);
		assert_true(s.r.service[i].before);
		assert_int_equal(s.r.service[i].account, AFS_ACCOUNT_BETWEEN);
		assert_int_equal(s.r.service[i].column, ACCOUNT_OTHER);
		assert_string_equal(s.r.service[i].on, "clock_nanosleep");
		sum_ns += s.r.service[i].age_ns;
	}
	assert_true(s.r.service[0].age_ns >= s.r.service[1].age_ns);
	assert_true(inservice_of(&s.u.now, s.t.session[0])->age_ns < 1000 * MS);
	older_ns = 0;
	unanswered_each_older(&s.u, add_one, &older_ns);
	assert_int_equal(older_ns, sum_ns);
	end(&s);
}

/* As afpd does whose CNID server is stopped: it waits, pauses, and asks again. */
static void asks_again(int client, const struct tree_ends *ends)
{
	struct timeval wait = { .tv_usec = 600000 };
	fd_set fds;

	(void)client;
	FD_ZERO(&fds);
	FD_SET(ends->cnid, &fds);
	select(ends->cnid + 1, &fds, NULL, NULL, &wait);
	wait = (struct timeval) { .tv_sec = 1 };
	select(0, NULL, NULL, NULL, &wait);
}

static const struct run_service *look_until(struct scene *s, bool pauses)
{
	const struct run_service *is = NULL;

	wait_until(!unanswered_look(&s->u, s->w, &s->t.entry) &&
		   (is = inservice_of(&s->u.now, s->t.session[0])) && is->pauses == pauses);
	return is;
}

/* Two sessions: one has only napped. */
static void a_pause_is_for_what_the_session_waited_for(void **state)
{
	tree_session_fn *const fn[] = { asks_again, session_naps };
	const struct run_service *is;
	struct scene s;

	(void)state;
	begin_with(&s, fn, 2);
	is = look_until(&s, false);
	assert_int_equal(is->column, ACCOUNT_CNID);
	is = look_until(&s, true);
	assert_int_equal(is->column, ACCOUNT_CNID);
	assert_string_equal(is->on, INSERVICE_PAUSE);
	assert_int_equal(unanswered_look(&s.u, s.w, &s.t.entry), 0); /* still in it */
	assert_int_equal(inservice_of(&s.u.now, s.t.session[0])->column, ACCOUNT_CNID);
	is = inservice_of(&s.u.now, s.t.session[1]);
	assert_true(is->pauses);
	assert_int_equal(is->column, ACCOUNT_OTHER);
	end(&s);
}

static void add_session(struct run *r, pid_t pid, uint64_t requests, uint64_t ended_ns)
{
	struct run_session *s = run_session(r);

	assert_non_null(s);
	s->pid = pid;
	s->user = strdup("anna");
	s->address = strdup("192.0.2.7:50000");
	s->requests = requests;
	s->ended_ns = ended_ns;
}

/* It has been answered since: what it waits for now is a request that the watch has seen begin. */
static void what_the_watch_has_counted_is_not_from_before(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	usleep(1100000);
	add_session(&s.r, s.t.session[0], 1, 0);
	add_session(&s.r, s.t.session[1], 5, 77); /* an earlier process with its number */
	add_session(&s.r, s.t.session[1], 0, 0);
	look_and_note(&s);
	assert_int_equal(s.r.n_service, 1);
	assert_int_equal(s.r.service[0].pid, s.t.session[1]);
	assert_string_equal(s.r.service[0].user, "anna");
	assert_string_equal(s.r.service[0].address, "192.0.2.7:50000");
	end(&s);
}

/* What was hung and is not any more is nowhere, nor what cannot be looked at. */
static void what_was_answered_is_not_said(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	usleep(1100000);
	loopback_reset(&s.t.client[0]);
	wait_until(!unanswered_look(&s.u, s.w, &s.t.entry) && s.u.now.n == 1);
	look_and_note(&s);
	assert_int_equal(s.r.n_service, 1);
	assert_int_equal(s.r.service[0].pid, s.t.session[1]);
	assert_string_equal(s.r.service[0].user, "");
	s.t.entry.elsewhere = true;
	assert_int_equal(unanswered_look(&s.u, s.w, &s.t.entry), 0);
	assert_int_equal(unanswered_note(&s.u, &s.r), 0);
	assert_false(s.r.has_service);
	end(&s);
}

/* It sleeps without a descriptor: the first argument of its call is 0. */
static bool is_napping(pid_t pid)
{
	char path[64], text[256] = "";
	unsigned long first = 1;
	long nr;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f) || sscanf(text, "%ld %lx", &nr, &first) != 2)
		first = 1;
	fclose(f);
	return !first;
}

/* It may have begun another request, of which no look has seen what it waits for. */
static void a_pause_after_a_new_message_is_for_nobody_knows_what(void **state)
{
	tree_session_fn *const fn[] = { asks_again };
	const struct run_service *is;
	struct scene s;

	(void)state;
	begin_with(&s, fn, 1);
	is = look_until(&s, false);
	assert_int_equal(is->column, ACCOUNT_CNID);
	wait_until(is_napping(s.t.session[0]));
	assert_int_equal(send(s.t.client[0], "", 1, 0), 1);
	assert_int_equal(unanswered_look(&s.u, s.w, &s.t.entry), 0);
	is = inservice_of(&s.u.now, s.t.session[0]);
	assert_true(is->pauses);
	assert_int_equal(is->column, ACCOUNT_OTHER);
	end(&s);
}

/* Clients of one process, as of nfs-ganesha. */
static void of_clients_of_one_process_it_is_the_one_with_its_port(void **state)
{
	static const char *const user[] = { "anna", "ben" };
	struct run_service running[] = { { .pid = 7, .port = 50002, .age_ns = 2 },
					 { .pid = 7, .port = 50009, .age_ns = 1 } };
	struct unanswered u = { .running = running, .n = 2, .watched = true };
	struct run_session *one;
	struct run r;

	(void)state;
	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	for (int i = 0; i < 2; i++) {
		one = run_session(&r);
		assert_non_null(one);
		one->pid = 7;
		one->user = strdup(user[i]);
		one->address = strdup(i ? "10.0.0.1:50002" : "10.0.0.1:50001");
	}
	assert_int_equal(unanswered_note(&u, &r), 0);
	assert_int_equal(r.n_service, 2);
	assert_string_equal(r.service[0].user, "ben");
	assert_string_equal(r.service[1].user, ""); /* not known: it is none of both */
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_clients_of_one_process_it_is_the_one_with_its_port),
		cmocka_unit_test(what_is_younger_than_a_second_is_not_said),
		cmocka_unit_test(a_sign_of_life_makes_no_request_younger),
		cmocka_unit_test(a_pause_is_for_what_the_session_waited_for),
		cmocka_unit_test(a_pause_after_a_new_message_is_for_nobody_knows_what),
		cmocka_unit_test(what_the_watch_has_counted_is_not_from_before),
		cmocka_unit_test(what_was_answered_is_not_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
