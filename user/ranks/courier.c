/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread, and nothing in it waits but in courier_turn(), which sees to all that may happen. */
#include "ranks/courier.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "ranks/offset.h"
#include "ranks/post.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000u
#define NS_PER_S  1000000000ull
#define TRIPS     200
#define ROUND_NS                                                                                   \
	(2 * NS_PER_MS) /* between two questions: a busy moment is not all that is seen            \
			 */
#define TRIP_NAP    20000u
#define SHORT_NAP   50000u
#define LONG_NAP    (20 * NS_PER_MS) /* while clients work: looking costs time, too */
#define ORDER_NAP   (2 * NS_PER_MS)
#define PATIENCE_NS (15 * NS_PER_S) /* with answers, once rank 0's child is dead */
#define WORD_BITS   8

struct courier {
	const struct courier_opts *o;
	bool works;         /* the child: it can be told and heard */
	bool ended, passed; /* it has ended; it had a signal from here */
	int status;
	uint64_t lost_ns; /* when it was found not to work any more, and why; static */
	const char *why;
	bool failed;      /* MPI has */
	struct post from; /* the child's order or answer; type 0: none */
	uint32_t step;    /* orders until now */
	bool given_up;    /* the child is, in this step */
	bool leads;       /* rank 0: an order has not been answered by all */
	bool cut_off;     /* rank 0's child has ended before it has closed the run */
	unsigned int to_say;
	uint32_t word; /* under way: its step and enum post_word */
	bool saying, said_all;
};

/* ---- the child ---- */

static void courier_lose(struct courier *c, const char *why)
{
	if (!c->works)
		return;
	c->works = false;
	c->why = why;
	c->lost_ns = clock_now_ns();
	shutdown(c->o->fd, SHUT_RDWR); /* it ends itself, if it lives */
}

static void courier_fail(struct courier *c)
{
	if (c->failed)
		return;
	c->failed = true;
	if (!c->ended)
		kill(c->o->child, CMD_STOP_ORPHANED);
	courier_lose(c, "it died");
}

static void courier_tend(struct courier *c)
{
	const struct timespec now = { 0 };
	sigset_t set;
	int sig;

	if (!c->ended && waitpid(c->o->child, &c->status, WNOHANG) == c->o->child) {
		c->ended = true;
		c->to_say |= c->leads ? 1u << POST_STOP : 0;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sig = sigtimedwait(&set, NULL, &now);
	if (sig > 0 && !c->passed && !c->ended) {
		c->passed = true;
		kill(c->o->child, sig);
	}
}

/* ---- words ---- */

static void courier_hear(struct courier *c)
{
	enum post_word word = c->word & ((1u << WORD_BITS) - 1);

	if (word == POST_STOP && !c->ended && c->o->rank)
		kill(c->o->child, CMD_STOP_TOLD);
	if (word == POST_GIVE_UP)
		c->given_up = c->word >> WORD_BITS == c->step;
	c->said_all = word == POST_LAST;
}

/* Others always listen for the next one; rank 0 begins one when there is something to say. */
static void courier_talk(struct courier *c)
{
	const struct mpi_plugin *mpi = c->o->mpi;
	unsigned int word = 0;
	int r = c->saying ? mpi->test(MPI_LANE_WORDS) : 0;

	if (r == 1) {
		c->saying = false;
		courier_hear(c);
	}
	if (!r && !c->saying && !c->said_all && (c->o->rank || c->to_say)) {
		while (c->to_say && !(c->to_say >> word & 1))
			word++;
		c->to_say &= ~(1u << word);
		c->word = c->step << WORD_BITS | word;
		c->saying = true;
		r = mpi->broadcast(MPI_LANE_WORDS, &c->word, sizeof(c->word));
	}
	if (r < 0)
		courier_fail(c);
}

static void courier_take(struct courier *c, uint64_t nap_ns)
{
	bool over = c->ended;
	int r = post_take(&c->from, c->o->fd, over ? 0 : nap_ns);

	if (r == 1 && c->from.head.type == POST_WORD) {
		c->to_say |= 1u << c->from.head.arg;
		post_fini(&c->from);
	} else if (r < 0 || (over && !r)) {
		post_fini(&c->from);
		courier_lose(c, "it died");
	}
}

/* A look at everything, then a nap, which ends when the child says something. */
static void courier_turn(struct courier *c, uint64_t nap_ns)
{
	const struct timespec nap = { 0, (long)nap_ns };

	courier_tend(c);
	if (!c->failed && c->o->mpi)
		courier_talk(c);
	if (c->works && !c->from.head.type)
		courier_take(c, nap_ns);
	else
		nanosleep(&nap, NULL);
}

/* ---- orders and answers ---- */

/* Until what was begun is over. 0, or -EIO. began: what beginning it has returned. */
static int courier_await(struct courier *c, int began, uint64_t longest_nap_ns)
{
	uint64_t nap_ns = SHORT_NAP, waited_ns = 0;
	int r = began;

	while (!r && !c->failed && !(r = c->o->mpi->test(MPI_LANE_STEPS))) {
		courier_turn(c, nap_ns);
		waited_ns += c->works || c->o->rank ? 0 : nap_ns;
		nap_ns = 2 * nap_ns < longest_nap_ns ? 2 * nap_ns : longest_nap_ns;
		if (waited_ns > PATIENCE_NS)
			c->to_say |= 1u << POST_GIVE_UP;
		if (waited_ns > 2 * PATIENCE_NS)
			courier_fail(c);
	}
	return r == 1 && !c->failed ? 0 : -EIO;
}

/* Brings rank 0's order to all. */
static int courier_bring(struct courier *c, struct post *order)
{
	const struct mpi_plugin *mpi = c->o->mpi;
	struct post_head *h = &order->head;
	int r = courier_await(c, mpi->broadcast(MPI_LANE_STEPS, h, sizeof(*h)), ORDER_NAP);

	c->step++;
	c->given_up = false;
	if (r || !h->len)
		return r;
	if (c->o->rank)
		order->data = malloc(h->len);
	if (!order->data)
		return -EIO;
	return courier_await(c, mpi->broadcast(MPI_LANE_STEPS, order->data, h->len), ORDER_NAP);
}

/* Passes on to rank 0's child what another has answered. */
static void courier_deliver(struct courier *c, const struct post_head *head, const uint8_t *data)
{
	for (int i = 1; i < c->o->size; i++) {
		if (c->works && post_send(c->o->fd, head[i].type, (uint32_t)i, data, head[i].len))
			courier_lose(c, "it died");
		data += head[i].len;
	}
}

static int courier_gather(struct courier *c, const struct post *own)
{
	const struct mpi_plugin *mpi = c->o->mpi;
	size_t n = (size_t)c->o->size, *len = calloc(n, sizeof(*len)), sum = 0;
	struct post_head *head = calloc(n, sizeof(*head));
	bool leads = !c->o->rank;
	uint8_t *all = NULL;
	int r = len && head ? 0 : -EIO;

	for (size_t i = 0; !r && i < n; i++)
		len[i] = sizeof(*head);
	r = r ? r
	      : courier_await(c,
			      mpi->gather(MPI_LANE_STEPS, &own->head, sizeof(*head), head,
					  leads ? len : NULL),
			      LONG_NAP);
	for (size_t i = 0; leads && !r && i < n; i++)
		sum += len[i] = head[i].len;
	all = malloc(sum + 1);
	r = r || !all ? -EIO
		      : courier_await(c,
				      mpi->gather(MPI_LANE_STEPS, own->data, own->head.len, all,
						  leads ? len : NULL),
				      NS_PER_MS);
	if (leads && !r)
		courier_deliver(c, head, all);
	free(all);
	free(head);
	free(len);
	return r;
}

/* ---- round trips ---- */

/* Asks those that have answered the last question, unless that is enough. How many have not. */
static unsigned int courier_ask(struct courier *c, struct offset *to, bool *asked, bool more)
{
	unsigned int n = 0;

	for (int i = 1; i < c->o->size; i++) {
		if (more && !asked[i] && to[i].n < TRIPS) {
			asked[i] = true;
			if (c->o->mpi->ask(i, 0))
				courier_fail(c);
		}
		n += asked[i];
	}
	return n;
}

static void courier_hear_answers(struct courier *c, struct offset *to, bool *asked)
{
	struct offset_trip t;
	uint64_t ns[4];
	int r;

	for (int i = 1; i < c->o->size; i++) {
		r = asked[i] ? c->o->mpi->answered(i, ns) : 0;
		if (r < 0)
			courier_fail(c);
		if (r != 1)
			continue;
		t = (struct offset_trip) { ns[0], ns[1], ns[2], ns[3] };
		offset_add(&to[i], &t);
		asked[i] = false;
	}
}

/* Rank 0: all others' clocks, again and again, for a time or until it is enough. */
static int courier_measure(struct courier *c, uint64_t for_ns)
{
	struct offset *to = calloc((size_t)c->o->size, sizeof(*to));
	bool *asked = calloc((size_t)c->o->size, sizeof(*asked));
	uint64_t until_ns = clock_now_ns() + for_ns, round_ns = 0, now_ns;
	unsigned int open = 1;

	for (; to && asked && open && !c->failed; courier_turn(c, TRIP_NAP)) {
		now_ns = clock_now_ns();
		courier_hear_answers(c, to, asked);
		if (now_ns < round_ns)
			continue;
		open = courier_ask(c, to, asked, now_ns < until_ns);
		round_ns = now_ns + ROUND_NS;
	}
	for (int i = 1; i < c->o->size && !c->failed; i++)
		if (!to || !asked || c->o->mpi->ask(i, 1))
			courier_fail(c);
	if (c->works && post_send(c->o->fd, POST_TRIPS, 0, to, (size_t)c->o->size * sizeof(*to)))
		courier_lose(c, "it died");
	free(asked);
	free(to);
	return c->failed ? -EIO : 0;
}

static int courier_answer(struct courier *c)
{
	int r;

	while (!(r = c->o->mpi->answer()) && !c->failed)
		courier_turn(c, TRIP_NAP);
	return r == 1 ? 0 : -EIO;
}

/* ---- the run ---- */

/* What the child has answered, or why it has not. */
static int courier_answer_order(struct courier *c, const struct post *order)
{
	struct post_lost lost = { 0 };
	struct post made = { { POST_LOST, 0, sizeof(lost) }, (uint8_t *)&lost };
	int r;

	if (c->works && post_send(c->o->fd, order->head.type, 0, order->data, order->head.len))
		courier_lose(c, "it died");
	r = order->head.arg ? courier_answer(c) : 0;
	while (!r && !c->failed && c->works && !c->from.head.type && !c->given_up)
		courier_turn(c, LONG_NAP);
	if (!c->from.head.type)
		courier_lose(c, "it did not answer in time");
	lost.at_ns = c->lost_ns;
	snprintf(lost.why, sizeof(lost.why), "%s", c->works ? "" : c->why);
	r = r ? r : courier_gather(c, c->from.head.type ? &c->from : &made);
	post_fini(&c->from);
	return r;
}

/*
 * Rank 0: the child's next order. Once it has ended, that is the end of the run; if it did not come
 * to that, the others close it.
 */
static void courier_await_order(struct courier *c, struct post *order)
{
	uint32_t before = order->head.type;

	while (!c->failed && !c->from.head.type && (c->works || !c->ended))
		courier_turn(c, LONG_NAP);
	post_fini(order);
	*order = c->from;
	c->from = (struct post) { 0 };
	if (order->head.type)
		return;
	c->cut_off |= before && before != POST_REMOVE;
	order->head.type = c->cut_off && before != POST_REMOVE ? POST_REMOVE : POST_END;
	order->data = malloc(1);
	order->head.len = order->data != NULL;
	if (order->data)
		*order->data = !c->cut_off;
}

static void courier_lead(struct courier *c)
{
	struct post order = { 0 };
	const struct post none = { 0 };
	int r = 0;

	while (!r && order.head.type != POST_END) {
		courier_await_order(c, &order);
		c->leads = true;
		r = c->failed ? -EIO : courier_bring(c, &order);
		if (!r && order.head.arg)
			r = courier_measure(c, order.head.arg * (uint64_t)NS_PER_MS);
		r = r ? r : courier_gather(c, &none);
		c->leads = false;
	}
	post_fini(&order);
	c->to_say |= 1u << POST_LAST;
	if (r)
		courier_fail(c);
}

static void courier_follow(struct courier *c)
{
	struct post order = { 0 };
	int r = 0;

	while (!r && order.head.type != POST_END) {
		post_fini(&order);
		r = courier_bring(c, &order);
		r = r ? r : courier_answer_order(c, &order);
	}
	post_fini(&order);
	if (r)
		courier_fail(c);
}

int courier_run(const struct courier_opts *o, int *failed)
{
	struct courier c = { .o = o, .works = true };

	prctl(PR_SET_TIMERSLACK, 1);
	if (o->mpi && !o->rank)
		courier_lead(&c);
	else if (o->mpi)
		courier_follow(&c);
	while (!c.ended || (o->mpi && !c.said_all && !c.failed))
		courier_turn(&c, NS_PER_MS);
	post_fini(&c.from);
	*failed = c.failed;
	return c.status;
}
