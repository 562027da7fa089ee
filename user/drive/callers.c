/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients of Rx: their threads and sockets, and what they do together. */
#include "drive/callers.h"

#include "app/cmd.h"
#include "base/clock.h"
#include "work/rxperf/rx_data.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS     100000000u
#define TOGETHER_NS 50000000u /* until all threads wait for the begin */
#define OPENING_MAX 64
#define THREADS_MAX 16u
#define PROBE_RATE  1.0 /* calls a second */

/* One client. */
struct caller {
	struct callers *all;
	const struct rxperf_opts *what;
	struct rxperf *work;
	char address[RUN_ADDRESS_LEN];
};

struct callers {
	struct callers_opts o;
	struct engine *engine, *watcher; /* watcher: the probe's; NULL: there is none */
	struct caller *caller;           /* the last one is the probe */
	uint8_t *data;
};

static const char *probe_name(unsigned int i)
{
	(void)i;
	return "probe";
}

static const char *call_name(unsigned int i)
{
	(void)i;
	return "call";
}

static int callers_begin_store(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	const struct caller *x = user;
	const struct callers_opts *o = &x->all->o;
	const struct rxperf_opts *work = x->what;
	const struct store_rx_opts how = {
		.to = &o->to,
		.service = work->small ? work->small->service : RX_PERF_SERVICE,
		.calls = work->threads,
		.buffer_len = o->buffer_len,
		.timeout_ms = o->timeout_ms,
		.called_back = work->small && work->small->called_back,
		.own = &o->own,
		.scratch = scratch,
	};

	return store_open_rx(out, &how, e);
}

/* Which local address it has the kernel decides with each datagram. */
static void note_port(void *user, struct store *store)
{
	struct caller *x = user;
	struct store_rx_state look;

	store_rx_look(store, &look);
	snprintf(x->address, sizeof(x->address), "port %u", look.port);
}

static struct script *script_of(void *user)
{
	return rxperf_script(((struct caller *)user)->work);
}

/* ---- jobs ---- */

/* Does a job; *load is the caller's. */
static int callers_do_job(struct callers *c, const struct engine_job *job, struct run_phase *p,
			  struct run_load **load, struct err *e)
{
	int r = engine_start(c->engine, job, e);

	if (r)
		return r;
	while (!engine_wait(c->engine, TICK_NS))
		c->o.tick(c->o.user);
	return engine_join(c->engine, load, p, e);
}

/* The probe's, which has nothing to do meanwhile. */
static int do_watcher(struct callers *c, const struct engine_job *job, struct err *e)
{
	struct run_load *load = NULL;
	int r = c->watcher ? engine_start(c->watcher, job, e) : 0;

	if (r || !c->watcher)
		return r;
	r = engine_join(c->watcher, &load, NULL, e);
	run_load_free(load);
	return r;
}

static int do_plain(struct callers *c, enum engine_what what, unsigned int *n_open, struct err *e)
{
	const struct engine_job job = { .what = what, .ignores_stop = what == ENGINE_END };
	struct run_load *load = NULL;
	int r = do_watcher(c, &job, e);

	r = r ? r : callers_do_job(c, &job, NULL, &load, e);
	if (r)
		return r;
	*n_open = load->n_open;
	if (what == ENGINE_OPEN && cmd_stop)
		r = err_set(e, -EINTR, "interrupted");
	else if (what == ENGINE_OPEN && !load->n_open)
		r = err_set(e, -ECONNREFUSED, "no client could open a socket: %s", load->why);
	run_load_free(load);
	return r;
}

/* ---- opening ---- */

static unsigned int threads_for(unsigned int clients)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int n = cpus > 0 ? (unsigned int)cpus : 1;

	n = n < THREADS_MAX ? n : THREADS_MAX;
	return n < clients ? n : clients;
}

static int open_engines(struct callers *c, const struct engine_client *clients, struct err *e)
{
	const struct engine_opts engine = { .n_threads = threads_for(c->o.clients),
					    .opening_max = OPENING_MAX,
					    .stop = &cmd_stop };
	const struct engine_opts watcher = {
		.n_threads = 1, .opening_max = 1, .stop = &cmd_stop, .realtime = true
	};
	int r = engine_new(&c->engine, &engine, clients, c->o.clients, e);

	if (!r && c->o.probe)
		r = engine_new(&c->watcher, &watcher, &clients[c->o.clients], 1, e);
	return r;
}

/* All clients, the probe included. */
static unsigned int n_callers(const struct callers *c)
{
	return c->o.clients + (c->o.probe != NULL);
}

int callers_open(struct callers **out, const struct callers_opts *o, struct err *e)
{
	struct callers *c = calloc(1, sizeof(*c));
	struct engine_client *clients = calloc(o->clients + 1, sizeof(*clients));
	int r;

	*out = c;
	if (c) {
		c->o = *o;
		c->caller = calloc(o->clients + 1, sizeof(*c->caller));
		c->data = malloc(RX_DATA_PERIOD);
	}
	r = c && clients && c->caller && c->data ? 0 : err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && i < n_callers(c); i++) {
		c->caller[i].all = c;
		clients[i] = (struct engine_client) { callers_begin_store, &c->caller[i],
						      note_port };
	}
	if (!r) {
		rx_data_fill(c->data);
		cmd_allow_files();
		r = open_engines(c, clients, e);
	}
	free(clients);
	return r;
}

/* ---- a test ---- */

static int begin_test(struct callers *c, const struct rxperf_opts *work, struct err *e)
{
	struct caller *x;

	for (unsigned int i = 0; i < n_callers(c); i++) {
		x = &c->caller[i];
		*x->address = '\0';
		x->what = i < c->o.clients ? work : c->o.probe;
		x->work = rxperf_new(x->what, c->data, i);
		if (!x->work)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

static void end_test(struct callers *c)
{
	for (unsigned int i = 0; i < n_callers(c); i++) {
		rxperf_free(c->caller[i].work);
		c->caller[i].work = NULL;
	}
}

static void callers_add_rtt(struct rx_rtt *to, const struct rx_rtt *from)
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

static void callers_add_socket(struct callers_sum *sum, const struct store_rx_state *s)
{
	struct store_rx_state *to = &sum->counts.socket;

	rx_counts_add(&to->counts, &s->counts);
	callers_add_rtt(&to->rtt, &s->rtt);
	to->drops += s->drops;
	to->has_drops &= s->has_drops;
	to->called_back += s->called_back;
	to->buffers.forced |= s->buffers.forced;
	if (!sum->buffer_min_len || s->buffers.received_len < sum->buffer_min_len)
		sum->buffer_min_len = s->buffers.received_len;
}

static void add_up(const struct callers *c, struct callers_sum *sum)
{
	const struct rxperf_counts *one;
	struct rxperf_counts *to = &sum->counts;

	*sum = (struct callers_sum) { .counts.socket.has_drops = true };
	for (unsigned int i = 0; i < c->o.clients; i++) {
		one = rxperf_counts(c->caller[i].work);
		to->done += one->done;
		to->failed += one->failed;
		to->sent += one->sent;
		to->received += one->received;
		to->not_compared += one->not_compared;
		sum->dead += one->dead;
		sum->silent += one->dead && one->looked && !one->socket.counts.datagrams_received;
		if (!one->looked)
			continue;
		to->looked = true;
		callers_add_socket(sum, &one->socket);
	}
}

static void set_socket(struct run_phase *p, const struct callers_sum *sum)
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

static void callers_set_metrics(struct run_phase *p, const struct callers_sum *sum)
{
	const struct run_load *load = p->load;
	uint64_t requests = 0;

	for (size_t i = 0; i < p->n_commands; i++)
		requests += p->command[i]->latency.n;
	run_set(p, METRIC_ELAPSED, load->done_ns ? load->done_ns - load->begin_ns : 0);
	run_set(p, METRIC_OPS, requests);
	run_set(p, METRIC_ERRORS, sum->counts.failed);
	run_set(p, METRIC_BYTES, sum->counts.sent + sum->counts.received);
	run_set(p, METRIC_CLIENT_CPU, load->cpu_ns);
	run_set(p, METRIC_RX_NOT_COMPARED, sum->counts.not_compared);
	if (sum->counts.looked)
		set_socket(p, sum);
}

static int callers_call(struct callers *c, struct run_phase *p, struct callers_sum *sum,
			struct err *e)
{
	const struct engine_job job = { .what = ENGINE_WORK,
					.script = script_of,
					.n_actions = 1,
					.action_name = call_name,
					.begin_ns = clock_now_ns() + TOGETHER_NS,
					.ramp_ns = c->o.ramp_ns,
					.duration_ns = c->o.duration_ns };
	const struct engine_job probe = { .what = ENGINE_WORK,
					  .script = script_of,
					  .n_actions = 1,
					  .action_name = probe_name,
					  .begin_ns = job.begin_ns,
					  .duration_ns = c->o.duration_ns + c->o.ramp_ns,
					  .pace = { PACE_FIXED, PROBE_RATE, 0 } };
	int r = c->watcher ? engine_start(c->watcher, &probe, e) : 0, joined;

	r = r ? r : callers_do_job(c, &job, p, &p->load, e);
	joined = c->watcher ? engine_join(c->watcher, &p->probe, NULL, r ? NULL : e) : 0;
	r = r ? r : joined;
	if (r)
		return r;
	for (unsigned int i = 0; i < c->o.clients; i++)
		memcpy(p->load->client[i].address, c->caller[i].address, RUN_ADDRESS_LEN);
	add_up(c, sum);
	callers_set_metrics(p, sum);
	return cmd_stop ? err_set(e, -EINTR, "interrupted") : 0;
}

int callers_do(struct callers *c, const struct rxperf_opts *work, struct run_phase *p,
	       struct callers_sum *sum, struct err *e)
{
	unsigned int n_open = 0, ended;
	int r = begin_test(c, work, e);

	*sum = (struct callers_sum) { 0 };
	r = r ? r : do_plain(c, ENGINE_OPEN, &n_open, e);
	if (!r) {
		p->start_ns = clock_now_ns();
		r = callers_call(c, p, sum, e);
		sum->not_open = c->o.clients - n_open;
		p->complete = !r;
	}
	do_plain(c, ENGINE_END, &ended, NULL);
	end_test(c);
	return r;
}

void callers_close(struct callers *c)
{
	if (!c)
		return;
	engine_free(c->engine);
	engine_free(c->watcher);
	if (c->caller)
		end_test(c);
	free(c->caller);
	free(c->data);
	free(c);
}
