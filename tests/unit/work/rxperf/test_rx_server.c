/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rxperf's server, and clients of it on the loopback: tests client/work/rxperf/rx_server.c,
 * rx_server_call.c. */
#include "work/rxperf/rx_server.h"

#include "base/clock.h"
#include "rx/perf.h"
#include "unit/wait.h"
#include "work/rxperf/rx_data.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_NS 20000000000ull
#define CALLS_MAX   8u

/* A call of a client: its numbers, then bytes of the pattern. */
struct exchange {
	struct rx_perf p;
	bool foreign; /* its bytes are not the pattern's */
	bool holds;   /* its last byte is not sent yet */
	int spoilt;   /* this byte is wrong; -1: none */
	struct rx_call *call;
	uint64_t sent, got;
	uint8_t head[RX_PERF_LEN], cookie[4];
	size_t head_len, head_sent;
	uint8_t *data;
	struct rx_data_check check;
	bool ended;
};

struct fixture {
	struct rx_server *server;
	struct rx_endpoint *ep;
	struct rx_conn *conn[2];
	struct exchange x[CALLS_MAX];
	unsigned int n;
};

static struct sockaddr_in here(uint16_t port)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static struct fixture *begin(struct rx_server_opts o)
{
	const struct rx_endpoint_opts client = { .n_conns = 2, .n_calls = CALLS_MAX };
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_in to;
	struct err e;

	o.address.s_addr = htonl(INADDR_LOOPBACK);
	o.own = (struct rx_limits)RX_LIMITS_USUAL;
	o.buffer_len = 1u << 20;
	o.threads_most = o.threads_most ? o.threads_most : 8;
	assert_int_equal(rx_server_open(&f->server, &o, &e), 0);
	assert_int_equal(rx_endpoint_open(&f->ep, &client, &e), 0);
	to = here(rx_server_port(f->server));
	for (int i = 0; i < 2; i++)
		f->conn[i] = rx_endpoint_connect(f->ep, &to, RX_PERF_SERVICE);
	return f;
}

static struct rx_server_state state_of(struct fixture *f)
{
	struct rx_server_state st;

	rx_server_read(f->server, &st);
	return st;
}

static void end(struct fixture *f)
{
	rx_endpoint_close(f->ep);
	rx_server_close(f->server);
	for (unsigned int i = 0; i < f->n; i++)
		free(f->x[i].data);
	free(f);
}

static struct exchange *call(struct fixture *f, const struct rx_perf *p)
{
	struct exchange *x = &f->x[f->n];
	size_t len = rx_perf_sent(p), at = rx_data_place(f->n, len);
	uint8_t *pattern = malloc(RX_DATA_PERIOD);
	struct wbuf w = wbuf_of(x->head, sizeof(x->head));

	x->p = *p;
	x->p.version = x->p.version ? x->p.version : RX_PERF_VERSION;
	x->spoilt = -1;
	rx_perf_put(&w, &x->p);
	x->head_len = (size_t)(w.at - x->head);
	x->data = malloc(len + 1);
	rx_data_fill(pattern, RX_DATA_OF_CLIENT);
	for (size_t i = 0; i < len; i++)
		x->data[i] = pattern[(at + i) % RX_DATA_PERIOD];
	free(pattern);
	rx_data_check_begin(&x->check, rx_perf_received(p), RX_DATA_OF_SERVER);
	x->call = rx_endpoint_begin(f->ep, f->conn[f->n++ / RX_CHANNELS], clock_now_ns());
	assert_non_null(x->call);
	return x;
}

static void write_some(struct exchange *x)
{
	size_t len = rx_perf_sent(&x->p) - x->holds;

	if (x->spoilt >= 0 && !x->sent)
		x->data[x->spoilt] ^= 1;
	if (x->foreign && !x->sent)
		memset(x->data, 0, len);
	x->head_sent += rx_call_write(x->call, x->head + x->head_sent, x->head_len - x->head_sent);
	if (x->head_sent == x->head_len)
		x->sent += rx_call_write(x->call, x->data + x->sent, len - x->sent);
	if (x->head_sent < x->head_len || x->sent < len || x->holds || x->ended)
		return;
	rx_call_end(x->call);
	x->ended = true;
}

static void read_some(struct exchange *x, uint64_t now_ns)
{
	uint64_t total = x->check.len;
	const uint8_t *data;
	size_t len;

	while ((data = rx_call_peek(x->call, &len))) {
		if (x->got < total) {
			len = len < total - x->got ? len : (size_t)(total - x->got);
			rx_data_check(&x->check, data, len);
		} else {
			assert_in_range(x->got - total + len, 1, sizeof(x->cookie));
			memcpy(x->cookie + (x->got - total), data, len);
		}
		x->got += len;
		rx_call_skip(x->call, len, now_ns);
	}
}

/* false: all calls are over. */
static bool turn(struct fixture *f)
{
	uint64_t now_ns = clock_now_ns();
	struct io_wait wait;
	bool active = false;
	struct err e;

	for (unsigned int i = 0; i < f->n; i++) {
		if (rx_call_state(f->x[i].call) == RX_CALL_ACTIVE)
			write_some(&f->x[i]);
		read_some(&f->x[i], now_ns);
		active |= rx_call_state(f->x[i].call) == RX_CALL_ACTIVE;
	}
	rx_endpoint_flush(f->ep, now_ns);
	rx_endpoint_wait(f->ep, &wait);
	io_wait(&wait, 10000000);
	assert_int_equal(rx_endpoint_advance(f->ep, clock_now_ns(), &e), 0);
	return active;
}

#define turn_until(f, condition)                                                                   \
	do {                                                                                       \
		const uint64_t end_ns = clock_now_ns() + PATIENCE_NS;                              \
		while (!(condition)) {                                                             \
			turn(f);                                                                   \
			assert_true(clock_now_ns() < end_ns);                                      \
		}                                                                                  \
	} while (0)

static bool is_over(struct fixture *f)
{
	for (unsigned int i = 0; i < f->n; i++)
		if (rx_call_state(f->x[i].call) == RX_CALL_ACTIVE)
			return false;
	return true;
}

static void must_be_right(const struct exchange *x)
{
	static const uint8_t cookie[4] = { 0, 0, 0x47, 0x11 };
	bool file = x->p.command == RX_PERF_FILE;

	assert_int_equal(rx_call_error(x->call), 0);
	assert_int_equal(x->got, x->check.len + (file ? 0 : 4));
	if (!file)
		assert_memory_equal(x->cookie, cookie, 4);
	if (x->check.len)
		assert_int_equal(x->check.state, RX_DATA_RIGHT);
}

static void each_command_is_answered(void **state)
{
	const struct rx_perf p[] = {
		{ .command = RX_PERF_SEND, .n = 3000000 },
		{ .command = RX_PERF_RECV, .n = 3000000 },
		{ .command = RX_PERF_RPC, .n = 3, .m = 30 },
		{ .command = RX_PERF_FILE, .entries = 5, .entry = { 1, 3000, 0, 7, 90000 } },
		{ .command = RX_PERF_SEND },
		{ .command = RX_PERF_RECV, .n = 1 },
		{ .command = RX_PERF_RPC, .n = 20000, .m = 7 },
		{ .command = RX_PERF_FILE },
	};
	struct fixture *f = begin((struct rx_server_opts) { .threads_least = 2 });
	struct rx_server_state st;

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		call(f, &p[i]);
	turn_until(f, is_over(f));
	for (unsigned int i = 0; i < 8; i++)
		must_be_right(&f->x[i]);
	turn_until(f, state_of(f).idle == state_of(f).threads);
	st = state_of(f);
	assert_int_equal(st.counts.sends, 2);
	assert_int_equal(st.counts.recvs, 2);
	assert_int_equal(st.counts.rpcs, 2);
	assert_int_equal(st.counts.files, 2);
	assert_int_equal(st.counts.bytes_read, 3000000 + 3 + 3001 * 4 + 20000);
	assert_int_equal(st.counts.bytes_checked, st.counts.bytes_read);
	assert_int_equal(st.counts.bytes_written, 3000000 + 30 + 90007 * 4 + 1 + 7);
	assert_int_equal(st.counts.wrong + st.counts.refused + st.counts.failed, 0);
	assert_int_equal(st.buffers.asked_len, 1u << 20);
	assert_in_range(st.threads, 2, 8);
	end(f);
}

static void wrong_bytes_are_noticed(void **state)
{
	const struct rx_perf p = { .command = RX_PERF_SEND, .n = 50000 };
	struct fixture *f = begin((struct rx_server_opts) { .threads_least = 1 });

	(void)state;
	call(f, &p)->spoilt = 49999;
	call(f, &p)->foreign = true;
	call(f, &p);
	turn_until(f, is_over(f));
	for (int i = 0; i < 3; i++)
		must_be_right(&f->x[i]);
	assert_int_equal(state_of(f).counts.wrong, 1);
	assert_int_equal(state_of(f).counts.bytes_checked, 100000);
	assert_int_equal(state_of(f).counts.bytes_read, 150000);
	end(f);
}

static void what_is_no_call_of_rxperf_is_refused(void **state)
{
	const struct rx_perf p[] = {
		{ .version = 2, .command = RX_PERF_RECV, .n = 5 },
		{ .command = RX_PERF_RECV, .n = 5, .read_len = RX_PERF_CHUNK + 1 },
		{ .command = RX_PERF_FILE, .entries = 6, .entry = { 1, 0, 1, 0, 1 } },
	};
	struct fixture *f = begin((struct rx_server_opts) { .threads_least = 1 });

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		call(f, &p[i]);
	turn_until(f, is_over(f));
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rx_call_error(f->x[i].call), RX_PROTOCOL_ERROR);
	assert_int_equal(state_of(f).counts.refused, 3);
	end(f);
}

/* So many calls whose last byte is missing, so that each keeps its thread. */
static void hold(struct fixture *f, unsigned int n)
{
	const struct rx_perf p = { .command = RX_PERF_SEND, .n = 2000 };

	for (unsigned int i = 0; i < n; i++)
		call(f, &p)->holds = true;
}

static void let_go(struct fixture *f)
{
	for (unsigned int i = 0; i < f->n; i++)
		f->x[i].holds = false;
	turn_until(f, is_over(f));
	for (unsigned int i = 0; i < f->n; i++)
		must_be_right(&f->x[i]);
}

static void calls_wait_for_a_thread(void **state)
{
	struct fixture *f = begin(
	    (struct rx_server_opts) { .threads_least = 1, .threads_most = 3 });
	struct rx_server_state st;

	(void)state;
	hold(f, 8);
	turn_until(f, state_of(f).waiting == 5 && !state_of(f).idle);
	assert_int_equal(state_of(f).threads, 3);
	let_go(f);
	st = state_of(f);
	assert_int_equal(st.counts.waited, 5);
	assert_int_equal(st.counts.most_waiting, 5);
	assert_int_equal(st.counts.most_busy, 3);
	assert_int_equal(st.counts.sends, 8);
	end(f);
}

static void a_quota_leaves_threads_to_others(void **state)
{
	const struct rx_perf p = { .command = RX_PERF_RECV, .n = 100 };
	const struct rx_endpoint_opts opts = { .n_conns = 1, .n_calls = 1 };
	struct fixture *f, other = { 0 };
	struct sockaddr_in to;
	struct err e;

	(void)state;
	f = begin((struct rx_server_opts) { .threads_least = 4, .threads_most = 4, .quota = 2 });
	hold(f, 6);
	turn_until(f, state_of(f).waiting == 4 && state_of(f).idle == 2);
	assert_int_equal(rx_endpoint_open(&other.ep, &opts, &e), 0);
	to = here(rx_server_port(f->server));
	other.conn[0] = rx_endpoint_connect(other.ep, &to, RX_PERF_SERVICE);
	call(&other, &p);
	turn_until(&other, is_over(&other));
	must_be_right(&other.x[0]);
	let_go(f);
	assert_int_equal(state_of(f).counts.most_busy, 3);
	rx_endpoint_close(other.ep);
	free(other.x[0].data);
	end(f);
}

static void more_than_the_quota_is_for_who_is_alone(void **state)
{
	struct fixture *f;

	(void)state;
	f = begin((struct rx_server_opts) {
	    .threads_least = 6, .threads_most = 6, .quota = 2, .quota_most = 4 });
	hold(f, 7);
	turn_until(f, state_of(f).waiting == 3 && state_of(f).idle == 2);
	let_go(f);
	assert_int_equal(state_of(f).counts.most_busy, 4);
	end(f);
}

/* What the server answers to a DEBUG packet. */
static ssize_t ask(struct fixture *f, uint32_t type, uint8_t answer[static 2048])
{
	const struct rx_header h = { .call = 5, .type = RX_DEBUG, .flags = RX_FROM_CLIENT };
	struct sockaddr_in to = here(rx_server_port(f->server));
	const struct timeval patience = { .tv_sec = 20 };
	uint8_t question[RX_HEADER_LEN + 8];
	struct wbuf w = wbuf_of(question, sizeof(question));
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	ssize_t n;

	rx_header_put(&w, &h);
	wbuf_u32(&w, type);
	wbuf_u32(&w, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	sendto(fd, question, sizeof(question), 0, (struct sockaddr *)&to, sizeof(to));
	n = recv(fd, answer, 2048, 0);
	close(fd);
	return n - RX_HEADER_LEN;
}

static void statistics_are_given_to_who_asks(void **state)
{
	struct fixture *f = begin(
	    (struct rx_server_opts) { .threads_least = 2, .threads_most = 2 });
	uint8_t answer[2048];
	struct rbuf b;

	(void)state;
	hold(f, 5);
	turn_until(f, state_of(f).waiting == 3 && !state_of(f).idle);
	assert_int_equal(ask(f, 1, answer), 56);
	b = rbuf_of(answer + RX_HEADER_LEN + 16, 12);
	assert_int_equal(rbuf_u32(&b), 3); /* waiting */
	assert_int_equal(rbuf_u32(&b), 0); /* idle */
	assert_int_equal(rbuf_u32(&b), 3); /* waited */
	let_go(f);
	turn_until(f, state_of(f).idle == 2);
	assert_int_equal(ask(f, 1, answer), 56);
	b = rbuf_of(answer + RX_HEADER_LEN + 8, 20);
	assert_int_equal(rbuf_u32(&b), 5); /* executed */
	rbuf_u32(&b);
	assert_int_equal(rbuf_u32(&b), 0);
	assert_int_equal(rbuf_u32(&b), 2);
	assert_int_equal(rbuf_u32(&b), 3);
	ask(f, 77, answer);
	b = rbuf_of(answer + RX_HEADER_LEN, 4);
	assert_int_equal((int32_t)rbuf_u32(&b), -8);
	ask(f, 3, answer);
	b = rbuf_of(answer + RX_HEADER_LEN, 4);
	assert_int_equal((int32_t)rbuf_u32(&b), -1);
	end(f);
}

static void a_client_that_gives_up_frees_its_thread(void **state)
{
	struct fixture *f = begin(
	    (struct rx_server_opts) { .threads_least = 1, .threads_most = 1 });

	(void)state;
	hold(f, 2);
	turn_until(f, state_of(f).waiting == 1 && !state_of(f).idle);
	rx_call_abort(f->x[0].call, RX_USER_ABORT);
	turn_until(f, state_of(f).counts.failed == 1);
	f->x[1].holds = false;
	turn_until(f, is_over(f));
	must_be_right(&f->x[1]);
	end(f);
}

static void a_client_that_is_gone_is_noticed(void **state)
{
	struct fixture *f = begin((struct rx_server_opts) {
	    .threads_least = 1, .threads_most = 1, .dead_ns = 300000000, .first_rtt_ns = 1000000 });

	(void)state;
	hold(f, 1);
	turn_until(f, !state_of(f).idle);
	wait_until(state_of(f).counts.failed == 1);
	assert_int_equal(state_of(f).rx.dead, 1);
	end(f);
}

static void an_end_gives_up_all_calls(void **state)
{
	struct fixture *f = begin(
	    (struct rx_server_opts) { .threads_least = 1, .threads_most = 2 });

	(void)state;
	hold(f, 4);
	turn_until(f, state_of(f).waiting == 2 && !state_of(f).idle);
	rx_server_close(f->server);
	f->server = NULL;
	turn_until(f, is_over(f));
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(rx_call_error(f->x[i].call), RX_RESTARTING);
	end(f);
}

static void a_port_that_is_taken_is_an_error(void **state)
{
	struct fixture *f = begin((struct rx_server_opts) { .threads_least = 1 });
	struct rx_server_opts o = { .port = rx_server_port(f->server), .threads_most = 1 };
	struct rx_server *s;
	struct err e;

	(void)state;
	o.address.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(rx_server_open(&s, &o, &e) < 0);
	assert_null(s);
	assert_int_equal(rx_server_failure(f->server, NULL), 0);
	end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_is_answered),
		cmocka_unit_test(wrong_bytes_are_noticed),
		cmocka_unit_test(what_is_no_call_of_rxperf_is_refused),
		cmocka_unit_test(calls_wait_for_a_thread),
		cmocka_unit_test(a_quota_leaves_threads_to_others),
		cmocka_unit_test(more_than_the_quota_is_for_who_is_alone),
		cmocka_unit_test(statistics_are_given_to_who_asks),
		cmocka_unit_test(a_client_that_gives_up_frees_its_thread),
		cmocka_unit_test(a_client_that_is_gone_is_noticed),
		cmocka_unit_test(an_end_gives_up_all_calls),
		cmocka_unit_test(a_port_that_is_taken_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
