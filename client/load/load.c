/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases and what is counted in them, for any workload. */
#include "load/load.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* How often a look at the connection is due. */
#define TICK_NS 500000000u

/* More than the AFP commands of any timed region: their histograms are allocated before it. */
#define COMMANDS  16

#define NS_PER_US 1000u

uint64_t load_clock_ns(void)
{
	return clock_now_ns();
}

/* CPU time of the thread that makes the requests, without those that write a trace or sample. */
static uint64_t own_cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* From here to end_region everything counts. */
static void begin_region(struct load *l, struct run_phase *p)
{
	if (l->hooks->region_begin)
		l->hooks->region_begin(l->hooks->user, p);
	l->ops = l->errors = l->bytes = 0;
	l->depth = 0;
	l->phase = p;
}

static void start_clock(struct load *l)
{
	l->n_trace = l->trace_lost = 0;
	l->cpu_ns = own_cpu_ns();
	l->start_ns = l->last_ns = clock_now_ns();
}

/* Round trips of the region, and how long the least of the session's takes. */
static void load_note_network(const struct load *l, struct run_phase *p)
{
	struct run_tcp tcp;

	if (!l->afp || (l->store && !store_afp_session(l->store)))
		return;
	run_add(p, METRIC_TRIPS, l->depth);
	if (dsi_tcp(l->afp->dsi, &tcp) && tcp.known[TCP_MIN_RTT])
		run_set(p, METRIC_TRIP_TIME, tcp.value[TCP_MIN_RTT] * NS_PER_US);
}

static void end_region(struct load *l, struct run_phase *p, uint64_t ns, uint64_t cpu_ns)
{
	run_add(p, METRIC_ELAPSED, ns);
	run_add(p, METRIC_CLIENT_CPU, cpu_ns);
	run_add(p, METRIC_OPS, l->ops);
	run_add(p, METRIC_ERRORS, l->errors);
	run_add(p, METRIC_BYTES, l->bytes);
	load_note_network(l, p);
	if (l->hooks->region_end)
		l->hooks->region_end(l->hooks->user, p);
}

int load_phase_begin(struct load *l, unsigned int test, unsigned int iteration, const char *title,
		     struct err *e)
{
	struct run_phase *p = run_phase(l->run, test, iteration, title);

	if (!p || run_reserve_commands(p, COMMANDS))
		return err_set(e, -ENOMEM, "out of memory");
	memset(l->command, 0, sizeof(l->command));
	begin_region(l, p);
	start_clock(l);
	p->start_ns = l->start_ns;
	return 0;
}

void load_phase_end(struct load *l, bool complete)
{
	uint64_t now_ns = clock_now_ns(), cpu_ns = own_cpu_ns();
	struct run_phase *p = l->phase;

	if (!p)
		return;
	l->phase = NULL;
	p->complete = complete;
	end_region(l, p, now_ns - l->start_ns, cpu_ns - l->cpu_ns);
	run_trim_commands(p);
	if (l->hooks->phase_done)
		l->hooks->phase_done(l->hooks->user, p);
}

int load_transfer_begin(struct load *l, unsigned int test, const char *work, uint64_t size,
			struct err *e)
{
	l->transfer = run_transfer(l->run, test, work, size);
	if (!l->transfer || run_reserve_commands(&l->region, COMMANDS))
		return err_set(e, -ENOMEM, "out of memory");
	l->ticked_ns = 0;
	return 0;
}

void load_region_begin(struct load *l, unsigned int iteration, bool warmup)
{
	struct run_phase *p = l->transfer;

	l->sample = (struct run_sample) { .iteration = iteration, .warmup = warmup };
	l->bytes = 0;
	memset(l->command, 0, sizeof(l->command));
	if (!warmup) {
		begin_region(l, p);
		l->phase = &l->region;
	}
	start_clock(l);
	if (!p->start_ns && !warmup)
		p->start_ns = l->start_ns;
}

/* A measured region counts as a whole or not at all. 0 or -ENOMEM. */
static int add_region(struct load *l, bool complete)
{
	struct run_phase *p = l->transfer;
	int r = 0;

	if (!l->phase)
		return 0;
	l->phase = NULL;
	if (complete) {
		end_region(l, p, l->sample.ns, l->sample.client_cpu_ns);
		p->complete = true;
		r = run_add_commands(p, &l->region);
	}
	run_spare_commands(&l->region);
	return r;
}

int load_region_end(struct load *l, bool complete, struct err *e)
{
	/* the client's work after the last answer is not counted */
	uint64_t end_ns = complete ? l->last_ns : clock_now_ns(), cpu_ns = own_cpu_ns();
	struct run_sample *s;
	int r;

	if (!l->sample.iteration)
		return 0;
	l->sample.complete = complete;
	l->sample.ns = end_ns - l->start_ns;
	l->sample.client_cpu_ns = cpu_ns - l->cpu_ns;
	if (l->sample.client_cpu_ns > l->sample.ns)
		l->sample.client_cpu_ns = l->sample.ns;
	l->sample.bytes = l->bytes;
	r = add_region(l, complete);
	s = run_sample(l->transfer->transfer);
	if (r || !s)
		return err_set(e, -ENOMEM, "out of memory");
	*s = l->sample;
	l->sample = (struct run_sample) { 0 };
	if (l->hooks->sample_done)
		l->hooks->sample_done(l->hooks->user, l->transfer, s);
	return 0;
}

void load_transfer_end(struct load *l)
{
	struct run_phase *p = l->transfer;

	l->transfer = NULL;
	run_clear_commands(&l->region);
	if (!p)
		return;
	if (l->hooks->phase_done)
		l->hooks->phase_done(l->hooks->user, p);
}

/* Counts one answer: command and latency. */
static int load_count(struct load *l, const struct load_trace *t, uint8_t code, bool failed,
		      struct err *e)
{
	struct run_command *c = l->command[code];

	l->last_ns = t->last_ns;
	if (l->trace && l->n_trace < l->trace_room)
		l->trace[l->n_trace++] = *t;
	else
		l->trace_lost++;
	if (!l->phase)
		return 0;
	if (!c) {
		c = run_command(l->phase, code, t->what);
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		l->command[code] = c;
	}
	l->ops++;
	c->errors += failed;
	hist_add(&c->latency, t->last_ns - t->begun_ns);
	return 0;
}

static int count_afp(struct load *l, const struct afp_op *op, struct err *e)
{
	const struct load_trace t = { .what = afp_op_name(op),
				      .code = op->dsi.result,
				      .begun_ns = op->dsi.t.begun_ns,
				      .last_ns = op->dsi.t.last_ns };

	l->depth = op->depth > l->depth ? op->depth : l->depth;
	return load_count(l, &t, op->code, op->dsi.result != AFP_ERR_OK, e);
}

int load_call(struct load *l, struct afp_op *op, struct err *e)
{
	int r;

	op->depth = l->depth + 1;
	r = afp_call(l->afp, op, e);
	return r ? r : count_afp(l, op, e);
}

int load_submit(struct load *l, struct afp_op *op, struct err *e)
{
	op->depth = l->depth + 1;
	return afp_submit(l->afp, op, e);
}

int load_reap(struct load *l, struct afp_op **out, struct err *e)
{
	int r = afp_reap(l->afp, out, e);

	return r ? r : count_afp(l, *out, e);
}

static void load_tick(struct load *l, uint64_t now_ns)
{
	l->ticked_ns = now_ns;
	if (l->hooks->tick)
		l->hooks->tick(l->hooks->user, l->transfer);
}

static int count_store(struct load *l, const struct store_op *op, struct err *e)
{
	const struct load_trace t = { .what = op->what,
				      .offset = op->offset,
				      .len = op->len,
				      .code = op->code,
				      .begun_ns = op->t.begun_ns,
				      .last_ns = op->t.last_ns };

	if (l->sample.warmup && t.last_ns > l->start_ns + TICK_NS &&
	    t.last_ns > l->ticked_ns + TICK_NS)
		load_tick(l, t.last_ns);
	l->depth = op->depth > l->depth ? op->depth : l->depth;
	return load_count(l, &t, op->command, op->result != STORE_OK, e);
}

int load_store_call(struct load *l, struct store_op *op, struct err *e)
{
	int r;

	op->depth = l->depth + 1;
	r = store_call(l->store, op, e);
	return r ? r : count_store(l, op, e);
}

int load_store_submit(struct load *l, struct store_op *op, struct err *e)
{
	op->depth = l->depth + 1;
	return store_submit(l->store, op, e);
}

int load_store_reap(struct load *l, struct store_op **out, struct err *e)
{
	int r = store_reap(l->store, out, e);

	return r ? r : count_store(l, *out, e);
}

void load_half(struct load *l)
{
	if (l->sample.warmup && !l->ticked_ns)
		load_tick(l, clock_now_ns());
}

void load_add_bytes(struct load *l, uint64_t n)
{
	l->bytes += n;
}

void load_add_error(struct load *l)
{
	l->errors++;
}

int load_refuse(struct load *l, const struct store_op *op, const char *name, struct err *e)
{
	l->refused = op->command;
	return load_explain(op, name, e);
}

int load_explain(const struct store_op *op, const char *name, struct err *e)
{
	const char *whose = op->code < 0 ? "AFP" : "errno";

	if (op->result == STORE_SHORT && op->verb == STORE_READ)
		return err_set(
		    e, LOAD_REFUSED,
		    "%s of %s: %llu bytes at byte %llu where %llu were asked for: is the "
		    "file shorter than the test?",
		    op->what, name, (unsigned long long)op->done, (unsigned long long)op->offset,
		    (unsigned long long)op->len);
	if (op->result == STORE_SHORT)
		return err_set(e, LOAD_REFUSED,
			       "%s of %s: written up to byte %llu only: is the volume full?",
			       op->what, name, (unsigned long long)(op->offset + op->done));
	if (op->verb == STORE_READ || op->verb == STORE_WRITE)
		return err_set(e, LOAD_REFUSED, "%s of %s at byte %llu: %s (%s %d)", op->what, name,
			       (unsigned long long)op->offset, op->why, whose, op->code);
	return err_set(e, LOAD_REFUSED, "%s of %s: %s (%s %d)", op->what, name,
		       op->why ? op->why : "not what was expected", whose, op->code);
}

void load_ready(struct load *l)
{
	if (l->hooks->ready)
		l->hooks->ready(l->hooks->user);
}

bool load_stopped(const struct load *l)
{
	return l->stop && *l->stop;
}
