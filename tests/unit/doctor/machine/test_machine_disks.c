/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/two_looks.h"

#define SERVER 100
#define OTHER  200

static struct filesystem volumes[] = {
	{ .path = "/srv/a", .type = "ext4", .below = { 2, { "md0", "sda" } } },
	{ .path = "/srv/b", .type = "xfs", .below = { 1, { "sdc" } } },
};

static struct devices_entry disks_then[] = {
	{ 8, 0, "sda", 100, 1000, 0, 500, 600, false },
	{ 8, 16, "sdb", 7, 7, 0, 7, 7, false },
	{ 8, 32, "sdc", 50, 50, 1000000, 50, 50, false },
	{ 9, 0, "md0", 0, 0, 0, 0, 0, false },
};
static struct devices_entry disks_now[] = {
	{ 8, 0, "sda", 110, 1100, 0, 600, 700, true },
	{ 8, 16, "sdb", 9999, 99999, 1u << 30, 9999, 99999, true }, /* no volume's */
	{ 8, 32, "sdc", 150, 2050, 41000000, 9050, 40050, true },
	{ 9, 0, "md0", 0, 0, 0, 0, 0, false },
};

static void disks_are_seen(struct two_looks *l)
{
	l->before.devices = (struct devices) { 4, disks_then };
	l->after.devices = (struct devices) { 4, disks_now };
	l->m.volume = volumes;
	l->m.n_volumes = 2;
	l->before.all_processes = true;
}

static void the_busiest_of_the_volumes_devices_is_named(void **state)
{
	struct two_looks *l = *state;
	const struct run_figures *f;

	disks_are_seen(l);
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.9, "sdc (volume /srv/b)");
	figure_is(f, RUN_FIGURE_DEVICE_TIME, 20e6, NULL);
	figure_is(f, RUN_FIGURE_DEVICE_QUEUE, 4, NULL);
	figure_is(f, RUN_FIGURE_DEVICE_REBUILD, 0, "");
	l->m.n_volumes = 1;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.01, "sda (volume /srv/a)");
	strcpy(l->after.mdstat, "md0 : active raid1 sda[1]\n      [=>.]  recovery = 12.6% (1/8)\n");
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_REBUILD, 1, "md0 recovery 12.6%");
}

/* 40 MB in all. */
static void others_are_blamed_for_no_more_than_they_moved(void **state)
{
	struct processes_entry then[3] = {
		{ .pid = SERVER, .has_io = true, .st.started = 1 },
		{ .pid = OTHER, .has_io = true, .st.started = 1, .io_b = 5000000 },
	};
	struct processes_entry now[] = {
		{ .pid = SERVER, .has_io = true, .st.started = 1, .io_b = 10000000 },
		{ .pid = OTHER,
		  .has_io = true,
		  .st.started = 1,
		  .io_b = 25000000,
		  .st.comm = "tar" },
		{ .pid = OTHER + 1, .has_io = false },
		{ .pid = OTHER + 2, .st.is_kernel = true },
	};
	const pid_t own[] = { SERVER };
	struct two_looks *l = *state;
	const struct run_figures *f;

	disks_are_seen(l);
	l->m.own = own;
	l->m.n_own = 1;
	l->before.processes = (struct process_table) { .n = 2, .entry = then };
	l->after.processes = (struct process_table) { .n = 4, .entry = now };
	disks_now[1].b = 0;
	/* 10 MB are left that nobody moved: the file system's journal. */
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_OTHERS, 0.5, "tar (pid 200): 2 MB/s");
	/* They moved more, so some of it on other devices. */
	now[1].io_b = 905000000;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0.75, "tar (pid 200): 90 MB/s");
	now[0].io_b = 400000000;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0, NULL);
	/* A session ended, and the server has its bytes, those before as well. */
	then[2] = (struct processes_entry) {
		.pid = SERVER + 200, .st.ppid = SERVER, .has_io = true, .io_b = 390000000
	};
	l->before.processes.n = 3;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0.75, NULL);
	now[0].has_io = false;
	figure_unknown(looks_between(l), RUN_FIGURE_DEVICE_OTHERS,
		       "no right to see what the server reads and writes");
}

/* A program may have written all of it to the other disk: a slow one is not blamed on it. */
static void which_of_two_busy_disks_others_used_is_not_known(void **state)
{
	struct processes_entry then[] = {
		{ .pid = SERVER, .has_io = true, .st.started = 1 },
		{ .pid = OTHER, .has_io = true, .st.started = 1 },
	};
	struct processes_entry now[] = {
		{ .pid = SERVER, .has_io = true, .st.started = 1, .io_b = 10000000 },
		{ .pid = OTHER, .has_io = true, .st.started = 1, .io_b = 30000000 },
	};
	const pid_t own[] = { SERVER };
	struct two_looks *l = *state;

	disks_are_seen(l);
	l->m.own = own;
	l->m.n_own = 1;
	l->before.processes = (struct process_table) { .n = 2, .entry = then };
	l->after.processes = (struct process_table) { .n = 2, .entry = now };
	disks_now[1].b = 30000000;
	figure_unknown(
	    looks_between(l), RUN_FIGURE_DEVICE_OTHERS,
	    "which program used which disk is not known, and another disk was busy, too");
	disks_now[1].b = 2000000; /* and as much again is in memory, as far as is known */
	figure_unknown(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, NULL);
	disks_now[1].b = 1000000;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0.75, NULL);
	/* Below the same volume. */
	disks_now[1].b = 30000000;
	disks_now[1].busy_ms = 8;
	volumes[1].below = (struct devices_below) { 2, { "sdc", "sdb" } };
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0.75, NULL);
	volumes[1].below = (struct devices_below) { 1, { "sdc" } };
	/* A part of a disk, or what lies on it, is counted with it. */
	disks_now[1].lowest = false;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0.75, NULL);
	disks_now[1].lowest = true;
	/* Nobody else moved anything: that is known, whatever other disks did. */
	now[1].io_b = 0;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0, NULL);
}

static void a_volume_without_a_device_says_what_it_is_on(void **state)
{
	struct filesystem fs = { .path = "/srv/n", .type = "nfs4" };
	struct two_looks *l = *state;
	const struct run_figures *f;

	disks_are_seen(l);
	l->m.n_volumes = 1;
	l->m.volume = &fs;
	f = looks_between(l);
	figure_unknown(f, RUN_FIGURE_DEVICE_BUSY, "nfs4 at /srv/n shows no device");
	figure_unknown(f, RUN_FIGURE_DEVICE_REBUILD, "nfs4 at /srv/n shows no device");
	figure_unknown(f, RUN_FIGURE_IO_LIMIT, "nfs4 at /srv/n shows no device");
	fs = (struct filesystem) { .path = "/srv/n", .error = -2 };
	figure_unknown(looks_between(l), RUN_FIGURE_DEVICE_BUSY,
		       "/srv/n: No such file or directory");
}

/* Two volumes: a fast disk is always busy, and one of 40 ms for each access for so much of 10 s. */
static const struct run_figures *two_disks(struct two_looks *l, uint64_t busy_ms)
{
	static struct devices_entry now[4];

	disks_are_seen(l);
	memcpy(now, disks_then, sizeof(now));
	now[0].n += 100000;
	now[0].ms += 10000;
	now[0].busy_ms += 9900;
	now[2].n += busy_ms / 40;
	now[2].ms += busy_ms;
	now[2].busy_ms += busy_ms;
	l->after.devices.entry = now;
	l->after.mdstat[0] = '\0';
	return looks_between(l);
}

static void a_fast_disk_that_is_busier_does_not_hide_a_slow_one(void **state)
{
	struct two_looks *l = *state;
	const struct run_figures *f = two_disks(l, 6000);

	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.6, "sdc (volume /srv/b)");
	figure_is(f, RUN_FIGURE_DEVICE_TIME, 40e6, NULL);
	/* One that is hardly used hides nothing. */
	f = two_disks(l, 2000);
	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.99, "sda (volume /srv/a)");
	figure_is(f, RUN_FIGURE_DEVICE_TIME, 0.1e6, NULL);
}

static void the_rebuilding_of_another_disk_is_not_why_this_one_is_busy(void **state)
{
	static const char at_work[] =
	    "md0 : active raid1 sda[1]\n      [=>.]  recovery = 12.6% (1/8)\n";
	struct two_looks *l = *state;
	const struct run_figures *f;

	two_disks(l, 6000);
	strcpy(l->after.mdstat, at_work);
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.99, "sda (volume /srv/a)");
	figure_is(f, RUN_FIGURE_DEVICE_REBUILD, 1, "md0 recovery 12.6%");
	/* It pauses, as it does beside other work: then it is no cause. */
	l->after.devices.entry[0] = disks_then[0];
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.6, "sdc (volume /srv/b)");
	figure_is(f, RUN_FIGURE_DEVICE_REBUILD, 0, NULL);
}

static const char sda_rebuilt[] =
    "md0 : active raid1 sda[1]\n      [=>.]  recovery = 12.6% (1/8)\n";

/* sda is fast and rebuilt, sdc slow: of which of them requests wait is not known. */
static void a_rebuilding_does_not_rule_out_that_another_disk_is_slow(void **state)
{
	struct two_looks *l = *state;
	const struct run_figures *f;

	two_disks(l, 6000);
	strcpy(l->after.mdstat, sda_rebuilt);
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_REBUILD, 1, NULL);
	figure_unknown(f, RUN_FIGURE_DEVICE_TIME,
		       "sdc (volume /srv/b), another disk, was busy, too");
	/* It is not busy. */
	two_disks(l, 2000);
	strcpy(l->after.mdstat, sda_rebuilt);
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_TIME, 0.1e6, NULL);
}

/* sdc is slow and the server's; on sda a backup runs. */
static void a_slow_disk_does_not_rule_out_that_others_use_another(void **state)
{
	struct processes_entry then[] = {
		{ .pid = SERVER, .has_io = true, .st.started = 1 },
		{ .pid = OTHER, .has_io = true, .st.started = 1 },
	};
	struct processes_entry now[] = {
		{ .pid = SERVER, .has_io = true, .st.started = 1, .io_b = 50000000 },
		{ .pid = OTHER, .has_io = true, .st.started = 1, .io_b = 900000000 },
	};
	const pid_t own[] = { SERVER };
	struct two_looks *l = *state;
	const struct run_figures *f;

	l->m.own = own;
	l->m.n_own = 1;
	l->before.processes = (struct process_table) { .n = 2, .entry = then };
	l->after.processes = (struct process_table) { .n = 2, .entry = now };
	two_disks(l, 6000);
	l->after.devices.entry[0].b += 900000000;
	l->after.devices.entry[2].b += 40000000;
	f = looks_between(l);
	figure_is(f, RUN_FIGURE_DEVICE_BUSY, 0.6, "sdc (volume /srv/b)");
	figure_is(f, RUN_FIGURE_DEVICE_TIME, 40e6, NULL);
	figure_unknown(f, RUN_FIGURE_DEVICE_OTHERS,
		       "sda (volume /srv/a), another disk, was busy, too");
	/* The server's own work. */
	now[0].io_b = 940000000;
	now[1].io_b = 1000;
	figure_is(looks_between(l), RUN_FIGURE_DEVICE_OTHERS, 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, looks_begin, looks_end)
		EACH(the_busiest_of_the_volumes_devices_is_named),
		EACH(others_are_blamed_for_no_more_than_they_moved),
		EACH(which_of_two_busy_disks_others_used_is_not_known),
		EACH(a_fast_disk_that_is_busier_does_not_hide_a_slow_one),
		EACH(the_rebuilding_of_another_disk_is_not_why_this_one_is_busy),
		EACH(a_rebuilding_does_not_rule_out_that_another_disk_is_slow),
		EACH(a_slow_disk_does_not_rule_out_that_others_use_another),
		EACH(a_volume_without_a_device_says_what_it_is_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
