/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests client/load/room.c. */
#include "load/room.h"

#include "load/load.h"
#include "unit/memory_store.h"

static int ask(struct memory_store *m, uint64_t bytes, struct err *e)
{
	const struct room_need need = { .where = "the place", .bytes = bytes };

	return room_check(&m->s, &need, e);
}

static void twice_the_bytes_must_be_free(void **state)
{
	static const struct {
		uint64_t room, bytes;
		int r;
	} rows[] = {
		{ 200, 100, 0 },
		{ 199, 100, LOAD_REFUSED },
		{ 1, 0, 0 },
		{ UINT64_MAX, UINT64_MAX / 2, 0 },
		{ UINT64_MAX, UINT64_MAX / 2 + 1, LOAD_REFUSED },
		{ UINT64_MAX, UINT64_MAX, LOAD_REFUSED },
		{ 0, UINT64_MAX, 0 }, /* it does not report what is free */
	};
	static struct memory_store m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = { 0 };

		memory_begin(&m, 4096);
		m.room = rows[i].room;
		assert_int_equal(ask(&m, rows[i].bytes, &e), rows[i].r);
		if (rows[i].r)
			assert_non_null(strstr(e.text, "the place has"));
		memory_end(&m);
	}
}

/* A probe writes next to nothing, and yet not there. */
static void backups_are_left_alone_whatever_is_free(void **state)
{
	static struct memory_store m;
	struct err e = { 0 };

	(void)state;
	memory_begin(&m, 4096);
	m.room = 1ull << 50;
	m.keeps_backups = true;
	assert_int_equal(ask(&m, 0, &e), LOAD_REFUSED);
	assert_non_null(strstr(e.text, "the place is a destination of Time Machine"));
	memory_end(&m);
}

/* A server that says nothing of them, with a bundle after others; what is in it tells whose it is.
 */
static void backups_are_found_by_what_is_in_their_bundles(void **state)
{
	static const struct {
		const char *bundle, *inside;
		bool keeps;
	} rows[] = {
		{ "Mac.sparsebundle", "com.apple.TimeMachine.MachineID.plist", true },
		{ "Mac.BackupBundle", "com.apple.TimeMachine.MachineID.plist", true },
		{ "Mac.sparsebundle", "Info.plist", false },
		{ "Mac.folder", "com.apple.TimeMachine.MachineID.plist", false },
	};
	static struct memory_store m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store_dir bundle;
		struct err e = { 0 };

		memory_begin(&m, 4096);
		m.room = 1ull << 50;
		m.no_word_of_backups = true;
		for (char name[] = "a.file"; name[0] < 'g'; name[0]++)
			memory_add(&m, m.s.root[0], name, false);
		bundle = m.s.root[0];
		bundle.id = memory_add(&m, m.s.root[0], rows[i].bundle, true);
		memory_add(&m, bundle, rows[i].inside, false);
		assert_int_equal(ask(&m, 0, &e), rows[i].keeps ? LOAD_REFUSED : 0);
		if (rows[i].keeps)
			assert_non_null(strstr(e.text, "is a destination of Time Machine"));
		memory_end(&m);
	}
}

/* However many others come before it: somebody who keeps disk images there has many. */
static void each_bundle_is_looked_into(void **state)
{
	static struct memory_store m;
	struct store_dir bundle;
	struct err e = { 0 };
	char name[32];

	(void)state;
	memory_begin(&m, 4096);
	m.no_word_of_backups = true;
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "image%d.sparsebundle", i);
		memory_add(&m, m.s.root[0], name, true);
	}
	bundle = m.s.root[0];
	bundle.id = memory_add(&m, m.s.root[0], "Mac.sparsebundle", true);
	memory_add(&m, bundle, "com.apple.TimeMachine.MachineID.plist", false);
	assert_int_equal(ask(&m, 0, &e), LOAD_REFUSED);
	memory_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twice_the_bytes_must_be_free),
		cmocka_unit_test(backups_are_left_alone_whatever_is_free),
		cmocka_unit_test(backups_are_found_by_what_is_in_their_bundles),
		cmocka_unit_test(each_bundle_is_looked_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
