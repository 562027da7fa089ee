/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_DSI_RIG_H
#define UNIT_DSI_RIG_H

/* For the tests of DSI sessions: a session and its scripted server. */

#include "base/clock.h"
#include "dsi/dsi.h"
#include "fake/peer.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define MIB        (1u << 20)
#define N_REQUESTS 256
#define MS         1000000ull
#define LATE       (30000 * MS) /* on a busy machine; what hangs takes longer */

struct rig {
	struct peer *peer;
	struct dsi *d;
	struct dsi_opts opts;
	struct err e;
	volatile sig_atomic_t stop;
	struct dsi_request req[N_REQUESTS];
	uint8_t *buf[N_REQUESTS]; /* replies, malloc'd */
	uint8_t *data;            /* what PEER_TAKE is given: 4 MiB, seed 1 */
};

static inline int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->peer = peer_new();
	g->opts = (struct dsi_opts) { .host = "127.0.0.1",
				      .port = g->peer->serve.port,
				      .window = 200,
				      .timeout_ms = 10000,
				      .stop = &g->stop };
	*state = g;
	return 0;
}

static inline void disconnect(struct rig *g)
{
	dsi_close(g->d);
	g->d = NULL;
	peer_stop(g->peer);
}

static inline int teardown(void **state)
{
	struct rig *g = *state;

	disconnect(g);
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	for (size_t i = 0; i < N_REQUESTS; i++)
		free(g->buf[i]);
	free(g->data);
	free(g);
	return 0;
}

/* A new server for the next round of a test; knobs are at their defaults again. */
static inline void renew(struct rig *g)
{
	disconnect(g);
	peer_free(g->peer);
	g->peer = peer_new();
	g->opts.port = g->peer->serve.port;
	g->stop = 0;
	memset(&g->e, 0, sizeof(g->e));
}

static inline void connect_only(struct rig *g)
{
	peer_start(g->peer);
	assert_int_equal(dsi_connect(&g->d, &g->opts, &g->e), 0);
}

static inline void open_session(struct rig *g)
{
	connect_only(g);
	assert_int_equal(dsi_open(g->d, &g->e), 0);
	assert_int_equal(dsi_quantum(g->d), g->peer->quantum);
}

static inline void put_command(struct dsi_request *r, uint8_t code, uint8_t seed, uint32_t n)
{
	struct wbuf b = wbuf_of(r->wire + DSI_HEADER_LEN, DSI_COMMAND_MAX);

	wbuf_u8(&b, code);
	wbuf_u8(&b, seed);
	wbuf_u32(&b, n);
	r->len = PEER_GIVE_LEN;
}

/* Request i asks for n bytes, of which room fit. */
static inline struct dsi_request *prep_give(struct rig *g, size_t i, uint32_t n, size_t room)
{
	struct dsi_request *r = &g->req[i];

	g->buf[i] = realloc(g->buf[i], room ? room : 1);
	*r = (struct dsi_request) { .command = DSI_COMMAND, .reply = g->buf[i], .reply_cap = room };
	put_command(r, PEER_GIVE, (uint8_t)i, n);
	return r;
}

static inline struct dsi_request *prep_take(struct rig *g, size_t i, uint32_t n)
{
	struct dsi_request *r = &g->req[i];

	if (!g->data) {
		g->data = malloc(4 * MIB);
		for (size_t k = 0; k < 4 * MIB; k++)
			g->data[k] = peer_byte(1, k);
	}
	g->buf[i] = realloc(g->buf[i], 8);
	*r = (struct dsi_request) { .command = DSI_WRITE,
				    .data = g->data,
				    .data_len = n,
				    .reply = g->buf[i],
				    .reply_cap = 8 };
	put_command(r, PEER_TAKE, 1, n);
	return r;
}

static inline void submit(struct rig *g, struct dsi_request *r)
{
	assert_int_equal(dsi_submit(g->d, r, &g->e), 0);
}

/* Is it the answer to this very request? */
static inline void check(struct rig *g, const struct dsi_request *r)
{
	size_t i = (size_t)(r - g->req), wrong = 0;
	struct rbuf asked = rbuf_of(r->wire + DSI_HEADER_LEN, r->len);
	uint8_t code = rbuf_u8(&asked), seed = rbuf_u8(&asked);
	uint32_t n = rbuf_u32(&asked);
	struct rbuf b = rbuf_of(g->buf[i], 8);

	assert_true(i < N_REQUESTS);
	assert_int_equal(r->result, 0);
	if (code == PEER_TAKE) {
		assert_int_equal(r->reply_len, 8);
		assert_int_equal(rbuf_u32(&b), n);
		assert_int_equal(rbuf_u32(&b), 0);
		return;
	}
	assert_int_equal(r->reply_len, n);
	for (size_t k = 0; k < n; k++)
		wrong += g->buf[i][k] != peer_byte(seed, k);
	assert_int_equal(wrong, 0);
}

static inline struct dsi_request *reap(struct rig *g)
{
	struct dsi_request *r;
	int rc = dsi_reap(g->d, &r, &g->e);

	if (rc)
		print_error("%s\n", g->e.text);
	assert_int_equal(rc, 0);
	check(g, r);
	return r;
}

static inline void reap_all(struct rig *g)
{
	while (dsi_lent(g->d))
		reap(g);
}

/* Small and bulk replies and writes, in windows of several. */
static inline void mixed_traffic(struct rig *g, unsigned int rounds, uint32_t bulk)
{
	for (unsigned int k = 0; k < rounds; k++) {
		submit(g, prep_give(g, 0, k % 41, 64));
		submit(g, prep_give(g, 1, bulk, bulk));
		submit(g, prep_take(g, 2, 1 + k));
		submit(g, prep_give(g, 3, 8, 512));
		submit(g, prep_give(g, 4, bulk / 2, bulk));
		reap_all(g);
	}
}

static inline void expect_death(struct rig *g, int code, const char *text)
{
	struct dsi_request *r;
	int rc;

	do {
		rc = dsi_reap(g->d, &r, &g->e);
	} while (!rc);
	assert_int_equal(rc, code);
	assert_int_equal(g->e.code, code);
	if (!strstr(g->e.text, text))
		fail_msg("\"%s\" does not say \"%s\"", g->e.text, text);
	assert_non_null(strstr(g->e.text, "127.0.0.1 port "));
	/* and dead it stays, for the same reason */
	memset(&g->e, 0, sizeof(g->e));
	assert_int_equal(dsi_submit(g->d, prep_give(g, 99, 1, 1), &g->e), code);
	assert_non_null(strstr(g->e.text, text));
}

/* The fault at the third reply: opening is the first. */
static inline void die_of(struct rig *g, enum peer_fault kind, size_t byte)
{
	g->peer->fault.reply = 3;
	g->peer->fault.kind = kind;
	g->peer->fault.byte = byte;
	g->peer->hold = 3;
	open_session(g);
	submit(g, prep_give(g, 0, 8, 512));
	submit(g, prep_give(g, 1, 20, 512));
	submit(g, prep_give(g, 2, 8, 512));
}

#endif
