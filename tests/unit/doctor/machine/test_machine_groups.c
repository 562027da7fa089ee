/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/two_looks.h"

#include "doctor/judge.h"

#define SLICE "/sys/fs/cgroup/srv.slice"
#define LEAF  SLICE "/a.service"

static void groups_are_seen(struct two_looks *l)
{
	const struct cgroup_folder leaf = { .version = 2, .whole = true, .path = LEAF };

	l->before.groups.cpu = l->before.groups.memory = l->before.groups.io = leaf;
	l->after.groups.cpu = l->after.groups.memory = l->after.groups.io = leaf;
}

static void the_quota_that_binds_is_named(void **state)
{
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	const struct run_figures *f;

	groups_are_seen(l);
	then->n_quotas = now->n_quotas = 2;
	then->quota[0] = (struct cgroup_quota) { 4, 100, 10, false, 0, LEAF };
	then->quota[1] = (struct cgroup_quota) { 0.2, 0, 0, false, 0, SLICE };
	now->quota[0] = (struct cgroup_quota) { 4, 200, 20, false, 0, LEAF };
	now->quota[1] = (struct cgroup_quota) { 0.2, 100, 92, false, 0, SLICE };
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_THROTTLED, 0.92, "0.2 CPUs, " SLICE);
	figure_is(f, RUN_FIGURE_QUOTA, 0.2, NULL);
	/* Nothing ran: nothing was held back. */
	now->quota[0] = then->quota[0];
	now->quota[1] = then->quota[1];
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_THROTTLED, 0, "0.2 CPUs, " SLICE);
	/* One that was set meanwhile. */
	then->n_quotas = 0;
	figure_unknown(looks_between(l), RUN_FIGURE_THROTTLED, "the quota is new");
	now->n_quotas = 0;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_THROTTLED, 0, "no quota");
	figure_unknown(f, RUN_FIGURE_QUOTA, "no quota");
	now->cpu.whole = false;
	figure_unknown(looks_between(l), RUN_FIGURE_THROTTLED,
		       "the cgroups above this container cannot be seen");
	now->cpu.version = 0;
	figure_unknown(looks_between(l), RUN_FIGURE_THROTTLED, "the server's cgroup was not found");
}

/* 10 s, in which requests wait for a CPU 60 % of their time, and use two CPUs. */
static double waits_for_quota(struct two_looks *l, double at_a_time, double held_s,
			      struct run_figures *f)
{
	*f = (struct run_figures) { 0 };
	run_figure_set(f, RUN_FIGURE_WAIT_CPU, 0.6);
	run_figure_set(f, RUN_FIGURE_BUSY, at_a_time);
	l->after.groups.quota[0].wait_ns = 7000 + (uint64_t)(held_s * 1e9);
	assert_int_equal(doctor_machine(f, &l->m), 0);
	assert_true(f->known[RUN_FIGURE_QUOTA_WAIT]);
	return f->value[RUN_FIGURE_QUOTA_WAIT];
}

static void near(double is, double value)
{
	if (is < value - 1e-6 || is > value + 1e-6)
		fail_msg("%g, not %g", is, value);
}

/* However many periods it held the server back in, what counts is for how long. */
static void a_quota_explains_as_much_of_the_wait_as_it_held(void **state)
{
	struct two_looks *l = *state;
	struct run_figures f;

	groups_are_seen(l);
	for (size_t i = 0; i < 2; i++)
		l->before.may_use[i] = l->before.cpus.known[i] = true;
	l->before.groups.n_quotas = l->after.groups.n_quotas = 1;
	l->before.groups.quota[0] = (struct cgroup_quota) { 1.5, 0, 0, true, 7000, LEAF };
	l->after.groups.quota[0] = (struct cgroup_quota) { 1.5, 100, 16, true, 7000, LEAF };
	/* 2 ms in each of 16 periods, on both CPUs */
	near(waits_for_quota(l, 5, 0.064, &f), 0.0032);
	near(f.value[RUN_FIGURE_THROTTLED], 0.16);
	/* One session on one CPU; twenty, that want both. */
	near(waits_for_quota(l, 1, 3, &f), 0.3);
	near(waits_for_quota(l, 20, 8, &f), 0.4);
	near(waits_for_quota(l, 20, 15, &f), 0.6);
	/* A request now and then. */
	near(waits_for_quota(l, 0.5, 1, &f), 0.2);
	l->after.groups.quota[0].has_wait = false;
	f = (struct run_figures) { 0 };
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.6);
	run_figure_set(&f, RUN_FIGURE_BUSY, 5);
	assert_int_equal(doctor_machine(&f, &l->m), 0);
	assert_false(f.known[RUN_FIGURE_QUOTA_WAIT]);
	/* There is none. */
	l->before.groups.n_quotas = l->after.groups.n_quotas = 0;
	assert_int_equal(doctor_machine(&f, &l->m), 0);
	assert_true(f.known[RUN_FIGURE_QUOTA_WAIT] && f.value[RUN_FIGURE_QUOTA_WAIT] == 0);
}

/* Of several quotas one is new, or one above the container is not shown: it may be what counts. */
static void a_quota_that_does_nothing_rules_out_no_other(void **state)
{
	static const char above[] = "the cgroups above this container cannot be seen";
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	struct run_figures f = { 0 };

	groups_are_seen(l);
	then->n_quotas = 1;
	now->n_quotas = 2;
	then->quota[0] = (struct cgroup_quota) { 4, 100, 10, true, 0, LEAF };
	now->quota[0] = (struct cgroup_quota) { 4, 200, 14, true, 5000, LEAF };
	now->quota[1] = (struct cgroup_quota) { 0.2, 100, 92, true, 9000, SLICE };
	figure_unknown(looks_between(l), RUN_FIGURE_THROTTLED, "the quota is new");
	now->n_quotas = 1;
	figure_is(looks_between(l), RUN_FIGURE_THROTTLED, 0.04, NULL);
	now->cpu.whole = false;
	figure_unknown(looks_between(l), RUN_FIGURE_THROTTLED, above);
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.6);
	run_figure_set(&f, RUN_FIGURE_BUSY, 1);
	assert_int_equal(doctor_machine(&f, &l->m), 0);
	assert_false(f.known[RUN_FIGURE_QUOTA_WAIT]);
	/* One that is seen to hold the server back is. */
	now->quota[0].throttled = 100;
	now->quota[0].wait_ns = 4000000000;
	assert_int_equal(doctor_machine(&f, &l->m), 0);
	figure_is(&f, RUN_FIGURE_QUOTA_WAIT, 0.4, NULL);
	assert_true(f.at_least[RUN_FIGURE_QUOTA_WAIT]);
	figure_is(&f, RUN_FIGURE_THROTTLED, 0.9, "4 CPUs, " LEAF);
	now->cpu.more_limits = true;
	now->quota[0].throttled = 10;
	figure_unknown(looks_between(l), RUN_FIGURE_THROTTLED,
		       "its cgroup has more limits than are looked at, or the counts of one cannot "
		       "be read");
}

static void nor_does_a_limit_of_memory_or_of_a_device(void **state)
{
	static const char above[] = "the cgroups above this container cannot be seen";
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	struct devices_entry sda = { .major = 8, .name = "sda" };
	struct filesystem fs = { .path = "/srv", .type = "ext4", .below = { 1, { "sda" } } };

	groups_are_seen(l);
	l->after.devices = l->before.devices = (struct devices) { 1, &sda };
	l->m.volume = &fs;
	l->m.n_volumes = then->n_memories = now->n_memories = then->n_ios = now->n_ios = 1;
	then->mem[0] = (struct cgroup_memory) { 30000000, false, 1, 0, LEAF };
	now->mem[0] = (struct cgroup_memory) { 30000000, false, 23900000, 50, LEAF };
	then->device[0] = (struct cgroup_io) { 8, 0, CGROUP_READ_B, 2000000, 0, LEAF };
	now->device[0] = (struct cgroup_io) { 8, 0, CGROUP_READ_B, 2000000, 6000000, LEAF };
	figure_is(looks_between(l), RUN_FIGURE_MEMORY_HITS, 5, NULL);
	/* In bursts that may be all of it. */
	figure_unknown(looks_between(l), RUN_FIGURE_IO_LIMIT,
		       "an I/O limit was used in part: whether in bursts is not seen");
	now->device[0].done = 800000;
	figure_is(looks_between(l), RUN_FIGURE_IO_LIMIT, 0.04, NULL);
	now->device[0].done = 6000000;
	now->memory.whole = now->io.whole = false;
	figure_unknown(looks_between(l), RUN_FIGURE_MEMORY_HITS, above);
	figure_unknown(looks_between(l), RUN_FIGURE_IO_LIMIT, above);
	now->mem[0].hits = 500;
	now->device[0].done = 18000000;
	figure_is(looks_between(l), RUN_FIGURE_MEMORY_HITS, 50, NULL);
	figure_is(looks_between(l), RUN_FIGURE_IO_LIMIT, 0.9, NULL);
}

static void the_limit_of_memory_that_was_hit_is_named(void **state)
{
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	const struct run_figures *f;

	groups_are_seen(l);
	then->n_memories = now->n_memories = 3;
	then->mem[0] = (struct cgroup_memory) { 24000000, true, 1, 100, LEAF };
	then->mem[1] = (struct cgroup_memory) { 30000000, false, 1, 0, LEAF };
	then->mem[2] = (struct cgroup_memory) { 900000000, false, 1, 7, SLICE };
	now->mem[0] = (struct cgroup_memory) { 24000000, true, 23900000, 5100, LEAF };
	now->mem[1] = (struct cgroup_memory) { 30000000, false, 23900000, 0, LEAF };
	now->mem[2] = (struct cgroup_memory) { 900000000, false, 899999999, 7, SLICE };
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_MEMORY_LIMIT, 24000000, "memory.high of " LEAF);
	figure_is(f, RUN_FIGURE_MEMORY_USED, 23900000, NULL);
	figure_is(f, RUN_FIGURE_MEMORY_HITS, 500, NULL);
	/* None was hit: the fullest. */
	now->mem[0].hits = 100;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_MEMORY_LIMIT, 900000000, "memory.max of " SLICE);
	figure_is(f, RUN_FIGURE_MEMORY_HITS, 0, NULL);
	now->memory.version = 1;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_MEMORY_LIMIT, 900000000, "memory.limit_in_bytes of " SLICE);
	now->n_memories = 0;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_MEMORY_HITS, 0, "no limit");
	figure_unknown(f, RUN_FIGURE_MEMORY_LIMIT, "no limit");
}

static void counts_of_its_own_group_are_growth(void **state)
{
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	const struct run_figures *f;
	long page = sysconf(_SC_PAGESIZE);

	groups_are_seen(l);
	then->has_kills = now->has_kills = true;
	then->has_refaulted = now->has_refaulted = true;
	then->has_memory_stall = now->has_memory_stall = true;
	then->kills = 1;
	now->kills = 4;
	now->refaulted = 1000;
	now->memory_stall_us = 4000000;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_MEMORY_KILLS, 3, NULL);
	figure_is(f, RUN_FIGURE_MEMORY_REREAD, 100. * (double)page, NULL);
	figure_is(f, RUN_FIGURE_MEMORY_STALL, 0.4, NULL);
	figure_unknown(f, RUN_FIGURE_IO_STALL, NULL);
	/* Where the whole machine read nothing again, nothing of it is elsewhere. */
	l->before.known[MACHINE_REFAULTED] = l->after.known[MACHINE_REFAULTED] = true;
	figure_is(looks_between(l), RUN_FIGURE_REREAD_ELSEWHERE, 0, NULL);
	/* It was moved to another group. */
	strcpy(now->memory.path, SLICE);
	f = looks_between(l);
	figure_unknown(f, RUN_FIGURE_MEMORY_KILLS, NULL);
	figure_unknown(f, RUN_FIGURE_MEMORY_REREAD, NULL);
}

static void a_limit_of_another_device_does_not_count(void **state)
{
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	struct devices_entry disks[] = { { .major = 8, .minor = 0, .name = "sda" },
					 { .major = 8, .minor = 16, .name = "sdb" } };
	struct filesystem fs = { .path = "/srv", .type = "ext4", .below = { 1, { "sda" } } };
	const struct run_figures *f;

	groups_are_seen(l);
	l->after.devices = l->before.devices = (struct devices) { 2, disks };
	figure_unknown(looks_between(l), RUN_FIGURE_IO_LIMIT, "the server's volumes are not known");
	l->m.volume = &fs;
	l->m.n_volumes = 1;
	figure_is(looks_between(l), RUN_FIGURE_IO_LIMIT, 0, "no limit");
	then->n_ios = now->n_ios = 3;
	then->device[0] = (struct cgroup_io) { 8, 0, CGROUP_READ_B, 2000000, 500, LEAF };
	then->device[1] = (struct cgroup_io) { 8, 0, CGROUP_WRITES, 100, 0, SLICE };
	then->device[2] = (struct cgroup_io) { 8, 16, CGROUP_READ_B, 1, 0, LEAF };
	now->device[0] = (struct cgroup_io) { 8, 0, CGROUP_READ_B, 2000000, 19000500, LEAF };
	now->device[1] = (struct cgroup_io) { 8, 0, CGROUP_WRITES, 100, 400, SLICE };
	now->device[2] = (struct cgroup_io) { 8, 16, CGROUP_READ_B, 1, 999999, LEAF };
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_IO_LIMIT, 0.95, "reads 1.9 MB/s of sda, 2 allowed by " LEAF);
	/* Requests that wait behind the limit count as well. */
	now->device[1].done = 4000;
	figure_is(looks_between(l), RUN_FIGURE_IO_LIMIT, 1,
		  "writes 400 times a second of sda, 100 allowed by " SLICE);
	then->n_ios = 0;
	figure_unknown(looks_between(l), RUN_FIGURE_IO_LIMIT, "the limit is new");
}

/* Where sessions are in other groups, the first process's rule nothing out. */
static void limits_of_one_of_several_groups_are_not_those_of_all(void **state)
{
	static const char apart[] = "the server's processes are in several cgroups, and one of "
				    "these is looked at";
	struct two_looks *l = *state;
	struct cgroup_limits *then = &l->before.groups, *now = &l->after.groups;
	const struct run_figures *f;

	groups_are_seen(l);
	then->has_memory_stall = now->has_memory_stall = true;
	then->has_refaulted = now->has_refaulted = true;
	figure_is(looks_between(l), RUN_FIGURE_THROTTLED, 0, "no quota");
	now->cpu.apart = now->memory.apart = now->io.apart = true;
	f = looks_between(l);
	figure_unknown(f, RUN_FIGURE_THROTTLED, apart);
	figure_unknown(f, RUN_FIGURE_MEMORY_HITS, apart);
	figure_unknown(f, RUN_FIGURE_MEMORY_REREAD, apart);
	assert_false(f->known[RUN_FIGURE_MEMORY_STALL] || f->known[RUN_FIGURE_MEMORY_ELSEWHERE]);
	/* What one does is known all the same. */
	then->n_quotas = now->n_quotas = 1;
	then->quota[0] = (struct cgroup_quota) { 4, 100, 10, false, 0, LEAF };
	now->quota[0] = (struct cgroup_quota) { 4, 200, 90, false, 0, LEAF };
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_THROTTLED, 0.8, "4 CPUs, " LEAF);
	assert_true(f->at_least[RUN_FIGURE_THROTTLED]);
}

static const struct doctor_finding *named(const struct diagnosis *d, const char *key)
{
	for (size_t i = 0; i < d->n_found; i++)
		if (!strcmp(d->found[i].rule->key, key))
			return &d->found[i];
	return NULL;
}

/* 10 s: programs waited for memory for five of them, and files were read again; the server's group
 * for so much of either. */
static struct diagnosis short_of_memory(struct two_looks *l, struct run_figures *f, double own,
					bool known)
{
	struct diagnosis d;

	groups_are_seen(l);
	l->before.known[MACHINE_PRESSURE_MEMORY] = l->after.known[MACHINE_PRESSURE_MEMORY] = true;
	l->after.total[MACHINE_PRESSURE_MEMORY] = 5000000;
	l->before.known[MACHINE_REFAULTED] = l->after.known[MACHINE_REFAULTED] = true;
	l->after.total[MACHINE_REFAULTED] = 100000;
	l->before.memory_b = l->after.memory_b = 1000000;
	l->before.available_b = l->after.available_b = 20000;
	for (int i = 0; i < 2; i++) {
		struct cgroup_limits *g = i ? &l->after.groups : &l->before.groups;

		g->has_memory_stall = g->has_refaulted = known;
		g->memory_stall_us = i ? (uint64_t)(own * 5e6) : 0;
		g->refaulted = i ? (uint64_t)(own * 1e5) : 0;
	}
	*f = (struct run_figures) { 0 };
	assert_int_equal(doctor_machine(f, &l->m), 0);
	run_figure_set(f, RUN_FIGURE_REQUESTS, 10000);
	run_figure_set(f, RUN_FIGURE_P99, 300e6);
	run_figure_set(f, RUN_FIGURE_UNCOUNTED, 0);
	run_figure_set(f, RUN_FIGURE_WAIT_DISK, 0.9);
	run_figure_set(f, RUN_FIGURE_SYNC, 0);
	run_figure_set(f, RUN_FIGURE_READ, 5e6);
	assert_int_equal(doctor_judge(&d, f), 0);
	return d;
}

/* Another container ran into its own limit, or a batch job fills the memory: the server need not
 * have waited for any. */
static void memory_that_others_wait_for_is_not_what_the_server_waits_for(void **state)
{
	struct run_figures f;
	struct diagnosis d = short_of_memory(*state, &f, 0.9, true);

	figure_is(&f, RUN_FIGURE_MEMORY_ELSEWHERE, 0.1, NULL);
	figure_is(&f, RUN_FIGURE_REREAD_ELSEWHERE, 0.1, NULL);
	assert_true(named(&d, "memory") && !named(&d, "memory")->sure);
	assert_non_null(named(&d, "rereads"));
	diagnosis_fini(&d);
	d = short_of_memory(*state, &f, 0.1, true);
	assert_true(!named(&d, "memory") && !named(&d, "rereads"));
	diagnosis_fini(&d);
	/* Half and half: it may be. */
	d = short_of_memory(*state, &f, 0.55, true);
	assert_true(named(&d, "memory") && !named(&d, "memory")->sure);
	diagnosis_fini(&d);
	/* Where nobody knows whose wait it was, either. */
	d = short_of_memory(*state, &f, 0, false);
	assert_false(f.known[RUN_FIGURE_MEMORY_ELSEWHERE]);
	assert_true(named(&d, "memory") && !named(&d, "memory")->sure);
	diagnosis_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, looks_begin, looks_end)
		EACH(the_quota_that_binds_is_named),
		EACH(a_quota_explains_as_much_of_the_wait_as_it_held),
		EACH(a_quota_that_does_nothing_rules_out_no_other),
		EACH(nor_does_a_limit_of_memory_or_of_a_device),
		EACH(the_limit_of_memory_that_was_hit_is_named),
		EACH(counts_of_its_own_group_are_growth),
		EACH(a_limit_of_another_device_does_not_count),
		EACH(limits_of_one_of_several_groups_are_not_those_of_all),
		EACH(memory_that_others_wait_for_is_not_what_the_server_waits_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
