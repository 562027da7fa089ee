/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases and what is counted in them. Knows no workload and prints nothing. */
#include "load/load.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t own_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000u;
}

int load_phase_begin(struct load *l, unsigned int test, unsigned int iteration, const char *title,
		     struct err *e)
{
	struct run_phase *p = run_phase(l->run, test, iteration, title);

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	if (l->hooks->phase_begin)
		l->hooks->phase_begin(l->hooks->user);
	memset(l->command, 0, sizeof(l->command));
	l->ops = l->errors = l->bytes = 0;
	l->phase = p;
	l->cpu_ns = own_cpu_ns();
	p->start_ns = clock_now_ns();
	return 0;
}

void load_phase_end(struct load *l, bool complete)
{
	uint64_t now_ns = clock_now_ns();
	struct run_phase *p = l->phase;

	if (!p)
		return;
	l->phase = NULL;
	p->complete = complete;
	run_set(p, METRIC_ELAPSED, now_ns - p->start_ns);
	run_set(p, METRIC_CLIENT_CPU, own_cpu_ns() - l->cpu_ns);
	run_set(p, METRIC_OPS, l->ops);
	run_set(p, METRIC_ERRORS, l->errors);
	run_set(p, METRIC_BYTES, l->bytes);
	if (l->hooks->phase_end)
		l->hooks->phase_end(l->hooks->user, p);
	if (l->hooks->phase_done)
		l->hooks->phase_done(l->hooks->user, p);
}

static int count(struct load *l, const struct afp_op *op, struct err *e)
{
	struct run_command *c = l->command[op->code];

	if (!l->phase)
		return 0;
	if (!c) {
		c = run_command(l->phase, op->code, afp_op_name(op));
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		l->command[op->code] = c;
	}
	l->ops++;
	c->errors += op->dsi.result != AFP_ERR_OK;
	hist_add(&c->latency, op->dsi.t.last_ns - op->dsi.t.begun_ns);
	return 0;
}

int load_call(struct load *l, struct afp_op *op, struct err *e)
{
	int r = afp_call(l->afp, op, e);

	return r ? r : count(l, op, e);
}

int load_submit(struct load *l, struct afp_op *op, struct err *e)
{
	return afp_submit(l->afp, op, e);
}

int load_reap(struct load *l, struct afp_op **out, struct err *e)
{
	int r = afp_reap(l->afp, out, e);

	return r ? r : count(l, *out, e);
}

void load_add_bytes(struct load *l, uint64_t n)
{
	l->bytes += n;
}

void load_add_error(struct load *l)
{
	l->errors++;
}
