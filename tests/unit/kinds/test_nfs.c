/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests and results of NFS are called, and what cannot be known of them. */
#include "bpf/calls.h"
#include "bpf/programs.h"
#include "kinds/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct account_names *names(void)
{
	return kind_nfs.is.accounts;
}

static void procedures_and_operations_have_their_names(void **state)
{
	static const struct {
		uint16_t account;
		const char *name;
	} known[] = {
		{ AFS_RPC_NFS + 3, "LOOKUP" },
		{ AFS_RPC_NFS + 21, "COMMIT" },
		{ AFS_RPC_MNT, "MOUNT MNT" },
		{ AFS_RPC_MOUNT + 5, "MOUNT EXPORT" },
		{ AFS_RPC_COMPOUND + 3, "v4 ACCESS" },
		{ AFS_RPC_COMPOUND + 18, "v4 OPEN" },
		{ AFS_RPC_COMPOUND + 25, "v4 READ" },
		{ AFS_RPC_COMPOUND + 38, "v4 WRITE" },
		{ AFS_RPC_COMPOUND + 42, "v4 EXCHANGE_ID" },
		{ AFS_RPC_COMPOUND + 53, "v4 SEQUENCE" },
		{ AFS_RPC_COMPOUND + 75, "v4 REMOVEXATTR" },
		{ AFS_RPC_COMPOUND + 63, "v4 operation 63" },
		{ 200 + 40, "account 240" },
	};
	char buf[ACCOUNT_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_string_equal(account_name_of(names(), known[i].account, buf), known[i].name);
}

static void each_name_is_that_of_one_account_and_all_have_times(void **state)
{
	uint8_t number[AFS_ACCOUNT_BETWEEN];

	(void)state;
	for (size_t i = 0; i < AFS_N_ACCOUNTS; i++)
		for (size_t k = 0; k < i && names()->name[i]; k++)
			if (names()->name[k])
				assert_string_not_equal(names()->name[i], names()->name[k]);
	assert_in_range(account_number_named(names(), number), 1, AFS_N_SPREADS - 1);
}

static void a_name_that_is_not_there_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(account_normal_result(names(), AFS_RPC_NFS + 3), 2);
	assert_int_equal(account_normal_result(names(), AFS_RPC_COMPOUND + 15), 2);
	assert_int_equal(account_normal_result(names(), AFS_RPC_NFS + 12), 0);
	assert_string_equal(run_kind_result_text(&kind_nfs.is, 2), "no such name");
	assert_string_equal(run_kind_result_text(&kind_nfs.is, AFS_RPC_ACCEPTED(3)),
			    "procedure unavailable");
	assert_string_equal(run_kind_result_text(&kind_nfs.is, AFS_RPC_DENIED(1)),
			    "authentication error");
	assert_null(run_kind_result_text(&kind_nfs.is, 9999));
}

/* What is noted of a run with so many requests, of which some are sealed. */
static char *conclude(uint64_t all, uint64_t sealed)
{
	struct ledger_account account[] = {
		{ .account = AFS_RPC_NFS + 3, .sum.begun = all - sealed },
		{ .account = AFS_RPC_SEALED, .sum.begun = sealed },
	};
	struct run_phase phase = { .ledger = { .n_accounts = 2, .account = account } };
	struct run_phase *phases[] = { &phase };
	struct run r = { .n_phases = 1, .phase = phases };
	const char *note;
	char *text;

	assert_int_equal(kind_nfs.conclude(&r), 0);
	note = run_note_find(&r.warnings, "encrypted");
	text = note ? strdup(note) : NULL;
	run_notes_fini(&r.warnings);
	return text;
}

static void what_kerberos_hides_is_a_warning(void **state)
{
	char *text = conclude(200, 50);

	(void)state;
	assert_non_null(strstr(text, "25 % of the requests"));
	free(text);
	assert_null(conclude(200, 0));
	assert_null(conclude(0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(procedures_and_operations_have_their_names),
		cmocka_unit_test(each_name_is_that_of_one_account_and_all_have_times),
		cmocka_unit_test(a_name_that_is_not_there_is_no_error),
		cmocka_unit_test(what_kerberos_hides_is_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
