/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions that really wait in these ways: which of them have a request in service. */
#include "kinds/afp/inservice.h"

#include "unit/server_tree.h"

#include "run/account.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/select.h>

static void polls_client(int client, const struct tree_ends *ends)
{
	struct pollfd list[] = { { .fd = client, .events = POLLIN },
				 { .fd = ends->pair, .events = POLLIN } };

	session_takes(client);
	poll(list, 2, -1);
}

static void reads_client(int client, const struct tree_ends *ends)
{
	char c;

	(void)ends;
	if (read(client, &c, 1) < 0)
		_exit(1);
}

static void select_on(int fd)
{
	struct timeval minute = { .tv_sec = 60 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, &minute);
}

static void selects_cnid(int client, const struct tree_ends *ends)
{
	session_takes(client);
	select_on(ends->cnid);
}

static void selects_other(int client, const struct tree_ends *ends)
{
	session_takes(client);
	select_on(ends->other);
}

/* The rest of a request, or room for a reply. */
static void selects_client(int client, const struct tree_ends *ends)
{
	(void)ends;
	session_takes(client);
	select_on(client);
}

/* As netatalk's dsi_peek: the client does not read, and could send. */
static void waits_for_room(int client, const struct tree_ends *ends)
{
	static const char reply[4096];
	fd_set in, out;

	(void)ends;
	session_takes(client);
	while (send(client, reply, sizeof(reply), MSG_DONTWAIT) > 0)
		;
	FD_ZERO(&in);
	FD_SET(client, &in);
	out = in;
	select(client + 1, &in, &out, NULL, NULL);
}

static void reads_cnid(int client, const struct tree_ends *ends)
{
	char c;

	session_takes(client);
	if (recv(ends->cnid, &c, 1, 0) < 0)
		_exit(1);
}

static void reads_fifo(int client, const struct tree_ends *ends)
{
	char c;

	session_takes(client);
	if (read(ends->fifo, &c, 1) < 0)
		_exit(1);
}

static void reads_pair(int client, const struct tree_ends *ends)
{
	char c;

	session_takes(client);
	if (read(ends->pair, &c, 1) < 0)
		_exit(1);
}

static void waits_for_lock(int client, const struct tree_ends *ends)
{
	struct flock all = { .l_type = F_WRLCK };

	session_takes(client);
	fcntl(ends->file, F_OFD_SETLKW, &all);
}

static void computes(int client, const struct tree_ends *ends)
{
	(void)ends;
	session_takes(client);
}

static const struct sleeping_way {
	tree_session_fn *fn;
	bool none; /* it waits for its client's next request, or cannot be judged */
	enum account_column column;
	const char *on; /* with the name of the call in front; %u: the other server's port */
} ways[] = {
	{ polls_client, true, 0, NULL },
	{ reads_client, true, 0, NULL },
	{ computes, true, 0, NULL },
	{ selects_cnid, false, ACCOUNT_CNID, "select* on the CNID server" },
	{ selects_other, false, ACCOUNT_OTHER, "select* on 127.0.0.1:%u" },
	{ selects_client, false, ACCOUNT_NET, "select* on the client" },
	{ waits_for_room, false, ACCOUNT_NET, "select* on the client" },
	{ reads_cnid, false, ACCOUNT_CNID, "recvfrom on the CNID server" },
	{ reads_fifo, false, ACCOUNT_DISK, "read on a file" },
	{ reads_pair, false, ACCOUNT_OTHER, "read on another process" },
	{ waits_for_lock, false, ACCOUNT_LOCK, "fcntl on a file" },
	{ session_naps, false, ACCOUNT_OTHER, "clock_nanosleep" },
};

#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

/* Whether all sessions are where they stay. */
static bool are_settled(const struct tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (ways[i].fn != computes && wait_state(t->session[i]) != 'S')
			return false;
	return true;
}

static struct inservice found(const struct tree *t)
{
	struct inservice is;

	assert_int_equal(inservice_look(&is, &t->entry, &(struct inservice_known) { 0 }), 0);
	assert_true(is.known);
	return is;
}

/* As in the table: select may be pselect6. */
static void check_words(const char *on, const char *want, unsigned int port)
{
	const char *star = strchr(want, '*');
	char text[64];

	snprintf(text, sizeof(text), star ? star + 1 : want, port);
	if (!star)
		assert_string_equal(on, text);
	else if (!strstr(on, "select") || strcmp(strstr(on, " on "), text) != 0)
		fail_msg("\"%s\", wanted \"%s\"", on, want);
}

static void what_a_session_waits_for_says_whether_it_serves(void **state)
{
	tree_session_fn *fn[N_WAYS];
	const struct run_service *r;
	struct inservice is;
	struct tree t;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < N_WAYS; i++)
		fn[i] = ways[i].fn;
	tree_start(&t, N_WAYS, fn);
	wait_until(are_settled(&t));
	usleep(20000);
	is = found(&t);
	for (size_t i = 0; i < N_WAYS; i++) {
		r = inservice_of(&is, t.session[i]);
		assert_int_equal(!r, ways[i].none);
		if (!r)
			continue;
		n++;
		assert_int_equal(r->column, ways[i].column);
		check_words(r->on, ways[i].on, tree_port(&t.other));
		assert_true(r->before);
		assert_int_equal(r->naps, ways[i].fn == session_naps);
		assert_int_equal(r->account, AFS_ACCOUNT_BETWEEN);
		assert_memory_equal(r->address, "127.0.0.1:", 10);
	}
	assert_int_equal(is.n, n);
	inservice_fini(&is);
	tree_end(&t);
}

/* Of sessions that are known one by one, as of one whose main process has ended. */
static void sessions_of_a_list_are_looked_at_as_well(void **state)
{
	tree_session_fn *const fn[] = { polls_client, session_naps };
	struct servers_session list[2];
	struct inservice is;
	struct tree t;

	(void)state;
	tree_start(&t, 2, fn);
	wait_asleep(t.session[0]);
	wait_asleep(t.session[1]);
	for (int i = 0; i < 2; i++)
		list[i] = (struct servers_session) { .pid = t.session[i] };
	t.entry.master = 0;
	t.entry.n_sessions = 2;
	t.entry.session = list;
	is = found(&t);
	assert_int_equal(is.n, 1);
	assert_int_equal(is.request[0].pid, t.session[1]);
	inservice_fini(&is);
	tree_end(&t);
}

static uint64_t age_of(const struct tree *t, size_t i)
{
	struct inservice is = found(t);
	const struct run_service *r = inservice_of(&is, t->session[i]);
	uint64_t age_ns;

	assert_non_null(r);
	age_ns = r->age_ns;
	inservice_fini(&is);
	return age_ns;
}

#define MS 1000000ull

static void a_request_is_as_old_as_its_clients_last_byte(void **state)
{
	tree_session_fn *const fn[] = { session_naps };
	uint64_t begun, before, age_ns;
	struct tree t;

	(void)state;
	tree_start(&t, 1, fn);
	wait_asleep(t.session[0]);
	for (int i = 0; i < 2; i++) {
		before = clock_now_ns();
		assert_int_equal(send(t.client[0], "", 1, 0), 1);
		begun = clock_now_ns();
		usleep(300000);
		age_ns = age_of(&t, 0);
		/* The kernel counts in its own ticks, of up to 10 ms. */
		assert_in_range(age_ns, 285 * MS, clock_now_ns() - before + 15 * MS);
		assert_true(begun >= before);
	}
	tree_end(&t);
}

static size_t n_found(const struct tree *t)
{
	struct inservice is = found(t);
	size_t n = is.n;

	inservice_fini(&is);
	return n;
}

static void a_stopped_session_serves_if_its_client_has_asked(void **state)
{
	tree_session_fn *const fn[] = { polls_client, reads_client, reads_fifo };
	struct inservice is;
	struct tree t;

	(void)state;
	tree_start(&t, 3, fn);
	for (int i = 0; i < 3; i++)
		wait_asleep(t.session[i]);
	for (int i = 0; i < 3; i++) {
		kill(t.session[i], SIGSTOP);
		wait_until(wait_state(t.session[i]) == 'T');
	}
	is = found(&t);
	assert_int_equal(is.n, 1);
	assert_int_equal(is.request[0].pid, t.session[2]);
	assert_int_equal(is.request[0].column, ACCOUNT_STOPPED);
	inservice_fini(&is);
	for (int i = 0; i < 2; i++)
		assert_int_equal(send(t.client[i], "", 1, 0), 1);
	wait_until(n_found(&t) == 3);
	is = found(&t);
	for (size_t i = 0; i < is.n; i++)
		assert_int_equal(is.request[i].column, ACCOUNT_STOPPED);
	inservice_fini(&is);
	for (int i = 0; i < 3; i++)
		kill(t.session[i], SIGCONT);
	/* What was asked is read, and the next is waited for. */
	wait_until(n_found(&t) == 1);
	tree_end(&t);
}

/* Its process stays, and pauses for a while: nobody waits for it. */
static void a_session_whose_client_has_gone_has_none(void **state)
{
	tree_session_fn *const fn[] = { session_naps, session_naps, session_naps };
	struct tree t;

	(void)state;
	tree_start(&t, 3, fn);
	for (int i = 0; i < 3; i++)
		wait_asleep(t.session[i]);
	assert_int_equal(n_found(&t), 3);
	loopback_reset(&t.client[0]);
	wait_until(n_found(&t) == 2);
	shutdown(t.client[1], SHUT_RDWR);
	close(t.client[1]);
	t.client[1] = -1;
	wait_until(n_found(&t) == 1);
	kill(t.session[2], SIGKILL);
	wait_until(n_found(&t) == 0);
	tree_end(&t);
}

static void connections_elsewhere_do_not_make_a_session(void **state)
{
	tree_session_fn *const fn[] = { session_naps };
	struct inservice is;
	struct tree t;

	(void)state;
	tree_start(&t, 1, fn);
	wait_asleep(t.session[0]);
	t.entry.port[0] = tree_port(&t.other); /* another server's */
	assert_int_equal(n_found(&t), 0);
	t.entry.denied = true;
	assert_int_equal(inservice_look(&is, &t.entry, &(struct inservice_known) { 0 }), 0);
	assert_false(is.known);
	inservice_fini(&is);
	tree_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_session_waits_for_says_whether_it_serves),
		cmocka_unit_test(sessions_of_a_list_are_looked_at_as_well),
		cmocka_unit_test(a_request_is_as_old_as_its_clients_last_byte),
		cmocka_unit_test(a_stopped_session_serves_if_its_client_has_asked),
		cmocka_unit_test(a_session_whose_client_has_gone_has_none),
		cmocka_unit_test(connections_elsewhere_do_not_make_a_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
