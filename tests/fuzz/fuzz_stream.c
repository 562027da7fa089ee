/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An honest server, with replies of any length in any order, unasked messages in between, and
 * the stream cut anywhere: each reply must come out as it was sent. The input is the script.
 */
#include "base/clock.h"
#include "dsi/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define WINDOW   6
#define REPLY_AT 64 /* of the request's buffer: what stands around the reply must stay */
#define BUF_LEN  (2 * REPLY_AT + 80000)

struct stage {
	struct dsi d;
	struct rbuf script;
	int server;  /* the other end */
	bool shared; /* one buffer for all replies: lengths are checked, bytes are not */
	uint16_t attention;
	size_t n_out, n_taken; /* bytes written by the server, of these sent */
	uint8_t out[8 * 80000];
	struct dsi_request req[WINDOW];
	uint8_t *buf[WINDOW];
	size_t told_len[WINDOW]; /* of the reply that the server gave */
	bool answered[WINDOW];
	struct dsi_request *order[WINDOW]; /* answered and not yet back */
	unsigned int n_order;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static uint8_t byte_of(const struct dsi_request *r, size_t i)
{
	return (uint8_t)(r->id * 31 + i * 7 + i / 253);
}

static void lend(struct stage *s, unsigned int i)
{
	static const size_t rooms[] = { 0, 8, 700, 4096, 5000, 16384, 20000, 80000 };
	struct dsi_request *r = &s->req[i];
	uint8_t which = rbuf_u8(&s->script);
	size_t room = rooms[which % 8];
	uint8_t asked[256];
	struct err e;
	int rc;

	memset(r, 0, offsetof(struct dsi_request, wire));
	r->command = DSI_COMMAND;
	r->len = 4;
	r->reply = s->buf[s->shared ? 0 : i] + REPLY_AT;
	r->reply_cap = room;
	r->discard = which & 8;
	if (!s->shared)
		memset(s->buf[i] + REPLY_AT + room, 0xa5, REPLY_AT);
	/* while an old request has the id's place, this one stays at home */
	rc = dsi_submit(&s->d, r, &e);
	s->answered[i] = rc;
	if (rc == -EAGAIN)
		return;
	must(!rc, "submit");
	must(recv(s->server, asked, sizeof(asked), 0) == DSI_HEADER_LEN + 4, "request");
}

static void take_back(struct stage *s)
{
	struct dsi_request *r;
	struct err e;
	size_t i, k;

	while (s->d.done.head) {
		must(!dsi_reap(&s->d, &r, &e), "reap");
		i = (size_t)(r - s->req);
		must(s->n_order && s->order[0] == r, "order");
		memmove(s->order, s->order + 1, --s->n_order * sizeof(s->order[0]));
		must(r->reply_len == s->told_len[i] && r->result == -(int32_t)i, "answer");
		must(r->t.first_ns && r->t.first_ns <= r->t.last_ns, "stamps");
		for (k = 0; !s->shared && !r->discard && k < r->reply_len; k++)
			must(s->buf[i][REPLY_AT + k] == byte_of(r, k), "payload");
		for (k = 0; !s->shared && k < REPLY_AT; k++)
			must(s->buf[i][k] == 0xa5 && s->buf[i][REPLY_AT + r->reply_cap + k] == 0xa5,
			     "bytes around the buffer");
		lend(s, (unsigned int)i);
	}
}

static void put(struct stage *s, const struct dsi_frame *f)
{
	dsi_frame_put(s->out + s->n_out, f);
	s->n_out += DSI_HEADER_LEN;
}

static void answer(struct stage *s, uint8_t which, uint8_t how)
{
	unsigned int i = which % WINDOW;
	struct dsi_request *r;
	struct dsi_frame f = { .flag = DSI_REPLY, .command = DSI_COMMAND };

	for (unsigned int n = 0; n < WINDOW && s->answered[i]; n++)
		i = (i + 1) % WINDOW;
	r = &s->req[i];
	if (s->answered[i] || s->n_out + DSI_HEADER_LEN + r->reply_cap > sizeof(s->out))
		return;
	f.len = (uint32_t)(how < 128 ? r->reply_cap : r->reply_cap * (how - 128u) / 128);
	f.id = r->id;
	f.code = (uint32_t) - (int32_t)i;
	put(s, &f);
	for (size_t k = 0; k < f.len; k++)
		s->out[s->n_out++] = byte_of(r, k);
	s->answered[i] = true;
	s->told_len[i] = f.len;
	s->order[s->n_order++] = r;
}

static void unasked(struct stage *s, uint8_t what)
{
	struct dsi_frame f = { .command = DSI_TICKLE };

	if (s->n_out + 64 > sizeof(s->out))
		return;
	if (what & 1)
		f = (struct dsi_frame) { .command = DSI_ATTENTION, .len = 2 };
	put(s, &f);
	if (what & 1) {
		s->attention = (uint16_t)(what << 4);
		s->out[s->n_out++] = (uint8_t)(s->attention >> 8);
		s->out[s->n_out++] = (uint8_t)s->attention;
	}
}

/* The next n bytes reach the client, which reads what there is. */
static void deliver(struct stage *s, size_t n, bool wait)
{
	uint64_t before_ns;
	ssize_t sent;
	struct err e;

	if (n > s->n_out - s->n_taken)
		n = s->n_out - s->n_taken;
	while (n) {
		sent = send(s->server, s->out + s->n_taken, n < 60000 ? n : 60000, MSG_DONTWAIT);
		must(sent > 0, "send");
		s->n_taken += (size_t)sent;
		n -= (size_t)sent;
		do {
			before_ns = s->d.heard_ns = 1;
			must(!dsi_receive(&s->d, wait ? 0 : MSG_DONTWAIT, &e), e.text);
		} while (s->d.heard_ns != before_ns);
	}
	take_back(s);
	if (s->n_taken == s->n_out)
		s->n_taken = s->n_out = 0;
}

static void play(struct stage *s)
{
	for (unsigned int i = 0; i < WINDOW; i++)
		lend(s, i);
	while (rbuf_left(&s->script) >= 2) {
		uint8_t what = rbuf_u8(&s->script), how = rbuf_u8(&s->script);

		switch (what >> 5) {
		case 0:
			deliver(s, how, false);
			break;
		case 1:
			deliver(s, (size_t)how * 331, how == 77);
			break;
		case 2:
			unasked(s, how);
			break;
		case 3:
			deliver(s, s->n_out, false);
			break;
		default:
			answer(s, what, how);
		}
	}
	deliver(s, s->n_out, false);
	must(!s->n_order && !s->d.in_frame && !s->d.head_len, "something is missing");
	must(s->d.attention == s->attention, "attention");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct timeval slice = { .tv_usec = 1000 };
	struct stage *s;
	int fd[2];

	if (len < 8 || len > 400)
		return 0;
	s = calloc(1, sizeof(*s));
	must(s && !socketpair(AF_UNIX, SOCK_STREAM, 0, fd), "set-up");
	s->script = rbuf_of(data, len);
	s->shared = rbuf_u8(&s->script) % 8 == 0;
	s->d.fd = fd[0];
	s->server = fd[1];
	setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
	s->d.opts.window = WINDOW;
	s->d.mask = 31;
	s->d.opened = true;
	s->d.slot = calloc(32, sizeof(struct dsi_request *));
	s->d.rx = malloc(DSI_SCRATCH_LEN);
	s->d.next_id = (uint16_t)-3;
	dsi_queue_init(&s->d.queued);
	dsi_queue_init(&s->d.done);
	for (unsigned int i = 0; i < WINDOW; i++) {
		s->buf[i] = malloc(BUF_LEN);
		must(s->buf[i] && s->d.slot && s->d.rx, "memory");
		memset(s->buf[i], 0xa5, BUF_LEN);
	}
	play(s);
	for (unsigned int i = 0; i < WINDOW; i++)
		free(s->buf[i]);
	free(s->d.slot);
	free(s->d.rx);
	close(fd[0]);
	close(fd[1]);
	free(s);
	return 0;
}
