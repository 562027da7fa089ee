/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store that is a client of Rx: its socket, its connections, and calls on their way. */
#include "store/rx.h"

#include "base/clock.h"
#include "store/store_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX     1024u
#define PORT_USUAL    7009
#define SERVICE_USUAL 147
#define TIMEOUT_MS    60000
#define CALL_BACK     1 /* service of a file server's clients */

#define ASK_AGAIN_NS  1000000000u /* a question has no timer of Rx */

/* A call under way, or a question outside of calls; op NULL: none. */
struct rx_slot {
	struct store_op *op;
	struct rx_call *call; /* NULL: a question */
	uint32_t number;      /* of the question */
	uint64_t asked_ns;    /* last */
	uint64_t written;     /* bytes of head and data */
	uint64_t progress_ns; /* the last byte moved */
};

struct store_rx {
	struct store s;
	struct rx_endpoint *ep;
	uint64_t now_ns; /* of the turn */
	uint64_t timeout_ns;
	char peer[32]; /* "address:port" */
	uint32_t called_back;
	uint32_t n_asked; /* questions */
	struct sockaddr_in to;
	struct store_queue answered;
	unsigned int n_conns, n_slots;
	struct rx_conn **conn;
	struct rx_slot slot[];
};

static struct store_rx *store_rx_of(struct store *s)
{
	_Static_assert(offsetof(struct store_rx, s) == 0, "a store is the head of its kind");
	return (struct store_rx *)s;
}

/* ---- answers ---- */

/* Errors of the peer and of the protocol as results. */
static enum store_result store_rx_result_of(int32_t code)
{
	if (!code)
		return STORE_OK;
	if (code == RX_UNKNOWN_OPCODE || code == RX_INVALID_OPERATION)
		return STORE_UNKNOWN;
	return STORE_FAILED;
}

static const char *why_of(const struct rx_call *c, int32_t code)
{
	const char *why = rx_call_why(c);

	why = why ? why : rx_error_text(code);
	return why ? why : "the server refused the call";
}

/* The call is over. */
static void store_rx_complete(struct store_rx *x, struct rx_slot *slot)
{
	struct store_op *op = slot->op;
	int32_t code = rx_call_error(slot->call);

	store_answer(op, store_rx_result_of(code), code, why_of(slot->call, code));
	if (!code && op->back != UINT64_MAX && op->done != op->back)
		store_answer(op, STORE_SHORT, 0, "the reply is not as long as it should be");
	op->t.last_ns = clock_now_ns();
	rx_endpoint_release(x->ep, slot->call);
	slot->op = NULL;
	store_queue_put(&x->answered, op);
}

/* ---- questions ---- */

static int store_rx_ask(struct store_rx *x, struct rx_slot *slot)
{
	int r = rx_endpoint_ask(x->ep, &x->to, slot->number,
				slot->op->how == STORE_RX_ASK ? RX_DEBUG : RX_VERSION,
				rbuf_of(slot->op->head, slot->op->head_len));

	slot->asked_ns = x->now_ns;
	return r;
}

static void end_question(struct store_rx *x, struct rx_slot *slot, int32_t code)
{
	const char *refused = rx_endpoint_refused(x->ep);
	struct store_op *op = slot->op;

	store_answer(op, store_rx_result_of(code), code, refused ? refused : rx_error_text(code));
	op->t.last_ns = clock_now_ns();
	slot->op = NULL;
	store_queue_put(&x->answered, op);
}

static void on_answered(void *user, const struct rx_header *h, struct rbuf answer)
{
	struct store_rx *x = user;
	struct rx_slot *slot;

	for (unsigned int i = 0; i < x->n_slots; i++) {
		slot = &x->slot[i];
		if (!slot->op || slot->call || slot->number != h->call)
			continue;
		if (slot->op->taken)
			slot->op->taken(slot->op, answer.at, rbuf_left(&answer));
		slot->op->done += rbuf_left(&answer);
		end_question(x, slot, 0);
		return;
	}
}

/* Those without an answer are asked again, until the server counts as dead. */
static int look_at_questions(struct store_rx *x)
{
	struct rx_slot *slot;
	int r = 0;

	for (unsigned int i = 0; i < x->n_slots && !r; i++) {
		slot = &x->slot[i];
		if (!slot->op || slot->call)
			continue;
		if (rx_endpoint_refused(x->ep) || x->now_ns >= slot->progress_ns + RX_DEAD_NS)
			end_question(x, slot, RX_CALL_DEAD);
		else if (x->now_ns >= slot->asked_ns + ASK_AGAIN_NS)
			r = store_rx_ask(x, slot);
	}
	return r;
}

/* ---- bytes ---- */

static uint64_t store_rx_request_len(const struct store_op *op)
{
	return op->head_len + op->len;
}

/* The next bytes of the request that are in one piece. */
static size_t store_rx_next_piece(const struct store_op *op, uint64_t written, const uint8_t **at)
{
	uint64_t done, from, left;

	if (written < op->head_len) {
		*at = (const uint8_t *)op->head + written;
		return op->head_len - (size_t)written;
	}
	done = written - op->head_len;
	left = op->len - done;
	from = op->period ? (op->offset + done) % op->period : done;
	*at = (const uint8_t *)op->data + from;
	if (op->period && left > op->period - from)
		left = op->period - from;
	return (size_t)left;
}

static uint64_t send_some(struct rx_slot *slot)
{
	const uint64_t len = store_rx_request_len(slot->op), before = slot->written;
	const uint8_t *at;
	size_t n, taken = 1;

	if (before == UINT64_MAX)
		return 0;
	while (slot->written < len && taken) {
		n = store_rx_next_piece(slot->op, slot->written, &at);
		taken = rx_call_write(slot->call, at, n);
		slot->written += taken;
	}
	if (slot->written < len)
		return slot->written - before;
	rx_call_end(slot->call);
	slot->written = UINT64_MAX;
	return 1;
}

static uint64_t take_some(struct store_rx *x, struct rx_slot *slot)
{
	struct store_op *op = slot->op;
	uint64_t before = op->done;
	const void *at;
	size_t len;

	while ((at = rx_call_peek(slot->call, &len))) {
		if (op->taken)
			op->taken(op, at, len);
		op->done += len;
		rx_call_skip(slot->call, len, x->now_ns);
	}
	return op->done - before;
}

/* As far as it goes now. */
static void store_rx_go_on(struct store_rx *x, struct rx_slot *slot)
{
	if (rx_call_state(slot->call) == RX_CALL_ACTIVE &&
	    send_some(slot) + take_some(x, slot) != 0)
		slot->progress_ns = x->now_ns;
	if (rx_call_state(slot->call) == RX_CALL_OVER)
		store_rx_complete(x, slot);
}

/* ---- calls of the server ---- */

/* What a file server asks its clients; all else, and who they are, is answered by an error. */
static const uint32_t empty_answers[] = { 204, 205, 206, 213, 214 };

static bool is_plain(uint32_t opcode)
{
	for (size_t i = 0; i < sizeof(empty_answers) / sizeof(empty_answers[0]); i++)
		if (empty_answers[i] == opcode)
			return true;
	return false;
}

/*
 * Reads what it asks, of which the first 4 bytes matter, and answers. They are in one packet, as
 * that of every call is full or the last one.
 */
static void answer_back(struct store_rx *x, struct rx_call *c)
{
	const void *at;
	size_t len;
	struct rbuf b;
	uint32_t opcode = 0;
	bool asked = false;

	while ((at = rx_call_peek(c, &len))) {
		b = rbuf_of(at, len);
		if (!asked)
			opcode = rbuf_u32(&b);
		asked = true;
		rx_call_skip(c, len, x->now_ns);
	}
	if (!asked && rx_call_state(c) == RX_CALL_ACTIVE)
		return;
	x->called_back += asked;
	if (is_plain(opcode))
		rx_call_end(c);
	else
		rx_call_abort(c, RX_UNKNOWN_OPCODE);
	rx_endpoint_release(x->ep, c);
}

static bool store_rx_on_arrived(void *user, struct rx_call *c)
{
	answer_back(user, c);
	return true;
}

static void store_rx_on_changed(void *user, struct rx_call *c)
{
	struct rx_slot *slot = rx_endpoint_user(c);

	if (slot)
		store_rx_go_on(user, slot);
	else
		answer_back(user, c);
}

/* ---- the store ---- */

static struct rx_slot *free_slot(struct store_rx *x)
{
	for (unsigned int i = 0; i < x->n_slots; i++)
		if (!x->slot[i].op)
			return &x->slot[i];
	return NULL;
}

static struct rx_call *store_rx_begin_call(struct store_rx *x)
{
	struct rx_call *c = NULL;

	for (unsigned int i = 0; i < x->n_conns && !c; i++)
		c = rx_endpoint_begin(x->ep, x->conn[i], x->now_ns);
	return c;
}

static int store_rx_lost(const struct store_rx *x, int code, struct err *e)
{
	return err_set(e, code, "%s: the UDP socket failed: %s", x->peer, strerror(-code));
}

static int submit_rx(struct store *s, struct store_op *op, struct err *e)
{
	struct store_rx *x = store_rx_of(s);
	struct rx_slot *slot = free_slot(x);
	int r;

	op->command = (uint8_t)op->how;
	op->what = op->name;
	x->now_ns = op->t.begun_ns = clock_now_ns();
	if (op->verb != STORE_EXCHANGE) {
		op->what = store_verb_name(op->verb);
		op->t.last_ns = op->t.begun_ns;
		store_answer(op, STORE_UNKNOWN, 0, "Rx has only calls, and no files");
		store_queue_put(&x->answered, op);
		return 0;
	}
	if (!slot)
		return -EAGAIN;
	slot->progress_ns = x->now_ns;
	if (op->how == STORE_RX_ASK || op->how == STORE_RX_ASK_VERSION) {
		slot->call = NULL;
		slot->op = op;
		slot->number = ++x->n_asked;
		r = store_rx_ask(x, slot);
		return r ? store_rx_lost(x, r, e) : 0;
	}
	slot->call = store_rx_begin_call(x);
	if (!slot->call)
		return -EAGAIN;
	slot->op = op;
	slot->written = 0;
	rx_endpoint_set_user(slot->call, slot);
	store_rx_go_on(x, slot);
	r = rx_endpoint_flush(x->ep, x->now_ns);
	return r && r != -EAGAIN ? store_rx_lost(x, r, e) : 0;
}

static struct store_op *store_rx_take(struct store *s)
{
	return store_queue_take(&store_rx_of(s)->answered);
}

static void wait_rx(struct store *s, struct io_wait *w)
{
	struct store_rx *x = store_rx_of(s);
	uint64_t end_ns;

	rx_endpoint_wait(x->ep, w);
	for (unsigned int i = 0; i < x->n_slots; i++) {
		if (!x->slot[i].op)
			continue;
		end_ns = x->slot[i].call ? x->slot[i].progress_ns + x->timeout_ns
					 : x->slot[i].asked_ns + ASK_AGAIN_NS;
		if (end_ns < w->due_ns)
			w->due_ns = end_ns;
	}
	if (s->state == STORE_ENDED)
		*w = (struct io_wait) { -1, 0, UINT64_MAX };
}

/* A server that says it is there, and does nothing. */
static void give_up_late(struct store_rx *x)
{
	struct rx_slot *slot;

	for (unsigned int i = 0; i < x->n_slots; i++) {
		slot = &x->slot[i];
		if (!slot->op || !slot->call || x->now_ns < slot->progress_ns + x->timeout_ns)
			continue;
		rx_call_abort(slot->call, RX_CALL_TIMEOUT);
		store_rx_complete(x, slot);
	}
}

static int advance_rx(struct store *s, short events, struct err *e)
{
	struct store_rx *x = store_rx_of(s);
	int r;

	(void)events;
	if (s->state == STORE_ENDED)
		return 0;
	x->now_ns = clock_now_ns();
	r = rx_endpoint_advance(x->ep, x->now_ns, e);
	give_up_late(x);
	r = r ? r : look_at_questions(x);
	if (r)
		return err_prefix(e, r, "%s", x->peer);
	r = rx_endpoint_flush(x->ep, clock_now_ns());
	return r && r != -EAGAIN ? store_rx_lost(x, r, e) : 0;
}

static int work_rx(struct store *s, uint64_t ns, struct err *e)
{
	struct io_wait w;

	wait_rx(s, &w);
	return advance_rx(s, io_wait(&w, ns), e);
}

/* What is under way is given up, and the server is told. */
static void finish_rx(struct store *s)
{
	struct store_rx *x = store_rx_of(s);

	x->now_ns = clock_now_ns();
	for (unsigned int i = 0; i < x->n_slots; i++) {
		if (!x->slot[i].op)
			continue;
		if (x->slot[i].call)
			rx_endpoint_release(x->ep, x->slot[i].call);
		x->slot[i].op = NULL;
	}
	rx_endpoint_flush(x->ep, x->now_ns);
	s->state = STORE_ENDED;
}

static void close_rx(struct store *s)
{
	struct store_rx *x = store_rx_of(s);

	rx_endpoint_close(x->ep);
	free(x->conn);
	free(x);
}

static const struct store_type rx_type = { "Rx",       submit_rx, store_rx_take, wait_rx,
					   advance_rx, work_rx,   finish_rx,     close_rx };

static int store_rx_open_endpoint(struct store_rx *x, const struct store_rx_opts *o, struct err *e)
{
	const struct rx_endpoint_opts ep = {
		.service = o->called_back ? CALL_BACK : 0,
		.buffer_len = o->buffer_len,
		.least_rtt_ns = o->least_rtt_ms * 1000000ull,
		.own = o->own ? *o->own : (struct rx_limits)RX_LIMITS_USUAL,
		.n_conns = x->n_conns + (o->called_back ? 2 : 0),
		.n_calls = x->n_conns * RX_CHANNELS + (o->called_back ? 2 * RX_CHANNELS : 0),
		.scratch = o->scratch,
		.scratch_len = o->scratch ? STORE_SCRATCH_LEN : 0,
		.events = { .user = x,
			    .arrived = store_rx_on_arrived,
			    .changed = store_rx_on_changed,
			    .answered = on_answered },
	};
	int r = rx_endpoint_open(&x->ep, &ep, e);

	for (unsigned int i = 0; !r && i < x->n_conns; i++)
		x->conn[i] = rx_endpoint_connect(x->ep, o->to, o->service);
	return r;
}

int store_open_rx(struct store **out, const struct store_rx_opts *o, struct err *e)
{
	unsigned int n = o->calls && o->calls < CALLS_MAX ? o->calls : 1;
	struct store_rx *x = calloc(1, sizeof(*x) + n * sizeof(x->slot[0]));
	char address[INET_ADDRSTRLEN];
	int r;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	x->s.type = &rx_type;
	x->to = *o->to;
	x->s.align = 1;
	x->s.state = STORE_IS_OPEN;
	x->timeout_ns = (o->timeout_ms ? o->timeout_ms : TIMEOUT_MS) * 1000000ull;
	x->n_slots = n;
	x->n_conns = (n + RX_CHANNELS - 1) / RX_CHANNELS;
	x->conn = calloc(x->n_conns, sizeof(struct rx_conn *));
	store_queue_init(&x->answered);
	inet_ntop(AF_INET, &o->to->sin_addr, address, sizeof(address));
	snprintf(x->peer, sizeof(x->peer), "%s:%u", address, ntohs(o->to->sin_port));
	r = x->conn ? store_rx_open_endpoint(x, o, e) : err_set(e, -ENOMEM, "out of memory");
	if (r)
		close_rx(&x->s);
	else
		*out = &x->s;
	return r;
}

void store_rx_look(struct store *s, struct store_rx_state *out)
{
	struct store_rx *x = store_rx_of(s);
	const struct rx_hub *hub = rx_endpoint_hub(x->ep);

	*out = (struct store_rx_state) { .counts = hub->counts,
					 .rtt = hub->rtt,
					 .buffers = rx_endpoint_buffers(x->ep),
					 .port = rx_endpoint_port(x->ep),
					 .called_back = x->called_back };
	out->has_drops = rx_endpoint_drops(x->ep, &out->drops);
}

/* ---- by name ---- */

int store_rx_find(struct sockaddr_in *out, const char *where, unsigned int port, struct err *e)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM };
	const char *colon = strrchr(where, ':');
	char host[256], text[16], more;
	struct addrinfo *found;
	int r;

	if (colon && (sscanf(colon + 1, "%u%c", &port, &more) != 1 || !port || port > 65535))
		return err_set(e, -EINVAL, "'%s': behind the colon must be a port, 1 to 65535",
			       where);
	snprintf(host, sizeof(host), "%.*s", (int)(colon ? colon - where : (int)strlen(where)),
		 where);
	*out = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	if (inet_pton(AF_INET, host, &out->sin_addr) == 1) /* no need to ask anybody */
		return 0;
	snprintf(text, sizeof(text), "%u", port);
	r = *host ? getaddrinfo(host, text, &hints, &found) : EAI_NONAME;
	if (r)
		return err_set(e, -EHOSTUNREACH, "cannot find host '%s': %s", host,
			       r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
	memcpy(out, found->ai_addr, sizeof(*out));
	freeaddrinfo(found);
	return 0;
}

static int open_kind(struct store **out, const char *where, bool direct, struct err *e)
{
	struct sockaddr_in to;
	const struct store_rx_opts o = { .to = &to, .service = SERVICE_USUAL, .calls = 1 };
	int r = store_rx_find(&to, where, PORT_USUAL, e);

	(void)direct;
	return r ? r : store_open_rx(out, &o, e);
}

const struct store_kind store_rx_kind = { .prefix = "rx://", .open = open_kind };
