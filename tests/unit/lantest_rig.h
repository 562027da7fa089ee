/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_LANTEST_RIG_H
#define UNIT_LANTEST_RIG_H

/* For the tests of lantest: a run over a volume in memory, and what it must have sent. */

#include "fake/peer.h"
#include "work/lantest/lantest.h"
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define QUANTUM  65536
#define CHUNK    (QUANTUM - 36)
#define FILE_LEN (100 * QUANTUM) /* 100 chunks and a rest */
#define N_CODES  14
#define T(n)     LANTEST_BIT(n)
#define TESTS    12 /* of set 4.5 */
#define ALL      (T(TESTS + 1) - 1)

/* AFP commands in the order of the columns below. */
static const uint8_t codes[N_CODES] = {
	AFP_GetFileDirParms, AFP_CreateFile,    AFP_CreateDir, AFP_Delete,      AFP_OpenFork,
	AFP_CloseFork,       AFP_GetForkParms,  AFP_Read,      AFP_Write,       AFP_ReadExt,
	AFP_WriteExt,        AFP_ByteRangeLock, AFP_Enumerate, AFP_GetVolParms,
};

/*
 * What afp_lantest 4.5.1 sends in one iteration, counted in a real afpd. files: 2000 files are
 * left to the clean-up.
 */
static const struct row {
	uint32_t asked, runs;
	bool files;
	unsigned int n[N_CODES];
} rows[] = {
	/* clang-format off */
	/*                       34    7     6     8     26    4     14    27    33    60   61   1      9   17 */
	{ T(1),  T(1),  false, { 10004, 1000, 1,    1001, 2000, 2000, 3000, 1000, 1000, 0,   0,   0,     1,  1 } },
	{ T(2),  T(2),  false, { 6,     1,    1,    2,    1,    1,    1,    0,    0,    0,   100, 0,     0,  0 } },
	{ T(3),  T(2) | T(3),
			false, { 7,     1,    1,    2,    2,    2,    2,    0,    0,    100, 100, 0,     0,  0 } },
	{ T(4),  T(4),  false, { 13,    1,    1,    2,    3,    3,    3,    1,    1,    0,   0,   20000, 0,  0 } },
	{ T(5),  T(5),  true,  { 2005,  2000, 1,    2003, 0,    0,    0,    0,    0,    0,   0,   0,     12, 0 } },
	{ T(6),  T(5) | T(6),
			true,  { 2005,  2000, 1,    2003, 0,    0,    0,    0,    0,    0,   0,   0,     61, 0 } },
	{ T(7),  T(5) | T(7),
			false, { 2004,  2000, 1,    2001, 0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(8),  T(8),  false, { 4,     0,    1111, 1111, 0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(9),  T(9),  false, { 11004, 100,  11,   111,  0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(10), T(10), false, { 404,   200,  1,    201,  0,    0,    0,    0,    0,    0,   0,   0,     20, 0 } },
	{ T(11), T(11), false, { 3504,  50,   21,   71,   0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(12), T(12), false, { 30004, 100,  1,    101,  0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ ALL, ALL,
			false, { 56916, 3452, 1141, 4593, 2005, 2005, 3005, 1001, 1001, 100, 100, 20000, 70, 1 } },
	/* clang-format on */
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Commands of each test's timed region. */
static const unsigned int timed[TESTS] = { 8000, 101,  101,   20000, 4000, 49,
					   2000, 1110, 11000, 820,   3500, 30000 };

struct rig {
	struct peer *peer;
	struct run run;
	struct load load;
	struct load_hooks hooks;
	struct afp a;
	struct err e;
	char base[32];
	unsigned int version; /* 3 to 7: AFP 3.0 to 3.4 */
	const char *machine;  /* that the server says it is */
	unsigned int n_begun, n_ended, n_done, n_ready;
	void (*begin)(void *, struct run_phase *), (*end)(void *, struct run_phase *);
	volatile sig_atomic_t stop;
};

/* Of a group: both ends on one CPU, for waking another takes longer than what it then does. */
static inline int rig_pin(void **state)
{
	cpu_set_t one;

	(void)state;
	CPU_ZERO(&one);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static inline void region_begin(void *user, struct run_phase *p)
{
	struct rig *g = user;

	g->n_begun++;
	if (g->begin)
		g->begin(user, p);
}

static inline void region_end(void *user, struct run_phase *p)
{
	struct rig *g = user;

	g->n_ended++;
	if (g->end)
		g->end(user, p);
}

static inline void phase_done(void *user, const struct run_phase *p)
{
	(void)p;
	((struct rig *)user)->n_done++;
}

static inline void ready(void *user)
{
	((struct rig *)user)->n_ready++;
}

static inline void rig_new(struct rig *g)
{
	memset(g, 0, sizeof(*g));
	g->peer = peer_new();
	g->peer->quantum = QUANTUM;
	g->version = 7;
	assert_int_equal(run_init(&g->run, "lantest", lantest_4_5.name), 0);
}

static inline void rig_free(struct rig *g)
{
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	run_fini(&g->run);
}

/* Logs in, runs, logs out; the server has stopped when this returns. */
static inline int run_opts(struct rig *g, const struct lantest_opts *opts)
{
	const struct afp_login login = { NULL, NULL, "guest", g->version, NULL };
	const struct dsi_opts dsi = { .host = "127.0.0.1",
				      .port = g->peer->serve.port,
				      .window = 128,
				      .timeout_ms = 10000,
				      .stop = &g->stop };
	struct afp_server server;
	enum afp_stage stage;
	int r;

	peer_start(g->peer);
	assert_int_equal(afp_server_info(&server, &dsi, &g->e), 0);
	assert_int_equal(afp_open(&g->a, &dsi, &server, &login, "Fake", &stage, &g->e), 0);
	g->hooks = (struct load_hooks) { .user = g,
					 .ready = ready,
					 .region_begin = region_begin,
					 .region_end = region_end,
					 .phase_done = phase_done };
	g->load = (struct load) { .afp = &g->a, .run = &g->run, .hooks = &g->hooks };
	memset(g->base, 'x', sizeof(g->base));
	r = lantest_run(&g->load, opts, g->machine, g->base, &g->e);
	dsi_ignore_stop(g->a.dsi);
	afp_close(&g->a);
	peer_stop(g->peer);
	return r;
}

static inline int run_these(struct rig *g, uint32_t tests, unsigned int iterations)
{
	const struct lantest_opts opts = { .set = &lantest_4_5,
					   .tests = tests,
					   .iterations = iterations,
					   .file_len = FILE_LEN,
					   .force = true };

	return run_opts(g, &opts);
}

#endif
