/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rung that reads /proc/PID/io: four figures per process, the children it has waited for
 * included, nothing about single calls. New sessions of a whole server are found at each tick; one
 * that begins and ends between two ticks is only in its parent's account.
 */

#include "watch/rung.h"

#include "base/clock.h"
#include "watch/proc/procio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 1000000

static int proc_open(void **state, const struct watch_sink *sink, const struct target *t,
		     struct err *e)
{
	(void)sink;
	(void)t;
	*state = calloc(1, sizeof(struct procio));
	return *state ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void proc_free(void *state)
{
	procio_fini(state);
	free(state);
}

static int proc_look(void *state, const struct target *t, struct err *e)
{
	return procio_look(state, t, e);
}

static bool is_as_before(const struct procio *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (memcmp(&p->one[i].before, &p->one[i].now, sizeof(p->one[i].now)) != 0)
			return false;
	return true;
}

static bool proc_settle(void *state)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t end = clock_now_ns() + RUNG_SETTLE_NS;

	procio_read(state);
	do {
		nanosleep(&pause, NULL);
		procio_read(state);
		if (is_as_before(state))
			return true;
	} while (clock_now_ns() < end);
	return false;
}

static int proc_read(void *state, struct ledger *out)
{
	memset(out, 0, sizeof(*out));
	procio_read(state);
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		out->has_compat[role] = procio_sum(state, role, &out->compat[role]);
	return 0;
}

static unsigned int proc_tick(void *state)
{
	return procio_tick(state) ? RUNG_NEW_PROCESSES : 0;
}

static int proc_finish(void *state, struct run *r)
{
	const struct procio *p = state;
	int err;

	if (p->whole)
		err = run_note(&r->rungs, "calls",
			       "/proc/PID/io of every session, sampled ten times a second");
	else
		err = run_note(&r->rungs, "calls", "/proc/PID/io, sampled at phase ends");
	if (!err)
		err = run_note(&r->absent, "requests", "only the bpf rung follows requests");
	return err ? err : procio_note(p, r);
}

const struct rung rung_proc = {
	.name = "proc",
	.open = proc_open,
	.look = proc_look,
	.settle = proc_settle,
	.read = proc_read,
	.glance = proc_read,
	.tick = proc_tick,
	.finish = proc_finish,
	.free = proc_free,
};
