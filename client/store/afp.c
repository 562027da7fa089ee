/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store that is a volume of an AFP server: its session, and operations on their way. afp_ops.c
 * says which commands they are, afp/session.c connects and logs in.
 */
#include "afp/quantum.h"
#include "base/clock.h"
#include "store/store_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

static struct store_afp *store_afp_of(struct store *s)
{
	_Static_assert(offsetof(struct store_afp, s) == 0, "a store is the head of its kind");
	return (struct store_afp *)s;
}

int store_afp_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct store_afp *a = store_afp_of(s);
	struct store_slot *slot = a->free;
	int r;

	if (s->in_flight >= a->window)
		return -EAGAIN;
	if (a->login && (op->verb == STORE_LOGIN || op->verb == STORE_LOGOUT)) {
		store_login_submit(a, op);
		return 0;
	}
	if (store_afp_refuse(a, op)) {
		op->t.begun_ns = op->t.last_ns = clock_now_ns();
		store_queue_put(&a->answered, op);
		return 0;
	}
	if (!store_afp_encode(a, &slot->op, op)) {
		op->t.begun_ns = op->t.last_ns = clock_now_ns();
		store_queue_put(&a->answered, op);
		return 0;
	}
	op->command = slot->op.code;
	op->what = afp_command_name(op->command);
	slot->op.dsi.discard = op->verb == STORE_READ && op->discard;
	slot->op.user = op;
	r = afp_submit(a->session, &slot->op, e);
	if (!r)
		a->free = slot->next;
	return r;
}

/* An answer to a command that was sent, as one to its op; the slot is free again. */
static struct store_op *store_afp_complete(struct store_afp *a, struct afp_op *in)
{
	struct store_slot *slot = (struct store_slot *)in;
	struct store_op *op = in->user;

	_Static_assert(offsetof(struct store_slot, op) == 0, "a command is the head of its slot");
	op->t.begun_ns = in->dsi.t.begun_ns;
	op->t.last_ns = in->dsi.t.last_ns;
	store_afp_answer(a, op, in);
	slot->next = a->free;
	a->free = slot;
	return op;
}

struct store_op *store_afp_take(struct store *s)
{
	struct store_afp *a = store_afp_of(s);
	struct store_op *op = store_queue_take(&a->answered);
	struct afp_op *in = op ? NULL : afp_take(a->session);

	return in ? store_afp_complete(a, in) : op;
}

void store_afp_wait(struct store *s, struct io_wait *w)
{
	afp_wait(store_afp_of(s)->session, w);
	store_login_wait(store_afp_of(s), w);
}

/* ---- opening and ending ---- */

static size_t whole_pages(size_t n)
{
	return n < PAGE ? n : n - n % PAGE;
}

static void set_chunks(struct store_afp *a, const struct store_afp_opts *opts)
{
	size_t q = dsi_quantum(a->session->dsi);
	size_t command = a->narrow ? AFP_WRITE_LEN : AFP_WRITE_EXT_LEN;

	if (a->narrow && q > INT32_MAX)
		q = INT32_MAX;
	a->s.chunk_read = whole_pages(q);
	a->s.write_most = afp_quantum_data((uint32_t)q, opts->machine, command);
	a->s.chunk_write = whole_pages(a->s.write_most);
	a->s.len_max = a->narrow ? STORE_AFP_NARROW_END : STORE_AFP_WIDE_END;
	if (opts->fills)
		a->s.chunk_read = a->s.chunk_write = afp_quantum_data((uint32_t)q, opts->machine,
								      command);
	if (opts->legacy) /* as afp_speedtest: frame and command count for both */
		a->s.chunk_read = a->s.chunk_write = q - DSI_HEADER_LEN - AFP_WRITE_LEN;
}

/* The session is open: what follows from it. */
static void store_afp_opened(struct store_afp *a, const struct store_afp_opts *opts)
{
	const struct afp *session = a->session;

	/* 64-bit commands came with UTF-8 names */
	a->narrow = opts->legacy || opts->narrow || session->path_type == 2;
	a->legacy = opts->legacy;
	a->s.near = dsi_is_near(session->dsi);
	a->s.has_trips = true;
	for (unsigned int v = 0; v < 2; v++)
		a->volume[v] = *session;
	if (opts->other)
		a->volume[1].volume = opts->other;
	set_chunks(a, opts);
	a->s.state = STORE_IS_OPEN;
}

/* After an advance of the session, which returned r. */
static int store_afp_after(struct store_afp *a, int r)
{
	const struct store_afp_opts opts = { .machine = a->machine };

	if (a->s.state == STORE_OPENING && a->session->stage == AFP_STAGE_OPEN)
		store_afp_opened(a, &opts);
	else if (a->s.state == STORE_ENDING && afp_is_finished(a->session) &&
		 store_login_is_finished(a->login))
		a->s.state = STORE_ENDED;
	return r;
}

int store_afp_advance(struct store *s, short events, struct err *e)
{
	struct store_afp *a = store_afp_of(s);
	const bool login = store_login_is_under_way(a);
	int r = afp_advance(a->session, login ? 0 : events, e);

	store_login_advance(a, login ? events : 0);
	return store_afp_after(a, r);
}

int store_afp_work(struct store *s, uint64_t ns, struct err *e)
{
	struct store_afp *a = store_afp_of(s);
	struct io_wait w;

	if (!store_login_is_under_way(a))
		return store_afp_after(a, afp_work(a->session, ns, e));
	store_afp_wait(s, &w);
	return store_afp_advance(s, io_wait(&w, ns), e);
}

static void finish_afp(struct store *s)
{
	struct store_afp *a = store_afp_of(s);

	store_login_finish(a->login);
	if (a->session == &a->own)
		afp_finish(&a->own);
	if ((a->session != &a->own || afp_is_finished(&a->own)) &&
	    store_login_is_finished(a->login))
		s->state = STORE_ENDED;
}

static void close_afp(struct store *s)
{
	struct store_afp *a = store_afp_of(s);

	if (a->session == &a->own)
		afp_close(&a->own);
	store_login_free(a->login);
	free(a);
}

const struct store_type store_afp_type = { "AFP",          store_afp_submit,  store_afp_take,
					   store_afp_wait, store_afp_advance, store_afp_work,
					   finish_afp,     close_afp };

_Static_assert(STORE_SCRATCH_LEN == DSI_SCRATCH_LEN, "stores have the scratch of their sessions");

static struct store_afp *new_store(unsigned int window, struct err *e)
{
	/* one more than can be lent, so that a dead session can still return its reason */
	unsigned int n_slots = window + 1;
	struct store_afp *n = calloc(1, sizeof(*n) + n_slots * sizeof(n->slot[0]));

	if (!n) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	n->s.type = &store_afp_type;
	n->s.align = 1;
	n->s.discard_from = DSI_DISCARD_LEN;
	n->window = window;
	for (unsigned int v = 0; v < 2; v++)
		n->s.root[v] = (struct store_dir) { v, AFP_ROOT_ID };
	store_queue_init(&n->answered);
	for (unsigned int i = n_slots; i-- > 0;) {
		n->slot[i].next = n->free;
		n->free = &n->slot[i];
	}
	return n;
}

int store_open_afp(struct store **out, struct afp *a, const struct store_afp_opts *opts,
		   struct err *e)
{
	struct store_afp *n = new_store(opts->window ? opts->window : 1, e);

	if (!n)
		return -ENOMEM;
	n->session = a;
	store_afp_opened(n, opts);
	*out = &n->s;
	return 0;
}

int store_begin_afp(struct store **out, const struct store_afp_begin *how, struct err *e)
{
	struct store_afp *n = new_store(how->dsi->window, e);
	int r;

	if (!n)
		return -ENOMEM;
	n->session = &n->own;
	n->machine = how->server->machine;
	n->login = how->logins ? store_login_new(how) : NULL;
	if (how->logins && !n->login)
		r = err_set(e, -ENOMEM, "out of memory");
	else
		r = afp_begin(&n->own, how->dsi, how->server, how->login, how->volume, e);
	if (r)
		store_close(&n->s);
	else
		*out = &n->s;
	return r;
}

struct afp *store_afp_session(struct store *s)
{
	return s->type == &store_afp_type ? store_afp_of(s)->session : NULL;
}
