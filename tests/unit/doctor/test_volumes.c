/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/two_looks.h"

#include "doctor/judge.h"

#include <errno.h>

#define GB 1000000000ull

static struct run_figures figures_of(const struct filesystem *fs, size_t n)
{
	const struct fanotify_watcher nobody = { 0 };
	struct run_figures f = { 0 };

	doctor_room(&f, fs, n);
	doctor_read_only(&f, fs, n);
	doctor_missing(&f, fs, n);
	doctor_volumes(&f, fs, n, &nobody, 0);
	return f;
}

static struct filesystem volume_of(const char *path, uint64_t size_b, uint64_t room_b)
{
	struct filesystem fs = { .type = "ext4",
				 .has_room = true,
				 .size_b = size_b,
				 .room_b = room_b,
				 .files = 1000,
				 .files_free = 900 };

	snprintf(fs.path, sizeof(fs.path), "%s", path);
	return fs;
}

/* Its share and its bytes are those of one volume. */
static void the_volume_nearest_to_full_is_named(void **state)
{
	struct filesystem fs[] = { volume_of("/huge", 100000 * GB, 500 * GB),
				   volume_of("/small", GB / 4, 2500000),
				   volume_of("/tiny", 1000000, 500000) };
	struct run_figures f = figures_of(fs, 3);

	(void)state;
	/* 1 % of it is 2.5 MB, while 0.5 % of the huge one is 500 GB. */
	figure_is(&f, RUN_FIGURE_ROOM, 0.01, "/small");
	figure_is(&f, RUN_FIGURE_ROOM_BYTES, 2500000, "/small");
	fs[1] = volume_of("/half", 100 * GB, 50 * GB);
	f = figures_of(fs, 3);
	figure_is(&f, RUN_FIGURE_ROOM, 0.005, "/huge");
	fs[0] = volume_of("/most", 100 * GB, 90 * GB);
	fs[0].files_free = 20;
	fs[1].files = 0; /* no limit */
	f = figures_of(fs, 3);
	figure_is(&f, RUN_FIGURE_ROOM, 0.5, NULL);
	figure_is(&f, RUN_FIGURE_ROOM_FILES, 0.02, "/most");
}

static void a_volume_that_nobody_may_write_on_cannot_be_full(void **state)
{
	struct filesystem fs[] = { volume_of("/a", GB, GB / 2), volume_of("/ro", GB, 0) };
	struct run_figures f;

	(void)state;
	fs[1].has_room = false;
	f = figures_of(fs, 2);
	figure_is(&f, RUN_FIGURE_ROOM, 0.5, "/a");
	f = figures_of(&fs[1], 1);
	figure_unknown(&f, RUN_FIGURE_ROOM, "");
	figure_is(&f, RUN_FIGURE_READ_ONLY, 0, "");
	fs[1].read_only = true;
	f = figures_of(fs, 2);
	figure_is(&f, RUN_FIGURE_READ_ONLY, 1, "/ro");
	figure_is(&f, RUN_FIGURE_MISSING, 0, "");
	/* An image is so by nature. */
	strcpy(fs[1].type, "iso9660");
	fs[0].error = -ENOENT;
	f = figures_of(fs, 2);
	figure_is(&f, RUN_FIGURE_READ_ONLY, 0, "");
	figure_is(&f, RUN_FIGURE_MISSING, 1, "/a");
}

static void a_remote_volume_is_named_and_the_silent_one_first(void **state)
{
	struct filesystem fs[] = { volume_of("/a", GB, GB / 2),
				   volume_of("/n", GB, GB / 2),
				   { .path = "/s", .type = "fuse.sshfs", .silent = true } };
	struct run_figures f = figures_of(fs, 2);

	(void)state;
	figure_is(&f, RUN_FIGURE_REMOTE_FS, 0, "");
	figure_is(&f, RUN_FIGURE_FILE_SYSTEMS, 1, "");
	fs[1].dev = 7;
	f = figures_of(fs, 2);
	figure_is(&f, RUN_FIGURE_FILE_SYSTEMS, 2, "");
	strcpy(fs[1].type, "nfs4");
	f = figures_of(fs, 2);
	/* Which of them a request waited for is not known. */
	figure_unknown(&f, RUN_FIGURE_REMOTE_FS, "nfs4 at /n is one of several in use");
	f = figures_of(fs + 1, 1);
	figure_is(&f, RUN_FIGURE_REMOTE_FS, 1, "nfs4 at /n");
	f = figures_of(fs, 3);
	figure_is(&f, RUN_FIGURE_REMOTE_FS, 1, "fuse.sshfs at /s, does not answer");
	f = figures_of(&fs[2], 1);
	figure_unknown(&f, RUN_FIGURE_ROOM, "/s does not answer");
	/* Of one that is not known it cannot be said that it is none. */
	fs[1].type[0] = '\0';
	f = figures_of(fs, 2);
	figure_unknown(&f, RUN_FIGURE_REMOTE_FS, NULL);
	f = figures_of(NULL, 0);
	figure_unknown(&f, RUN_FIGURE_REMOTE_FS, "the server's volumes are not known");
	figure_unknown(&f, RUN_FIGURE_SCANNER, "the server's volumes are not known");
}

static void a_scanner_is_named(void **state)
{
	const struct fanotify_watcher w = { .pid = 71, .comm = "clamonacc", .n = 2 };
	struct filesystem fs = volume_of("/a", GB, GB / 2);
	struct run_figures f = figures_of(&fs, 1);

	(void)state;
	figure_is(&f, RUN_FIGURE_SCANNER, 0, "");
	doctor_volumes(&f, &fs, 1, &w, 0);
	figure_is(&f, RUN_FIGURE_SCANNER, 2, "clamonacc (pid 71)");
	f = (struct run_figures) { 0 };
	doctor_volumes(&f, &fs, 1, &w, -EPERM);
	figure_unknown(&f, RUN_FIGURE_SCANNER, "no right to see all processes");
}

static void the_busiest_file_system_is_used(void **state)
{
	struct filesystem fs[9];
	uint64_t ns[9];
	bool used[9];

	(void)state;
	for (size_t i = 0; i < 9; i++) {
		fs[i] = volume_of("/srv", 1000 * GB, 500 * GB);
		fs[i].dev = (uint32_t)i;
		ns[i] = 0;
	}
	doctor_used(used, fs, ns, 9); /* nobody works */
	for (size_t i = 0; i < 9; i++)
		assert_true(used[i]);
	for (size_t i = 0; i < 9; i++)
		ns[i] = 100;
	doctor_used(used, fs, ns, 9); /* each has a ninth */
	for (size_t i = 0; i < 9; i++)
		assert_true(used[i]);
	ns[8] = 19;
	doctor_used(used, fs, ns, 9);
	assert_true(used[0] && !used[8]);
	fs[8].dev = 7; /* on the disk of one that is used */
	doctor_used(used, fs, ns, 9);
	assert_true(used[8]);
	for (size_t i = 0; i < 8; i++)
		fs[i].dev = 0;
	fs[8].dev = 1;
	ns[8] = 150; /* more than each of the others, less than a fifth of all */
	doctor_used(used, fs, ns, 9);
	assert_true(used[0] && !used[8]);
}

/* Two disks, one of which is full: which of them a request was refused for is not told. */
static void a_full_disk_is_sure_only_where_there_is_no_other(void **state)
{
	struct filesystem fs[] = { volume_of("/a", 100 * GB, GB / 1000),
				   volume_of("/b", 100 * GB, 90 * GB) };

	(void)state;
	for (uint32_t apart = 0; apart < 2; apart++) {
		struct run_figures f;
		struct diagnosis d;

		fs[1].dev = apart;
		f = figures_of(fs, 2);
		doctor_apart(&f, fs, 2);
		figure_is(&f, RUN_FIGURE_FILE_SYSTEMS_ALL, 1 + apart, NULL);
		run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
		run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
		run_figure_set(&f, RUN_FIGURE_DISK_FULL, 600);
		run_figure_set(&f, RUN_FIGURE_DISK_FULL_SHARE, 0.9);
		assert_int_equal(doctor_judge(&d, &f), 0);
		assert_string_equal(d.found[0].rule->key, "disk-full");
		assert_int_equal(d.found[0].sure, !apart);
		diagnosis_fini(&d);
	}
}

/* Users run into their quota where there is room, and a volume that nobody uses is full: whose
 * requests were refused is not known. */
static void a_full_disk_that_nobody_uses_does_not_rule_out_a_quota(void **state)
{
	struct filesystem fs[] = { volume_of("/used", 1000 * GB, 500 * GB),
				   volume_of("/archive", 1000 * GB, GB / 100) };

	(void)state;
	fs[1].dev = 1;
	for (int full = 0; full < 3; full++) {
		struct run_figures f = figures_of(fs, 2);
		bool noted = false;
		struct diagnosis d;

		doctor_apart(&f, fs, 2);
		doctor_room_used(&f, fs, full == 1 ? 2 : 1);
		figure_is(&f, RUN_FIGURE_ROOM_USED, full ? full == 1 ? GB / 100 : 0 : 500 * GB,
			  full == 1 ? "/archive" : "/used");
		run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
		run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
		run_figure_set(&f, RUN_FIGURE_DISK_FULL, 600);
		run_figure_set(&f, RUN_FIGURE_DISK_FULL_SHARE, 0.9);
		assert_int_equal(doctor_judge(&d, &f), 0);
		assert_true(d.n_found && !d.found[0].sure);
		for (size_t i = 0; i < d.n_notes; i++)
			noted |= !strcmp(d.note[i]->key, "quota");
		assert_int_equal(noted, !full);
		diagnosis_fini(&d);
		/* Without an inode it has no room for a file. */
		fs[0].files_free = full ? 0 : 900;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_volume_nearest_to_full_is_named),
		cmocka_unit_test(a_volume_that_nobody_may_write_on_cannot_be_full),
		cmocka_unit_test(a_remote_volume_is_named_and_the_silent_one_first),
		cmocka_unit_test(a_full_disk_is_sure_only_where_there_is_no_other),
		cmocka_unit_test(a_full_disk_that_nobody_uses_does_not_rule_out_a_quota),
		cmocka_unit_test(a_scanner_is_named),
		cmocka_unit_test(the_busiest_file_system_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
