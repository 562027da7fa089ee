/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fake server's DSI: its thread, frames in and out, and everything it does wrong on demand. */
#include "fake/peer.h"

#include "afp/proto.h"
#include "fake/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define COMMAND_MAX      2048
#define HELD_MAX         4096
#define IDLE_MS          10
#define SERVER_BUSY_CODE 0xfbd1

/* Machine type at 18, versions at 23, methods at 52. */
static const uint8_t default_status[] = "\x00\x12\x00\x17\x00\x34\x00\x00\x83\x7b"
					"\x06"
					"Server\x00\x04"
					"Fake\x04\x06"
					"AFPX03\x06"
					"AFP3.1\x06"
					"AFP3.3\x06"
					"AFP3.4\x01\x0f"
					"No User Authent";

void peer_complain(struct peer *p, const char *fmt, ...)
{
	va_list ap;

	if (*p->complaint)
		return;
	va_start(ap, fmt);
	vsnprintf(p->complaint, sizeof(p->complaint), fmt, ap);
	va_end(ap);
}

/* ---- in ---- */

/* The next len bytes; to may be NULL. false: the connection has ended. */
static bool take_bytes(struct peer *p, uint8_t *to, size_t len)
{
	ssize_t got;
	size_t n;

	while (len) {
		if (p->rx_at == p->rx_end) {
			p->rx_at = p->rx_end = 0;
			got = recv(p->conn, p->rx, sizeof(p->rx), 0);
			if (got <= 0)
				return false;
			p->rx_end = (size_t)got;
		}
		n = p->rx_end - p->rx_at < len ? p->rx_end - p->rx_at : len;
		if (to)
			memcpy(to, p->rx + p->rx_at, n);
		to = to ? to + n : NULL;
		p->rx_at += n;
		len -= n;
	}
	return true;
}

static bool take_data(struct peer *p, struct peer_request *q)
{
	uint8_t piece[4096];
	size_t n;

	q->data_bad = 0;
	if (q->command[0] != PEER_TAKE)
		return take_bytes(p, NULL, q->data_len);
	for (size_t at = 0; at < q->data_len; at += n) {
		n = q->data_len - at < sizeof(piece) ? q->data_len - at : sizeof(piece);
		if (!take_bytes(p, piece, n))
			return false;
		for (size_t i = 0; i < n; i++)
			q->data_bad += piece[i] != peer_byte(q->command[1], at + i);
	}
	return true;
}

static bool input_waits(struct peer *p)
{
	struct pollfd fd = { .fd = p->conn, .events = POLLIN };

	return p->rx_at < p->rx_end || poll(&fd, 1, IDLE_MS) > 0;
}

/* ---- out ---- */

static bool send_bytes(struct peer *p, const uint8_t *data, size_t len)
{
	ssize_t n;

	while (len) {
		n = send(p->conn, data, len, MSG_NOSIGNAL);
		if (n < 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool send_in_pieces(struct peer *p, const uint8_t *data, size_t len)
{
	size_t piece = p->piece ? p->piece : len, cut = 0, n;

	if (p->split_walk) {
		cut = p->n_replies % len;
		if (cut && !send_bytes(p, data, cut))
			return false;
		usleep(p->piece_us);
	}
	for (size_t at = cut; at < len; at += n) {
		n = len - at < piece ? len - at : piece;
		if (!send_bytes(p, data + at, n))
			return false;
		if (p->piece_us && at + n < len)
			usleep(p->piece_us);
	}
	return true;
}

static bool send_unasked(struct peer *p, uint8_t command)
{
	uint8_t frame[WIRE_HEAD + 2];
	uint32_t len = command == WIRE_ATTENTION ? 2 : 0;

	wire_put(frame, &(struct wire_head) { .command = command, .len = len });
	frame[WIRE_HEAD] = (uint8_t)(p->attention >> 8);
	frame[WIRE_HEAD + 1] = (uint8_t)p->attention;
	return send_in_pieces(p, frame, WIRE_HEAD + len);
}

static void put_head(struct peer_reply *r)
{
	wire_put(r->frame, &(struct wire_head) { .flags = 1,
						 .command = r->dsi_command,
						 .id = r->id,
						 .code = (uint32_t)r->result,
						 .len = (uint32_t)r->len });
}

/* Ends the connection before byte .byte of the reply, the hard way or the soft one. */
static bool hang_up(struct peer *p, const struct peer_reply *r)
{
	const struct linger hard = { 1, 0 };
	size_t len = WIRE_HEAD + r->len;

	send_bytes(p, r->frame, p->fault.byte < len ? p->fault.byte : len);
	if (p->fault.kind == PEER_RESET)
		setsockopt(p->conn, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	return false;
}

static void append_close(struct peer_reply *r)
{
	r->frame = realloc(r->frame, 2 * WIRE_HEAD + r->len);
	wire_put(r->frame + WIRE_HEAD + r->len, &(struct wire_head) { .command = WIRE_CLOSE });
	r->len += WIRE_HEAD;
}

/* Spoils a reply that is ready to go. false: the connection shall end. */
static bool do_wrong(struct peer *p, struct peer_reply *r)
{
	switch (p->fault.kind) {
	case PEER_WRONG_ID:
		r->frame[2] ^= 0x40;
		break;
	case PEER_WRONG_COMMAND:
		r->frame[1] = r->dsi_command == WIRE_WRITE ? WIRE_COMMAND : WIRE_WRITE;
		break;
	case PEER_GARBAGE:
		memcpy(r->frame, "HTTP/1.1 400 Bad", WIRE_HEAD);
		break;
	case PEER_HUGE_LEN:
		memset(r->frame + 8, 0xff, 4);
		break;
	case PEER_TWICE:
		return send_bytes(p, r->frame, WIRE_HEAD + r->len);
	case PEER_HANG_UP:
	case PEER_RESET:
		return hang_up(p, r);
	case PEER_CLOSE_FRAME:
		send_unasked(p, WIRE_CLOSE);
		return false;
	case PEER_THEN_CLOSE:
		append_close(r);
		break;
	case PEER_SILENT:
		p->silent = true;
		break;
	case PEER_SHORT:
		r->len /= 2;
		r->result = AFP_ERR_END_OF_FILE;
		put_head(r);
		break;
	case PEER_FINE:
		break;
	}
	return true;
}

static bool send_reply(struct peer *p, struct peer_reply *r)
{
	bool ok = true;

	p->n_replies++;
	if (p->mute_id && r->id == p->mute_id)
		return free(r->frame), true;
	if (p->delay_ms)
		usleep(p->delay_ms * 1000);
	if (p->unasked & PEER_TICKLE)
		ok = send_unasked(p, WIRE_TICKLE);
	if (ok && p->unasked & PEER_ATTENTION)
		ok = send_unasked(p, WIRE_ATTENTION);
	put_head(r);
	if (ok && p->fault.reply == p->n_replies)
		ok = do_wrong(p, r);
	while (ok && p->silent && p->tickle_ms && !p->serve.stopping) {
		ok = send_unasked(p, WIRE_TICKLE);
		usleep(p->tickle_ms * 1000);
	}
	if (ok && !p->silent)
		ok = send_in_pieces(p, r->frame, WIRE_HEAD + r->len);
	free(r->frame);
	return ok;
}

static bool flush_held(struct peer *p)
{
	struct peer_reply swap;
	bool ok = true;
	size_t j;

	for (size_t i = p->n_held; p->shuffle && i > 1; i--) {
		p->random = p->random * 1664525 + 1013904223;
		j = (p->random >> 8) % i;
		swap = p->held[i - 1];
		p->held[i - 1] = p->held[j];
		p->held[j] = swap;
	}
	for (size_t i = 0; i < p->n_held; i++) {
		if (ok)
			ok = send_reply(p, &p->held[i]);
		else
			free(p->held[i].frame);
	}
	p->n_held = 0;
	return ok;
}

/* ---- requests ---- */

static bool refused(struct peer *p, uint8_t code)
{
	if (!p->refuse.nth)
		return false;
	if (p->refuse.code)
		return p->refuse.code == code && p->count[code] == p->refuse.nth;
	return p->n_working == p->refuse.nth;
}

static void afp_command(struct peer *p, const struct peer_request *q, struct peer_reply *out)
{
	uint8_t code = q->command[0];

	p->count[code]++;
	p->n_working += p->opened;
	if (p->answer && p->answer(p->user, p, q, out))
		return;
	if (!refused(p, code)) {
		peer_execute(p, q, out);
		return;
	}
	if (p->refuse.executed) {
		peer_execute(p, q, out);
		free(out->frame);
	}
	peer_reply_set(out, p->refuse.result, NULL, 0);
}

static void open_session(struct peer *p, const struct peer_request *q, struct peer_reply *out)
{
	uint8_t options[] = { 2, 4, 0, 0, 0, 128, 0, 4, 0, 0, 0, 0 };

	if (q->len != 6 || memcmp(q->command, "\1\4\0\0\0\2", 6))
		peer_complain(p, "DSIOpenSession with %zu bytes of options", q->len);
	wire_put32(options + 8, p->quantum);
	peer_reply_set(out, AFP_ERR_OK, options, sizeof(options));
}

static void execute(struct peer *p, const struct peer_request *q, struct peer_reply *out)
{
	if (p->busy) {
		peer_reply_set(out, SERVER_BUSY_CODE, NULL, 0);
		out->dsi_command = WIRE_OPEN; /* whatever was asked */
		out->id = 0;
		p->ended = true;
	} else if (q->dsi_command == WIRE_STATUS) {
		peer_reply_set(out, AFP_ERR_OK, p->status ? p->status : default_status,
			       p->status ? p->status_len : sizeof(default_status) - 1);
	} else if (q->dsi_command == WIRE_OPEN) {
		open_session(p, q, out);
	} else if (q->len) {
		afp_command(p, q, out);
	} else {
		peer_complain(p, "empty AFP command");
		peer_reply_set(out, AFP_ERR_NOT_SUPPORTED, NULL, 0);
	}
}

static bool answer_request(struct peer *p, struct peer_request *q)
{
	struct peer_reply *r = &p->held[p->n_held++];
	bool early = p->early && q->data_len;

	r->dsi_command = q->dsi_command;
	r->id = q->id;
	p->n_requests++;
	if (!early && !take_data(p, q))
		return p->n_held--, false;
	execute(p, q, r);
	if (p->n_held < p->hold && p->n_held < HELD_MAX && input_waits(p))
		return true;
	return flush_held(p) && (!early || take_data(p, q)) && !p->ended;
}

/* What needs no answer: 1 done, 0 the session ends; -1: it is a request. */
static int without_answer(struct peer *p, uint8_t command)
{
	if (command == WIRE_TICKLE) {
		p->n_tickles++;
		return 1;
	}
	if (command != WIRE_CLOSE)
		return -1;
	p->n_closes++;
	flush_held(p);
	send_unasked(p, WIRE_CLOSE);
	return 0;
}

static bool check_request(struct peer *p, const struct wire_head *h)
{
	uint32_t bounded = h->len - (p->bounds_data && h->code <= h->len ? h->code : 0);

	if (h->reserved)
		peer_complain(p, "reserved bytes in use");
	if (h->flags || h->command < WIRE_CLOSE || h->command > WIRE_WRITE)
		peer_complain(p, "frame %02x %02x", h->flags, h->command);
	else if (h->command != WIRE_WRITE && (h->code || h->len > COMMAND_MAX))
		peer_complain(p, "DSI command %u of %u bytes, offset %u", h->command, h->len,
			      h->code);
	else if (bounded > p->quantum || h->code > h->len || h->code > COMMAND_MAX)
		peer_complain(p, "%u bytes, offset %u, quantum %u", h->len, h->code, p->quantum);
	else
		return true;
	return false;
}

/* One frame of the client. false: the connection shall end. */
static bool serve_frame(struct peer *p)
{
	uint8_t head[WIRE_HEAD], command[COMMAND_MAX];
	struct peer_request q = { .command = command };
	struct wire_head h;
	int done;

	if (p->deaf_ms && p->n_requests + 1 == p->deaf_at)
		usleep(p->deaf_ms * 1000);
	if (!take_bytes(p, head, sizeof(head)))
		return false;
	h = wire_get(head);
	if (!check_request(p, &h))
		return false;
	q.dsi_command = h.command;
	q.id = h.id;
	q.len = h.command == WIRE_WRITE ? h.code : h.len;
	q.data_len = h.len - q.len;
	if (q.data_len > p->data_most)
		p->data_most = q.data_len;
	if (!take_bytes(p, command, q.len))
		return false;
	done = without_answer(p, q.dsi_command);
	return done < 0 ? answer_request(p, &q) : done;
}

static void serve(void *user, int fd)
{
	struct peer *p = user;
	const int on = 1;

	p->conn = fd;
	setsockopt(p->conn, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	p->rx_at = p->rx_end = 0;
	p->opened = p->other_open = p->ended = p->silent = false;
	p->n_connections++;
	while (serve_frame(p))
		;
	for (size_t i = 0; i < p->n_held; i++)
		free(p->held[i].frame);
	p->n_held = 0;
	volume_close_all(&p->volume);
}

/* ---- from outside ---- */

struct peer *peer_new(void)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p || !(p->held = calloc(HELD_MAX, sizeof(*p->held))))
		abort();
	p->quantum = 1 << 20;
	p->room = 1ull << 40;
	p->random = 1;
	volume_init(&p->volume);
	return p;
}

void peer_start(struct peer *p)
{
	serve_start(&p->serve, serve, p);
}

void peer_stop(struct peer *p)
{
	serve_stop(&p->serve);
}

void peer_free(struct peer *p)
{
	if (!p)
		return;
	peer_stop(p);
	volume_fini(&p->volume);
	free(p->held);
	free(p);
}
