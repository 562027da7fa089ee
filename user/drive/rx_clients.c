/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients of Rx: their sockets, and what they do together. */
#include "drive/rx_clients.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "work/rxperf/rx_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S    1000000000u
#define TICK_NS     100000000u
#define TOGETHER_NS 50000000u /* until all threads wait for the begin */
#define OPENING_MAX 1024
#define THREADS_MAX 16u
#define PROBE_RATE  1.0 /* calls a second */

/* Of one test. */
struct rx_clients {
	struct rx_clients_test *test;
	struct rxperf_opts probe;
	unsigned int n;       /* with the probe */
	struct rxperf **work; /* of each; the last one is the probe's */
	uint8_t *data;
	struct clients *all;
	struct ticker live;
	struct ticker_second second; /* the last one */
	uint64_t begun_ns;           /* 0: the load has not begun */
};

/* ---- one client ---- */

static const char *rx_clients_probe_name(unsigned int i)
{
	(void)i;
	return "probe";
}

static const char *rx_clients_call_name(unsigned int i)
{
	(void)i;
	return "call";
}

static const struct rxperf_opts *rx_clients_what(const struct rx_clients *c, unsigned int i)
{
	return i < c->test->cfg->clients ? &c->test->work : &c->probe;
}

static int rx_clients_begin(void *own, unsigned int i, struct store **out, uint8_t *scratch,
			    struct err *e)
{
	const struct rx_clients *c = own;
	const struct rxperf_cfg *cfg = c->test->cfg;
	const struct rxperf_opts *work = rx_clients_what(c, i);
	const struct rx_limits limits = { cfg->packet_len - RX_HEADER_LEN, cfg->window,
					  cfg->no_jumbo ? 1 : RX_JUMBO_USUAL };
	const struct store_rx_opts how = {
		.to = &cfg->to,
		.service = work->small ? work->small->service : RX_PERF_SERVICE,
		.calls = work->threads,
		.buffer_len = cfg->udp_kib * 1024,
		.timeout_ms = cfg->timeout_s * 1000,
		.called_back = work->small && work->small->called_back,
		.own = &limits,
		.scratch = scratch,
	};

	return store_open_rx(out, &how, e);
}

/* Which local address it has the kernel decides with each datagram. */
static void rx_clients_address(struct store *store, char *out)
{
	struct store_rx_state look;

	store_rx_look(store, &look);
	snprintf(out, RUN_ADDRESS_LEN, "port %u", look.port);
}

static struct script *rx_clients_script(void *own, unsigned int i, enum clients_task task)
{
	(void)task;
	return rxperf_script(((struct rx_clients *)own)->work[i]);
}

static void rx_clients_tick(void *own)
{
	struct rx_clients *c = own;

	c->test->tick(c->test->user);
	if (c->begun_ns)
		clients_show(c->all, &c->live, &c->second, c->begun_ns,
			     c->begun_ns + c->test->cfg->ramp_ms * 1000000ull);
}

static void rx_clients_ended(void *own)
{
	struct rx_clients *c = own;

	if (c->begun_ns)
		clients_show_end(c->all, &c->live, &c->second, c->begun_ns,
				 c->begun_ns + c->test->cfg->ramp_ms * 1000000ull);
	c->begun_ns = 0;
}

/* ---- what they did ---- */

static void rx_clients_add_rtt(struct rx_rtt *to, const struct rx_rtt *from)
{
	if (!from->n)
		return;
	if (!to->n || from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->n += from->n;
	to->sum_ns += from->sum_ns;
}

static void rx_clients_add_socket(struct rx_clients_sum *sum, const struct store_rx_state *s)
{
	struct store_rx_state *to = &sum->counts.socket;

	rx_counts_add(&to->counts, &s->counts);
	rx_clients_add_rtt(&to->rtt, &s->rtt);
	to->drops += s->drops;
	to->has_drops &= s->has_drops;
	to->called_back += s->called_back;
	to->buffers.forced |= s->buffers.forced;
	if (!sum->buffer_min_len || s->buffers.received_len < sum->buffer_min_len)
		sum->buffer_min_len = s->buffers.received_len;
}

static void rx_clients_add_up(const struct rx_clients *c, struct rx_clients_sum *sum)
{
	const struct rxperf_counts *one;
	struct rxperf_counts *to = &sum->counts;

	*sum = (struct rx_clients_sum) { .counts.socket.has_drops = true };
	for (unsigned int i = 0; i < c->test->cfg->clients; i++) {
		one = rxperf_counts(c->work[i]);
		to->done += one->done;
		to->failed += one->failed;
		to->sent += one->sent;
		to->received += one->received;
		to->not_compared += one->not_compared;
		sum->dead += one->dead;
		sum->stopped += one->stopped;
		sum->silent += one->dead && one->looked && !one->socket.counts.datagrams_received;
		if (!one->looked)
			continue;
		to->looked = true;
		rx_clients_add_socket(sum, &one->socket);
	}
}

static void rx_clients_set_socket(struct run_phase *p, const struct rx_clients_sum *sum)
{
	const struct store_rx_state *s = &sum->counts.socket;
	const struct rx_counts *n = &s->counts;

	run_set(p, METRIC_RX_SENT, n->datagrams_sent);
	run_set(p, METRIC_RX_RECEIVED, n->datagrams_received);
	run_set(p, METRIC_RX_DATA_SENT, n->data_sent);
	run_set(p, METRIC_RX_RESENT, n->resent);
	run_set(p, METRIC_RX_DATA_RECEIVED, n->data_received);
	run_set(p, METRIC_RX_DUPLICATES, n->duplicates);
	run_set(p, METRIC_RX_ACKS_SENT, n->acks_sent);
	run_set(p, METRIC_RX_ACKS_RECEIVED, n->acks_received);
	run_set(p, METRIC_RX_TIMEOUTS, n->timeouts);
	run_set(p, METRIC_RX_BUSY, n->busy_received);
	run_set(p, METRIC_RX_BUFFER, sum->buffer_min_len);
	if (s->rtt.n)
		run_set(p, METRIC_RX_RTT, s->rtt.sum_ns / s->rtt.n);
	if (s->has_drops)
		run_set(p, METRIC_RX_DROPS, s->drops);
}

static int rx_clients_joined(void *own, struct run_phase *p, struct err *e)
{
	const struct rx_clients *c = own;
	struct rx_clients_sum *sum = &c->test->sum;

	rx_clients_add_up(c, sum);
	run_phase_from_load(p);
	run_set(p, METRIC_ERRORS, sum->counts.failed);
	run_set(p, METRIC_BYTES, sum->counts.sent + sum->counts.received);
	run_set(p, METRIC_RX_NOT_COMPARED, sum->counts.not_compared);
	if (sum->counts.looked)
		rx_clients_set_socket(p, sum);
	return cmd_stop ? err_set(e, -EINTR, "interrupted") : 0;
}

/* ---- a test ---- */

static unsigned int rx_clients_threads(unsigned int clients)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int n = cpus > 0 ? (unsigned int)cpus : 1;

	n = n < THREADS_MAX ? n : THREADS_MAX;
	return n < clients ? n : clients;
}

static int rx_clients_fill(struct rx_clients *c, struct err *e)
{
	bool there;

	c->work = calloc(c->n, sizeof(struct rxperf *));
	c->data = malloc(RX_DATA_PERIOD);
	there = c->work && c->data;
	if (there)
		rx_data_fill(c->data, RX_DATA_OF_CLIENT);
	for (unsigned int i = 0; there && i < c->n; i++) {
		c->work[i] = rxperf_new(rx_clients_what(c, i), c->data, i);
		there = c->work[i];
	}
	return there ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void rx_clients_free(void *own)
{
	struct rx_clients *c = own;

	for (unsigned int i = 0; c->work && i < c->n; i++)
		rxperf_free(c->work[i]);
	free(c->work);
	free(c->data);
	free(c);
}

static const struct clients_type rx_clients_type = {
	.opens = "socket",
	.actions = { 1, rx_clients_call_name },
	.probe = { 1, rx_clients_probe_name },
	.probe_rate = PROBE_RATE,
	.probe_is_apart = true,
	.begin = rx_clients_begin,
	.address = rx_clients_address,
	.script = rx_clients_script,
	.tick = rx_clients_tick,
	.ended = rx_clients_ended,
	.joined = rx_clients_joined,
	.free = rx_clients_free,
};

/* The load, from its begin to its end. */
static int rx_clients_load(struct rx_clients *c, struct run_phase *p, struct err *e)
{
	const struct rxperf_cfg *cfg = c->test->cfg;
	const struct engine_job how = { .begin_ns = clock_now_ns() + TOGETHER_NS,
					.ramp_ns = cfg->ramp_ms * 1000000ull,
					.duration_ns = (uint64_t)cfg->duration_s * NS_PER_S,
					.keeps_recent = cfg->live != TICKER_OFF };
	int r = clients_start(c->all, &how, e);

	if (r)
		return r;
	ticker_begin(&c->live, c->test->progress, (enum ticker_how)cfg->live);
	c->second.phase = c->test->name;
	c->begun_ns = cfg->live == TICKER_OFF ? 0 : how.begin_ns;
	while (!clients_wait(c->all, TICK_NS))
		;
	return clients_join(c->all, p, e);
}

int rx_clients_do(struct rx_clients_test *t, struct run_phase *p, struct err *e)
{
	const struct rxperf_cfg *cfg = t->cfg;
	const struct clients_opts opts = { .n = cfg->clients,
					   .threads = rx_clients_threads(cfg->clients),
					   .opening_max = OPENING_MAX,
					   .probe = cfg->probe };
	struct rx_clients *c = calloc(1, sizeof(*c));
	struct clients *all = NULL;
	unsigned int not_open;
	int r;

	r = c ? clients_new(&all, &rx_clients_type, c, e) : err_set(e, -ENOMEM, "out of memory");
	if (r)
		return r;
	*c = (struct rx_clients) {
		.test = t, .probe = rxperf_probe(cfg), .n = cfg->clients + cfg->probe, .all = all
	};
	r = rx_clients_fill(c, e);
	r = r ? r : clients_open(all, &opts, &not_open, e);
	if (!r) {
		p->start_ns = clock_now_ns();
		r = rx_clients_load(c, p, e);
		t->sum.not_open = not_open;
		p->complete = !r;
	}
	clients_close(all, NULL);
	return r;
}
