/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a session that cannot end as it should. Tests client/dsi/session.c, link.c. */
#include "base/clock.h"
#include "dsi/dsi.h"
#include "fake/serve.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define DATA_LEN  (32u << 20)
#define S         1000000000ull
#define QUANTUM   0x04000000
#define GREET_LEN (DSI_HEADER_LEN + 6)

struct end_rig {
	struct serve serve;
	bool floods; /* tickles without a pause after the greeting; else: reads it all, late */
	bool alarms; /* of every two, one is an attention */
	atomic_bool sent;
	atomic_bool read;             /* it may */
	uint8_t last[DSI_HEADER_LEN]; /* what the client sent last */
	size_t n;                     /* after the greeting */
};

static void greet(int fd)
{
	uint8_t raw[DSI_HEADER_LEN + 6] = { 0 }, in[GREET_LEN];
	struct dsi_frame f = { .flag = DSI_REPLY, .command = DSI_OPEN, .len = 6 };
	const uint8_t option[6] = { 0, 4, QUANTUM >> 24, 0, 0, 0 };

	if (recv(fd, in, sizeof(in), MSG_WAITALL) != sizeof(in))
		return;
	f.id = (uint16_t)(in[2] << 8 | in[3]);
	dsi_frame_put(raw, &f);
	memcpy(raw + DSI_HEADER_LEN, option, sizeof(option));
	send(fd, raw, sizeof(raw), MSG_NOSIGNAL);
}

/* How many bytes. */
static size_t put_unasked(uint8_t *out, size_t cap, bool alarms)
{
	const struct dsi_frame tickle = { .flag = DSI_REQUEST, .command = DSI_TICKLE };
	const struct dsi_frame alarm = { .flag = DSI_REQUEST, .command = DSI_ATTENTION, .len = 2 };
	size_t at = 0;

	while (at + 2 * DSI_HEADER_LEN + 2 <= cap) {
		dsi_frame_put(out + at, &tickle);
		at += DSI_HEADER_LEN;
		if (!alarms)
			continue;
		dsi_frame_put(out + at, &alarm);
		memcpy(out + at + DSI_HEADER_LEN, "\x20\0", 2);
		at += DSI_HEADER_LEN + 2;
	}
	return at;
}

static void flood(int fd, bool alarms)
{
	uint8_t raw[64 * DSI_HEADER_LEN] = { 0 };
	size_t len = put_unasked(raw, sizeof(raw), alarms);

	while (send(fd, raw, len, MSG_NOSIGNAL) > 0)
		;
}

static void note_read(struct end_rig *g, const uint8_t *buf, ssize_t n)
{
	if (n <= 0)
		return;
	g->n += (size_t)n;
	if ((size_t)n >= sizeof(g->last))
		memcpy(g->last, buf + n - sizeof(g->last), sizeof(g->last));
}

static void read_late(struct end_rig *g, int fd)
{
	static uint8_t buf[1 << 20];
	ssize_t n;

	/* there is room again */
	for (unsigned int idle = 0; idle < 100; idle += n < 0) {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		note_read(g, buf, n);
		usleep(1000);
	}
	atomic_store(&g->sent, true);
	while (!atomic_load(&g->read))
		usleep(1000);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		note_read(g, buf, n);
}

static void end_rig_serve(void *user, int fd)
{
	struct end_rig *g = user;

	greet(fd);
	if (g->floods)
		flood(fd, g->alarms);
	else
		read_late(g, fd);
}

static struct dsi *open_with(struct end_rig *g, volatile sig_atomic_t *stop)
{
	struct dsi_opts o = { .host = "127.0.0.1",
			      .window = 4,
			      .timeout_ms = g->floods ? 1000 : 10000,
			      .stop = stop };
	struct err e = { 0 };
	struct dsi *d;

	serve_start(&g->serve, end_rig_serve, g);
	o.port = g->serve.port;
	assert_int_equal(dsi_connect(&d, &o, &e), 0);
	assert_int_equal(dsi_open(d, &e), 0);
	return d;
}

static void a_server_that_never_stops_sending_holds_no_close(void **state)
{
	struct end_rig g = { .floods = true };
	struct dsi *d = open_with(&g, NULL);
	uint64_t start_ns = clock_now_ns();

	(void)state;
	dsi_close(d);
	assert_true(clock_now_ns() - start_ns < 4 * S);
	serve_stop(&g.serve);
}

/* Instead of the answer there are tickles and attentions without a pause. */
static void a_flood_delays_neither_the_deadline_nor_a_stop(void **state)
{
	(void)state;
	for (int stopped = 0; stopped < 2; stopped++) {
		struct end_rig g = { .floods = true, .alarms = true };
		volatile sig_atomic_t stop = 0;
		struct dsi *d = open_with(&g, &stop);
		struct dsi_request r = { .command = DSI_COMMAND, .len = 2 }, *back;
		uint64_t start_ns = clock_now_ns();
		struct err e = { 0 };
		int rc = dsi_submit(d, &r, &e);

		assert_int_equal(rc, 0);
		stop = stopped;
		rc = dsi_reap(d, &back, &e);
		assert_int_equal(rc, stopped ? -EINTR : -ETIMEDOUT);
		if (!stopped)
			assert_non_null(strstr(e.text, "the server still sends tickles"));
		assert_true(clock_now_ns() - start_ns < 4 * S);
		dsi_close(d);
		serve_stop(&g.serve);
	}
}

static void a_write_sent_partly_is_followed_by_nothing(void **state)
{
	volatile sig_atomic_t stop = 0;
	struct end_rig g = { 0 };
	struct dsi *d = open_with(&g, &stop);
	struct dsi_request *r = calloc(1, sizeof(*r));
	uint8_t *data = malloc(DATA_LEN);
	struct err e = { 0 };

	(void)state;
	memset(data, 0xa5, DATA_LEN);
	r->command = DSI_WRITE;
	r->len = 20;
	r->data = data;
	r->data_len = DATA_LEN;
	assert_int_equal(dsi_submit(d, r, &e), 0);
	while (!atomic_load(&g.sent))
		usleep(1000);
	stop = 1;
	dsi_close(d);
	atomic_store(&g.read, true);
	serve_stop(&g.serve);
	assert_true(g.n > DSI_HEADER_LEN + 20 && g.n < DSI_HEADER_LEN + 20 + DATA_LEN);
	for (size_t i = 0; i < sizeof(g.last); i++)
		assert_int_equal(g.last[i], 0xa5);
	free(data);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_never_stops_sending_holds_no_close),
		cmocka_unit_test(a_flood_delays_neither_the_deadline_nor_a_stop),
		cmocka_unit_test(a_write_sent_partly_is_followed_by_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
