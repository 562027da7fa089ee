/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a limit is broken before the end: only where nothing to come can mend it. */
#include "main/load_live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define MS 1000000ull

struct second {
	unsigned int n, slow, failed, dropped; /* slow: of n, took 1 s; the others 1 ms */
	const char *state;
	unsigned int astray; /* of n or dropped: those were slow */
};

/* After how many such seconds of 100 the limit is broken; 0: after none. */
static unsigned int broken_after(const char *limit, double rate, const struct second *one,
				 unsigned int good)
{
	struct load_cfg cfg = { .duration_s = 100, .rate.per_s = rate };
	struct ticker_second s = { .seconds = 1, .has_probe = true };
	struct load_live l = { .cfg = &cfg, .live = { .how = TICKER_OFF } };
	const struct slo *found;

	assert_int_equal(slo_take(&cfg.slos, limit, NULL), 0);
	s.state = one->state ? one->state : "measuring";
	for (unsigned int i = 1; i <= 100; i++) {
		bool bad = i > good;

		memset(&s.clients, 0, sizeof(s.clients));
		s.clients.n = one->n;
		s.clients.failed = bad ? one->failed : 0;
		s.clients.dropped = bad ? one->dropped : 0;
		s.clients.astray = bad ? one->astray : 0;
		s.clients.astray_ns = one->slow ? s.clients.astray * 1000 * MS : 0;
		for (unsigned int k = 0; k < one->n - s.clients.failed; k++) {
			uint64_t ns = bad && k < one->slow ? 1000 * MS : MS;

			s.clients.bucket[hist_index(ns, RUN_SECOND_BITS)]++;
			s.clients.sum_ns += ns;
		}
		s.probe = s.clients;
		s.number = i;
		load_live_take(&l, &s);
		found = load_live_broken(&l);
		if (found)
			assert_non_null(strstr(limit, found->text));
		if (found)
			return i;
	}
	return 0;
}

static void a_maximum_is_broken_at_once(void **state)
{
	const struct second one_slow = { .n = 100, .slow = 1 }, ramp = { 100, 1, 1, 1, "ramp", 0 };

	(void)state;
	assert_int_equal(broken_after("max<=50ms", 0, &one_slow, 6), 7);
	assert_int_equal(broken_after("max<=50ms", 100, &one_slow, 6), 7);
	assert_int_equal(broken_after("probe.max<=50ms", 100, &one_slow, 6), 7);
	assert_int_equal(broken_after("max<=2s", 0, &one_slow, 0), 0);
	assert_int_equal(broken_after("look.max<=50ms", 0, &one_slow, 0), 0);
	/* of the ramp nothing counts */
	assert_int_equal(broken_after("max<=50ms,failed<=0,dropped<=0", 100, &ramp, 0), 0);
}

static void a_share_is_broken_when_what_is_to_come_cannot_mend_it(void **state)
{
	const struct second slow = { .n = 100, .slow = 100 }, few = { .n = 100, .slow = 2 };
	unsigned int open, closed;

	(void)state;
	/* 10,000 are planned, and by chance 610 more: 1 % are 106.1 */
	assert_int_equal(broken_after("p99<=50ms", 100, &slow, 0), 2);
	assert_int_equal(broken_after("p99<=50ms", 100, &few, 0), 54);
	assert_int_equal(broken_after("p90<=50ms", 100, &few, 0), 0);
	/* ten times as many may come in each second */
	closed = broken_after("p99<=50ms", 0, &slow, 0);
	assert_in_range(closed, 9, 11);
	open = broken_after("mean<=100ms", 100, &slow, 0);
	assert_in_range(open, 10, 12);
	assert_true(broken_after("mean<=100ms", 0, &slow, 0) > 40);
	/* it may be mended, even if all was bad until now */
	assert_int_equal(broken_after("p50<=50ms", 0, &few, 0), 0);
}

static void what_failed_or_was_dropped_counts_by_its_limit_or_as_too_long(void **state)
{
	const struct second failed = { .n = 100, .failed = 5 },
			    dropped = { .n = 100, .dropped = 5 };

	(void)state;
	assert_int_equal(broken_after("failed<=4", 100, &failed, 0), 1);
	assert_int_equal(broken_after("failed<=5", 100, &failed, 0), 2);
	assert_int_equal(broken_after("dropped<=0", 100, &dropped, 3), 4);
	/* 1 % of 10,610 */
	assert_int_equal(broken_after("failed<=1%", 100, &failed, 0), 22);
	assert_int_equal(broken_after("dropped<=1%", 100, &dropped, 0), 22);
	assert_int_equal(broken_after("failed<=5%", 100, &failed, 0), 0);
	assert_int_equal(broken_after("p99<=50ms", 100, &failed, 0), 22);
	assert_int_equal(broken_after("p99<=50ms", 100, &dropped, 0), 22);
	assert_int_equal(broken_after("p99<=50ms,failed<=50%", 100, &failed, 0), 0);
	assert_int_equal(broken_after("p99<=50ms,dropped<=50%", 100, &dropped, 0), 0);
}

/* What was due in the ramp of an open loop and ends later is in no figure at the end. */
static void what_was_due_before_the_measured_time_breaks_nothing(void **state)
{
	const struct second slow = { .n = 100, .slow = 5, .astray = 5 },
			    more = { .n = 100, .slow = 6, .astray = 5 },
			    failed = { .n = 100, .failed = 5, .astray = 5 },
			    dropped = { .n = 100, .dropped = 5, .astray = 5 };

	(void)state;
	assert_int_equal(broken_after("max<=50ms,p99<=50ms,mean<=2ms", 100, &slow, 0), 0);
	assert_int_equal(broken_after("probe.max<=50ms", 100, &slow, 0), 0);
	assert_int_equal(broken_after("failed<=0", 100, &failed, 0), 0);
	assert_int_equal(broken_after("max<=50ms", 100, &failed, 0), 0);
	assert_int_equal(broken_after("dropped<=0,max<=50ms", 100, &dropped, 0), 0);
	assert_int_equal(broken_after("max<=50ms", 100, &more, 4), 5);
}

static void a_rate_is_judged_at_the_end(void **state)
{
	const struct second none = { .n = 1 };

	(void)state;
	assert_int_equal(broken_after("rate>=1000000", 100, &none, 0), 0);
	assert_int_equal(broken_after("rate>=1000000", 0, &none, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_maximum_is_broken_at_once),
		cmocka_unit_test(a_share_is_broken_when_what_is_to_come_cannot_mend_it),
		cmocka_unit_test(what_failed_or_was_dropped_counts_by_its_limit_or_as_too_long),
		cmocka_unit_test(what_was_due_before_the_measured_time_breaks_nothing),
		cmocka_unit_test(a_rate_is_judged_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
