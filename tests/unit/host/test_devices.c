/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/devices.h"

#include "unit/invented_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_line_has_accesses_bytes_and_times(void **state)
{
	const struct devices_entry *e;
	struct devices d;

	(void)state;
	/* The second is one of Linux before 4.18, the third is cut. */
	invented_file("/proc/diskstats",
		      "   8       0 sda 10 1 20 30 11 2 40 50 3 60 70 12 0 80 90 13 100\n"
		      "   8      16 sdb 1 0 8 2 3 0 16 4 0 5 6\n"
		      "   8      32 sdc 1 0 8\n");
	assert_int_equal(devices_read(&d, invented_root), 0);
	assert_int_equal(d.n, 2);
	e = devices_find(&d, "sda");
	assert_non_null(e);
	assert_int_equal(e->major, 8);
	assert_int_equal(e->n, 10 + 11 + 13);
	assert_int_equal(e->ms, 30 + 50 + 100);
	assert_int_equal(e->b, (20 + 40) * 512);
	assert_int_equal(e->busy_ms, 60);
	assert_int_equal(e->queue_ms, 70);
	e = devices_find(&d, "sdb");
	assert_non_null(e);
	assert_int_equal(e->minor, 16);
	assert_int_equal(e->n, 4);
	assert_int_equal(e->queue_ms, 6);
	assert_null(devices_find(&d, "sdc"));
	devices_fini(&d);
	assert_int_equal(devices_read(&d, "/nowhere"), 0);
	assert_int_equal(d.n, 0);
	devices_fini(&d);
}

/* sda has sda1, md0 is made of sda1 and sdb, dm-0 of md0; loop0 shows a file. */
static void make_devices(void)
{
	static const char *const names[] = { "sda", "sdb", "md0", "dm-0", "loop0" };
	static const char *const numbers[] = { "8:0", "8:16", "9:0", "253:0", "7:0" };
	char link[64], to[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(to, sizeof(to), "../../devices/pci/block/%s", names[i]);
		snprintf(link, sizeof(link), "/sys/dev/block/%s", numbers[i]);
		invented_link(link, to);
		snprintf(link, sizeof(link), "/sys/class/block/%s", names[i]);
		invented_link(link, to);
		snprintf(link, sizeof(link), "/sys/devices/pci/block/%s/size", names[i]);
		invented_file(link, "1\n");
	}
	invented_file("/sys/devices/pci/block/sda/sda1/partition", "1\n");
	invented_link("/sys/dev/block/8:1", "../../devices/pci/block/sda/sda1");
	invented_link("/sys/class/block/sda1", "../../devices/pci/block/sda/sda1");
	invented_link("/sys/devices/pci/block/md0/slaves/sda1", "../../sda/sda1");
	invented_link("/sys/devices/pci/block/md0/slaves/sdb", "../../sdb");
	invented_link("/sys/devices/pci/block/dm-0/slaves/md0", "../../md0");
	invented_file("/sys/devices/pci/block/loop0/loop/backing_file", "/srv/disk image\n");
	invented_link("/sys/fs/btrfs/0a1b/devices/sda1", "../../../../devices/pci/block/sda/sda1");
	invented_link("/sys/fs/btrfs/0a1b/devices/sdb", "../../../../devices/pci/block/sdb");
	invented_link("/sys/fs/btrfs/2c3d/devices/md0", "../../../../devices/pci/block/md0");
}

static void what_a_lowest_device_moved_is_in_no_others_figures(void **state)
{
	static const char *const lowest[] = { "sda", "sdb", "sdq" };
	struct devices d;
	size_t n = 0;

	(void)state;
	make_devices();
	/* Of sdq /sys says nothing. */
	invented_file("/proc/diskstats", "   8       0 sda 10 1 20 30 11 2 40 50 3 60 70\n"
					 "   8       1 sda1 10 1 20 30 11 2 40 50 3 60 70\n"
					 "   8      16 sdb 10 1 20 30 11 2 40 50 3 60 70\n"
					 "   9       0 md0 10 1 20 30 11 2 40 50 3 60 70\n"
					 " 253       0 dm-0 10 1 20 30 11 2 40 50 3 60 70\n"
					 "   7       0 loop0 10 1 20 30 11 2 40 50 3 60 70\n"
					 " 252       0 zram0 10 1 20 30 11 2 40 50 3 60 70\n"
					 "  65       0 sdq 10 1 20 30 11 2 40 50 3 60 70\n");
	assert_int_equal(devices_read(&d, invented_root), 0);
	assert_int_equal(d.n, 8);
	for (size_t i = 0; i < d.n; i++)
		if (d.entry[i].lowest)
			assert_string_equal(d.entry[i].name, lowest[n++]);
	assert_int_equal(n, 3);
	devices_fini(&d);
}

static bool has(const struct devices_below *b, const char *name)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->name[i], name))
			return true;
	return false;
}

static void what_a_device_is_made_of_is_found(void **state)
{
	struct devices_below b = { 0 };
	char file[64];

	(void)state;
	make_devices();
	devices_below(&b, invented_root, 253, 0);
	assert_int_equal(b.n, 4);
	assert_true(has(&b, "dm-0") && has(&b, "md0") && has(&b, "sda") && has(&b, "sdb"));
	devices_below(&b, invented_root, 8, 1);
	assert_int_equal(b.n, 4); /* each once */
	b.n = 0;
	devices_below(&b, invented_root, 8, 1);
	assert_int_equal(b.n, 1);
	assert_true(has(&b, "sda"));
	devices_below(&b, invented_root, 0, 45);
	assert_int_equal(b.n, 1);
	b.n = 0;
	devices_below_btrfs(&b, invented_root, "sda1");
	assert_int_equal(b.n, 2);
	assert_true(has(&b, "sda") && has(&b, "sdb"));
	assert_true(devices_backing(file, sizeof(file), invented_root, "loop0"));
	assert_string_equal(file, "/srv/disk image");
	assert_false(devices_backing(file, sizeof(file), invented_root, "sda"));
}

#define MDSTAT                                                                                     \
	"Personalities : [raid1] [raid6]\n"                                                        \
	"md10 : active raid1 sdb1[1] sda1[0]\n"                                                    \
	"      1047552 blocks super 1.2 [2/2] [UU]\n"                                              \
	"      [==>..................]  resync = 12.6% (132096/1047552) finish=0.1min\n\n"         \
	"md1 : active raid1 sdb2[1] sda2[0]\n"                                                     \
	"      1047552 blocks super 1.2 [2/2] [UU]\n"                                              \
	"        resync=DELAYED\n\n"                                                               \
	"md2 : active raid6 sdc[1] sdd[0]\n"                                                       \
	"      bitmap: 1/8 pages [4KB], 65536KB chunk\n"                                           \
	"      [>....................]  check =  0.1% (1/1000) finish=9min speed=1K/sec\n\n"       \
	"unused devices: <none>\n"

static void a_raid_that_is_rebuilt_says_how_far_it_is(void **state)
{
	char what[32];

	(void)state;
	assert_true(devices_rebuild(what, sizeof(what), MDSTAT, "md10"));
	assert_string_equal(what, "resync 12.6%");
	assert_true(devices_rebuild(what, sizeof(what), MDSTAT, "md2"));
	assert_string_equal(what, "check 0.1%");
	/* It waits for another one. */
	assert_false(devices_rebuild(what, sizeof(what), MDSTAT, "md1"));
	assert_false(devices_rebuild(what, sizeof(what), MDSTAT, "sda"));
	assert_false(devices_rebuild(what, sizeof(what), "", "md0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define EACH(f) cmocka_unit_test_setup_teardown(f, invented_tree, invented_gone)
		EACH(a_line_has_accesses_bytes_and_times),
		EACH(what_a_device_is_made_of_is_found),
		EACH(what_a_lowest_device_moved_is_in_no_others_figures),
		EACH(a_raid_that_is_rebuilt_says_how_far_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
