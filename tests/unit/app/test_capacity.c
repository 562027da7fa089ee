/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this machine has room for, and what is said where that does not suffice. */
#include "app/capacity.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

static char root[64];

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(full, 0700);
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/afpscope-capacity-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void the_machine_is_read(void **state)
{
	struct rlimit files;
	struct capacity c;

	(void)state;
	put("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
	put("/proc/sys/net/ipv4/ip_local_reserved_ports", "8080,40000-40009,60999-65535\n");
	put("/proc/sys/kernel/threads-max", "5000\n");
	put("/proc/loadavg", "0.20 0.18 0.12 1/80 11206\n");
	put("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    2000 kB\n");
	capacity_look(&c, root);
	assert_int_equal(c.ports, 28232 - 10 - 1);
	assert_int_equal(c.threads, 4920);
	assert_int_equal(c.memory_b, 2000 * 1024);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(c.files, files.rlim_cur);
}

static void groups_limit_threads_and_memory(void **state)
{
	char name[64];
	struct capacity c;

	(void)state;
	snprintf(name, sizeof(name), "/proc/%d/cgroup", getpid());
	put(name, "0::/a/b\n");
	put("/proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/a/b/cgroup.procs", "1\n");
	put("/sys/fs/cgroup/a/pids.max", "100\n");
	put("/sys/fs/cgroup/a/pids.current", "60\n");
	put("/sys/fs/cgroup/a/b/pids.max", "max\n");
	put("/sys/fs/cgroup/a/b/pids.current", "50\n");
	put("/sys/fs/cgroup/a/memory.max", "1000000\n");
	put("/sys/fs/cgroup/a/memory.current", "999999\n");
	put("/sys/fs/cgroup/a/memory.events.local", "high 0\nmax 3\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/proc/meminfo", "MemAvailable: 2000 kB\n");
	capacity_look(&c, root);
	assert_int_equal(c.threads, 40);
	assert_int_equal(c.memory_b, 1000000);
}

static void what_is_not_known_is_not_judged(void **state)
{
	const struct capacity_need need = { .sessions = 1000000, .threads = 1, .sources = 1 };
	struct capacity c;
	struct err e;

	(void)state;
	capacity_look(&c, root);
	assert_true(c.ports == CAPACITY_UNKNOWN && c.memory_b == CAPACITY_UNKNOWN);
	c.files = CAPACITY_UNKNOWN;
	assert_int_equal(capacity_check(&c, &need, &e), 0);
}

static const struct {
	struct capacity have;
	struct capacity_need need;
	const char *text; /* NULL: it suffices */
} short_rows[] = {
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 100, .threads = 1, .sources = 1, .data_b = 0 },
	  NULL },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 101, .threads = 1, .sources = 1, .data_b = 0 },
	  "101 sessions need as many ports towards the server, and this host has 100 for "
	  "each of 1 source address: give 2 addresses (--source), or more ports: sysctl -w "
	  "net.ipv4.ip_local_port_range=\"1024 65535\"" },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 200, .threads = 1, .sources = 2, .data_b = 0 },
	  NULL },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 201, .threads = 1, .sources = 2, .data_b = 0 },
	  "201 sessions need as many ports towards the server, and this host has 100 for "
	  "each of 2 source addresses: give 3 addresses (--source), or more ports: sysctl "
	  "-w net.ipv4.ip_local_port_range=\"1024 65535\"" },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 101, .threads = 1, .sources = 1, .data_b = 0, .one_source = true },
	  "101 sessions need as many ports towards the server, and this host has 100: "
	  "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\" gives more" },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 612, .threads = 1, .sources = 1, .data_b = 0, .low_ports = true },
	  NULL },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 613, .threads = 1, .sources = 1, .one_source = true, .low_ports = true },
	  "613 sessions need as many ports towards the server, and this host has 612: "
	  "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\" gives more" },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 40, .threads = 1, .sources = 1, .data_b = 0, .taken = 60 },
	  NULL },
	{ { 100, 1000, 10, 1 << 30 },
	  { .sessions = 40, .threads = 1, .sources = 1, .data_b = 0, .taken = 61 },
	  "40 sessions need as many ports towards the server, and this host has 100 for "
	  "each of 1 source address, 61 of them in use: give 2 addresses (--source), or "
	  "more ports: sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"" },
	{ { 5000, 1000, 10, 1 << 30 },
	  { .sessions = 933, .threads = 1, .sources = 1, .data_b = 0 },
	  "933 sessions and 1 thread need 1001 open files, and a process here may have "
	  "1000: ulimit -n 1001, or LimitNOFILE=1001 in a unit" },
	{ { 5000, 1000, 10, 1 << 30 },
	  { .sessions = 932, .threads = 1, .sources = 1, .data_b = 0 },
	  NULL },
	{ { 5000, 1000, 10, 1 << 30 },
	  { .sessions = 10, .threads = 11, .sources = 1, .data_b = 0 },
	  "11 threads are needed, and 10 more can be made here: ask for fewer, or raise "
	  "kernel.threads-max, the cgroup's pids.max (TasksMax= in a unit) or ulimit -u" },
	{ { 5000, 9000, 10, 16384 * 2000 },
	  { .sessions = 2000, .threads = 1, .sources = 1, .data_b = 0 },
	  "2000 sessions and 1 thread need at least 32 MB of memory, 0 MB of it for the "
	  "data that they write, and 32 MB are free" },
	{ { 5000, 9000, 10, 1 << 30 },
	  { .sessions = 300, .threads = 2, .sources = 1, .data_b = 300ull << 22 },
	  "300 sessions and 2 threads need at least 1263 MB of memory, 1258 MB of it for "
	  "the data that they write, and 1073 MB are free" },
};

static void what_is_short_is_named_with_what_helps(void **state)
{
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(short_rows) / sizeof(short_rows[0]); i++) {
		assert_int_equal(capacity_check(&short_rows[i].have, &short_rows[i].need, &e),
				 short_rows[i].text ? -EMFILE : 0);
		if (short_rows[i].text)
			assert_string_equal(e.text, short_rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_machine_is_read, make_root, remove_root),
		cmocka_unit_test_setup_teardown(groups_limit_threads_and_memory, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_not_judged, make_root,
						remove_root),
		cmocka_unit_test(what_is_short_is_named_with_what_helps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
