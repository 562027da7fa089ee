/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/hub.h"

#include "base/buf.h"
#include "base/clock.h"
#include "ranks/hello.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S   1000000000ull
#define SLICE_NS   100000000u /* how soon a stop is noticed */
#define TRIPS      200
#define ROUND_NS   2000000u /* between two questions: a busy moment is not all that is seen */
#define MEASURE_NS 1000000000u
#define LEAD_NS    1000000000u /* from the agreement on the start to it */
#define AGAIN_NS   600000000u  /* of it, for the second measurement */

int hub_open(struct hub **out, const struct hub_opts *o, struct err *e)
{
	struct hub *h = calloc(1, sizeof(*h));
	uint16_t port = 0;
	int r = 0;

	*out = h;
	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->o = *o;
	h->listener = -1;
	h->rank = calloc(o->size, sizeof(*h->rank));
	if (!h->rank)
		r = err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && i < o->size; i++)
		h->rank[i].channel.fd = -1;
	if (!r)
		h->listener = channel_listen(&port, e);
	if (!r && h->listener < 0)
		r = h->listener;
	r = r ? r : invite_here(&h->invite, port, e);
	if (!r)
		return 0;
	hub_close(h);
	*out = NULL;
	return r;
}

void hub_close(struct hub *h)
{
	if (!h)
		return;
	for (unsigned int i = 0; h->rank && i < h->o.size; i++) {
		channel_close(&h->rank[i].channel);
		free(h->rank[i].answer);
	}
	if (h->listener >= 0)
		close(h->listener);
	free(h->rank);
	free(h);
}

/* ---- who is here ---- */

static void ranks_hub_lose(struct hub_rank *k, const char *why)
{
	k->here = false;
	k->lost_ns = clock_now_ns();
	snprintf(k->why, sizeof(k->why), "%s", why);
	channel_close(&k->channel);
}

void hub_lose(struct hub *h, unsigned int i, const char *why)
{
	ranks_hub_lose(&h->rank[i], why);
}

static const char *ranks_hub_reason(int r)
{
	return r == -ECONNRESET ? "it died" : strerror(-r);
}

static bool ranks_hub_stopped(const struct hub *h)
{
	return h->o.stop && *h->o.stop;
}

static unsigned int ranks_hub_missing(const struct hub *h)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < h->o.size; i++)
		n += !h->rank[i].here && !*h->rank[i].why;
	return n;
}

static int welcome(struct hub *h, struct channel *c, const struct hello *hello, struct err *e)
{
	struct hub_rank *k = &h->rank[hello->rank];

	if (strcmp(hello->terms, h->o.terms)) {
		err_set(
		    e, -EINVAL,
		    "rank %u (%s) was started with other options, or is another version of afpscope",
		    hello->rank, hello->host);
		hub_tell(h, HUB_REFUSED, e->text, strlen(e->text));
		channel_send(c, HUB_REFUSED, e->text, strlen(e->text));
		return -EINVAL;
	}
	k->channel = *c;
	k->channel.len_max = CHANNEL_MAX;
	k->here = true;
	k->pid = hello->pid;
	memcpy(k->host, hello->host, sizeof(k->host));
	*c = (struct channel) { .fd = -1 };
	return channel_send(&k->channel, HUB_WELCOME, NULL, 0);
}

/* A connection that was made: a rank's, or a stranger's, which is closed. */
static int greet(struct hub *h, int fd, struct err *e)
{
	struct channel c;
	struct message m;
	struct hello hello;
	int r = 0;

	channel_init(&c, fd);
	if (channel_take(&c, &m, clock_now_ns() + 2 * NS_PER_S) == 1 && m.type == HUB_HELLO &&
	    !hello_unpack(&hello, &m, h->invite.secret) && hello.rank && hello.rank < h->o.size &&
	    !h->rank[hello.rank].here)
		r = welcome(h, &c, &hello, e);
	channel_close(&c);
	return r == -EINVAL ? r : 0;
}

int hub_accept(struct hub *h, struct err *e)
{
	struct pollfd p = { .fd = h->listener, .events = POLLIN };
	uint64_t until_ns = clock_now_ns() + HUB_HELLO_S * NS_PER_S;
	int fd, r = 0;

	while (!r && ranks_hub_missing(h) && clock_now_ns() < until_ns) {
		if (ranks_hub_stopped(h))
			return err_set(e, -EINTR, "interrupted");
		if (poll(&p, 1, 100) != 1)
			continue;
		fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			r = greet(h, fd, e);
	}
	close(h->listener);
	h->listener = -1;
	for (unsigned int i = 1; i < h->o.size; i++)
		if (!h->rank[i].here)
			ranks_hub_lose(&h->rank[i], "it did not connect to rank 0");
	return r;
}

/* ---- messages ---- */

void hub_tell(struct hub *h, enum hub_message type, const void *data, size_t len)
{
	int r;

	for (unsigned int i = 1; i < h->o.size; i++) {
		if (!h->rank[i].here)
			continue;
		r = channel_send(&h->rank[i].channel, (uint8_t)type, data, len);
		if (r)
			ranks_hub_lose(&h->rank[i], ranks_hub_reason(r));
	}
}

static void ranks_hub_keep(struct hub_rank *k, const struct message *m)
{
	free(k->answer);
	k->answer = malloc(m->len + 1);
	k->answer_len = m->len;
	k->answer_type = m->type;
	if (!k->answer)
		ranks_hub_lose(k, "out of memory for its answer");
	else if (m->len)
		memcpy(k->answer, m->data, m->len);
}

static void take_trip(struct hub_rank *k, const struct message *m, struct offset *to)
{
	struct rbuf b = rbuf_of(m->data, m->len);
	struct offset_trip t;

	t.back_ns = clock_now_ns();
	t.sent_ns = rbuf_u64(&b);
	t.came_ns = rbuf_u64(&b);
	t.left_ns = rbuf_u64(&b);
	if (b.bad || rbuf_left(&b))
		ranks_hub_lose(k, "its clock's answer makes no sense");
	else
		offset_add(to, &t);
}

static int ping(struct hub_rank *k)
{
	uint8_t data[8];
	struct wbuf b = wbuf_of(data, sizeof(data));
	int r;

	wbuf_u64(&b, clock_now_ns());
	r = channel_send(&k->channel, HUB_PING, data, sizeof(data));
	if (r)
		ranks_hub_lose(k, ranks_hub_reason(r));
	return r;
}

/* All that is there of one rank; its clock's answers into to. */
static void ranks_hub_take_all(struct hub_rank *k, struct offset *to)
{
	struct message m;
	int r = 0;

	while (k->here && (r = channel_take(&k->channel, &m, 0)) == 1) {
		if (m.type != HUB_PONG) {
			ranks_hub_keep(k, &m);
		} else if (to) {
			take_trip(k, &m, to);
		}
	}
	if (k->here && r < 0)
		ranks_hub_lose(k, ranks_hub_reason(r));
}

/* Waits until something comes, or ns. */
static void ranks_hub_wait_for_any(struct hub *h, uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	struct pollfd *p = calloc(h->o.size, sizeof(*p));

	for (unsigned int i = 0; p && i < h->o.size; i++)
		p[i] = (struct pollfd) { .fd = h->rank[i].channel.fd, .events = POLLIN };
	if (p)
		ppoll(p, h->o.size, &t, NULL);
	free(p);
}

void hub_look(struct hub *h)
{
	for (unsigned int i = 1; i < h->o.size; i++)
		ranks_hub_take_all(&h->rank[i], NULL);
}

static unsigned int unanswered(const struct hub *h, enum hub_message type)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i < h->o.size; i++)
		n += h->rank[i].here && h->rank[i].answer_type != type;
	return n;
}

int hub_await(struct hub *h, enum hub_message type, uint64_t wait_ns, bool heeds_stop)
{
	uint64_t until_ns = clock_now_ns() + wait_ns;

	hub_look(h);
	while (unanswered(h, type) && clock_now_ns() < until_ns) {
		if (heeds_stop && ranks_hub_stopped(h))
			return -EINTR;
		ranks_hub_wait_for_any(h, SLICE_NS);
		hub_look(h);
	}
	for (unsigned int i = 1; i < h->o.size; i++)
		if (h->rank[i].here && h->rank[i].answer_type != type)
			ranks_hub_lose(&h->rank[i], "it did not answer in time");
	return 0;
}

/* ---- the start ---- */

/* Whether all have answered often enough; those that have answered the last question get one. */
static bool ranks_hub_ask(struct hub *h, const struct offset *to, unsigned int *asked)
{
	bool enough = true;

	for (unsigned int i = 1; i < h->o.size; i++) {
		if (!h->rank[i].here || to[i].n >= TRIPS)
			continue;
		enough = false;
		if (to[i].n >= asked[i] && !ping(&h->rank[i]))
			asked[i] = to[i].n + 1;
	}
	return enough;
}

/* Each rank's clock, again and again, until until_ns or it is enough. */
static void ranks_hub_measure(struct hub *h, struct offset *to, unsigned int *asked,
			      uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), round_ns;

	memset(to, 0, h->o.size * sizeof(*to));
	memset(asked, 0, h->o.size * sizeof(*asked));
	while (now_ns < until_ns && !ranks_hub_ask(h, to, asked)) {
		round_ns = now_ns + ROUND_NS;
		while (now_ns < round_ns) {
			ranks_hub_wait_for_any(h, round_ns - now_ns);
			for (unsigned int i = 1; i < h->o.size; i++)
				ranks_hub_take_all(&h->rank[i], &to[i]);
			now_ns = clock_now_ns();
		}
	}
}

static uint64_t longest_trip_ns(const struct hub *h)
{
	uint64_t ns = 0;

	for (unsigned int i = 1; i < h->o.size; i++)
		if (h->rank[i].here && h->rank[i].offset.trip_ns > ns)
			ns = h->rank[i].offset.trip_ns;
	return ns;
}

static void tell_start(struct hub *h, uint64_t start_ns)
{
	uint8_t data[8];
	struct wbuf b;
	int r;

	for (unsigned int i = 1; i < h->o.size; i++) {
		if (!h->rank[i].here)
			continue;
		h->rank[i].answer_type = 0; /* that of an earlier start */
		if (!h->rank[i].offset.n) {
			ranks_hub_lose(&h->rank[i], "its clock could not be measured");
			continue;
		}
		b = wbuf_of(data, sizeof(data));
		wbuf_u64(&b, offset_there(&h->rank[i].offset, start_ns));
		r = channel_send(&h->rank[i].channel, HUB_START, data, sizeof(data));
		if (r)
			ranks_hub_lose(&h->rank[i], ranks_hub_reason(r));
	}
}

/* By a second measurement, which knows nothing of the first. */
static void note_skew(struct hub_rank *k, const struct offset *again)
{
	k->has_skew = again->n && k->offset.n;
	k->skew_ns = offset_between(again, &k->offset);
	if (k->has_skew && again->trip_ns > k->offset.trip_ns)
		k->offset.trip_ns = again->trip_ns; /* what bounds the error */
}

void hub_start(struct hub *h, uint64_t *start_ns)
{
	struct offset *to = calloc(h->o.size, sizeof(*to));
	unsigned int *asked = calloc(h->o.size, sizeof(*asked));
	bool can = to && asked;

	if (can)
		ranks_hub_measure(h, to, asked, clock_now_ns() + MEASURE_NS);
	for (unsigned int i = 1; can && i < h->o.size; i++)
		h->rank[i].offset = to[i];
	*start_ns = clock_now_ns() + LEAD_NS + 4 * longest_trip_ns(h);
	tell_start(h, *start_ns);
	if (can)
		ranks_hub_measure(h, to, asked, *start_ns - LEAD_NS + AGAIN_NS);
	for (unsigned int i = 1; can && i < h->o.size; i++)
		note_skew(&h->rank[i], &to[i]);
	free(to);
	free(asked);
}
