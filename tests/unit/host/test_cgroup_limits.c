/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cgroup_limits.h"

#include "unit/invented_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PID  71
#define TOP  "/sys/fs/cgroup"
#define LEAF TOP "/srv.slice/a.service"

static struct cgroup_limits *limits_of(void **state)
{
	struct cgroup_limits *l = *state;

	cgroup_limits_read(l, invented_root, PID);
	return l;
}

static int limits_begin(void **state)
{
	*state = malloc(sizeof(struct cgroup_limits));
	return invented_tree(NULL);
}

static int limits_end(void **state)
{
	free(*state);
	return invented_gone(NULL);
}

static void version_2(void)
{
	invented_file("/proc/71/cgroup", "0::/srv.slice/a.service\n");
	invented_file("/proc/self/mountinfo", "31 27 0:28 / " TOP " rw - cgroup2 cgroup2 rw\n");
	invented_file(TOP "/cgroup.procs", "");
	invented_file(TOP "/srv.slice/cgroup.procs", "");
	invented_file(LEAF "/cgroup.procs", "71\n");
}

static void version_2_has_limits_of_its_own_and_of_its_slice(void **state)
{
	struct cgroup_limits *l;

	version_2();
	invented_file(LEAF "/cpu.max", "max 100000\n");
	invented_file(LEAF "/cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\n");
	invented_file(TOP "/srv.slice/cpu.max", "150000 100000\n");
	invented_file(TOP "/srv.slice/cpu.stat",
		      "usage_usec 900\nnr_periods 70\nnr_throttled 7\nthrottled_usec 123\n");
	invented_file(LEAF "/memory.high", "30000000\n");
	invented_file(LEAF "/memory.max", "max\n");
	invented_file(LEAF "/memory.current", "29000000\n");
	invented_file(LEAF "/memory.events",
		      "low 0\nhigh 900\nmax 0\noom 0\noom_kill 3\noom_group_kill 0\n");
	invented_file(LEAF "/memory.events.local", "low 0\nhigh 800\nmax 0\noom 0\noom_kill 3\n");
	invented_file(LEAF "/memory.stat",
		      "anon 1\nfile 2\nworkingset_refault_anon 4\nworkingset_refault_file 55\n");
	invented_file(LEAF "/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n"
					       "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	invented_file(LEAF "/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
	invented_file(LEAF "/io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=120\n"
				      "259:0 rbps=max wbps=5 riops=max wiops=max\n");
	invented_file(LEAF "/io.stat", "8:16 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=0 dios=0\n"
				       "8:1 rbytes=1 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n");
	l = limits_of(state);
	assert_true(l->cpu.whole && l->cpu.version == 2);
	assert_int_equal(l->n_quotas, 1);
	assert_true(l->quota[0].cpus == 1.5);
	assert_int_equal(l->quota[0].periods, 70);
	assert_int_equal(l->quota[0].throttled, 7);
	assert_true(l->quota[0].has_wait && l->quota[0].wait_ns == 123000);
	assert_string_equal(l->quota[0].path, TOP "/srv.slice");
	assert_int_equal(l->n_memories, 1);
	assert_int_equal(l->mem[0].limit_b, 30000000);
	assert_true(l->mem[0].high);
	assert_int_equal(l->mem[0].used_b, 29000000);
	assert_int_equal(l->mem[0].hits, 800); /* not those of groups below */
	assert_string_equal(l->mem[0].path, LEAF);
	assert_true(l->has_kills && l->kills == 3);
	assert_true(l->has_refaulted && l->refaulted == 55);
	assert_true(l->has_memory_stall && l->memory_stall_us == 1234);
	assert_true(l->has_io_stall && l->io_stall_us == 77);
	assert_int_equal(l->n_ios, 3);
	assert_int_equal(l->device[0].of, CGROUP_READ_B);
	assert_int_equal(l->device[0].minor, 16);
	assert_int_equal(l->device[0].limit, 2097152);
	assert_int_equal(l->device[0].done, 100);
	/* It was not used yet. */
	assert_int_equal(l->device[1].major, 259);
	assert_int_equal(l->device[1].limit, 5);
	assert_int_equal(l->device[1].done, 0);
	assert_int_equal(l->device[2].of, CGROUP_WRITES);
	assert_int_equal(l->device[2].limit, 120);
	assert_int_equal(l->device[2].done, 4);
}

static void without_limits_there_are_none(void **state)
{
	struct cgroup_limits *l;

	version_2();
	l = limits_of(state);
	assert_true(l->cpu.whole && l->memory.whole && l->io.whole);
	assert_int_equal(l->n_quotas + l->n_memories + l->n_ios, 0);
	assert_false(l->has_kills || l->has_refaulted || l->has_memory_stall || l->has_io_stall);
}

/* As before Linux 5.2, which has no counts of a group alone; or where they may not be read. */
static void a_limit_whose_counts_cannot_be_read_is_not_none(void **state)
{
	struct cgroup_limits *l;

	version_2();
	invented_file(LEAF "/cpu.max", "150000 100000\n");
	invented_file(LEAF "/memory.max", "30000000\n");
	invented_file(LEAF "/memory.current", "29000000\n");
	l = limits_of(state);
	assert_int_equal(l->n_quotas + l->n_memories, 0);
	assert_true(l->cpu.more_limits && l->memory.more_limits && !l->io.more_limits);
	invented_file(LEAF "/cpu.stat", "nr_periods 70\nnr_throttled 7\n");
	l = limits_of(state);
	assert_true(l->n_quotas == 1 && !l->cpu.more_limits && !l->quota[0].has_wait);
}

/* So many devices that their text is cut off: what was done on the last one is not known. */
static void nor_is_one_of_a_device(void **state)
{
	static const char limit[] = "8:16 rbps=2097152 wbps=max riops=max wiops=max\n";
	static char text[20000];
	struct cgroup_limits *l;
	size_t at = 0;

	version_2();
	invented_file(LEAF "/io.max", limit);
	l = limits_of(state);
	assert_true(!l->n_ios && l->io.more_limits && !l->cpu.more_limits);
	invented_file(LEAF "/io.stat", "");
	l = limits_of(state);
	assert_true(l->n_ios == 1 && !l->device[0].done && !l->io.more_limits);
	for (int i = 0; at < sizeof(text) - 100; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "253:%d rbytes=1 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n",
				       i);
	snprintf(text + at, sizeof(text) - at, "8:16 rbytes=9 wbytes=9 rios=9 wios=9\n");
	invented_file(LEAF "/io.stat", text);
	l = limits_of(state);
	assert_true(!l->n_ios && l->io.more_limits);
	/* or the limits' own */
	invented_file(LEAF "/io.stat", "");
	at = 0;
	for (int i = 0; at < sizeof(text) - 100; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "253:%d rbps=max wbps=max riops=max wiops=max\n", i);
	snprintf(text + at, sizeof(text) - at, "%s", limit);
	invented_file(LEAF "/io.max", text);
	l = limits_of(state);
	assert_true(!l->n_ios && l->io.more_limits);
}

/* The topmost group's counts are the whole machine's. */
static void a_server_in_no_group_has_no_counts_of_its_own(void **state)
{
	struct cgroup_limits *l;

	version_2();
	invented_file("/proc/71/cgroup", "0::/\n");
	invented_file(TOP "/memory.stat", "workingset_refault_file 55\n");
	invented_file(TOP "/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
	l = limits_of(state);
	assert_int_equal(l->memory.version, 2);
	assert_false(l->has_refaulted || l->has_memory_stall);
}

static void version_1_has_a_folder_for_each(void **state)
{
	struct cgroup_limits *l;

	invented_file("/proc/71/cgroup", "7:blkio:/b\n4:memory:/m\n1:cpu:/c/d\n0::/\n");
	invented_file("/proc/self/mountinfo",
		      "32 31 0:29 / " TOP "/cpu rw - cgroup cgroup rw,cpu\n"
		      "35 31 0:32 / " TOP "/memory rw - cgroup cgroup rw,memory\n"
		      "38 31 0:35 / " TOP "/blkio rw - cgroup cgroup rw,blkio\n");
	invented_file(TOP "/cpu/c/d/cgroup.procs", "");
	invented_file(TOP "/memory/m/cgroup.procs", "");
	invented_file(TOP "/blkio/b/cgroup.procs", "");
	invented_file(TOP "/cpu/cgroup.sane_behavior", "0\n");
	invented_file(TOP "/cpu/c/d/cpu.cfs_quota_us", "-1\n");
	invented_file(TOP "/cpu/c/d/cpu.cfs_period_us", "100000\n");
	invented_file(TOP "/cpu/c/d/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	invented_file(TOP "/cpu/c/cpu.cfs_quota_us", "20000\n");
	invented_file(TOP "/cpu/c/cpu.cfs_period_us", "100000\n");
	invented_file(TOP "/cpu/c/cpu.stat",
		      "nr_periods 40\nnr_throttled 30\nthrottled_time 999999\n");
	invented_file(TOP "/memory/m/memory.limit_in_bytes", "25165824\n");
	invented_file(TOP "/memory/m/memory.usage_in_bytes", "25165000\n");
	invented_file(TOP "/memory/m/memory.failcnt", "2900000\n");
	invented_file(TOP "/memory/m/memory.oom_control",
		      "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	invented_file(TOP "/memory/m/memory.stat", "cache 5\nworkingset_refault_file 8\n"
						   "total_workingset_refault_file 99\n");
	invented_file(TOP "/memory/memory.limit_in_bytes", "9223372036854771712\n");
	invented_file(TOP "/memory/memory.usage_in_bytes", "7\n");
	invented_file(TOP "/memory/memory.failcnt", "0\n");
	invented_file(TOP "/blkio/b/blkio.throttle.read_bps_device", "254:0 2097152\n");
	invented_file(TOP "/blkio/b/blkio.throttle.write_iops_device", "254:0 50\n8:0 9\n");
	invented_file(TOP "/blkio/b/blkio.throttle.io_service_bytes",
		      "254:0 Read 1000\n254:0 Write 5\n254:0 Total 1005\nTotal 1005\n");
	invented_file(TOP "/blkio/b/blkio.throttle.io_service_bytes_recursive",
		      "254:0 Read 4000\n254:0 Write 5\n254:0 Total 4005\nTotal 4005\n");
	invented_file(TOP "/blkio/b/blkio.throttle.io_serviced_recursive",
		      "254:0 Read 1\n254:0 Write 12\n");
	l = limits_of(state);
	assert_true(l->cpu.version == 1 && l->cpu.whole);
	assert_int_equal(l->n_quotas, 1);
	assert_true(l->quota[0].cpus > 0.199 && l->quota[0].cpus < 0.201);
	assert_int_equal(l->quota[0].periods, 40);
	assert_true(l->quota[0].throttled == 30 && l->quota[0].wait_ns == 999999);
	assert_string_equal(l->quota[0].path, TOP "/cpu/c");
	assert_int_equal(l->n_memories, 1);
	assert_int_equal(l->mem[0].limit_b, 25165824);
	assert_int_equal(l->mem[0].hits, 2900000);
	assert_false(l->mem[0].high);
	assert_true(l->has_kills && l->kills == 2);
	assert_true(l->has_refaulted && l->refaulted == 8);
	assert_false(l->has_memory_stall);
	assert_int_equal(l->n_ios, 3);
	assert_int_equal(l->device[0].of, CGROUP_READ_B);
	assert_int_equal(l->device[0].limit, 2097152);
	assert_int_equal(l->device[0].done, 4000);
	assert_int_equal(l->device[1].of, CGROUP_WRITES);
	assert_int_equal(l->device[1].done, 12);
	assert_int_equal(l->device[2].major, 8);
	assert_int_equal(l->device[2].done, 0);
}

static void a_process_that_has_ended_is_in_no_group(void **state)
{
	struct cgroup_limits *l = limits_of(state);

	assert_true(!l->cpu.version && !l->memory.version && !l->io.version);
	assert_int_equal(l->n_quotas + l->n_memories + l->n_ios, 0);
}

/* Sessions may be in the cgroups of their users. */
static void a_process_in_another_group_may_have_other_limits(void **state)
{
	struct cgroup_limits *l;

	version_2();
	invented_file("/proc/72/cgroup", "0::/srv.slice/a.service\n");
	invented_file("/proc/73/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n");
	l = limits_of(state);
	cgroup_limits_compare(l, invented_root, PID, 72);
	cgroup_limits_compare(l, invented_root, PID, 74); /* it has ended */
	assert_false(l->cpu.apart || l->memory.apart || l->io.apart);
	cgroup_limits_compare(l, invented_root, PID, 73);
	assert_true(l->cpu.apart && l->memory.apart && l->io.apart);
	/* Of version 1 by controller. */
	invented_file("/proc/71/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n2:blkio:/a\n");
	invented_file("/proc/72/cgroup", "4:memory:/a/b\n3:cpu,cpuacct:/a\n2:blkio:/a\n");
	l = limits_of(state);
	cgroup_limits_compare(l, invented_root, PID, 72);
	assert_true(l->memory.apart && !l->cpu.apart && !l->io.apart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, limits_begin, limits_end)
		EACH(version_2_has_limits_of_its_own_and_of_its_slice),
		EACH(without_limits_there_are_none),
		EACH(a_limit_whose_counts_cannot_be_read_is_not_none),
		EACH(nor_is_one_of_a_device),
		EACH(a_server_in_no_group_has_no_counts_of_its_own),
		EACH(version_1_has_a_folder_for_each),
		EACH(a_process_that_has_ended_is_in_no_group),
		EACH(a_process_in_another_group_may_have_other_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
