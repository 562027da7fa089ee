/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LOGIN and LOGOUT of an AFP store: a second session, of the same machine as the first
 * (afp/open.c), which goes on in the store's advance.
 *
 *	none -> opening -> open -> ending -> none
 *	opening -> ending (refused) -> none          open -> lost -> none
 */
#include "base/clock.h"
#include "store/store_priv.h"

#include <errno.h>
#include <stdlib.h>

/* FPLogin, what follows it, FPGetSessionToken, FPOpenVol, and what is asked if that is refused. */
#define PARTS_MAX 16

enum login_state {
	LOGIN_NONE,
	LOGIN_OPENING,
	LOGIN_OPEN,
	LOGIN_ENDING,
	LOGIN_LOST,
};

struct store_login {
	struct store_afp_begin how;
	struct dsi_opts dsi;
	struct afp session; /* all 0 in LOGIN_NONE */
	enum login_state state;
	bool told;           /* how.connected() was called */
	struct store_op *op; /* under way; NULL: none */
	int code;            /* why it failed, negative errno; 0: it did not */
	struct err why;
	unsigned int n_parts;
	struct store_part part[PARTS_MAX];
};

struct store_login *store_login_new(const struct store_afp_begin *how)
{
	struct store_login *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->how = *how;
	l->dsi = *how->dsi;
	l->dsi.window = 1;
	l->how.dsi = &l->dsi;
	return l;
}

/* Each command that was answered. */
static void note_part(void *login, const struct afp_op *op)
{
	struct store_login *l = login;

	if (l->n_parts == PARTS_MAX)
		return;
	l->part[l->n_parts++] = (struct store_part) {
		.command = op->code,
		.refused = op->dsi.result && op->dsi.result != AFP_ERR_CONTINUE,
		.what = afp_op_name(op),
		.begun_ns = op->dsi.t.begun_ns,
		.last_ns = op->dsi.t.last_ns,
	};
}

/* It stays lent until the session has its state, and then is answered as it was. */
static void login_note_answer(struct store_login *l, enum store_result result)
{
	l->op->t.last_ns = clock_now_ns();
	l->op->parts = l->part;
	store_answer(l->op, result, l->code, l->why.text);
}

static void hand_back(struct store_afp *a)
{
	struct store_login *l = a->login;

	/* Each command waits for its answer; a session besides for the connection and for that to
	 * DSIOpenSession, its end for the server to close the connection. */
	l->op->trips = l->n_parts + (l->op->verb == STORE_LOGIN ? 2 : 1);
	l->op->n_parts = l->n_parts;
	store_queue_put(&a->answered, l->op);
	l->op = NULL;
}

/* After an advance, which returned r. */
static void login_tell(struct store_login *l, int r)
{
	const struct dsi *d = l->session.dsi;
	const bool greeted = d && dsi_quantum(d);

	if (l->told || !l->how.connected || !d || !dsi_is_connected(d) || !(r || greeted))
		return;
	l->told = true;
	l->how.connected(l->how.user, &l->session, greeted);
}

/* Refused or lost: what it has is ended, then the operation is handed back. */
static void login_fails(struct store_login *l, int code)
{
	l->code = code;
	login_note_answer(l, STORE_FAILED);
	afp_finish(&l->session);
	l->state = LOGIN_ENDING;
}

static void login_begin(struct store_login *l)
{
	int r = afp_begin(&l->session, &l->dsi, l->how.server, l->how.login, l->how.volume,
			  &l->why);

	l->told = false;
	l->session.seen = note_part;
	l->session.seen_user = l;
	l->state = LOGIN_OPENING;
	if (r)
		login_fails(l, r);
}

void store_login_submit(struct store_afp *a, struct store_op *op)
{
	struct store_login *l = a->login;
	const bool in = op->verb == STORE_LOGIN;

	op->command = 0;
	op->what = store_verb_name(op->verb);
	op->t = (struct store_times) { .begun_ns = clock_now_ns() };
	l->op = op;
	l->n_parts = 0;
	l->code = 0;
	if (in ? l->state == LOGIN_NONE : l->state == LOGIN_OPEN) {
		l->why = (struct err) { 0 };
		if (in) {
			login_begin(l);
		} else {
			afp_finish(&l->session);
			l->state = LOGIN_ENDING;
		}
	} else if (l->state == LOGIN_LOST) {
		login_fails(l, -ECONNRESET);
	} else {
		err_set(&l->why, 0, in ? "there is a session already" : "there is no session");
		login_note_answer(l, STORE_INVALID);
		hand_back(a);
	}
	store_login_advance(a, 0);
}

static void login_opened(struct store_login *l)
{
	l->state = LOGIN_OPEN;
	login_note_answer(l, STORE_OK);
}

/* The end of a session, after which there is none. */
static void login_ended(struct store_login *l)
{
	if (l->op && l->op->verb == STORE_LOGOUT && !l->code)
		login_note_answer(l, STORE_OK);
	afp_close(&l->session);
	l->state = LOGIN_NONE;
}

void store_login_advance(struct store_afp *a, short events)
{
	struct store_login *l = a->login;
	int r = 0;

	if (!l || l->state == LOGIN_NONE || l->state == LOGIN_LOST)
		return;
	if (!afp_is_finished(&l->session))
		r = afp_advance(&l->session, events, l->code ? NULL : &l->why);
	login_tell(l, r);
	if (l->state == LOGIN_OPENING && r)
		login_fails(l, r);
	else if (l->state == LOGIN_OPENING && l->session.stage == AFP_STAGE_OPEN)
		login_opened(l);
	else if (l->state == LOGIN_OPEN && r)
		l->state = LOGIN_LOST;
	if (l->state == LOGIN_ENDING && afp_is_finished(&l->session))
		login_ended(l);
	if (l->op && (l->state == LOGIN_OPEN || l->state == LOGIN_NONE))
		hand_back(a);
	a->s.dials = l->state == LOGIN_OPENING;
}

bool store_login_is_under_way(const struct store_afp *a)
{
	return a->login && (a->login->state == LOGIN_OPENING || a->login->state == LOGIN_ENDING);
}

void store_login_wait(const struct store_afp *a, struct io_wait *w)
{
	struct io_wait login;

	if (!a->login || a->login->state == LOGIN_NONE || a->login->state == LOGIN_LOST)
		return;
	if (afp_is_finished(&a->login->session)) {
		w->due_ns = 0;
		return;
	}
	afp_wait(&a->login->session, &login);
	if (login.due_ns < w->due_ns)
		w->due_ns = login.due_ns;
	if (!store_login_is_under_way(a))
		return;
	w->fd = login.fd;
	w->events = login.events;
}

void store_login_finish(struct store_login *l)
{
	if (!l)
		return;
	l->op = NULL;
	if (l->state == LOGIN_NONE)
		return;
	afp_finish(&l->session);
	l->state = LOGIN_ENDING;
}

bool store_login_is_finished(const struct store_login *l)
{
	return !l || l->state == LOGIN_NONE;
}

void store_login_free(struct store_login *l)
{
	if (l)
		afp_close(&l->session);
	free(l);
}
