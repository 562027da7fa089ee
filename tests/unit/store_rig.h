/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_STORE_RIG_H
#define UNIT_STORE_RIG_H

/* An AFP store on a session with the fake server, for the tests of the store. */

#include "store/store.h"

#include "afp/afp.h"
#include "fake/peer.h"
#include "unit/hex_bytes.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define WINDOW 8

struct rig {
	struct peer *peer;
	struct dsi_opts opts;
	struct afp_login login;
	struct afp a;
	struct store_afp_opts how;
	struct store *s;
	struct err e;
	volatile sig_atomic_t stop;

	/* The peer's hook: what came last, and what to say to it. */
	uint8_t sent[DSI_COMMAND_MAX];
	size_t sent_len, data_len;
	uint8_t code; /* 0: answer as usual */
	int32_t result;
	const void *payload;
	size_t len;
};

static inline bool hook(void *user, struct peer *p, const struct peer_request *q,
			struct peer_reply *out)
{
	struct rig *g = user;

	(void)p;
	memcpy(g->sent, q->command, q->len);
	g->sent_len = q->len;
	g->data_len = q->data_len;
	if (!g->code || q->command[0] != g->code)
		return false;
	peer_reply_set(out, g->result, g->payload, g->len);
	return true;
}

static inline void new_peer(struct rig *g)
{
	g->peer = peer_new();
	g->peer->answer = hook;
	g->peer->user = g;
	g->opts = (struct dsi_opts) { .host = "127.0.0.1",
				      .port = g->peer->serve.port,
				      .window = WINDOW,
				      .timeout_ms = 5000,
				      .stop = &g->stop };
}

static inline int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->login = (struct afp_login) { NULL, NULL, "guest", 7, NULL };
	g->how.window = WINDOW;
	new_peer(g);
	*state = g;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *g = *state;

	store_close(g->s);
	afp_close(&g->a);
	peer_stop(g->peer);
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	free(g);
	return 0;
}

static inline void open_it(struct rig *g)
{
	struct afp_server server;
	enum afp_stage stage;

	peer_start(g->peer);
	assert_int_equal(afp_server_info(&server, &g->opts, &g->e), 0);
	assert_int_equal(afp_open(&g->a, &g->opts, &server, &g->login, "Fake", &stage, &g->e), 0);
	assert_int_equal(afp_open_other(&g->a, "Other", &g->how.other, &g->e), 0);
	assert_int_equal(store_open_afp(&g->s, &g->a, &g->how, &g->e), 0);
}

/* The same session with other options. */
static inline void open_again(struct rig *g)
{
	store_close(g->s);
	assert_int_equal(store_open_afp(&g->s, &g->a, &g->how, &g->e), 0);
}

static inline void call(struct rig *g, struct store_op *op)
{
	assert_int_equal(store_call(g->s, op, &g->e), 0);
	assert_int_equal(g->s->in_flight, 0);
}

/* The last command of the client, as hex_bytes() has it. */
static inline void assert_sent(const struct rig *g, const char *text)
{
	uint8_t want[DSI_COMMAND_MAX];
	size_t n = hex_bytes(want, text);

	assert_int_equal(g->sent_len, n);
	assert_memory_equal(g->sent, want, n);
}

static inline struct store_file open_file(struct rig *g, const char *name)
{
	struct store_op op = { .verb = STORE_CREATE, .dir = g->s->root[0], .name = name };

	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	op.verb = STORE_OPEN;
	op.how = STORE_FOR_READ | STORE_FOR_WRITE | STORE_ALONE;
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	return op.opened;
}

#endif
