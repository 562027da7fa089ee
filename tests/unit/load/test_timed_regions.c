/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside a timed region this program allocates nothing and looks at nothing but the answers. The
 * linker sends every call of the allocator through here (--wrap in the Makefile).
 * Tests client/load/load.c, engine.c, worker.c, actions.c.
 */
#include "unit/lantest_rig.h"

#include "load/engine.h"
#include "unit/memory_store.h"
#include "work/speedtest/speedtest.h"

#include <stdatomic.h>

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
	assert_int_equal(run_these(&g, ALL, 1), 0);
	assert_int_equal(g.run.n_phases, TESTS);
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

/* ---- the engine ---- */

/* Clients that have been lost and closed. */
static atomic_uint n_closed_lost;

static volatile sig_atomic_t stop;

/* A client whose store answers at once, and whose actions are one request. */
struct quick {
	struct script s; /* first */
	struct store store;
	struct store_op op, *answered;
	bool begun, lost;
	unsigned int n;
};

static struct quick *quick_of(struct store *s)
{
	return (struct quick *)((char *)s - offsetof(struct quick, store));
}

/* From a client's first action on all that its thread does is watched. */
static int begin_quick(struct script *s, const struct store *store)
{
	(void)store;
	timed_now = true;
	((struct quick *)s)->n++;
	return 0;
}

static struct store_op *next_of_quick(struct script *s)
{
	struct quick *q = (struct quick *)s;

	q->op.command = (uint8_t)(q->n % 30);
	q->op.what = "ask";
	return q->answered ? NULL : &q->op;
}

static enum script_state quick_answered(struct script *s, struct store_op *op, struct err *e)
{
	(void)op;
	if (((struct quick *)s)->n % 5)
		return SCRIPT_DONE;
	err_set(e, -EIO, "the %u-th", ((struct quick *)s)->n);
	return SCRIPT_FAILED;
}

static int submit_quick(struct store *s, struct store_op *op, struct err *e)
{
	struct quick *q = quick_of(s);

	if (q->lost && q->n == 40)
		return err_set(e, -ECONNRESET, "lost");
	q->answered = op;
	return 0;
}

static struct store_op *take_quick(struct store *s)
{
	struct store_op *op = quick_of(s)->answered;

	quick_of(s)->answered = NULL;
	return op;
}

static void finish_quick(struct store *s)
{
	s->state = STORE_ENDED;
}

static void close_quick(struct store *s)
{
	struct quick *q = quick_of(s);

	q->begun = false;
	if (q->lost && q->n == 40)
		atomic_fetch_add(&n_closed_lost, 1);
}

static int open_quick(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	static const struct store_type type = { "quick",      submit_quick,   take_quick,
						memory_wait,  memory_advance, memory_work,
						finish_quick, close_quick };
	struct quick *q = user;

	(void)scratch, (void)e;
	q->begun = true;
	q->store.type = &type;
	q->store.state = STORE_IS_OPEN;
	*out = &q->store;
	return 0;
}

static struct script *script_of_quick(void *user)
{
	return &((struct quick *)user)->s;
}

static const char *act(unsigned int i)
{
	(void)i;
	return "act";
}

/*
 * A job of work is stopped when it has done what is asserted: how long that takes is the machine's
 * matter.
 */
static void do_job(struct engine *g, const struct engine_job *job)
{
	struct run_load *load;
	struct err e;

	stop = 0;
	n_closed_lost = 0;
	assert_int_equal(engine_start(g, job, &e), 0);
	while (job->what == ENGINE_WORK && (!n_closed_lost || engine_done(g) <= 1000))
		assert_false(engine_wait(g, 1000000));
	stop = job->what == ENGINE_WORK;
	assert_int_equal(engine_join(g, &load, NULL, &e), 0);
	if (job->what == ENGINE_WORK)
		assert_true(load->n_lost == 1 && load->action[0].n > 100);
	run_load_free(load);
}

static void the_engine_s_threads_allocate_nothing_once_they_work(void **state)
{
	static const struct script_type type = { .begin = begin_quick,
						 .next = next_of_quick,
						 .answered = quick_answered };
	const struct engine_opts opts = { .n_threads = 2, .opening_max = 1, .stop = &stop };
	const struct engine_job open = { .what = ENGINE_OPEN }, end = { .what = ENGINE_END };
	struct engine_job work = { .what = ENGINE_WORK,
				   .script = script_of_quick,
				   .n_actions = 1,
				   .action_name = act,
				   .duration_ns = 600000000000,
				   .queue = 3 };
	struct engine_client client[4];
	struct quick quick[4];
	struct engine *g;
	struct err e;

	(void)state;
	for (int kind = PACE_CLOSED; kind <= PACE_POISSON; kind++) {
		work.pace = (struct pace_opts) { (enum pace_kind)kind, 20000, 1 };
		memset(quick, 0, sizeof(quick));
		for (unsigned int i = 0; i < 4; i++) {
			quick[i].s.type = &type;
			quick[i].lost = i == 3;
			client[i] = (struct engine_client) { .begin = open_quick,
							     .user = &quick[i] };
		}
		n_allocated = 0;
		assert_int_equal(engine_new(&g, &opts, client, 4, &e), 0);
		do_job(g, &open);
		do_job(g, &work);
		do_job(g, &end);
		engine_free(g);
		assert_int_equal(n_allocated, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_allocator_is_watched),
		cmocka_unit_test(lantest_allocates_nothing),
		cmocka_unit_test(speedtest_allocates_nothing_and_looks_in_warm_ups_only),
		cmocka_unit_test(the_engine_s_threads_allocate_nothing_once_they_work),
	};

	return cmocka_run_group_tests(tests, rig_pin, NULL);
}
