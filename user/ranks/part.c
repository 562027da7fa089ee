/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/part.h"

#include "base/buf.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_VERSION 4

/* Of slots: 2^53 ns are 104 days. */
#define PROGRESS_SHIFT_MAX 53

/* ---- writing ---- */

struct pack {
	uint8_t *data;
	size_t len;
	bool failed;
};

static void part_put(struct pack *p, uint64_t v, size_t len)
{
	while (len-- && !p->failed)
		p->failed = VEC_PUSH(p->data, p->len, (uint8_t)(v >> 8 * len));
}

/* At most 255 bytes. */
static void part_put_text(struct pack *p, const char *text)
{
	size_t len = strlen(text);

	len = len > 255 ? 255 : len;
	part_put(p, len, 1);
	for (size_t i = 0; i < len; i++)
		part_put(p, (uint8_t)text[i], 1);
}

static void put_hist(struct pack *p, const struct hist *h)
{
	size_t n = 0;

	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++)
		n += h->bucket[i] != 0;
	part_put(p, h->n, 8);
	part_put(p, h->sum, 8);
	part_put(p, h->min, 8);
	part_put(p, h->max, 8);
	part_put(p, n, 2);
	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS); i++) {
		if (!h->bucket[i])
			continue;
		part_put(p, i, 2);
		part_put(p, h->bucket[i], 8);
	}
}

static void put_second(struct pack *p, const struct run_second *s)
{
	size_t n = 0;

	for (size_t i = 0; i < HIST_BUCKETS(RUN_SECOND_BITS); i++)
		n += s->bucket[i] != 0;
	part_put(p, s->n, 4);
	part_put(p, s->failed, 4);
	part_put(p, s->sum_ns, 8);
	part_put(p, s->max_ns, 8);
	part_put(p, n, 2);
	for (size_t i = 0; i < HIST_BUCKETS(RUN_SECOND_BITS); i++) {
		if (!s->bucket[i])
			continue;
		part_put(p, i, 2);
		part_put(p, s->bucket[i], 4);
	}
}

/* Only slots with something in them. */
static void put_progress(struct pack *p, const struct run_progress *g)
{
	size_t n = 0;

	part_put(p, g != NULL, 1);
	if (!g)
		return;
	for (size_t i = 0; i < RUN_PROGRESS_SLOTS; i++)
		n += g->n[i] != 0;
	part_put(p, g->shift, 1);
	part_put(p, n, 2);
	for (size_t i = 0; i < RUN_PROGRESS_SLOTS; i++) {
		if (!g->n[i])
			continue;
		part_put(p, i, 2);
		part_put(p, g->n[i], 8);
		part_put(p, g->bytes[i], 8);
	}
}

static void part_put_client(struct pack *p, const struct run_client *c)
{
	part_put(p, c->actions, 8);
	part_put(p, c->failed, 8);
	part_put(p, c->bytes, 8);
	part_put(p, c->last_ns, 8);
	part_put(p, c->sum_ns, 8);
	part_put(p, c->max_ns, 8);
	part_put(p, c->begun_p50_ns, 8);
	part_put(p, c->begun_p99_ns, 8);
	part_put(p, c->begun_max_ns, 8);
	part_put(p, c->opened | c->lost << 1, 1);
	part_put_text(p, c->address);
}

static void part_put_load(struct pack *p, const struct run_load *l)
{
	part_put(p, l->n_clients, 4);
	part_put(p, l->n_actions, 4);
	part_put(p, l->n_seconds, 4);
	part_put(p, l->n_threads, 4);
	part_put(p, l->n_realtime, 4);
	part_put(p, l->n_open, 4);
	part_put(p, l->n_lost, 4);
	part_put(p, l->begin_ns, 8);
	part_put(p, l->measure_ns, 8);
	part_put(p, l->end_ns, 8);
	part_put(p, l->done_ns, 8);
	part_put(p, l->n_arrivals, 8);
	part_put(p, l->n_no_room, 8);
	part_put(p, l->n_waiting, 8);
	part_put(p, l->n_cut, 8);
	part_put(p, l->n_early, 8);
	part_put(p, l->early_max_ns, 8);
	part_put(p, l->late_max_ns, 8);
	part_put(p, l->late_n, 8);
	part_put(p, l->n_pauses, 8);
	part_put(p, l->paused_ns, 8);
	part_put(p, l->n_paused, 8);
	part_put(p, l->paused_max_ns, 8);
	part_put(p, l->cpu_ns, 8);
	part_put(p, l->cpu_max_ns, 8);
	part_put(p, l->runq_ns, 8);
	part_put(p, l->runq_max_ns, 8);
	part_put(p, l->common_ns, 8);
	part_put(p, l->common_n, 8);
	part_put(p, l->common_bytes, 8);
	part_put_text(p, l->why);
	part_put_text(p, l->first_failure);
	put_progress(p, l->progress);
	for (size_t i = 0; i < l->n_actions; i++) {
		part_put(p, l->action[i].n, 8);
		part_put(p, l->action[i].failed, 8);
		put_hist(p, &l->action[i].planned);
		put_hist(p, &l->action[i].begun);
	}
	for (size_t i = 0; i < l->n_seconds; i++)
		put_second(p, &l->second[i]);
	for (unsigned int i = 0; i < l->n_clients; i++)
		part_put_client(p, &l->client[i]);
}

uint8_t *part_pack(const struct part *part, size_t *len)
{
	struct pack p = { 0 };

	part_put(&p, PART_VERSION, 2);
	part_put(&p, part->end, 1);
	part_put(&p, part->late_ns, 8);
	part_put_load(&p, part->load);
	part_put(&p, part->commands.n_commands, 2);
	for (size_t i = 0; i < part->commands.n_commands; i++) {
		part_put(&p, part->commands.command[i]->code, 1);
		part_put(&p, part->commands.command[i]->errors, 8);
		put_hist(&p, &part->commands.command[i]->latency);
	}
	*len = p.len;
	if (!p.failed)
		return p.data;
	free(p.data);
	return NULL;
}

/* ---- reading ---- */

static void part_take_text(struct rbuf *b, char *out, size_t room)
{
	size_t len = rbuf_u8(b);
	const uint8_t *p = rbuf_bytes(b, len);

	if (len >= room) {
		b->bad = true;
		return;
	}
	if (p)
		memcpy(out, p, len);
	out[p ? len : 0] = '\0';
}

/* Buckets, whose sum must be n. */
static void take_hist(struct rbuf *b, struct hist *h)
{
	uint64_t sum = 0;
	size_t at, n;

	h->n = rbuf_u64(b);
	h->sum = rbuf_u64(b);
	h->min = rbuf_u64(b);
	h->max = rbuf_u64(b);
	for (n = rbuf_u16(b); n && !b->bad; n--) {
		at = rbuf_u16(b);
		if (at >= HIST_BUCKETS(HIST_BITS)) {
			b->bad = true;
			return;
		}
		h->bucket[at] = rbuf_u64(b);
		sum += h->bucket[at];
	}
	b->bad |= sum != h->n;
}

static void take_second(struct rbuf *b, struct run_second *s)
{
	uint64_t sum = 0;
	size_t at, n;

	s->n = rbuf_u32(b);
	s->failed = rbuf_u32(b);
	s->sum_ns = rbuf_u64(b);
	s->max_ns = rbuf_u64(b);
	for (n = rbuf_u16(b); n && !b->bad; n--) {
		at = rbuf_u16(b);
		if (at >= HIST_BUCKETS(RUN_SECOND_BITS)) {
			b->bad = true;
			return;
		}
		s->bucket[at] = rbuf_u32(b);
		sum += s->bucket[at];
	}
	b->bad |= s->failed > s->n || sum != s->n - s->failed;
}

/* 0 or -ENOMEM. */
static int take_progress(struct rbuf *b, struct run_load *l)
{
	struct run_progress *g;
	size_t at, n;

	if (!rbuf_u8(b))
		return 0;
	if (run_load_keep_progress(l))
		return -ENOMEM;
	g = l->progress;
	g->shift = rbuf_u8(b);
	b->bad |= g->shift > PROGRESS_SHIFT_MAX;
	for (n = rbuf_u16(b); n && !b->bad; n--) {
		at = rbuf_u16(b);
		if (at >= RUN_PROGRESS_SLOTS) {
			b->bad = true;
			return 0;
		}
		g->n[at] = rbuf_u64(b);
		g->bytes[at] = rbuf_u64(b);
	}
	return 0;
}

static void part_take_client(struct rbuf *b, struct run_client *c)
{
	uint8_t flags;

	c->actions = rbuf_u64(b);
	c->failed = rbuf_u64(b);
	c->bytes = rbuf_u64(b);
	c->last_ns = rbuf_u64(b);
	c->sum_ns = rbuf_u64(b);
	c->max_ns = rbuf_u64(b);
	c->begun_p50_ns = rbuf_u64(b);
	c->begun_p99_ns = rbuf_u64(b);
	c->begun_max_ns = rbuf_u64(b);
	flags = rbuf_u8(b);
	c->opened = flags & 1;
	c->lost = flags & 2;
	part_take_text(b, c->address, sizeof(c->address));
}

static void take_sums(struct rbuf *b, struct run_load *l)
{
	l->n_threads = rbuf_u32(b);
	l->n_realtime = rbuf_u32(b);
	l->n_open = rbuf_u32(b);
	l->n_lost = rbuf_u32(b);
	l->begin_ns = rbuf_u64(b);
	l->measure_ns = rbuf_u64(b);
	l->end_ns = rbuf_u64(b);
	l->done_ns = rbuf_u64(b);
	l->n_arrivals = rbuf_u64(b);
	l->n_no_room = rbuf_u64(b);
	l->n_waiting = rbuf_u64(b);
	l->n_cut = rbuf_u64(b);
	l->n_early = rbuf_u64(b);
	l->early_max_ns = rbuf_u64(b);
	l->late_max_ns = rbuf_u64(b);
	l->late_n = rbuf_u64(b);
	l->n_pauses = rbuf_u64(b);
	l->paused_ns = rbuf_u64(b);
	l->n_paused = rbuf_u64(b);
	l->paused_max_ns = rbuf_u64(b);
	l->cpu_ns = rbuf_u64(b);
	l->cpu_max_ns = rbuf_u64(b);
	l->runq_ns = rbuf_u64(b);
	l->runq_max_ns = rbuf_u64(b);
	l->common_ns = rbuf_u64(b);
	l->common_n = rbuf_u64(b);
	l->common_bytes = rbuf_u64(b);
	part_take_text(b, l->why, sizeof(l->why));
	part_take_text(b, l->first_failure, sizeof(l->first_failure));
}

static int take_load(struct rbuf *b, struct part *out, const struct part_like *like)
{
	uint32_t n_clients = rbuf_u32(b), n_actions = rbuf_u32(b), n_seconds = rbuf_u32(b);
	struct run_load *l;

	if (n_clients != like->n_clients || n_actions != like->load->n_actions ||
	    n_seconds != like->load->n_seconds)
		return -EPROTO;
	out->load = l = run_load_new(n_clients, n_actions, n_seconds);
	if (!l)
		return -ENOMEM;
	take_sums(b, l);
	if (take_progress(b, l))
		return -ENOMEM;
	l->rate_per_s = like->load->rate_per_s;
	for (size_t i = 0; i < n_actions; i++) {
		l->action[i].name = like->load->action[i].name;
		l->action[i].n = rbuf_u64(b);
		l->action[i].failed = rbuf_u64(b);
		take_hist(b, &l->action[i].planned);
		take_hist(b, &l->action[i].begun);
	}
	for (size_t i = 0; i < n_seconds; i++)
		take_second(b, &l->second[i]);
	for (unsigned int i = 0; i < n_clients; i++)
		part_take_client(b, &l->client[i]);
	return 0;
}

static int take_commands(struct rbuf *b, struct part *out, const struct part_like *like)
{
	struct run_command *c;
	const char *name;
	uint8_t code;

	for (size_t n = rbuf_u16(b); n && !b->bad; n--) {
		code = rbuf_u8(b);
		name = like->command(like->user, code);
		if (!name)
			return -EPROTO;
		c = run_command(&out->commands, code, name);
		if (!c)
			return -ENOMEM;
		c->errors = rbuf_u64(b);
		memset(&c->latency, 0, sizeof(c->latency));
		take_hist(b, &c->latency);
	}
	return 0;
}

int part_unpack(struct part *out, const void *data, size_t len, const struct part_like *like,
		struct err *e)
{
	struct rbuf b = rbuf_of(data, len);
	int r;

	memset(out, 0, sizeof(*out));
	if (rbuf_u16(&b) != PART_VERSION)
		return err_set(e, -EPROTO, "its figures have the form of another version");
	out->end = rbuf_u8(&b);
	out->late_ns = rbuf_u64(&b);
	r = take_load(&b, out, like);
	r = r ? r : take_commands(&b, out, like);
	if (r == -ENOMEM)
		return err_set(e, r, "out of memory");
	if (r || b.bad || rbuf_left(&b))
		return err_set(e, -EPROTO, "its figures make no sense");
	return 0;
}

void part_fini(struct part *p)
{
	run_load_free(p->load);
	run_clear_commands(&p->commands);
	memset(p, 0, sizeof(*p));
}
