/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and differences of packets. Tests user/run/ledger.c. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_earlier_plus_difference),
		cmocka_unit_test(packets_that_went_backwards_are_not_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
