/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An honest server, with replies of any length in any order, unasked messages in between, and
 * the stream cut anywhere: each reply must come out as it was sent. The input is the script. The
 * stream is in memory: the kernel's would take most of the time.
 */
#include "base/clock.h"
#include "dsi/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define WINDOW    6
#define REPLY_AT  64 /* of the request's buffer: what stands around the reply must stay */
#define REPLY_MAX 80000
#define BUF_LEN   (2 * REPLY_AT + REPLY_MAX)
#define N_SLOTS   32    /* by the lowest bits of a request's id */
#define N_STARTS  4093u /* places of the pattern at which a payload may begin: a prime number */

struct stage {
	struct dsi d;
	struct rbuf script;
	bool shared; /* one buffer for all replies: lengths are checked, bytes are not */
	uint16_t attention;
	size_t n_out, n_taken; /* bytes written by the server, of these sent */
	size_t n_asked;        /* bytes of requests that have arrived */
	uint8_t out[8 * REPLY_MAX];
	struct dsi_request req[WINDOW];
	uint8_t *buf[WINDOW];
	size_t told_len[WINDOW]; /* of the reply that the server gave */
	bool answered[WINDOW];
	struct dsi_request *order[WINDOW]; /* answered and not yet back */
	unsigned int n_order;
	size_t n_read; /* of out, by the client */
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* ---- the stream, in place of the kernel's ---- */

/* What all inputs share: buffers whose ends the sanitizer guards. */
static struct stage *stage(void)
{
	static struct stage *s;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	must(s, "memory");
	s->d.slot = calloc(N_SLOTS, sizeof(struct dsi_request *));
	s->d.rx = malloc(DSI_SCRATCH_LEN);
	must(s->d.slot && s->d.rx, "memory");
	for (unsigned int i = 0; i < WINDOW; i++) {
		s->buf[i] = malloc(BUF_LEN);
		must(s->buf[i], "memory");
		memset(s->buf[i], 0xa5, BUF_LEN);
	}
	return s;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
	struct stage *s = stage();
	size_t n, got = 0;

	(void)fd;
	for (size_t i = 0; i < m->msg_iovlen; i++, got += n) {
		n = s->n_taken - s->n_read;
		n = n < m->msg_iov[i].iov_len ? n : m->msg_iov[i].iov_len;
		if (n && !(flags & MSG_TRUNC)) /* as TCP: it is dropped */
			memcpy(m->msg_iov[i].iov_base, s->out + s->n_read, n);
		s->n_read += n;
	}
	if (got)
		return (ssize_t)got;
	errno = EAGAIN;
	return -1;
}

ssize_t __wrap_recv(int fd, void *to, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t len, int flags)
{
	struct iovec iov = { to, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return __wrap_recvmsg(fd, &m, flags);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	uint8_t asked[256];
	size_t len = 0;

	(void)fd, (void)flags;
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		must(m->msg_iov[i].iov_len <= sizeof(asked) - len, "too long a request");
		memcpy(asked + len, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
		len += m->msg_iov[i].iov_len;
	}
	stage()->n_asked += len;
	return (ssize_t)len;
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };
	const struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return __wrap_sendmsg(fd, &m, flags);
}

/* ---- the server ---- */

/* What the server answers to this request, up to REPLY_MAX bytes. */
static const uint8_t *payload_of(const struct dsi_request *r)
{
	static uint8_t pattern[N_STARTS + REPLY_MAX];
	static bool made;

	for (uint32_t i = 0, random = 1; !made && i < sizeof(pattern); i++) {
		random = random * 1664525 + 1013904223;
		pattern[i] = (uint8_t)(random >> 24);
	}
	made = true;
	return pattern + r->id * 31u % N_STARTS;
}

static void lend(struct stage *s, unsigned int i)
{
	static const size_t rooms[] = { 0, 8, 700, 4096, 5000, 16384, 20000, REPLY_MAX };
	struct dsi_request *r = &s->req[i];
	uint8_t which = rbuf_u8(&s->script);
	size_t room = rooms[which % 8];
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
	s->n_asked = 0;
	rc = dsi_submit(&s->d, r, &e);
	s->answered[i] = rc;
	if (rc == -EAGAIN)
		return;
	must(!rc, "submit");
	must(s->n_asked == DSI_HEADER_LEN + 4, "request");
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
		must(s->shared || r->discard ||
			 !memcmp(s->buf[i] + REPLY_AT, payload_of(r), r->reply_len),
		     "payload");
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
	memcpy(s->out + s->n_out, payload_of(r), f.len);
	s->n_out += f.len;
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
	struct err e;

	if (n > s->n_out - s->n_taken)
		n = s->n_out - s->n_taken;
	s->n_taken += n;
	while (s->n_read < s->n_taken)
		must(!dsi_receive(&s->d, wait ? 0 : MSG_DONTWAIT, &e), e.text);
	if (n)
		must(!dsi_receive(&s->d, wait ? 0 : MSG_DONTWAIT, &e), e.text);
	take_back(s);
	if (s->n_taken == s->n_out)
		s->n_read = s->n_taken = s->n_out = 0;
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

static void stage_begin(struct stage *s, struct rbuf script)
{
	s->script = script;
	s->shared = rbuf_u8(&s->script) % 8 == 0;
	s->attention = 0;
	s->n_out = s->n_taken = s->n_read = 0;
	s->n_order = 0;
	memset(s->d.slot, 0, N_SLOTS * sizeof(struct dsi_request *));
	s->d = (struct dsi) { .fd = -1,
			      .opts.window = WINDOW,
			      .mask = N_SLOTS - 1,
			      .opened = true,
			      .slot = s->d.slot,
			      .rx = s->d.rx,
			      .next_id = (uint16_t)-3 };
	dsi_queue_init(&s->d.queued);
	dsi_queue_init(&s->d.done);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 8 || len > 400)
		return 0;
	stage_begin(stage(), rbuf_of(data, len));
	play(stage());
	return 0;
}
