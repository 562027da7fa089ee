/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all stores have in common: counting what is lent. */
#include "store/store.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

static const char *const verb_names[N_STORE_VERBS] = {
#define X(name, word) [STORE_##name] = word,
	STORE_VERBS(X)
#undef X
};

int store_submit(struct store *s, struct store_op *op, struct err *e)
{
	int r;

	/* The result if it is never answered. */
	op->result = STORE_FAILED;
	op->code = 0;
	op->why = "not answered";
	op->done = 0;
	r = s->type->submit(s, op, e);
	if (!r)
		s->in_flight++;
	return r;
}

int store_reap(struct store *s, struct store_op **out, struct err *e)
{
	int r;

	if (!s->in_flight)
		return -ENOENT;
	r = s->type->reap(s, out, e);
	if (!r)
		s->in_flight--;
	return r;
}

int store_call(struct store *s, struct store_op *op, struct err *e)
{
	struct store_op *back;
	int r = store_submit(s, op, e);

	if (r)
		return r;
	do
		r = store_reap(s, &back, e);
	while (r == -EINTR); /* the op may be on a stack: it must not stay lent */
	if (r)
		s->in_flight = 0;
	return r;
}

/* A slice, so that a stop is seen soon. */
#define SLICE_NS 100000000u

int store_idle(struct store *s, uint64_t ns, const volatile sig_atomic_t *stop, struct err *e)
{
	uint64_t end_ns = clock_now_ns() + ns, now_ns, left_ns;
	struct timespec slice = { 0 };
	int r = 0;

	for (now_ns = end_ns - ns; !r && now_ns < end_ns; now_ns = clock_now_ns()) {
		if (stop && *stop)
			return err_set(e, -EINTR, "interrupted");
		left_ns = end_ns - now_ns < SLICE_NS ? end_ns - now_ns : SLICE_NS;
		slice.tv_nsec = (long)left_ns;
		if (s->type->idle)
			r = s->type->idle(s, left_ns, e);
		else
			nanosleep(&slice, NULL);
	}
	return r;
}

void store_drain(struct store *s)
{
	struct store_op *op;
	int r;

	do
		r = store_reap(s, &op, NULL);
	while (!r || r == -EINTR);
	s->in_flight = 0; /* the connection is lost: they will not be used any more */
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_drain(s);
	s->type->close(s);
}

const char *store_verb_name(enum store_verb v)
{
	return verb_names[v];
}
