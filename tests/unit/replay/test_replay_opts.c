/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the options of a replay ask for that its recording does not allow. */
#include "replay/replay.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sessions_are_counted_as_they_were_given_of_all_copies(void **state)
{
	const struct replay_plan p = { .n_at_once = 5, .n_sessions = 12, .n_clients = 12 };
	struct replay_cfg cfg = REPLAY_DEFAULTS;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(replay_check_sessions(&cfg, &p, &e), 0);
	cfg.sessions = 5;
	assert_int_equal(replay_check_sessions(&cfg, &p, &e), 0);
	cfg.sessions = 4;
	assert_int_equal(replay_check_sessions(&cfg, &p, &e), -EINVAL);
	assert_string_equal(e.text,
			    "--sessions 4 is too few: 5 sessions are open at the same time");
	cfg.copies = 3;
	cfg.sessions = 15;
	assert_int_equal(replay_check_sessions(&cfg, &p, &e), 0);
	cfg.sessions = 10;
	assert_int_equal(replay_check_sessions(&cfg, &p, &e), -EINVAL);
	assert_string_equal(e.text, "--sessions 10 is too few: 15 sessions are open at the same "
				    "time, in all copies together");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_are_counted_as_they_were_given_of_all_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
