/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_WAIT_H
#define TESTS_UNIT_WAIT_H

/* Waiting for a fact, not for a time. */

#include "base/clock.h"
#include "host/proc/procfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_LIMIT_NS 60000000000ull

/* Looks at the condition every half millisecond; the test fails if it is not true within 60 s. */
#define wait_until(condition)                                                                      \
	do {                                                                                       \
		const uint64_t wait_end_ns = clock_now_ns() + WAIT_LIMIT_NS;                       \
		while (!(condition)) {                                                             \
			if (clock_now_ns() > wait_end_ns)                                          \
				fail_msg("waited 60 s for: %s", #condition);                       \
			usleep(500);                                                               \
		}                                                                                  \
	} while (0)

static inline char wait_state(pid_t pid)
{
	struct procstat st;

	assert_int_equal(procstat_read(&st, pid), 0);
	return st.state;
}

/* Until the process sleeps: only then is what it did before accounted. */
static inline void wait_asleep(pid_t pid)
{
	wait_until(wait_state(pid) == 'S');
}

#endif
