/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and differences of packets, and what several CPUs counted. Tests user/run/ledger.c. */
#include "run/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void append(struct ledger *l, uint8_t from_server, uint64_t n)
{
	struct ledger_packets *p;

	l->has_requests = l->has_calls = true;
	l->packets = realloc(l->packets, (l->n_packets + 1) * sizeof(*p));
	p = &l->packets[l->n_packets++];
	*p = (struct ledger_packets) { .from_server = from_server };
	p->sum.datagrams = n;
	p->sum.again = 2 * n;
	p->sum.type[AFS_RX_VERSION] = 3 * n;
}

static void packets_are_earlier_plus_difference(void **state)
{
	struct ledger a = { 0 }, b = { 0 }, d;

	(void)state;
	append(&a, 1, 5);
	append(&b, 0, 7);
	append(&b, 1, 6);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_int_equal(ledger_packets(&d, false).type[AFS_RX_VERSION], 21);
	assert_int_equal(ledger_packets(&d, true).again, 2);
	assert_int_equal(ledger_add(&a, &d), 0);
	assert_int_equal(ledger_packets(&a, true).datagrams, 6);
	assert_int_equal(ledger_packets(&a, false).datagrams, 7);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void packets_that_went_backwards_are_not_measured(void **state)
{
	struct ledger a = { 0 }, b = { 0 }, d;

	(void)state;
	append(&a, 1, 5);
	append(&b, 1, 4);
	assert_int_equal(ledger_diff(&d, &b, &a), 0);
	assert_int_equal(d.n_packets, 0);
	assert_false(d.has_requests);
	assert_int_equal(ledger_packets(&d, true).datagrams, 0);
	ledger_fini(&a);
	ledger_fini(&b);
	ledger_fini(&d);
}

static void what_several_cpus_counted_is_joined_in_order(void **state)
{
	struct ledger_part part[] = { { .account = 3, .part.calls = 1 },
				      { .account = 2, .part.calls = 2 },
				      { .account = 3, .part.calls = 4 } };
	struct ledger_result result[] = { { 2, -5000, 1 }, { 2, 7, 2 }, { 1, 7, 4 }, { 2, 7, 8 } };
	struct ledger l = { .part = part, .n_parts = 3, .result = result, .n_results = 4 };
	struct ledger empty = { 0 };

	(void)state;
	ledger_join(&l);
	assert_int_equal(l.n_parts, 2);
	assert_int_equal(part[0].account, 2);
	assert_int_equal(part[1].part.calls, 5);
	assert_int_equal(l.n_results, 3);
	assert_int_equal(result[0].account, 1);
	assert_int_equal(result[1].n, 10);
	assert_int_equal(result[2].code, -5000);
	ledger_join(&empty);
	assert_int_equal(empty.n_parts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_earlier_plus_difference),
		cmocka_unit_test(packets_that_went_backwards_are_not_measured),
		cmocka_unit_test(what_several_cpus_counted_is_joined_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
