/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slow/slow_keep.h"

#include <stdlib.h>
#include <string.h>

#define KEPT     4096u /* sessions; a power of two */
#define NS_PER_S 1000000000u

struct slow_keep {
	struct slow_kept kept[KEPT];
	struct slow_told told[KEPT];
};

struct slow_keep *slow_keep_new(void)
{
	return calloc(1, sizeof(struct slow_keep));
}

void slow_keep_free(struct slow_keep *k)
{
	free(k);
}

struct slow_kept *slow_keep_of(struct slow_keep *k, uint32_t session)
{
	struct slow_kept *s = &k->kept[session % KEPT];

	if (s->session != session)
		*s = (struct slow_kept) { .session = session };
	return s;
}

/* The place of the shortest. */
static uint32_t shortest(const struct slow_calls *c)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < c->n; i++)
		if (c->call[i].ns < c->call[at].ns)
			at = i;
	return at;
}

static void insert(struct slow_calls *c, const struct slow_call *call)
{
	uint32_t at = c->n;

	for (; at && c->call[at - 1].t > call->t; at--)
		c->call[at] = c->call[at - 1];
	c->call[at] = *call;
	c->n++;
}

static void slow_keep_leave_out(struct slow_calls *c, const struct slow_call *call)
{
	c->more++;
	c->more_ns += call->ns;
}

void slow_keep_call(struct slow_keep *k, uint32_t session, uint16_t dsi_id, uint16_t command,
		    const struct slow_call *call)
{
	struct slow_kept *s = slow_keep_of(k, session);
	struct slow_calls *c = &s->calls;
	uint32_t at;

	if (s->dsi_id != dsi_id || s->command != command)
		*c = (struct slow_calls) { 0 };
	s->dsi_id = dsi_id;
	s->command = command;
	if (c->n == SLOW_CALLS) {
		at = shortest(c);
		if (c->call[at].ns >= call->ns) {
			slow_keep_leave_out(c, call);
			return;
		}
		slow_keep_leave_out(c, &c->call[at]);
		memmove(&c->call[at], &c->call[at + 1], (c->n - at - 1) * sizeof(*c->call));
		c->n--;
	}
	insert(c, call);
}

const struct slow_calls *slow_keep_calls(struct slow_keep *k, const struct afs_record_requests *r)
{
	const struct slow_kept *s = slow_keep_of(k, r->session);

	return s->dsi_id == r->dsi_id && s->command == r->command && s->calls.n ? &s->calls : NULL;
}

const struct afs_named *slow_keep_named(struct slow_keep *k, const struct afs_record_requests *r)
{
	const struct afs_named *n = &slow_keep_of(k, r->session)->named;

	return n->timestamp >= r->t && afs_named_is(n, r->dsi_id, r->command) ? n : NULL;
}

struct slow_told *slow_keep_told_of(struct slow_keep *k, const struct afs_record_requests *r)
{
	struct slow_told *told = &k->told[(r->session + 61u * r->dsi_id) % KEPT];

	if (told->session != r->session || told->dsi_id != r->dsi_id)
		*told = (struct slow_told) { .session = r->session, .dsi_id = r->dsi_id };
	return told;
}

bool slow_keep_due(struct slow_keep *k, const struct afs_record_requests *r)
{
	const struct slow_told *told = slow_keep_told_of(k, r);

	return told->t != r->t || r->time_ns / 2 >= told->ns;
}

void slow_keep_told(struct slow_keep *k, const struct afs_record_requests *r)
{
	struct slow_told *told = slow_keep_told_of(k, r);

	told->t = r->t;
	told->ns = r->time_ns;
}

uint64_t slow_rate_turn(struct slow_rate *r, uint64_t now_ns)
{
	uint64_t left_out = r->left_out;

	if (now_ns / NS_PER_S == r->second)
		return 0;
	r->second = now_ns / NS_PER_S;
	r->n = 0;
	r->left_out = 0;
	return left_out;
}

bool slow_rate_take(struct slow_rate *r)
{
	if (!r->most || r->n < r->most) {
		r->n++;
		return true;
	}
	r->left_out++;
	r->left_out_all++;
	return false;
}
