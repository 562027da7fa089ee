/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients of rxperf, driven by the engine, against a server that answers wrongly on demand: tests
 * client/work/rxperf/rxperf.c, client/work/rxperf/rx_calls.c, client/store/rx.c.
 */
#include "work/rxperf/rxperf.h"

#include "load/engine.h"
#include "unit/rx_station.h"

#include <errno.h>
#include <stdio.h>

struct rig {
	struct station *s;
	struct rxperf_opts o;
	struct store_rx_opts store;
	struct sockaddr_in to;
	unsigned int n;
	struct rxperf **client;
	uint8_t *data;
	struct run_load *load;
	struct run_phase phase;
	struct rxperf_counts sum;
};

static int begin_store(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	const struct rig *g = user;
	struct store_rx_opts o = g->store;

	o.scratch = scratch;
	return store_open_rx(out, &o, e);
}

/* The engine hands out clients in their order. */
static struct script *script_of(void *user)
{
	struct rig *g = user;

	return rxperf_script(g->client[g->n++]);
}

static const char *name_of(unsigned int i)
{
	(void)i;
	return "call";
}

static void do_job(struct engine *g, const struct engine_job *job, struct run_load **load,
		   struct run_phase *p)
{
	struct run_load *own = NULL;
	struct err e;

	assert_int_equal(engine_start(g, job, &e), 0);
	assert_int_equal(engine_join(g, load ? load : &own, p, &e), 0);
	run_load_free(own);
}

static struct rig *new_rig(enum rx_perf_command command, uint32_t bytes, unsigned int threads,
			   uint64_t calls)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->s = station_start(RX_PERF_SERVICE);
	g->to = station_address(g->s);
	g->o = (struct rxperf_opts) { .call = { .command = command,
						.n = bytes,
						.m = bytes / 2,
						.read_len = 65536,
						.write_len = 65536 },
				      .threads = threads,
				      .calls = calls,
				      .verify = true };
	g->store = (struct store_rx_opts) { .to = &g->to,
					    .service = RX_PERF_SERVICE,
					    .calls = threads,
					    .buffer_len = 1 << 20,
					    .timeout_ms = 20000 };
	g->data = malloc(RX_DATA_PERIOD);
	rx_data_fill(g->data, RX_DATA_OF_CLIENT);
	return g;
}

static void add_counts(struct rig *g, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct rxperf_counts *c = rxperf_counts(g->client[i]);

		g->sum.done += c->done;
		g->sum.failed += c->failed;
		g->sum.sent += c->sent;
		g->sum.received += c->received;
		g->sum.not_compared += c->not_compared;
		g->sum.dead |= c->dead;
		g->sum.stopped |= c->stopped;
		rx_counts_add(&g->sum.socket.counts, &c->socket.counts);
		g->sum.socket.rtt = c->socket.rtt;
		assert_true(c->looked && c->socket.has_drops && c->socket.port);
	}
}

static void run_clients(struct rig *g, unsigned int n)
{
	const struct engine_opts o = { .n_threads = 1, .opening_max = n };
	struct engine_client *clients = calloc(n, sizeof(*clients));
	struct engine *engine;
	struct err e;

	g->client = calloc(n, sizeof(struct rxperf *));
	for (unsigned int i = 0; i < n; i++) {
		g->client[i] = rxperf_new(&g->o, g->data, i);
		clients[i] = (struct engine_client) { begin_store, g, NULL };
	}
	g->n = 0;
	assert_int_equal(engine_new(&engine, &o, clients, n, &e), 0);
	do_job(engine, &(struct engine_job) { .what = ENGINE_OPEN }, NULL, NULL);
	do_job(
	    engine,
	    &(struct engine_job) {
		.what = ENGINE_WORK, .script = script_of, .n_actions = 1, .action_name = name_of },
	    &g->load, &g->phase);
	do_job(engine, &(struct engine_job) { .what = ENGINE_END, .ignores_stop = true }, NULL,
	       NULL);
	add_counts(g, n);
	engine_free(engine);
	for (unsigned int i = 0; i < n; i++)
		rxperf_free(g->client[i]);
	free(g->client);
	free(clients);
}

static void free_rig(struct rig *g)
{
	run_load_free(g->load);
	run_clear_commands(&g->phase);
	station_stop(g->s);
	free(g->data);
	free(g);
}

static void every_call_moves_its_bytes(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 20, 1396, 64000, 3000001 };
	static const enum rx_perf_command commands[] = { RX_PERF_SEND, RX_PERF_RECV, RX_PERF_RPC };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct rig *g = new_rig(commands[k], sizes[i], 1, 3);

			run_clients(g, 2);
			assert_string_equal(g->load->first_failure, "");
			assert_int_equal(g->sum.done, 6);
			assert_int_equal(g->sum.failed, 0);
			assert_int_equal(g->sum.not_compared, 0);
			assert_int_equal(g->sum.sent,
					 commands[k] == RX_PERF_RECV ? 0 : 6ull * sizes[i]);
			assert_int_equal(g->sum.received,
					 commands[k] == RX_PERF_RECV  ? 6ull * sizes[i]
					 : commands[k] == RX_PERF_RPC ? 6ull * (sizes[i] / 2)
								      : 0);
			assert_int_equal(g->s->calls, 6);
			assert_int_equal(g->s->wrong, 0);
			assert_int_equal(g->phase.n_commands, 1);
			assert_int_equal(g->phase.command[0]->latency.n, 6);
			assert_string_equal(g->phase.command[0]->name, rxperf_name(&g->o));
			free_rig(g);
		}
	}
}

static void a_file_goes_there_and_back(void **state)
{
	static const uint32_t words[] = { 100, 5000, 0, 7000, 3 };
	struct rig *g = new_rig(RX_PERF_FILE, 0, 1, 4);

	(void)state;
	g->o.call.entries = 5;
	memcpy(g->o.call.entry, words, sizeof(words));
	run_clients(g, 1);
	assert_string_equal(g->load->first_failure, "");
	assert_int_equal(g->sum.sent, 4 * 4 * 5100);
	assert_int_equal(g->sum.received, 4 * 4 * 7003);
	assert_int_equal(g->s->wrong, 0);
	free_rig(g);
}

/* More calls at a time than a connection has channels. */
static void several_calls_go_at_a_time(void **state)
{
	struct rig *g = new_rig(RX_PERF_RECV, 20000, 9, 5);

	(void)state;
	run_clients(g, 3);
	assert_string_equal(g->load->first_failure, "");
	assert_int_equal(g->sum.done, 3 * 9 * 5);
	assert_int_equal(g->sum.received, 3 * 9 * 5 * 20000);
	assert_int_equal(g->s->calls, 3 * 9 * 5);
	assert_int_equal(g->phase.command[0]->latency.n, 3 * 9 * 5);
	free_rig(g);
}

static void many_clients_are_many_peers(void **state)
{
	struct rig *g = new_rig(RX_PERF_RPC, 2000, 1, 2);

	(void)state;
	run_clients(g, 100);
	assert_string_equal(g->load->first_failure, "");
	assert_int_equal(g->sum.done, 200);
	assert_int_equal(g->sum.failed, 0);
	free_rig(g);
}

static void a_wrong_answer_fails_its_call_alone(void **state)
{
	static const struct {
		enum station_fault fault;
		const char *why;
	} faults[] = {
		{ FAULT_COOKIE, "recv: the reply ends with 0xffffb8ee, and should with 0x4711" },
		{ FAULT_BYTE, "recv: byte 1000 of the data received is wrong" },
		{ FAULT_SHORT, "recv: the reply has 5003 bytes, and should have 5004" },
		{ FAULT_ABORT, "recv: the server refused the call (-4711)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct rig *g = new_rig(RX_PERF_RECV, 5000, 1, 5);

		g->s->fault = faults[i].fault;
		g->s->fault_at = 3;
		run_clients(g, 1);
		assert_string_equal(g->load->first_failure, faults[i].why);
		assert_int_equal(g->sum.done, 5);
		assert_int_equal(g->sum.failed, 1);
		assert_int_equal(g->sum.received, 4 * 5000);
		free_rig(g);
	}
}

/* It answers pings, and nothing else. */
static void a_server_that_does_nothing_is_given_up(void **state)
{
	struct rig *g = new_rig(RX_PERF_SEND, 5000, 1, 1);
	uint64_t begun_ns = clock_now_ns();

	(void)state;
	g->s->fault = FAULT_SILENT;
	g->store.timeout_ms = 300;
	run_clients(g, 1);
	assert_string_equal(g->load->first_failure, "send: the call took too long (-3)");
	assert_true(clock_now_ns() - begun_ns >= 300000000);
	free_rig(g);
}

static void a_port_without_a_server_ends_the_client(void **state)
{
	struct rig *g = new_rig(RX_PERF_SEND, 5000, 1, 100);
	struct station *gone = station_start(RX_PERF_SERVICE);

	(void)state;
	g->to = station_address(gone);
	station_stop(gone);
	run_clients(g, 1);
	assert_string_equal(g->load->first_failure, "send: nobody listens on this port (-1)");
	assert_true(g->sum.dead && g->sum.stopped);
	assert_int_equal(g->sum.done, 1);
	free_rig(g);
}

/* A packet that is sent and confirmed in one turn of the client has the time that this took. */
static void a_round_trip_takes_its_time(void **state)
{
	const struct rx_rtt *rtt;
	struct rig *g;

	(void)state;
	for (int i = 0; i < 5; i++) {
		g = new_rig(RX_PERF_SEND, 4u << 20, 8, 2);
		run_clients(g, 1);
		rtt = &g->sum.socket.rtt;
		assert_int_equal(g->sum.failed, 0);
		assert_true(rtt->n > 100);
		assert_true(rtt->min_ns > 1000);
		free_rig(g);
	}
}

/* ---- small calls ---- */

static void small_calls_are_written_down_as_bytes(void **state)
{
	static const struct {
		const char *name;
		uint32_t words[4];
		size_t n;
	} known[] = {
		{ "GetTime", { 153 }, 1 },
		{ "getcapabilities", { 65540 }, 1 },
		{ "FetchStatus", { 132, 0x20000001, 1, 1 }, 4 },
		{ "VL_Probe", { 514 }, 1 },
		{ "rxdebug", { 1, 0 }, 2 },
		{ "version", { 0 }, 0 },
	};
	const struct rx_small_call *c;
	uint8_t raw[RX_CALL_LEN];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct wbuf w = wbuf_of(raw, sizeof(raw));
		struct rbuf b = rbuf_of(raw, sizeof(raw));

		assert_int_equal(rx_small_call_find(&c, known[i].name, &e), 0);
		rx_small_call_put(&w, c, 0x20000001);
		assert_int_equal(w.at - raw, 4 * known[i].n);
		for (size_t k = 0; k < known[i].n; k++)
			assert_int_equal(rbuf_u32(&b), known[i].words[k]);
	}
	assert_int_equal(rx_small_call_find(&c, "GetTim", &e), -ENOENT);
	assert_string_equal(e.text, "there is no call 'GetTim': GetTime, GetCapabilities, "
				    "FetchStatus, VL_Probe, rxdebug, version");
}

/* Whoever is called is called back, on the client's own port. */
static void a_client_answers_its_server(void **state)
{
	static const struct {
		uint32_t opcode;
		int32_t error;
	} asked[] = { { 65538, RX_UNKNOWN_OPCODE },
		      { 204, 0 },
		      { 205, 0 },
		      { 206, 0 },
		      { 213, 0 },
		      { 214, 0 },
		      { 1, RX_UNKNOWN_OPCODE } };
	const struct rx_endpoint_opts server = { .n_conns = 1 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(9) };
	const struct store_rx_opts o = { .to = &to, .service = 1, .called_back = true };
	struct rx_endpoint *ep;
	struct store_rx_state look;
	struct rx_conn *conn;
	struct rx_call *c;
	struct store *s;
	uint8_t raw[4];
	struct err e;

	(void)state;
	assert_int_equal(store_open_rx(&s, &o, &e), 0);
	store_rx_look(s, &look);
	to.sin_port = htons(look.port);
	assert_int_equal(rx_endpoint_open(&ep, &server, &e), 0);
	conn = rx_endpoint_connect(ep, &to, 1);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct wbuf w = wbuf_of(raw, sizeof(raw));

		wbuf_u32(&w, asked[i].opcode);
		c = rx_endpoint_begin(ep, conn, clock_now_ns());
		rx_call_write(c, raw, 4);
		rx_call_end(c);
		for (int k = 0; k < 1000 && rx_call_state(c) == RX_CALL_ACTIVE; k++) {
			assert_int_equal(rx_endpoint_advance(ep, clock_now_ns(), &e), 0);
			assert_int_equal(s->type->work(s, 10000000, &e), 0);
			rx_inside_is_read(c);
		}
		assert_int_equal(rx_call_state(c), RX_CALL_OVER);
		assert_int_equal(rx_call_error(c), asked[i].error);
		rx_endpoint_release(ep, c);
	}
	store_rx_look(s, &look);
	assert_int_equal(look.called_back, sizeof(asked) / sizeof(asked[0]));
	rx_endpoint_close(ep);
	store_close(s);
}

/* ---- places ---- */

static void a_place_is_a_host_and_a_port(void **state)
{
	struct sockaddr_in at;
	struct err e;

	(void)state;
	assert_int_equal(store_rx_find(&at, "127.0.0.2", 7009, &e), 0);
	assert_int_equal(ntohs(at.sin_port), 7009);
	assert_int_equal(ntohl(at.sin_addr.s_addr), 0x7f000002);
	assert_int_equal(store_rx_find(&at, "localhost:12", 7009, &e), 0);
	assert_int_equal(ntohs(at.sin_port), 12);
	assert_int_equal(store_rx_find(&at, "127.0.0.1:", 7009, &e), -EINVAL);
	assert_int_equal(store_rx_find(&at, "127.0.0.1:70000", 7009, &e), -EINVAL);
	assert_int_equal(store_rx_find(&at, ":7009", 7009, &e), -EHOSTUNREACH);
}

/* Other workloads learn that there are no files. */
static void a_store_of_calls_has_no_files(void **state)
{
	struct store_op op = { .verb = STORE_PROBE };
	struct store *s;
	struct err e;

	(void)state;
	assert_true(store_is_local("rx://127.0.0.1"));
	assert_int_equal(store_open_local(&s, "rx://127.0.0.1:9", false, &e), 0);
	op.dir = s->root[0];
	assert_int_equal(store_call(s, &op, &e), 0);
	assert_int_equal(op.result, STORE_UNKNOWN);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_moves_its_bytes),
		cmocka_unit_test(a_file_goes_there_and_back),
		cmocka_unit_test(several_calls_go_at_a_time),
		cmocka_unit_test(many_clients_are_many_peers),
		cmocka_unit_test(a_wrong_answer_fails_its_call_alone),
		cmocka_unit_test(a_server_that_does_nothing_is_given_up),
		cmocka_unit_test(a_port_without_a_server_ends_the_client),
		cmocka_unit_test(a_round_trip_takes_its_time),
		cmocka_unit_test(small_calls_are_written_down_as_bytes),
		cmocka_unit_test(a_client_answers_its_server),
		cmocka_unit_test(a_place_is_a_host_and_a_port),
		cmocka_unit_test(a_store_of_calls_has_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
