/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread of the engine tells of its own time. */
#include "unit/engine_rig.h"

#include "load/rate.h"

#include <sys/resource.h>
#include <unistd.h>

/* Its rate hardly changes: the thread looks at its time at the begin and each second. */
static struct engine_job changing_load(struct rate *changes)
{
	struct engine_job work = rig_work(1300 * MS);

	*changes = (struct rate) { .n = 2 };
	changes->point[0] = (struct rate_point) { 0, 100, 0 };
	changes->point[1] = (struct rate_point) { 1.3, 101, 1.3 * 100.5 };
	work.pace = (struct pace_opts) { PACE_FIXED, 100, 5 };
	work.queue = 1000;
	work.rate = changes;
	return work;
}

/* No file can be opened: the kernel's count of the thread's time cannot be read any more. */
static void a_time_that_cannot_be_read_any_more_is_none(void **state)
{
	struct rate changes;
	const struct engine_job work = changing_load(&changes);
	struct rig *g = rig_of(2, 1);
	struct rlimit old, none;

	(void)state;
	rig_open(g);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit) { 0, old.rlim_max };
	rig_start(g, &work);
	usleep(400000); /* it was read at the begin, and would be again after a second, and at the
			   end */
	setrlimit(RLIMIT_NOFILE, &none);
	rig_join(g);
	setrlimit(RLIMIT_NOFILE, &old);
	rig_adds_up(g);
	/* not more than this program has run, by far */
	assert_true(g->load->busy_second_ns < 60000 * MS);
	assert_true(g->load->runq_ns < 60000 * MS);
	rig_free(g);
}

static void a_busy_second_is_told_where_the_mean_says_less(void **state)
{
	enum { CHANGING, RECORDED, AFTER_A_BEGIN, EVEN, N };
	const bool says = !access("/proc/thread-self/schedstat", R_OK);
	struct engine_job work[N];
	struct rate changes;
	struct rig *g[N];

	(void)state;
	for (unsigned int i = 0; i < N; i++)
		work[i] = rig_work(2000 * MS); /* a look within the second after the first */
	work[CHANGING] = changing_load(&changes);
	work[CHANGING].duration_ns = 2000 * MS;
	work[RECORDED].keeps_late = true;
	work[AFTER_A_BEGIN].ramp_ns = 230 * MS;
	work[EVEN].ramp_ns = 210 * MS;
	for (unsigned int i = 0; i < N; i++) {
		g[i] = rig_of(2, 1);
		rig_open(g[i]);
	}
	for (unsigned int i = 0; i < N; i++)
		rig_start(g[i], &work[i]);
	for (unsigned int i = 0; i < N; i++) {
		rig_join(g[i]);
		if ((g[i]->load->busy_second_ns > 0) != (says && i != EVEN))
			fail_msg("load %u: %llu ns", i,
				 (unsigned long long)g[i]->load->busy_second_ns);
		rig_free(g[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_that_cannot_be_read_any_more_is_none),
		cmocka_unit_test(a_busy_second_is_told_where_the_mean_says_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
