/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside a timed region this program allocates nothing and looks at nothing but the answers. The
 * linker sends every call of the allocator through here (--wrap in the Makefile).
 * Tests client/load/load.c.
 */
#include "unit/lantest_rig.h"

#include "memory_store.h"
#include "work/speedtest.h"

/* Of the thread that makes the requests: the server of these tests is another one. */
static _Thread_local volatile bool timed_now;
static volatile unsigned int n_allocated;

#define COUNTED(type, name, params, args)                                                          \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		n_allocated = n_allocated + timed_now;                                             \
		return __real_##name args;                                                         \
	}

COUNTED(void *, malloc, (size_t n), (n))
COUNTED(void *, calloc, (size_t n, size_t size), (n, size))
COUNTED(void *, realloc, (void *p, size_t n), (p, n))
COUNTED(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
COUNTED(void *, aligned_alloc, (size_t align, size_t n), (align, n))
COUNTED(char *, strdup, (const char *s), (s))
COUNTED(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
	(at, n, prot, flags, fd, offset))

static void begin_timed(void *user, struct run_phase *p)
{
	(void)user, (void)p;
	timed_now = true;
}

static void end_timed(void *user, struct run_phase *p)
{
	(void)user, (void)p;
	timed_now = false;
}

static void the_allocator_is_watched(void **state)
{
	char *volatile p;

	(void)state;
	n_allocated = 0;
	timed_now = true;
	p = strdup("x");
	timed_now = false;
	free(p);
	assert_int_equal(n_allocated, 1);
}

static void lantest_allocates_nothing(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	n_allocated = 0;
	g.begin = begin_timed;
	g.end = end_timed;
	assert_int_equal(run_these(&g, LANTEST_ALL, 1), 0);
	assert_int_equal(g.run.n_phases, LANTEST_TESTS);
	assert_int_equal(n_allocated, 0);
	rig_free(&g);
}

static unsigned int n_looks;

static void look(void *user, struct run_phase *p)
{
	(void)user, (void)p;
	assert_false(timed_now);
	n_looks++;
}

/* A look at the connection asks the kernel, by netlink, too: only where no time counts. */
static void speedtest_allocates_nothing_and_looks_in_warm_ups_only(void **state)
{
	const struct load_hooks hooks = { .region_begin = begin_timed,
					  .region_end = end_timed,
					  .tick = look };
	const uint64_t size[] = { 1 << 20, 100 };
	struct memory_store m;
	struct run run;
	struct err e;
	char base[2][32];

	(void)state;
	for (unsigned int warmups = 0; warmups < 3; warmups++) {
		struct load l = { .store = &m.s, .run = &run, .hooks = &hooks };
		const struct speedtest_opts o = { .n_works = 3,
						  .work = { SPEED_READ, SPEED_WRITE, SPEED_COPY },
						  .n_sizes = 2,
						  .size = size,
						  .iterations = 5,
						  .warmups = warmups,
						  .window = 4,
						  .flush = true };

		memory_begin(&m, 4096);
		assert_int_equal(run_init(&run, "speedtest", SPEEDTEST_SET), 0);
		n_allocated = 0;
		n_looks = 0;
		assert_int_equal(speedtest_run(&l, &o, base, &e), 0);
		assert_int_equal(run.n_phases, 6);
		assert_int_equal(run.phase[0]->value[METRIC_OPS], 5 * 256);
		assert_int_equal(run.phase[1]->command[1]->latency.n, 5); /* the flush */
		assert_int_equal(n_allocated, 0);
		assert_true(warmups ? n_looks >= 3 : !n_looks);
		run_fini(&run);
		memory_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_allocator_is_watched),
		cmocka_unit_test(lantest_allocates_nothing),
		cmocka_unit_test(speedtest_allocates_nothing_and_looks_in_warm_ups_only),
	};

	return cmocka_run_group_tests(tests, rig_pin, NULL);
}
