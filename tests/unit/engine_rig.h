/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_ENGINE_RIG_H
#define TESTS_UNIT_ENGINE_RIG_H

/* An engine with clients on slow stores, whose scripts ask and count. */

#include "load/engine.h"
#include "unit/slow_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define MS      1000000ull
#define CLIENTS 12

/* A client: its store, and a script whose actions have n_requests requests. */
struct play {
	struct script s; /* first */
	struct slow_cfg slow;
	unsigned int n_requests; /* of an action, each of 10 bytes */
	unsigned int window;     /* of them at a time */
	unsigned int n_actions;  /* 0: for ever */
	unsigned int fail_every; /* every n-th action fails; 0: none */
	bool by_turns;           /* classes 0 and 1; else 0 */
	bool idle, mute;         /* it has no script; its script asks nothing */
	uint64_t aside_ns;       /* before each request and after each answer, of its own */
	unsigned int stop_at;    /* its n-th action sets this flag; 0: none */
	volatile sig_atomic_t *stop;

	atomic_uint n_jobs; /* that asked for its script */
	unsigned int n_opened, begun, ended, failed, asked, answered;
	struct store_op op[2 * SLOW_WINDOW];
	bool lent[2 * SLOW_WINDOW];
};

struct rig {
	struct play play[CLIENTS];
	struct engine *engine;
	struct engine_opts opts;
	struct run_load *load; /* of the last job */
	struct run_phase phase;
	struct err e;
	volatile sig_atomic_t stop;
	unsigned int n;
	void (*before_job)(void); /* may be NULL */
};

static inline int play_begin(struct script *s, const struct store *store)
{
	struct play *p = (struct play *)s;

	assert_int_equal(store->state, STORE_IS_OPEN);
	if (p->n_actions && p->begun == p->n_actions)
		return SCRIPT_END;
	if (++p->begun == p->stop_at)
		*p->stop = 1;
	p->asked = p->answered = 0;
	return p->by_turns ? p->begun % 2 : 0;
}

static inline void play_aside(struct play *p)
{
	const uint64_t begun_ns = clock_now_ns();

	while (p->aside_ns && clock_now_ns() < begun_ns + p->aside_ns)
		;
	p->s.aside_ns += p->aside_ns ? clock_now_ns() - begun_ns : 0;
}

static inline struct store_op *play_next(struct script *s)
{
	struct play *p = (struct play *)s;
	unsigned int i = 0;

	if (p->mute || p->asked == p->n_requests || p->asked - p->answered == p->window)
		return NULL;
	p->asked++;
	play_aside(p);
	while (p->lent[i])
		i++;
	p->lent[i] = true;
	p->op[i] = (struct store_op) { .verb = p->asked % 2 ? STORE_PROBE : STORE_MKDIR };
	return &p->op[i];
}

static inline enum script_state play_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct play *p = (struct play *)s;

	assert_true(p->lent[op - p->op]);
	p->lent[op - p->op] = false;
	s->bytes += 10;
	play_aside(p);
	if (++p->answered < p->n_requests)
		return SCRIPT_GOES_ON;
	p->ended++;
	if (!p->fail_every || p->ended % p->fail_every)
		return SCRIPT_DONE;
	p->failed++;
	err_set(e, -EIO, "action %u failed", p->ended);
	return SCRIPT_FAILED;
}

static inline void play_opened(void *user, struct store *store)
{
	struct play *p = (struct play *)((char *)user - offsetof(struct play, slow));

	assert_int_equal(store->state, STORE_IS_OPEN);
	p->n_opened++;
}

static inline struct script *play_of(void *user)
{
	struct play *p = (struct play *)((char *)user - offsetof(struct play, slow));

	p->n_jobs++;
	return p->idle ? NULL : &p->s;
}

static inline const char *play_name(unsigned int i)
{
	return i ? "odd" : "even";
}

/* n clients, not begun yet: what they are to do can be changed. */
static inline struct rig *rig_of(unsigned int n, unsigned int n_threads)
{
	static const struct script_type type = { .begin = play_begin,
						 .next = play_next,
						 .answered = play_answered };
	struct rig *g = calloc(1, sizeof(*g));

	assert_true(n <= CLIENTS);
	g->n = n;
	g->opts = (struct engine_opts) {
		.n_threads = n_threads, .opening_max = 2, .patience_ns = 50 * MS, .stop = &g->stop
	};
	for (unsigned int i = 0; i < n; i++) {
		g->play[i].s.type = &type;
		g->play[i].stop = &g->stop;
		g->play[i].n_requests = g->play[i].window = 1;
	}
	return g;
}

static inline void rig_start(struct rig *g, const struct engine_job *job)
{
	run_load_free(g->load);
	run_clear_commands(&g->phase);
	if (g->before_job)
		g->before_job();
	assert_int_equal(engine_start(g->engine, job, &g->e), 0);
}

static inline void rig_join(struct rig *g)
{
	assert_int_equal(engine_join(g->engine, &g->load, &g->phase, &g->e), 0);
}

static inline void rig_do(struct rig *g, const struct engine_job *job)
{
	rig_start(g, job);
	rig_join(g);
}

static inline void rig_open(struct rig *g)
{
	const struct engine_job job = { .what = ENGINE_OPEN };
	struct engine_client client[CLIENTS];

	for (unsigned int i = 0; i < g->n; i++)
		client[i] = (struct engine_client) { slow_begin, &g->play[i].slow, play_opened };
	assert_int_equal(engine_new(&g->engine, &g->opts, client, g->n, &g->e), 0);
	rig_do(g, &job);
}

/* What the scripts say; the caller adds to it. */
static inline struct engine_job rig_work(uint64_t duration_ns)
{
	return (struct engine_job) { .what = ENGINE_WORK,
				     .script = play_of,
				     .n_actions = 2,
				     .action_name = play_name,
				     .duration_ns = duration_ns };
}

static inline void rig_free(struct rig *g)
{
	engine_free(g->engine);
	for (unsigned int i = 0; i < g->n; i++) /* each store was closed once */
		assert_int_equal(g->play[i].slow.n_closed,
				 g->play[i].slow.no_begin ? 0 : g->play[i].slow.n_begun);
	run_load_free(g->load);
	run_clear_commands(&g->phase);
	free(g);
}

static inline uint64_t rig_actions(const struct rig *g)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->load->n_actions; i++)
		n += g->load->action[i].n;
	return n;
}

/* Actions in all seconds, also those that were not measured. */
static inline uint64_t rig_seconds(const struct rig *g)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->load->n_seconds; i++)
		n += g->load->second[i].n;
	return n;
}

/* Every arrival is accounted for once, and the clients' accounts are those of the actions. */
static inline void rig_adds_up(const struct rig *g)
{
	const struct run_load *l = g->load;
	uint64_t of_clients = 0, failed = 0;

	for (unsigned int i = 0; i < g->n; i++) {
		of_clients += l->client[i].actions;
		failed += l->client[i].failed;
	}
	assert_int_equal(of_clients, rig_actions(g));
	for (size_t i = 0; i < l->n_actions; i++) {
		assert_int_equal(l->action[i].planned.n, l->action[i].n - l->action[i].failed);
		assert_int_equal(l->action[i].begun.n, l->action[i].planned.n);
		failed -= l->action[i].failed;
	}
	assert_int_equal(failed, 0);
	if (l->rate_per_s > 0 &&
	    l->n_arrivals != rig_actions(g) + l->n_no_room + l->n_waiting + l->n_cut)
		fail_msg("%llu arrivals: %llu done, %llu no room, %llu waiting, %llu cut",
			 (unsigned long long)l->n_arrivals, (unsigned long long)rig_actions(g),
			 (unsigned long long)l->n_no_room, (unsigned long long)l->n_waiting,
			 (unsigned long long)l->n_cut);
}

#endif
