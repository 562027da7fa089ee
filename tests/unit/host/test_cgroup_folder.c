/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a group is. Tests user/host/cgroup_limits.c. */
#include "host/cgroup_limits.h"

#include "unit/invented_tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PID  71
#define SELF "/proc/self/mountinfo"

/* Mounts of systemd's three layouts, and of containers. */
#define ROOT_FS "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
#define V2      ROOT_FS "31 27 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1                                                                                         \
	ROOT_FS                                                                                    \
	"31 27 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"                               \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"     \
	"33 31 0:30 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"              \
	"34 31 0:31 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset\n"
#define HYBRID V1 "35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define GROUPS "/system.slice/a.service"

static const struct {
	const char *about, *cgroup, *mounts, *controller;
	const char *path; /* expected; NULL: not known */
	unsigned int version;
	size_t ups; /* groups that contain it and are shown */
	bool whole;
} cases[] = {
	{ "version 2", "0::" GROUPS "\n", V2, "cpu", "/sys/fs/cgroup" GROUPS, 2, 2, true },
	{ "version 1", "5:cpuset:/\n4:cpu,cpuacct:" GROUPS "\n2:memory:/user\n", V1, "cpu",
	  "/sys/fs/cgroup/cpu,cpuacct" GROUPS, 1, 2, true },
	{ "version 1, memory", "4:cpu,cpuacct:" GROUPS "\n2:memory:/user\n", V1, "memory",
	  "/sys/fs/cgroup/memory/user", 1, 1, true },
	{ "version 1, in the topmost", "4:cpu,cpuacct:/\n", V1, "cpu", "/sys/fs/cgroup/cpu,cpuacct",
	  1, 0, true },
	{ "cpu is not cpuset", "5:cpuset:/a\n", V1, "cpu", NULL, 0, 0, false },
	{ "hybrid", "4:cpu,cpuacct:/x\n0::" GROUPS "\n", HYBRID, "cpu",
	  "/sys/fs/cgroup/cpu,cpuacct/x", 1, 1, true },
	{ "hybrid, of version 2", "4:cpu,cpuacct:/x\n0::" GROUPS "\n", HYBRID, NULL,
	  "/sys/fs/cgroup/unified" GROUPS, 2, 2, true },
	{ "hybrid, a controller of version 2", "4:cpu,cpuacct:/x\n0::" GROUPS "\n", HYBRID, "blkio",
	  "/sys/fs/cgroup/unified" GROUPS, 2, 2, true },
	{ "a container with a namespace of cgroups", "0::/\n", V2, "cpu", "/sys/fs/cgroup", 2, 0,
	  false },
	{ "a process outside that namespace", "0::/../other\n", V2, "cpu", NULL, 0, 0, false },
	{ "a container without one, its group mounted", "4:cpu,cpuacct:/docker/0a1b/in\n",
	  "32 31 0:29 /docker/0a1b /sys/fs/cgroup/cpu ro - cgroup cgroup ro,cpu,cpuacct\n", "cpu",
	  "/sys/fs/cgroup/cpu/in", 1, 1, false },
	{ "another container, of which nothing is mounted", "4:cpu,cpuacct:/docker/0a1b2\n",
	  "32 31 0:29 /docker/0a1b /sys/fs/cgroup/cpu ro - cgroup cgroup ro,cpu,cpuacct\n", "cpu",
	  NULL, 0, 0, false },
	{ "a name with a blank", "0::/a b\n",
	  ROOT_FS "31 27 0:28 / /mnt/c\\040g rw - cgroup2 - rw\n", "cpu", "/mnt/c g/a b", 2, 1,
	  true },
	{ "none mounted", "0::" GROUPS "\n", ROOT_FS, "cpu", NULL, 0, 0, false },
	{ "no such line", "", V2, "cpu", NULL, 0, 0, false },
};

/* The folder and those that contain it up to its mount, whose file says whether it is the top. */
static void make_groups(const char *path, size_t ups, unsigned int version, bool whole)
{
	char at[256], file[300];

	snprintf(at, sizeof(at), "%s", path);
	for (size_t i = 0;; i++) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", at);
		invented_file(file, "");
		if (i == ups)
			break;
		*strrchr(at, '/') = '\0';
	}
	snprintf(file, sizeof(file), "%s/%s", at,
		 version == 1 ? "cgroup.sane_behavior" : "cgroup.events");
	if (whole == (version == 1))
		invented_file(file, "0\n");
}

static void the_folder_of_a_group_is_found_or_not_known(void **state)
{
	struct cgroup_folder f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int expected = cases[i].path ? 0 : -ENODATA, r;
		size_t ups = 0;

		invented_gone(state);
		invented_tree(state);
		invented_file("/proc/71/cgroup", cases[i].cgroup);
		invented_file(SELF, cases[i].mounts);
		if (cases[i].path)
			make_groups(cases[i].path, cases[i].ups, cases[i].version, cases[i].whole);
		r = cgroup_folder(&f, invented_root, PID, cases[i].controller);
		if (r != expected || f.version != cases[i].version ||
		    (!r && (strcmp(f.path, cases[i].path) != 0 || f.whole != cases[i].whole)))
			fail_msg("%s: %d, version %u, %s, whole %d", cases[i].about, r, f.version,
				 f.path, f.whole);
		if (r)
			continue;
		assert_int_equal(cgroup_folder_is_all(&f), cases[i].whole && !cases[i].ups);
		while (cgroup_folder_up(&f))
			ups++;
		if (ups != cases[i].ups || strlen(f.path) != f.top_len)
			fail_msg("%s: %zu above, the last is %s", cases[i].about, ups, f.path);
	}
}

/* As it is if a container's paths mean something else here. */
static void a_folder_that_is_not_there_is_not_known(void **state)
{
	struct cgroup_folder f;

	(void)state;
	invented_file("/proc/71/cgroup", "0::/elsewhere\n");
	invented_file(SELF, V2);
	assert_int_equal(cgroup_folder(&f, invented_root, PID, "cpu"), -ENODATA);
	assert_int_equal(cgroup_folder(&f, invented_root, 72, "cpu"), -ENODATA);
	assert_int_equal(f.version, 0);
}

static void a_file_of_the_group_is_read(void **state)
{
	struct cgroup_limits l;

	(void)state;
	invented_file("/proc/71/cgroup", "0::/g\n");
	invented_file(SELF, V2);
	invented_file("/sys/fs/cgroup/g/cgroup.procs", "");
	invented_file("/sys/fs/cgroup/g/cpu.max", "150000 100000\n");
	cgroup_limits_read(&l, invented_root, PID);
	assert_string_equal(l.cpu.path, "/sys/fs/cgroup/g");
	assert_int_equal(l.n_quotas, 0); /* a file of it is missing */
	invented_file("/sys/fs/cgroup/g/cpu.stat", "nr_periods 7\nnr_throttled 2\n");
	cgroup_limits_read(&l, invented_root, PID);
	assert_int_equal(l.n_quotas, 1);
	assert_true(l.quota[0].cpus == 1.5);
	assert_int_equal(l.quota[0].periods, 7);
	assert_int_equal(l.quota[0].throttled, 2);
}

static void a_group_that_is_frozen_is_seen_in_both_versions(void **state)
{
	(void)state;
	invented_gone(state);
	invented_tree(state);
	invented_file("/proc/71/cgroup", "0::/g\n");
	invented_file(SELF, V2);
	invented_file("/sys/fs/cgroup/g/cgroup.procs", "");
	assert_false(cgroup_frozen(invented_root, PID));
	invented_file("/sys/fs/cgroup/g/cgroup.events", "populated 1\nfrozen 0\n");
	assert_false(cgroup_frozen(invented_root, PID));
	invented_file("/sys/fs/cgroup/g/cgroup.events", "populated 1\nfrozen 1\n");
	assert_true(cgroup_frozen(invented_root, PID));
	invented_file("/proc/71/cgroup", "3:freezer:/h\n");
	invented_file(SELF,
		      V2 "36 27 0:33 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
	invented_file("/sys/fs/cgroup/freezer/h/cgroup.procs", "");
	invented_file("/sys/fs/cgroup/freezer/h/freezer.state", "THAWED\n");
	assert_false(cgroup_frozen(invented_root, PID));
	invented_file("/sys/fs/cgroup/freezer/h/freezer.state", "FROZEN\n");
	assert_true(cgroup_frozen(invented_root, PID));
	assert_false(cgroup_frozen(invented_root, 72));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_that_is_frozen_is_seen_in_both_versions),
		cmocka_unit_test(the_folder_of_a_group_is_found_or_not_known),
		cmocka_unit_test(a_folder_that_is_not_there_is_not_known),
		cmocka_unit_test(a_file_of_the_group_is_read),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
