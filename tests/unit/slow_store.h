/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SLOW_STORE_H
#define TESTS_UNIT_SLOW_STORE_H

/*
 * A store for tests of the engine: its answers come after a given time, one after the other, told
 * by its due time or by a descriptor; it refuses, is lost, stalls or never answers when it is told
 * to. The engine's thread begins it with slow_begin(), whose user is a struct slow_cfg.
 */

#include "base/clock.h"
#include "store/store.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SLOW_WINDOW 8
#define SLOW_CHUNK  (1u << 20) /* bytes of file data that a request may move */

struct slow_cfg {
	/* What it is to be */
	uint64_t service_ns; /* of a request; 0: it is answered at once */
	uint64_t opening_ns, ending_ns;
	uint64_t stall_ns;     /* in service of the n-th request, besides */
	unsigned int stall_at; /* n, from 1; 0: none */
	/* From a time on and again every so often, for so long, nothing is answered: after that. */
	uint64_t still_from_ns, still_every_ns, still_ns; /* CLOCK_MONOTONIC; every 0: never */
	unsigned int lose_at; /* the n-th request has no answer: the store is lost; 0: none */
	unsigned int none_at; /* the n-th answer is STORE_NONE; 0: none */
	uint64_t lose_ns;     /* it is lost this long after it is open, also at rest; 0: not */
	atomic_bool lose;     /* set at any time: it is lost when it is advanced next */
	uint64_t block_ns;    /* submitting takes so long: a thread that is kept busy */
	uint64_t tickle_ns;   /* it wants to be advanced this often; 0: not */
	uint64_t hand_ns;     /* a thread of the store begins a request so long after it has it */
	bool by_fd;           /* its answers make a descriptor readable */
	bool silent, never_opens, never_ends;
	bool no_begin, refused; /* it cannot begin; it is refused when opening_ns are over */
	unsigned int window;    /* 0: SLOW_WINDOW */

	/* What it did */
	atomic_uint n_begun, n_submitted, n_tickled, n_closed;
	uint64_t first_ns;                     /* its first request came */
	atomic_uint *n_opening, *most_opening; /* of several, may be NULL */
};

struct slow_store {
	struct store s;
	struct slow_cfg *cfg;
	uint64_t state_ns, lost_ns, tickle_ns; /* when the state changes; ... */
	uint64_t last_due_ns;
	struct store_op *lent[SLOW_WINDOW];
	uint64_t due_ns[SLOW_WINDOW];
	unsigned int n_lent, n_taken;
	int fd;
};

static inline struct slow_store *slow_of(struct store *s)
{
	return (struct slow_store *)s;
}

static inline void slow_arm(struct slow_store *x)
{
	const uint64_t ns = x->n_lent ? x->due_ns[0] : 0;
	const struct itimerspec t = { .it_value = { (time_t)(ns / 1000000000u),
						    (long)(ns % 1000000000u) } };

	if (x->fd >= 0)
		timerfd_settime(x->fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static inline uint64_t slow_still(const struct slow_cfg *cfg, uint64_t due_ns)
{
	const uint64_t every_ns = cfg->still_every_ns;
	uint64_t since_ns;

	if (!every_ns || due_ns < cfg->still_from_ns)
		return due_ns;
	since_ns = (due_ns - cfg->still_from_ns) % every_ns;
	return since_ns < cfg->still_ns ? due_ns - since_ns + cfg->still_ns : due_ns;
}

static inline int slow_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct slow_store *x = slow_of(s);
	struct slow_cfg *cfg = x->cfg;
	uint64_t now_ns = clock_now_ns();

	(void)e;
	if (x->n_lent == (cfg->window ? cfg->window : SLOW_WINDOW))
		return -EAGAIN;
	if (!cfg->n_submitted++)
		cfg->first_ns = now_ns;
	while (cfg->block_ns && clock_now_ns() < now_ns + cfg->block_ns)
		;
	op->what = "ask";
	op->command = (uint8_t)(op->verb + 1);
	op->t.begun_ns = now_ns + cfg->hand_ns;
	op->t.handed_ns = cfg->hand_ns ? now_ns : 0;
	if (x->last_due_ns < now_ns)
		x->last_due_ns = now_ns;
	x->last_due_ns += cfg->service_ns + cfg->hand_ns;
	if (cfg->n_submitted == cfg->stall_at)
		x->last_due_ns += cfg->stall_ns;
	x->last_due_ns = slow_still(cfg, x->last_due_ns);
	if (cfg->n_submitted == cfg->lose_at)
		x->lost_ns = x->last_due_ns;
	x->lent[x->n_lent] = op;
	x->due_ns[x->n_lent++] = cfg->silent || cfg->n_submitted == cfg->lose_at ? UINT64_MAX
										 : x->last_due_ns;
	slow_arm(x);
	return 0;
}

static inline struct store_op *slow_take(struct store *s)
{
	struct slow_store *x = slow_of(s);
	struct store_op *op = x->lent[0];

	if (!x->n_lent || (x->cfg->service_ns && clock_now_ns() < x->due_ns[0]) ||
	    x->due_ns[0] == UINT64_MAX)
		return NULL;
	x->n_lent--;
	for (unsigned int i = 0; i < x->n_lent; i++) {
		x->lent[i] = x->lent[i + 1];
		x->due_ns[i] = x->due_ns[i + 1];
	}
	slow_arm(x);
	op->t.last_ns = clock_now_ns();
	op->done = op->len;
	op->result = ++x->n_taken == x->cfg->none_at ? STORE_NONE : STORE_OK;
	return op;
}

static inline void slow_sooner(struct io_wait *w, uint64_t due_ns)
{
	if (due_ns && due_ns < w->due_ns)
		w->due_ns = due_ns;
}

static inline void slow_wait(struct store *s, struct io_wait *w)
{
	const struct slow_store *x = slow_of(s);

	*w = (struct io_wait) { x->fd, POLLIN, UINT64_MAX };
	slow_sooner(w, x->state_ns);
	slow_sooner(w, x->lost_ns);
	slow_sooner(w, x->tickle_ns);
	if (x->n_lent && x->fd < 0)
		slow_sooner(w, x->due_ns[0]);
}

static inline void slow_opened(struct slow_store *x)
{
	if (x->cfg->n_opening)
		atomic_fetch_sub(x->cfg->n_opening, 1);
	x->s.state = STORE_IS_OPEN;
	x->state_ns = 0;
	x->lost_ns = x->cfg->lose_ns ? clock_now_ns() + x->cfg->lose_ns : 0;
	x->tickle_ns = x->cfg->tickle_ns ? clock_now_ns() + x->cfg->tickle_ns : 0;
}

static inline int slow_advance(struct store *s, short events, struct err *e)
{
	struct slow_store *x = slow_of(s);
	uint64_t now_ns = clock_now_ns();

	(void)events;
	if ((x->cfg->lose || (x->lost_ns && now_ns >= x->lost_ns)) && s->state == STORE_IS_OPEN) {
		x->cfg->lose = false;
		x->lost_ns = 0;
		return err_set(e, -ECONNRESET, "the connection was lost");
	}
	if (x->tickle_ns && now_ns >= x->tickle_ns) {
		x->cfg->n_tickled++;
		x->tickle_ns = now_ns + x->cfg->tickle_ns;
	}
	if (!x->state_ns || now_ns < x->state_ns)
		return 0;
	if (s->state == STORE_ENDING) {
		s->state = STORE_ENDED;
	} else if (s->state == STORE_OPENING && x->cfg->refused) {
		if (x->cfg->n_opening)
			atomic_fetch_sub(x->cfg->n_opening, 1);
		x->state_ns = 0;
		return err_set(e, -EBUSY, "the server is full");
	} else if (s->state == STORE_OPENING) {
		slow_opened(x);
	}
	return 0;
}

static inline int slow_work(struct store *s, uint64_t ns, struct err *e)
{
	struct io_wait w;

	if (s->state == STORE_ENDING) /* who waits for it sees its end */
		s->state = STORE_ENDED;
	if (s->state == STORE_ENDED)
		return 0;
	slow_wait(s, &w);
	return slow_advance(s, io_wait(&w, ns), e);
}

static inline void slow_finish(struct store *s)
{
	struct slow_store *x = slow_of(s);

	x->n_lent = 0; /* nobody waits for the answers any more */
	slow_arm(x);
	x->tickle_ns = 0;
	x->state_ns = x->cfg->never_ends ? UINT64_MAX : clock_now_ns() + x->cfg->ending_ns;
	if (!x->cfg->ending_ns && !x->cfg->never_ends)
		s->state = STORE_ENDED;
}

static inline void slow_close(struct store *s)
{
	struct slow_store *x = slow_of(s);

	x->cfg->n_closed++;
	if (x->fd >= 0)
		close(x->fd);
	free(x);
}

/* As engine_client.begin. */
static inline int slow_begin(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	static const struct store_type type = {
		"slow",       slow_submit, slow_take,   slow_wait,
		slow_advance, slow_work,   slow_finish, slow_close
	};
	struct slow_cfg *cfg = user;
	struct slow_store *x;
	unsigned int n;

	scratch[STORE_SCRATCH_LEN - 1] = 0; /* there is as much */
	cfg->n_begun++;
	if (cfg->no_begin)
		return err_set(e, -ENOMEM, "it cannot begin");
	x = calloc(1, sizeof(*x));
	x->s.type = &type;
	x->s.chunk_read = x->s.chunk_write = SLOW_CHUNK;
	x->cfg = cfg;
	x->fd = cfg->by_fd ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;
	x->state_ns = cfg->never_opens ? UINT64_MAX : clock_now_ns() + cfg->opening_ns;
	if (cfg->n_opening) {
		n = atomic_fetch_add(cfg->n_opening, 1) + 1;
		if (n > atomic_load(cfg->most_opening))
			atomic_store(cfg->most_opening, n);
	}
	if (!cfg->opening_ns && !cfg->never_opens && !cfg->refused)
		slow_opened(x);
	*out = &x->s;
	return 0;
}

#endif
