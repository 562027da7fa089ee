/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/netcounts.h"

#include "unit/invented_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void make_link(const char *name, const char *speed, bool hardware)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	invented_file(path, speed);
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/rx_bytes", name);
	invented_file(path, "1000\n");
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_bytes", name);
	invented_file(path, "2000\n");
	snprintf(path, sizeof(path), "/sys/class/net/%s/device/vendor", name);
	if (hardware)
		invented_file(path, "0x1\n");
}

static void only_interfaces_with_hardware_count(void **state)
{
	struct links l;
	size_t eth = 0;

	(void)state;
	make_link("eth0", "1000\n", true);
	make_link("wlan0", "-1\n", true);
	make_link("veth1", "10000\n", false);
	make_link("tun0", "10\n", false);
	make_link("lo", "", false);
	links_read(&l, invented_root);
	assert_int_equal(l.n, 2);
	eth = strcmp(l.entry[0].name, "eth0") != 0;
	assert_string_equal(l.entry[eth].name, "eth0");
	assert_int_equal(l.entry[eth].speed_mbit, 1000);
	assert_int_equal(l.entry[eth].received_b, 1000);
	assert_int_equal(l.entry[eth].sent_b, 2000);
	assert_int_equal(l.entry[!eth].speed_mbit, 0);
	links_read(&l, "/nowhere");
	assert_int_equal(l.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_interfaces_with_hardware_count),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
