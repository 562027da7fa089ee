/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rank 0 and others, threads here. Tests user/ranks/hub.c, hello.c, invite.c, channel.c. */
#include "ranks/hub.h"

#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define RANKS    4
#define S        1000000000ull
#define AHEAD_NS 5000000000ull

/* What another rank does. */
struct other {
	pthread_t thread;
	unsigned int rank;
	uint8_t invite[INVITE_LEN];
	const char *terms;
	unsigned int messages; /* it reads so many, answers each with HUB_BYE, and is gone */
	uint64_t ahead_ns;     /* its clock */
	uint64_t start_ns;     /* it was told; by our clock */
	int result;
};

static int pong(struct channel *c, const struct message *m, uint64_t ahead_ns)
{
	uint8_t data[24];
	struct wbuf b = wbuf_of(data, sizeof(data));

	wbuf_bytes(&b, m->data, 8);
	wbuf_u64(&b, clock_now_ns() + ahead_ns);
	wbuf_u64(&b, clock_now_ns() + ahead_ns);
	return channel_send(c, HUB_PONG, data, sizeof(data));
}

static void *other_main(void *arg)
{
	struct other *o = arg;
	const struct hub_guest who = { o->rank, o->terms };
	struct channel c;
	struct message m;
	struct invite invite;
	struct rbuf b;
	struct err e = { 0 };

	o->result = invite_unpack(&invite, o->invite);
	o->result = o->result ? o->result : hub_join(&c, &invite, &who, &e);
	if (o->result)
		return NULL;
	while (o->messages && channel_take(&c, &m, clock_now_ns() + 20 * S) == 1) {
		if (m.type == HUB_PING) {
			pong(&c, &m, o->ahead_ns);
			continue;
		}
		b = rbuf_of(m.data, m.len);
		if (m.type == HUB_START)
			o->start_ns = rbuf_u64(&b) - o->ahead_ns;
		o->messages--;
		channel_send(&c, HUB_BYE, m.data, m.len);
	}
	channel_close(&c);
	return NULL;
}

static struct hub *open_hub(unsigned int size)
{
	const struct hub_opts o = { .size = size, .terms = "alike" };
	struct err e = { 0 };
	struct hub *h;

	assert_int_equal(hub_open(&h, &o, &e), 0);
	return h;
}

static void start(struct other *o, const struct hub *h, unsigned int rank, unsigned int messages)
{
	o->rank = rank;
	o->messages = messages;
	o->terms = o->terms ? o->terms : "alike";
	invite_pack(&h->invite, o->invite);
	assert_int_equal(pthread_create(&o->thread, NULL, other_main, o), 0);
}

static void all_are_told_and_answer(void **state)
{
	struct hub *h = open_hub(RANKS);
	struct other other[RANKS] = { 0 };
	struct err e = { 0 };
	char *text = calloc(1, 1000000);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', 1000000);
	for (unsigned int i = 1; i < RANKS; i++)
		start(&other[i], h, i, 1);
	assert_int_equal(hub_accept(h, &e), 0);
	hub_tell(h, HUB_RESULT, text, 1000000);
	assert_int_equal(hub_await(h, HUB_BYE, 20 * S, true), 0);
	for (unsigned int i = 1; i < RANKS; i++) {
		assert_true(h->rank[i].here || !strcmp(h->rank[i].why, "it died"));
		assert_int_equal(h->rank[i].pid, getpid());
		assert_true(*h->rank[i].host);
		assert_int_equal(h->rank[i].answer_len, 1000000);
		assert_memory_equal(h->rank[i].answer, text, 1000000);
		pthread_join(other[i].thread, NULL);
	}
	free(text);
	hub_close(h);
}

static void one_that_dies_is_named_and_not_waited_for(void **state)
{
	struct hub *h = open_hub(RANKS);
	struct other other[RANKS] = { 0 };
	struct err e = { 0 };
	uint64_t begun_ns;

	(void)state;
	for (unsigned int i = 1; i < RANKS; i++)
		start(&other[i], h, i, i == 2 ? 0 : 2);
	assert_int_equal(hub_accept(h, &e), 0);
	pthread_join(other[2].thread, NULL);
	begun_ns = clock_now_ns();
	hub_tell(h, HUB_MAKE, NULL, 0);
	assert_int_equal(hub_await(h, HUB_BYE, 60 * S, true), 0);
	assert_true(clock_now_ns() - begun_ns < 30 * S);
	assert_false(h->rank[2].here);
	assert_true(*h->rank[2].why);
	assert_true(h->rank[1].here && h->rank[3].here);
	hub_tell(h, HUB_REMOVE, NULL, 0);
	pthread_join(other[1].thread, NULL);
	pthread_join(other[3].thread, NULL);
	hub_close(h);
}

static void one_that_says_nothing_is_given_up(void **state)
{
	struct hub *h = open_hub(2);
	struct other other = { 0 };
	struct err e = { 0 };

	(void)state;
	start(&other, h, 1, 1);
	assert_int_equal(hub_accept(h, &e), 0);
	assert_int_equal(hub_await(h, HUB_BYE, S / 10, true), 0);
	assert_false(h->rank[1].here);
	assert_string_equal(h->rank[1].why, "it did not answer in time");
	pthread_join(other.thread, NULL);
	hub_close(h);
}

static void other_options_end_the_run_and_are_told(void **state)
{
	struct hub *h = open_hub(2);
	struct other other = { .terms = "different" };
	struct err e = { 0 };

	(void)state;
	start(&other, h, 1, 1);
	assert_int_equal(hub_accept(h, &e), -EINVAL);
	assert_non_null(strstr(e.text, "rank 1 ("));
	pthread_join(other.thread, NULL);
	assert_int_equal(other.result, -EINVAL);
	hub_close(h);
}

/* Without the secret nobody is a rank. */
static void strangers_are_sent_away(void **state)
{
	struct hub *h = open_hub(2);
	struct other other = { 0 }, stranger = { 0 };
	struct err e = { 0 };

	(void)state;
	h->invite.secret[0] ^= 1;
	start(&stranger, h, 1, 1);
	h->invite.secret[0] ^= 1;
	start(&other, h, 1, 1);
	assert_int_equal(hub_accept(h, &e), 0);
	assert_true(h->rank[1].here);
	hub_tell(h, HUB_BASE, "x", 1);
	assert_int_equal(hub_await(h, HUB_BYE, 20 * S, true), 0);
	pthread_join(other.thread, NULL);
	hub_close(h);
	pthread_join(stranger.thread, NULL);
	assert_int_not_equal(stranger.result, 0);
}

static void all_start_at_one_moment_by_their_own_clocks(void **state)
{
	struct hub *h = open_hub(RANKS);
	struct other other[RANKS] = { 0 };
	struct err e = { 0 };
	uint64_t start_ns, called_ns, apart_ns;

	(void)state;
	for (unsigned int i = 1; i < RANKS; i++) {
		other[i].ahead_ns = i == 3 ? -AHEAD_NS : i * AHEAD_NS;
		start(&other[i], h, i, 2);
	}
	assert_int_equal(hub_accept(h, &e), 0);
	called_ns = clock_now_ns();
	hub_start(h, &start_ns);
	assert_true(start_ns > called_ns + S / 2);
	assert_int_equal(hub_await(h, HUB_BYE, 20 * S, true), 0);
	hub_tell(h, HUB_REMOVE, NULL, 0);
	for (unsigned int i = 1; i < RANKS; i++) {
		pthread_join(other[i].thread, NULL);
		assert_true(h->rank[i].has_skew);
		/* the error is bounded by what is said of it */
		apart_ns = other[i].start_ns > start_ns ? other[i].start_ns - start_ns
							: start_ns - other[i].start_ns;
		assert_true(apart_ns <= h->rank[i].offset.trip_ns / 2 + 1000);
		assert_true(h->rank[i].skew_ns <= h->rank[i].offset.trip_ns);
	}
	hub_close(h);
}

static void a_stop_ends_the_waiting(void **state)
{
	volatile sig_atomic_t stop = 1;
	const struct hub_opts o = { .size = 2, .terms = "alike", .stop = &stop };
	struct err e = { 0 };
	struct hub *h;

	(void)state;
	assert_int_equal(hub_open(&h, &o, &e), 0);
	assert_int_equal(hub_accept(h, &e), -EINTR);
	hub_close(h);
}

static void a_report_is_read_as_written(void **state)
{
	const struct hub_report r = { .result = -ECONNREFUSED, .not_open = 7, .text = "full" };
	uint8_t data[HUB_REPORT_LEN];
	struct message m = { HUB_OPENED, data, hub_report_pack(&r, data) };
	struct hub_report back;

	(void)state;
	assert_int_equal(hub_report_unpack(&back, &m), 0);
	assert_int_equal(back.result, -ECONNREFUSED);
	assert_int_equal(back.not_open, 7);
	assert_string_equal(back.text, "full");
	while (m.len--)
		assert_int_equal(hub_report_unpack(&back, &m), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_told_and_answer),
		cmocka_unit_test(one_that_dies_is_named_and_not_waited_for),
		cmocka_unit_test(one_that_says_nothing_is_given_up),
		cmocka_unit_test(other_options_end_the_run_and_are_told),
		cmocka_unit_test(strangers_are_sent_away),
		cmocka_unit_test(all_start_at_one_moment_by_their_own_clocks),
		cmocka_unit_test(a_stop_ends_the_waiting),
		cmocka_unit_test(a_report_is_read_as_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
