/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server's cgroup, and those that contain it, allow it. */
#include "doctor/machine/machine_priv.h"

#include "run/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A limit of a group that is not shown may be the one that counts. */
static const char *no_limit(const struct cgroup_folder *f, const char *none)
{
	if (!f->version)
		return "the server's cgroup was not found";
	if (f->apart)
		return "the server's processes are in several cgroups, and one of these is looked "
		       "at";
	if (f->more_limits)
		return "its cgroup has more limits than are looked at, or the counts of one cannot "
		       "be read";
	return f->whole ? none : "the cgroups above this container cannot be seen";
}

/* Whether each limit of its groups is known: else there may be one that counts more. */
static bool has_all(const struct cgroup_folder *f)
{
	return f->whole && !f->more_limits && !f->apart;
}

/* Of limits of which not all are known: what these do is known if it alone is so much. */
static void only_from(struct run_figures *out, enum run_figure which, double least, bool all)
{
	if (!all && out->value[which] < least)
		out->known[which] = false;
	out->at_least[which] = !all;
}

static void machine_groups_why_not(struct run_figures *out, enum run_figure which, const char *why)
{
	if (!out->known[which])
		run_figure_who(out, which, "%s", why);
}

/* ---- CPU quota ---- */

static const struct cgroup_quota *quota_then(const struct machine_between *b,
					     const struct cgroup_quota *now)
{
	const struct cgroup_limits *g = &b->before->groups;

	for (size_t i = 0; i < g->n_quotas; i++)
		if (!strcmp(g->quota[i].path, now->path) && g->quota[i].periods <= now->periods &&
		    g->quota[i].throttled <= now->throttled)
			return &g->quota[i];
	return NULL;
}

static double throttled_share(const struct cgroup_quota *then, const struct cgroup_quota *now)
{
	double periods = (double)(now->periods - then->periods);

	return periods > 0 ? fmin((double)(now->throttled - then->throttled) / periods, 1) : 0;
}

/* For how long the quota that did so longest held the server back; less than 0: not known. */
static double held_ns(const struct machine_between *b)
{
	const struct cgroup_limits *g = &b->after->groups;
	double most = g->n_quotas || has_all(&g->cpu) ? 0 : -1;

	for (size_t i = 0; i < g->n_quotas && most >= 0; i++) {
		const struct cgroup_quota *now = &g->quota[i], *then = quota_then(b, now);

		if (!then || !then->has_wait || !now->has_wait || now->wait_ns < then->wait_ns)
			return -1;
		most = fmax(most, (double)(now->wait_ns - then->wait_ns));
	}
	return most;
}

/* How many CPUs requests want at a time, at most: so many of them wait while a quota holds. */
static double cpus_wanted(const struct machine_between *b)
{
	const struct run_figures *f = b->out;
	double n = f->value[RUN_FIGURE_BUSY];
	size_t cpus = 0;

	/* Of other servers the time before a request is read is in its own. */
	if (run_kind_judged(f->kind) == RUN_JUDGED_SESSIONS && f->known[RUN_FIGURE_UNREAD] &&
	    f->known[RUN_FIGURE_RATE])
		n += f->value[RUN_FIGURE_UNREAD] * f->value[RUN_FIGURE_RATE] / MACHINE_NS_PER_S;
	for (size_t i = 0; i < CPUS_MAX; i++)
		cpus += b->before->may_use[i] && b->before->cpus.known[i];
	return cpus ? fmin(n, (double)cpus) : n;
}

/*
 * Of the requests' time, that which they wait for the quota: a part of their wait for CPUs. Of each
 * CPU on which the server wants to run, all that want it wait while the quota holds.
 */
static void quota_wait(const struct machine_between *b)
{
	double held = held_ns(b), cpus = cpus_wanted(b);
	struct run_figures *out = b->out;

	if (held < 0 || !out->known[RUN_FIGURE_WAIT_CPU] || !out->known[RUN_FIGURE_BUSY] ||
	    !(cpus > 0))
		return;
	run_figure_set(out, RUN_FIGURE_QUOTA_WAIT,
		       fmin(held / (b->ns * cpus), out->value[RUN_FIGURE_WAIT_CPU]));
	only_from(out, RUN_FIGURE_QUOTA_WAIT, QUOTA_HARM, has_all(&b->after->groups.cpu));
}

/* The one that held it back most; of those that did not, the smallest. */
static void quotas(const struct machine_between *b)
{
	const struct cgroup_limits *g = &b->after->groups;
	const struct cgroup_quota *most = NULL;
	struct run_figures *out = b->out;
	bool all = has_all(&g->cpu);
	double share = 0;

	for (size_t i = 0; i < g->n_quotas; i++) {
		const struct cgroup_quota *now = &g->quota[i], *then = quota_then(b, now);
		double one = then ? throttled_share(then, now) : 0;

		all &= then != NULL;
		if (!then || (most && (one < share || (one == share && now->cpus >= most->cpus))))
			continue;
		most = now;
		share = one;
	}
	if (most) {
		run_figure_set(out, RUN_FIGURE_QUOTA, most->cpus);
		run_figure_set(out, RUN_FIGURE_THROTTLED, share);
		run_figure_who(out, RUN_FIGURE_THROTTLED, "%.3g CPUs, %s", most->cpus, most->path);
	} else if (!g->n_quotas && all) {
		run_figure_set(out, RUN_FIGURE_THROTTLED, 0);
		run_figure_who(out, RUN_FIGURE_THROTTLED, "no quota");
	}
	only_from(out, RUN_FIGURE_THROTTLED, THROTTLED_LEAST, all);
	machine_groups_why_not(out, RUN_FIGURE_THROTTLED, no_limit(&g->cpu, "the quota is new"));
	machine_groups_why_not(out, RUN_FIGURE_QUOTA, no_limit(&g->cpu, "no quota"));
	quota_wait(b);
}

/* ---- memory ---- */

static const struct cgroup_memory *memory_then(const struct machine_between *b,
					       const struct cgroup_memory *now)
{
	const struct cgroup_limits *g = &b->before->groups;

	for (size_t i = 0; i < g->n_memories; i++)
		if (!strcmp(g->mem[i].path, now->path) && g->mem[i].high == now->high &&
		    g->mem[i].hits <= now->hits)
			return &g->mem[i];
	return NULL;
}

/* The one that it ran into most often; of those that it did not, the fullest. */
static void memory_limits(const struct machine_between *b)
{
	const struct cgroup_limits *g = &b->after->groups;
	const struct cgroup_memory *most = NULL;
	struct run_figures *out = b->out;
	bool all = has_all(&g->memory);
	double hits = 0, full = 0;

	for (size_t i = 0; i < g->n_memories; i++) {
		const struct cgroup_memory *now = &g->mem[i], *then = memory_then(b, now);
		double one = then ? (double)(now->hits - then->hits) : 0;
		double used = now->limit_b ? (double)now->used_b / (double)now->limit_b : 1;

		all &= then != NULL;
		if (!then || (most && (one < hits || (one == hits && used <= full))))
			continue;
		most = now;
		hits = one;
		full = used;
	}
	if (most) {
		run_figure_set(out, RUN_FIGURE_MEMORY_LIMIT, (double)most->limit_b);
		run_figure_who(out, RUN_FIGURE_MEMORY_LIMIT, "%s of %s",
			       g->memory.version == 1 ? "memory.limit_in_bytes"
			       : most->high           ? "memory.high"
						      : "memory.max",
			       most->path);
		run_figure_set(out, RUN_FIGURE_MEMORY_USED, (double)most->used_b);
		run_figure_set(out, RUN_FIGURE_MEMORY_HITS, hits * MACHINE_NS_PER_S / b->ns);
	} else if (!g->n_memories && all) {
		run_figure_set(out, RUN_FIGURE_MEMORY_HITS, 0);
		run_figure_who(out, RUN_FIGURE_MEMORY_HITS, "no limit");
	}
	only_from(out, RUN_FIGURE_MEMORY_HITS, MEMORY_HITS_LEAST, all);
	machine_groups_why_not(out, RUN_FIGURE_MEMORY_LIMIT, no_limit(&g->memory, "no limit"));
	machine_groups_why_not(out, RUN_FIGURE_MEMORY_USED, no_limit(&g->memory, "no limit"));
	machine_groups_why_not(out, RUN_FIGURE_MEMORY_HITS,
			       no_limit(&g->memory, "the limit is new"));
}

/* Whether the server was in the same group at both looks, and the count went up. */
static bool own_grown(const struct machine_between *b, bool before, bool after, uint64_t then,
		      uint64_t now)
{
	return before && after && now >= then && !b->after->groups.memory.apart &&
	       !strcmp(b->before->groups.memory.path, b->after->groups.memory.path);
}

static void stall(const struct machine_between *b, enum run_figure which, bool known, uint64_t us)
{
	if (known)
		run_figure_share(b->out, which, fmin((double)us * 1000, b->ns), b->ns);
	machine_groups_why_not(b->out, which,
			       "the kernel does not say: it has no cgroup of version 2 of its own");
}

static void own_group(const struct machine_between *b)
{
	const struct cgroup_limits *then = &b->before->groups, *now = &b->after->groups;
	const char *why = no_limit(&now->memory, "the server is in no cgroup of its own");

	if (own_grown(b, then->has_kills, now->has_kills, then->kills, now->kills))
		run_figure_set(b->out, RUN_FIGURE_MEMORY_KILLS, (double)(now->kills - then->kills));
	if (own_grown(b, then->has_refaulted, now->has_refaulted, then->refaulted, now->refaulted))
		run_figure_set(b->out, RUN_FIGURE_MEMORY_REREAD,
			       (double)(now->refaulted - then->refaulted) *
				   (double)sysconf(_SC_PAGESIZE) * MACHINE_NS_PER_S / b->ns);
	machine_groups_why_not(b->out, RUN_FIGURE_MEMORY_KILLS, why);
	machine_groups_why_not(b->out, RUN_FIGURE_MEMORY_REREAD, why);
	stall(b, RUN_FIGURE_MEMORY_STALL,
	      own_grown(b, then->has_memory_stall, now->has_memory_stall, then->memory_stall_us,
			now->memory_stall_us),
	      now->memory_stall_us - then->memory_stall_us);
	stall(b, RUN_FIGURE_IO_STALL,
	      own_grown(b, then->has_io_stall, now->has_io_stall, then->io_stall_us,
			now->io_stall_us),
	      now->io_stall_us - then->io_stall_us);
}

/* Of what the whole machine did, the share that its own cgroup did not; of nothing, none. */
static void elsewhere(struct run_figures *out, enum run_figure which, enum run_figure all,
		      enum run_figure own)
{
	if (out->known[all] && out->known[own] && out->value[all] <= 0)
		run_figure_set(out, which, 0);
	else if (out->known[all] && out->known[own])
		run_figure_share(out, which, fmax(out->value[all] - out->value[own], 0),
				 out->value[all]);
	else if (!out->known[own])
		run_figure_who(out, which, "%s", out->who[own]);
}

/* ---- limits of devices ---- */

/* The name of a device on which a volume lies; NULL: none does. */
static const char *volume_device(const struct machine_between *b, const struct cgroup_io *io)
{
	for (size_t i = 0; i < b->after->devices.n; i++) {
		const struct devices_entry *d = &b->after->devices.entry[i];

		if (d->major == io->major && d->minor == io->minor)
			return machine_volume_on(b->m, d->name) ? d->name : NULL;
	}
	return NULL;
}

static const struct cgroup_io *io_then(const struct machine_between *b, const struct cgroup_io *now)
{
	const struct cgroup_limits *g = &b->before->groups;

	for (size_t i = 0; i < g->n_ios; i++) {
		const struct cgroup_io *then = &g->device[i];

		if (!strcmp(then->path, now->path) && then->major == now->major &&
		    then->minor == now->minor && then->of == now->of && then->done <= now->done)
			return then;
	}
	return NULL;
}

static void say_io(const struct machine_between *b, const struct cgroup_io *io, double rate,
		   const char *device)
{
	static const struct {
		const char *does, *unit;
		double size;
	} of[CGROUP_N_IO] = {
		[CGROUP_READ_B] = { "reads", "MB/s", 1e6 },
		[CGROUP_WRITE_B] = { "writes", "MB/s", 1e6 },
		[CGROUP_READS] = { "reads", "times a second", 1 },
		[CGROUP_WRITES] = { "writes", "times a second", 1 },
	};

	run_figure_who(b->out, RUN_FIGURE_IO_LIMIT, "%s %.3g %s of %s, %.3g allowed by %s",
		       of[io->of].does, rate / of[io->of].size, of[io->of].unit, device,
		       (double)io->limit / of[io->of].size, io->path);
}

static void io_limits(const struct machine_between *b)
{
	const struct cgroup_limits *g = &b->after->groups;
	struct run_figures *out = b->out;
	bool is_new = false;

	if (!machine_has_devices(b->m)) {
		machine_no_device(b, RUN_FIGURE_IO_LIMIT);
		return;
	}
	for (size_t i = 0; i < g->n_ios; i++) {
		const struct cgroup_io *now = &g->device[i], *then = io_then(b, now);
		const char *device = volume_device(b, now);
		double rate, share;

		is_new |= device && !then;
		if (!then || !device || !now->limit)
			continue;
		rate = (double)(now->done - then->done) * MACHINE_NS_PER_S / b->ns;
		/* Before it is held back a request counts: in a short time more than the limit. */
		share = fmin(rate / (double)now->limit, 1);
		if (out->known[RUN_FIGURE_IO_LIMIT] && share <= out->value[RUN_FIGURE_IO_LIMIT])
			continue;
		run_figure_set(out, RUN_FIGURE_IO_LIMIT, share);
		say_io(b, now, rate, device);
	}
	if (!out->known[RUN_FIGURE_IO_LIMIT] && has_all(&g->io) && !is_new) {
		run_figure_set(out, RUN_FIGURE_IO_LIMIT, 0);
		run_figure_who(out, RUN_FIGURE_IO_LIMIT, "no limit");
	}
	only_from(out, RUN_FIGURE_IO_LIMIT, IO_LIMIT_LEAST, has_all(&g->io) && !is_new);
	/* It is an average: for part of the time the limit may have held the server back. */
	if (out->known[RUN_FIGURE_IO_LIMIT] && out->value[RUN_FIGURE_IO_LIMIT] >= IO_LIMIT_SOME &&
	    out->value[RUN_FIGURE_IO_LIMIT] < IO_LIMIT_LEAST) {
		out->known[RUN_FIGURE_IO_LIMIT] = false;
		run_figure_who(out, RUN_FIGURE_IO_LIMIT,
			       "an I/O limit was used in part: whether in bursts is not seen");
		return;
	}
	machine_groups_why_not(out, RUN_FIGURE_IO_LIMIT, no_limit(&g->io, "the limit is new"));
}

void machine_groups(const struct machine_between *b)
{
	quotas(b);
	memory_limits(b);
	own_group(b);
	elsewhere(b->out, RUN_FIGURE_MEMORY_ELSEWHERE, RUN_FIGURE_PRESSURE_MEMORY,
		  RUN_FIGURE_MEMORY_STALL);
	elsewhere(b->out, RUN_FIGURE_REREAD_ELSEWHERE, RUN_FIGURE_REREAD, RUN_FIGURE_MEMORY_REREAD);
	io_limits(b);
}
