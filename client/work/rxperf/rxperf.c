/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of a client of rxperf: lanes that each have one call under way. */
#include "work/rxperf/rxperf.h"

#include "work/rxperf/rx_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COOKIE_LEN 4

struct rxperf_lane {
	struct store_op op;
	struct rxperf *p;
	bool lent;
	uint64_t left; /* calls to be made */
	uint64_t body; /* bytes of data that are to come */
	struct rx_data_check check;
	uint8_t cookie[COOKIE_LEN];
	uint8_t head[RX_PERF_LEN];
};

struct rxperf {
	struct script s;
	const struct rxperf_opts *o;
	const uint8_t *data;
	struct store *store;
	uint64_t call; /* number of the next one, different in all clients */
	uint64_t left; /* of all lanes */
	bool failed;   /* one of this action */
	struct err why;
	struct rxperf_counts counts;
	struct rxperf_lane lane[];
};

_Static_assert(RX_CALL_LEN <= RX_PERF_LEN, "a small call has room");

static struct rxperf *rxperf_of(struct script *s)
{
	_Static_assert(offsetof(struct rxperf, s) == 0, "a script is the head of its kind");
	return (struct rxperf *)s;
}

const char *rxperf_name(const struct rxperf_opts *o)
{
	return o->small ? o->small->name : rx_perf_name(o->call.command);
}

static bool has_cookie(const struct rxperf_opts *o)
{
	return !o->small && o->call.command != RX_PERF_FILE;
}

/* ---- what comes back ---- */

static void rxperf_take_data(struct rxperf_lane *l, const uint8_t *at, size_t n)
{
	if (l->p->o->verify)
		rx_data_check(&l->check, at, n);
}

/* First the data, then the cookie. */
static void taken(struct store_op *op, const void *bytes, size_t len)
{
	struct rxperf_lane *l = op->user;
	const uint8_t *at = bytes;
	uint64_t n = op->done < l->body ? l->body - op->done : 0, from = op->done + n - l->body;

	if (l->p->o->small)
		return;
	n = n < len ? n : len;
	if (n)
		rxperf_take_data(l, at, (size_t)n);
	at += n;
	len -= (size_t)n;
	if (len && from < COOKIE_LEN)
		memcpy(l->cookie + from, at, len < COOKIE_LEN - from ? len : COOKIE_LEN - from);
}

/* Why a call that was answered is not right; 0: it is. */
static int look_at_reply(struct rxperf_lane *l, struct err *e)
{
	const struct rxperf_opts *o = l->p->o;
	struct rbuf b = rbuf_of(l->cookie, COOKIE_LEN);
	uint32_t cookie = rbuf_u32(&b);

	if (o->small && l->op.done < o->small->reply_min)
		return err_set(e, -EPROTO, "%s: the reply has %llu bytes, and should have %u",
			       o->small->name, (unsigned long long)l->op.done, o->small->reply_min);
	if (has_cookie(o) && cookie != RX_PERF_COOKIE)
		return err_set(e, -EPROTO, "%s: the reply ends with 0x%x, and should with 0x%x",
			       rxperf_name(o), cookie, RX_PERF_COOKIE);
	if (l->check.state == RX_DATA_WRONG)
		return err_set(e, -EPROTO, "%s: byte %llu of the data received is wrong",
			       rxperf_name(o), (unsigned long long)l->check.wrong);
	return 0;
}

static int explain(const struct rxperf_lane *l, struct err *e)
{
	const struct store_op *op = &l->op;

	if (op->result == STORE_SHORT)
		return err_set(e, -EPROTO, "%s: the reply has %llu bytes, and should have %llu",
			       op->what, (unsigned long long)op->done,
			       (unsigned long long)op->back);
	return err_set(e, -EIO, "%s: %s (%d)", op->what, op->why, op->code);
}

static void rxperf_count(struct rxperf_lane *l)
{
	struct rxperf *p = l->p;
	struct rxperf_counts *c = &p->counts;
	struct err why = { 0 };
	int r = l->op.result == STORE_OK ? look_at_reply(l, &why) : explain(l, &why);

	store_rx_look(p->store, &c->socket);
	c->looked = true;
	c->done++;
	if (r) {
		c->failed++;
		c->dead |= l->op.code == RX_CALL_DEAD;
		c->stopped = c->dead && (p->o->calls || !c->socket.counts.datagrams_received);
		if (!p->failed)
			p->why = why;
		p->failed = true;
		return;
	}
	c->sent += l->op.len;
	c->received += l->body;
	c->not_compared += l->body && l->check.state != RX_DATA_RIGHT;
	p->s.bytes += l->op.len + l->body;
}

/* ---- the script ---- */

static int rxperf_begin(struct script *s, const struct store *store)
{
	struct rxperf *p = rxperf_of(s);

	if (p->counts.stopped || (p->o->calls && !p->left))
		return SCRIPT_END;
	p->store = (struct store *)(uintptr_t)store;
	p->failed = false;
	if (p->o->threads == 1)
		p->lane[0].left = 1;
	else
		for (unsigned int i = 0; i < p->o->threads; i++)
			p->lane[i].left = p->o->calls;
	return 0;
}

static unsigned int how_of(const struct rxperf_opts *o)
{
	if (!o->small)
		return o->call.command;
	return o->small->apart;
}

static void rxperf_prepare(struct rxperf *p, struct rxperf_lane *l)
{
	const struct rxperf_opts *o = p->o;
	struct wbuf head = wbuf_of(l->head, sizeof(l->head));
	struct rx_perf call = o->call;

	call.version = RX_PERF_VERSION;
	l->op = (struct store_op) { .verb = STORE_EXCHANGE,
				    .name = rxperf_name(o),
				    .how = how_of(o),
				    .head = l->head,
				    .data = p->data,
				    .period = o->period ? o->period : RX_DATA_PERIOD,
				    .back = UINT64_MAX,
				    .taken = taken,
				    .user = l };
	l->body = 0;
	if (o->small) {
		rx_small_call_put(&head, o->small, o->volume);
	} else {
		rx_perf_put(&head, &call);
		l->op.len = rx_perf_sent(&call);
		l->op.offset = rx_data_place(p->call, l->op.len);
		l->body = rx_perf_received(&call);
		l->op.back = l->body + (has_cookie(o) ? COOKIE_LEN : 0);
	}
	l->op.head_len = (size_t)(head.at - l->head);
	memset(l->cookie, 0, sizeof(l->cookie));
	rx_data_check_begin(&l->check, l->body, RX_DATA_OF_SERVER);
	p->call++;
}

static struct store_op *rxperf_next(struct script *s)
{
	struct rxperf *p = rxperf_of(s);
	struct rxperf_lane *l;

	for (unsigned int i = 0; i < p->o->threads && !p->counts.stopped; i++) {
		l = &p->lane[i];
		if (l->lent || !l->left)
			continue;
		rxperf_prepare(p, l);
		l->lent = true;
		l->left--;
		p->left -= p->o->calls != 0;
		return &l->op;
	}
	return NULL;
}

static bool rxperf_has_more(const struct rxperf *p)
{
	for (unsigned int i = 0; i < p->o->threads; i++)
		if (p->lane[i].lent || (p->lane[i].left && !p->counts.stopped))
			return true;
	return false;
}

static enum script_state rxperf_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct rxperf *p = rxperf_of(s);
	struct rxperf_lane *l = op->user;

	l->lent = false;
	rxperf_count(l);
	if (rxperf_has_more(p))
		return SCRIPT_GOES_ON;
	if (!p->failed)
		return SCRIPT_DONE;
	*e = p->why;
	return SCRIPT_FAILED;
}

struct rxperf *rxperf_new(const struct rxperf_opts *o, const uint8_t *data, unsigned int number)
{
	static const struct script_type type = { .begin = rxperf_begin,
						 .next = rxperf_next,
						 .answered = rxperf_answered };
	struct rxperf *p = calloc(1, sizeof(*p) + o->threads * sizeof(p->lane[0]));

	if (!p)
		return NULL;
	p->s.type = &type;
	p->o = o;
	p->data = data;
	p->call = (uint64_t)number << 32;
	p->left = o->calls * o->threads;
	for (unsigned int i = 0; i < o->threads; i++)
		p->lane[i].p = p;
	return p;
}

void rxperf_free(struct rxperf *p)
{
	free(p);
}

struct script *rxperf_script(struct rxperf *p)
{
	return &p->s;
}

const struct rxperf_counts *rxperf_counts(const struct rxperf *p)
{
	return &p->counts;
}
