/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two honest ends of calls of Rx, and a network that does with each datagram what the input says:
 * lose it, double it, keep it for a while. Once the input is at its end nothing more is lost: both
 * ends must have every byte then, or have given the call up after a long silence.
 */
#include "rx/call.h"
#include "unit/rx_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define WAY_MAX     4096
#define LONGEST     (RX_JUMBO_MAX * (RX_PACKET_LEN + RX_JUMBO_LEN))
#define MS          1000000ull
#define CALLS_MAX   3u
#define STEPS       200000u
#define WRITE_LEN   (40 * RX_DATA_LEN)
#define PATIENCE_NS 1000000000000ull

struct flying {
	uint64_t due_ns;
	size_t len;
	uint8_t *bytes;
};

struct side {
	struct rx_hub hub;
	struct rx_conn conn;
	struct rx_call *call;
	size_t to_write, to_read, written, got;
	bool ended;
	size_t first, end; /* of in: what is on its way, the next to arrive first */
	struct flying in[WAY_MAX];
};

struct net {
	struct rbuf script;
	uint64_t now_ns;
	unsigned int lost;
	struct side side[2]; /* client, server */
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* A byte at this place of what one side sends. */
static uint8_t byte_of(size_t at, bool client)
{
	return (uint8_t)(at * 7 + at / 251 + at / 65521 + client * 100);
}

/* ---- the network ---- */

/* The place of what arrives at due_ns: behind what arrives no later. */
static struct flying *make_place(struct side *to, uint64_t due_ns)
{
	size_t at;

	if (to->end == WAY_MAX) {
		to->end -= to->first;
		memmove(to->in, to->in + to->first, to->end * sizeof(to->in[0]));
		to->first = 0;
	}
	must(to->end < WAY_MAX, "too much is under way");
	for (at = to->end++; at > to->first && to->in[at - 1].due_ns > due_ns; at--)
		to->in[at] = to->in[at - 1];
	return &to->in[at];
}

static void carry(struct net *x, struct side *to, const struct rx_datagram *d, uint64_t late_ns)
{
	uint64_t due_ns = x->now_ns + MS + late_ns;
	struct flying *f = make_place(to, due_ns);

	must(d->len <= LONGEST, "too long a datagram");
	*f = (struct flying) { .due_ns = due_ns, .bytes = malloc(d->len) };
	must(f->bytes, "memory");
	for (unsigned int i = 0; i < d->n; i++) {
		memcpy(f->bytes + f->len, d->iov[i].iov_base, d->iov[i].iov_len);
		f->len += d->iov[i].iov_len;
	}
	must(f->len == d->len, "length of a datagram");
}

static void carry_as_told(struct net *x, struct side *to, const struct rx_datagram *d)
{
	uint8_t what = rbuf_left(&x->script) ? rbuf_u8(&x->script) : 0;
	uint64_t late_ns = (uint64_t)(what >> 2) * (what & 0x80 ? 40 : 1) * MS;

	if ((what & 3) == 1) {
		x->lost++;
		return;
	}
	carry(x, to, d, (what & 3) == 3 ? late_ns : 0);
	if ((what & 3) == 2)
		carry(x, to, d, late_ns);
}

static void output(struct net *x, int i)
{
	struct side *s = &x->side[i];
	struct rx_datagram d;
	struct rx_call *c;
	unsigned int n = 0;

	while ((c = rx_hub_ready(&s->hub)))
		while (rx_call_output(c, &d, x->now_ns)) {
			must(++n < 1000, "endless output");
			carry_as_told(x, &x->side[!i], &d);
		}
}

static void arrive(struct net *x, struct side *s)
{
	struct flying f = s->in[s->first++];
	struct rx_parts p;
	struct rx_header h;
	struct rbuf part;

	must(!rx_parts_begin(&p, f.bytes, f.len), "no header");
	while (rx_parts_next(&p, &h, &part))
		if (h.call == s->call->number)
			rx_call_packet(s->call, &h, part, x->now_ns);
	free(f.bytes);
}

/* ---- the users ---- */

/* data: what the other side sends. */
static void read_all(struct net *x, struct side *s, const uint8_t *data)
{
	const uint8_t *at;
	size_t len;

	while ((at = rx_call_peek(s->call, &len))) {
		must(len && s->got + len <= s->to_read, "too many bytes");
		must(!memcmp(at, data + s->got, len), "a wrong byte");
		s->got += len;
		rx_call_skip(s->call, len, x->now_ns);
	}
}

/* data: what each side sends, the client first. */
static void use(struct net *x, int i, const uint8_t *const data[2])
{
	struct side *s = &x->side[i];

	read_all(x, s, data[!i]);
	if (rx_call_state(s->call) != RX_CALL_ACTIVE || s->ended ||
	    (!s->conn.client && !rx_inside_is_read(s->call)))
		return;
	s->written += rx_call_write(s->call, data[i] + s->written, s->to_write - s->written);
	if (s->written < s->to_write)
		return;
	rx_call_end(s->call);
	s->ended = true;
}

/* ---- a call ---- */

/* Goes on to what comes next. */
static void step(struct net *x, const uint8_t *const data[2])
{
	uint64_t due_ns = UINT64_MAX;
	struct side *at = NULL;

	for (int i = 0; i < 2; i++) {
		struct side *s = &x->side[i];

		if (rx_call_due_ns(s->call) < due_ns) {
			due_ns = rx_call_due_ns(s->call);
			at = NULL;
		}
		if (s->first < s->end && s->in[s->first].due_ns < due_ns) {
			due_ns = s->in[s->first].due_ns;
			at = s;
		}
	}
	must(due_ns != UINT64_MAX, "both ends wait for ever");
	if (due_ns > x->now_ns)
		x->now_ns = due_ns;
	if (at)
		arrive(x, at);
	for (int i = 0; i < 2; i++) {
		if (rx_call_due_ns(x->side[i].call) <= x->now_ns)
			rx_call_time(x->side[i].call, x->now_ns);
		use(x, i, data);
		output(x, i);
	}
}

/* Data of the packets on this connection: what is the most that both ends take. */
static size_t packet_len(const struct net *x)
{
	size_t a = x->side[0].hub.own.data_len, b = x->side[1].hub.own.data_len;

	return a < b ? a : b;
}

/* Bytes of one direction: mostly a few packets, which are many calls in a second; now and then more
 * than a window. */
static size_t length_of(struct net *x)
{
	uint8_t which = rbuf_u8(&x->script), some = rbuf_u8(&x->script);
	size_t each = packet_len(x);

	return which % (which < 224 ? 4u : 40u) * each + some * each / 256;
}

static void call(struct net *x, const uint8_t *const data[2], uint32_t number)
{
	uint64_t end_ns = x->now_ns + PATIENCE_NS;
	size_t len[2];
	bool died;

	for (int i = 0; i < 2; i++)
		len[i] = length_of(x);
	for (int i = 0; i < 2; i++) {
		struct side *s = &x->side[i];

		s->to_write = len[i];
		s->to_read = len[!i];
		s->written = s->got = 0;
		s->ended = false;
		rx_call_begin(s->call, &s->conn, 1, number, x->now_ns);
	}
	use(x, 0, data);
	output(x, 0);
	for (unsigned int n = 0; rx_call_state(x->side[0].call) != RX_CALL_OVER ||
				 rx_call_state(x->side[1].call) != RX_CALL_OVER;
	     n++) {
		must(n < STEPS && x->now_ns < end_ns, "no end");
		step(x, data);
	}
	died = rx_call_error(x->side[0].call) || rx_call_error(x->side[1].call);
	must(!died || x->lost, "dead without a loss");
	for (int i = 0; i < 2; i++)
		must(died || x->side[i].got == x->side[i].to_read, "bytes are missing");
}

#define N_KINDS 4

/* Memory for a call, the same for all inputs: making it takes longer than a short call. */
static void *call_memory(const struct rx_hub *hub, unsigned int kind, int i)
{
	static void *memory[N_KINDS][2];

	if (!memory[kind][i])
		memory[kind][i] = malloc(rx_call_size(hub));
	must(memory[kind][i], "memory");
	return memory[kind][i];
}

static void begin(struct net *x, int i)
{
	static const struct rx_limits kinds[N_KINDS] = {
		RX_LIMITS_USUAL,
		{ RX_DATA_LEN, 1, 1 },
		{ 100, 3, 1 },
		{ RX_DATA_LEN, RX_WINDOW_MAX, RX_JUMBO_MAX },
	};
	unsigned int kind = rbuf_u8(&x->script) % N_KINDS;
	struct side *s = &x->side[i];

	s->first = s->end = 0;
	rx_hub_init(&s->hub, &kinds[kind]);
	rx_conn_init(&s->conn, &s->hub, 0x80000001, 8);
	s->conn.client = !i;
	s->conn.service = 147;
	s->call = rx_call_init(call_memory(&s->hub, kind, i), &s->hub);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t bytes[2][WRITE_LEN + 256];
	static struct net net;
	static bool ready;
	const uint8_t *const sent[2] = { bytes[0], bytes[1] };
	struct net *x = &net;
	uint32_t n_calls;

	if (len > 600)
		return 0;
	for (size_t i = 0; !ready && i < sizeof(bytes[0]); i++) {
		bytes[0][i] = byte_of(i, true);
		bytes[1][i] = byte_of(i, false);
	}
	ready = true;
	x->script = rbuf_of(data, len);
	x->now_ns = 1000000 * MS;
	x->lost = 0;
	for (int i = 0; i < 2; i++)
		begin(x, i);
	n_calls = 1 + rbuf_u8(&x->script) % CALLS_MAX;
	for (uint32_t n = 1; n <= n_calls; n++)
		call(x, sent, n);
	for (int i = 0; i < 2; i++)
		for (size_t k = x->side[i].first; k < x->side[i].end; k++)
			free(x->side[i].in[k].bytes);
	return 0;
}
