/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of accounts, and the columns of their time. */
#include "afp/proto.h"
#include "run/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t sum(const uint64_t column[ACCOUNT_N_COLUMNS])
{
	uint64_t all = 0;

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		all += column[i];
	return all;
}

static void every_state_has_exactly_one_column_of_each_kind(void **state)
{
	(void)state;
	for (uint8_t c = 0; c <= AFS_CLASS_USER; c++) {
		for (uint8_t o = 0; o < AFS_N_OBJECTS; o++) {
			struct ledger_part part = { .class = c, .object = o };
			uint64_t out[ACCOUNT_N_COLUMNS] = { 0 };
			enum account_column blocked = account_blocked_column(c, o);
			bool user = c == AFS_CLASS_USER;

			part.part = (struct afs_part) { .calls = 7, .cpu_ns = 1, .runq_ns = 10 };
			part.part.blocked_ns = 100;
			account_add_part(out, &part);
			assert_int_equal(sum(out), 111);
			assert_int_equal(out[user ? ACCOUNT_USER : ACCOUNT_CALLS], 1);
			assert_int_equal(out[ACCOUNT_RUNQ], 10);
			/* Nothing blocked is in a column of time on a CPU. */
			assert_true(blocked > ACCOUNT_RUNQ && blocked < ACCOUNT_N_COLUMNS);
			assert_int_equal(out[blocked], 100);
		}
	}
}

static void waits_are_in_the_column_of_what_they_wait_for(void **state)
{
	static const struct {
		unsigned int class, object;
		enum account_column column;
	} cases[] = {
		{ AFS_CLASS_WAIT, AFS_OBJECT_BACKEND, ACCOUNT_CNID },
		{ AFS_CLASS_RECV, AFS_OBJECT_BACKEND, ACCOUNT_CNID },
		{ AFS_CLASS_LOCK, AFS_OBJECT_CNIDDB, ACCOUNT_CNID },
		{ AFS_CLASS_SYNC, AFS_OBJECT_CNIDDB, ACCOUNT_CNID },
		{ AFS_CLASS_LOCK, AFS_OBJECT_DATA, ACCOUNT_LOCK },
		{ AFS_CLASS_LOCK, AFS_OBJECT_NONE, ACCOUNT_LOCK },
		{ AFS_CLASS_READ, AFS_OBJECT_DATA, ACCOUNT_DISK },
		{ AFS_CLASS_XATTR, AFS_OBJECT_META, ACCOUNT_DISK },
		{ AFS_CLASS_DIR, AFS_OBJECT_DIR, ACCOUNT_DISK },
		{ AFS_CLASS_OPEN, AFS_OBJECT_NONE, ACCOUNT_DISK },
		{ AFS_CLASS_UNLINK, AFS_OBJECT_NONE, ACCOUNT_DISK },
		{ AFS_CLASS_USER, AFS_OBJECT_NONE, ACCOUNT_DISK }, /* page faults */
		{ AFS_CLASS_WRITE, AFS_OBJECT_LOG, ACCOUNT_LOG },
		{ AFS_CLASS_SEND, AFS_OBJECT_CLIENT, ACCOUNT_NET },
		{ AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, ACCOUNT_NET },
		{ AFS_CLASS_SENDFILE, AFS_OBJECT_CLIENT,
		  ACCOUNT_DISK }, /* its socket does not block */
		{ AFS_CLASS_WAIT, AFS_OBJECT_NONE, ACCOUNT_OTHER },
		{ AFS_CLASS_WRITE, AFS_OBJECT_PIPE, ACCOUNT_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(account_blocked_column(cases[i].class, cases[i].object),
				 cases[i].column);
}

static void columns_of_an_account_add_up_to_its_parts(void **state)
{
	struct ledger_part part[3 * (AFS_CLASS_USER + 1)];
	struct ledger l = { .part = part };
	uint64_t seed = 42, out[ACCOUNT_N_COLUMNS];

	(void)state;
	for (uint8_t c = 0; c <= AFS_CLASS_USER; c++) {
		for (unsigned int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			part[l.n_parts++] = (struct ledger_part) {
				.account = k == 2 ? 27 : 26,
				.role = k == 1 ? AFS_ROLE_BACKEND : AFS_ROLE_SERVER,
				.class = c,
				.object = (uint8_t)(seed >> 60) % AFS_N_OBJECTS,
				.part = { .cpu_ns = seed >> 40,
					  .blocked_ns = seed >> 30 & 0xffff,
					  .runq_ns = seed >> 20 & 0xff },
			};
		}
	}
	for (unsigned int number = 26; number <= 28; number++) {
		for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
			struct afs_part all = ledger_part_sum(&l, role, number, LEDGER_ALL,
							      LEDGER_ALL);

			memset(out, 0xff, sizeof(out));
			account_times(&l, role, number, out);
			assert_int_equal(sum(out), all.cpu_ns + all.blocked_ns + all.runq_ns);
			assert_true(!sum(out) == (number == 28 || role > AFS_ROLE_BACKEND ||
						  (number == 27 && role == AFS_ROLE_BACKEND)));
		}
	}
}

static void columns_have_keys_of_their_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++) {
		assert_true(account_columns[i].key[0] && account_columns[i].text[0]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(account_columns[i].key, account_columns[k].key);
	}
}

static void commands_have_the_names_the_client_has_for_them(void **state)
{
	unsigned int n = 0;

	(void)state;
	for (unsigned int i = 0; i < 256; i++) {
		const char *name = afp_command_name((uint8_t)i);

		if (!name)
			continue;
		assert_non_null(account_known_name(i));
		assert_string_equal(account_known_name(i), name);
		n++;
	}
	assert_true(n > 10);
}

static void every_number_has_a_name_and_some_only_a_number(void **state)
{
	char buf[ACCOUNT_NAME_MAX];

	(void)state;
	assert_string_equal(account_name(26, buf), "FPOpenFork");
	assert_null(account_known_name(200));
	assert_string_equal(account_name(200, buf), "AFP command 200");
	assert_string_equal(account_name(AFS_ACCOUNT_DSI + 4, buf), "DSIOpenSession");
	assert_string_equal(account_name(AFS_ACCOUNT_DSI + 15, buf), "DSI command 15");
	assert_string_equal(account_name(AFS_ACCOUNT_NONE, buf), "outside sessions");
	assert_null(account_known_name(AFS_N_ACCOUNTS));
	assert_null(account_known_name(~0u));
	for (unsigned int i = 0; i < AFS_N_ACCOUNTS; i++)
		assert_true(strlen(account_name(i, buf)) < ACCOUNT_NAME_MAX);
}

static void requests_are_what_clients_asked_for(void **state)
{
	(void)state;
	assert_true(account_is_request(0));
	assert_true(account_is_request(255));
	assert_true(account_is_request(AFS_ACCOUNT_DSI + 4));
	assert_false(account_is_request(AFS_ACCOUNT_BETWEEN));
	assert_false(account_is_request(AFS_ACCOUNT_THREADS));
	assert_false(account_is_request(AFS_ACCOUNT_NONE));
	assert_false(account_is_request(AFS_ACCOUNT_MORE));
}

static void requests_that_only_look_change_nothing(void **state)
{
	(void)state;
	assert_true(account_changes_nothing(9));   /* FPEnumerate */
	assert_true(account_changes_nothing(34));  /* FPGetFileDirParms */
	assert_true(account_changes_nothing(26));  /* FPOpenFork */
	assert_false(account_changes_nothing(7));  /* FPCreateFile */
	assert_false(account_changes_nothing(28)); /* FPRename */
	assert_false(account_changes_nothing(200));
	assert_false(account_changes_nothing(AFS_ACCOUNT_BETWEEN));
	assert_false(account_changes_nothing(~0u));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_has_exactly_one_column_of_each_kind),
		cmocka_unit_test(waits_are_in_the_column_of_what_they_wait_for),
		cmocka_unit_test(columns_of_an_account_add_up_to_its_parts),
		cmocka_unit_test(columns_have_keys_of_their_own),
		cmocka_unit_test(commands_have_the_names_the_client_has_for_them),
		cmocka_unit_test(every_number_has_a_name_and_some_only_a_number),
		cmocka_unit_test(requests_are_what_clients_asked_for),
		cmocka_unit_test(requests_that_only_look_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
