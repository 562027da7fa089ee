/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose requests a server answered in a region, and the cross-check where others had some.
 * Tests user/attach/others.c, user/run/requests_book.c.
 */
#include "attach/others.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void requests_are_ours_or_those_of_others(void **state)
{
	struct others_list before = { 0 }, after = { 0 };
	struct run_phase p = { 0 };

	(void)state;
	others_add(&before, "127.0.0.1:5001", 10, false);
	others_add(&before, "127.0.0.1:5002", 20, false);
	others_add(&before, "192.0.2.7:5001", 1000, false);
	others_add(&before, "192.0.2.8:7", 30, false);
	others_count(&(const struct others_list) { 0 }, &before, &p); /* sorts it */
	p = (struct run_phase) { 0 };
	others_add(&after, "127.0.0.1:5001", 17, false);
	others_add(&after, "127.0.0.1:5001", 0, true);
	others_add(&after, "127.0.0.1:5002", 0, true);
	others_add(&after, "127.0.0.1:5002", 25, false);
	others_add(&after, "192.0.2.7:5001", 1500, false);
	others_add(&after, "192.0.2.8:7", 30, false);    /* idle */
	others_add(&after, "[2001:db8::1]:9", 4, false); /* new */
	others_count(&before, &after, &p);
	assert_true(p.clients.known);
	assert_int_equal(p.clients.ours, 7 + 5);
	assert_int_equal(p.clients.others, 2);
	assert_int_equal(p.clients.others_requests, 500 + 4);
	others_fini(&before);
	others_fini(&after);
}

/* Its client has gone: it is no socket of this process any more. */
static void what_was_ours_at_the_begin_stays_ours(void **state)
{
	struct others_list before = { 0 }, after = { 0 };
	struct run_phase p = { 0 };

	(void)state;
	others_add(&before, "127.0.0.1:5001", 10, false);
	others_add(&before, "127.0.0.1:5001", 0, true);
	others_count(&(const struct others_list) { 0 }, &before, &p);
	p = (struct run_phase) { 0 };
	others_add(&after, "127.0.0.1:5001", 11, false);
	others_add(&after, "127.0.0.1:5001", 3, false); /* another one with its number */
	others_count(&before, &after, &p);
	assert_int_equal(p.clients.ours, 4);
	assert_int_equal(p.clients.others, 0);
	others_fini(&before);
	others_fini(&after);
}

/* Their numbers of interfaces are those of two network namespaces. */
static void an_interface_is_not_compared_and_two_cannot_be_told_apart(void **state)
{
	struct others_list before = { 0 }, after = { 0 };
	struct run_phase p = { 0 };

	(void)state;
	others_add(&after, "[fe80::2%3]:5001", 17, false);
	others_add(&after, "[fe80::2%9]:5001", 0, true);
	others_add(&after, "[fe80::3%3]:5001", 4, false);
	others_count(&before, &after, &p);
	assert_true(p.clients.known);
	assert_int_equal(p.clients.ours, 17);
	assert_int_equal(p.clients.others_requests, 4);
	others_add(&after, "[fe80::2%4]:5001", 5, false);
	p = (struct run_phase) { 0 };
	others_count(&before, &after, &p);
	assert_false(p.clients.known);
	others_fini(&after);
}

static void where_nothing_is_known_of_connections_nothing_is_said(void **state)
{
	struct others_list none = { 0 };
	struct run_phase p = { 0 };

	(void)state;
	others_count(&none, &none, &p);
	assert_false(p.clients.known);
}

/* The server counted 30 FPOpenFork (26) and 1 FPLogout (20), our clients 20 and none. */
static void make_run(struct run *r)
{
	static struct ledger_account account[] = { { .account = 20, .sum.answered = 1 },
						   { .account = 26, .sum.answered = 30 } };
	const struct ledger one = {
		.has_calls = true, .has_requests = true, .n_accounts = 2, .account = account
	};
	struct run_command *c;
	struct run_phase *p;

	assert_int_equal(run_init(r, "load", "load-1"), 0);
	p = run_phase(r, 1, 1, "office");
	assert_non_null(p);
	p->complete = true;
	assert_int_equal(ledger_add(&p->ledger, &one), 0);
	c = run_command(p, 26, "FPOpenFork");
	assert_non_null(c);
	for (int i = 0; i < 20; i++)
		hist_add(&c->latency, 1000);
}

static void others_are_no_disagreement(void **state)
{
	struct run r;

	(void)state;
	make_run(&r);
	r.phase[0]->clients.known = true;
	r.phase[0]->clients.ours = 20;
	r.phase[0]->clients.others = 2;
	r.phase[0]->clients.others_requests = 11;
	assert_int_equal(run_close_requests(&r), 0);
	assert_int_equal(r.n_books, 1);
	assert_true(run_books_closed(&r));
	assert_string_equal(run_note_find(&r.server, RUN_OTHERS),
			    "2 connections of other clients made 11 requests meanwhile; the "
			    "server's figures are of all");
	run_fini(&r);
}

static void a_request_of_ours_that_is_missing_is_one(void **state)
{
	struct run r;

	(void)state;
	make_run(&r);
	r.phase[0]->clients.known = true;
	r.phase[0]->clients.ours = 19;
	r.phase[0]->clients.others = 2;
	assert_int_equal(run_close_requests(&r), 0);
	assert_false(run_books_closed(&r));
	run_fini(&r);
	/* Without others each command is compared. */
	make_run(&r);
	r.phase[0]->clients.known = true;
	r.phase[0]->clients.ours = 20;
	assert_int_equal(run_close_requests(&r), 0);
	assert_int_equal(r.n_books, 2);
	assert_false(run_books_closed(&r));
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_ours_or_those_of_others),
		cmocka_unit_test(what_was_ours_at_the_begin_stays_ours),
		cmocka_unit_test(an_interface_is_not_compared_and_two_cannot_be_told_apart),
		cmocka_unit_test(where_nothing_is_known_of_connections_nothing_is_said),
		cmocka_unit_test(others_are_no_disagreement),
		cmocka_unit_test(a_request_of_ours_that_is_missing_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
