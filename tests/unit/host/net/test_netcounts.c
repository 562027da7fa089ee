/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/netcounts.h"

#include "unit/invented_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NET "/proc/71/net"

static void counts_are_those_below_their_names(void **state)
{
	struct netcounts c;

	(void)state;
	invented_file(NET "/snmp", "Ip: Forwarding ReasmTimeout ReasmReqds ReasmOKs ReasmFails\n"
				   "Ip: 2 3 90 20 7\n"
				   "Tcp: RtoAlgorithm InSegs OutSegs RetransSegs\n"
				   "Tcp: 1 500 400 12\n");
	invented_file(NET "/snmp6", "Ip6InReceives 5\nIp6ReasmTimeout 9\nIp6ReasmFails \t2\n");
	invented_file(NET "/sockstat", "sockets: used 4\nFRAG: inuse 3 memory 2304\n");
	invented_file(NET "/sockstat6", "FRAG6: inuse 1 memory 2304\n");
	netcounts_read(&c, invented_root, 71);
	assert_true(c.has_tcp && c.has_fragments);
	assert_int_equal(c.segments, 400);
	assert_int_equal(c.retransmitted, 12);
	assert_int_equal(c.given_up, 9); /* one too late is one that failed */
	assert_int_equal(c.waiting, 4);
}

static void without_ipv6_there_is_only_ipv4(void **state)
{
	struct netcounts c;
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof(path), "%s" NET "/snmp6", invented_root);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s" NET "/sockstat6", invented_root);
	assert_int_equal(unlink(path), 0);
	netcounts_read(&c, invented_root, 71);
	assert_true(c.has_fragments);
	assert_int_equal(c.given_up, 7);
	assert_int_equal(c.waiting, 3);
}

static void of_a_process_that_has_ended_nothing_is_known(void **state)
{
	struct netcounts c;

	(void)state;
	netcounts_read(&c, invented_root, 72);
	assert_false(c.has_tcp || c.has_fragments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_those_below_their_names),
		cmocka_unit_test(without_ipv6_there_is_only_ipv4),
		cmocka_unit_test(of_a_process_that_has_ended_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
