/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The devices on which the volumes lie. */
#include "doctor/machine/machine_priv.h"
#include "run/kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define IN_MEMORY 8 /* times what a device moved may be on its way there */

const struct filesystem *machine_volume_on(const struct doctor_machine *m, const char *device)
{
	for (size_t i = 0; i < m->n_volumes; i++)
		for (size_t k = 0; k < m->volume[i].below.n; k++)
			if (!strcmp(m->volume[i].below.name[k], device))
				return &m->volume[i];
	return NULL;
}

bool machine_has_devices(const struct doctor_machine *m)
{
	for (size_t i = 0; i < m->n_volumes; i++)
		if (m->volume[i].below.n)
			return true;
	return false;
}

void machine_no_device(const struct machine_between *b, enum run_figure which)
{
	const struct filesystem *fs = b->m->volume;

	if (b->out->known[which])
		return;
	if (!b->m->n_volumes)
		run_figure_who(b->out, which, "the server's volumes are not known");
	else if (!*fs->type)
		run_figure_who(b->out, which, "%s: %s", fs->path, strerror(-fs->error));
	else
		run_figure_who(b->out, which, "%s at %s shows no device", fs->type, fs->path);
}

/* What a device has done between the looks. */
struct disk_work {
	const char *name;
	double busy_ms, ms, n, queue_ms, bytes;
};

static bool disk_work(struct disk_work *out, const struct machine_between *b,
		      const struct devices_entry *now)
{
	const struct devices_entry *then = devices_find(&b->before->devices, now->name);

	if (!then || then->busy_ms > now->busy_ms || then->n > now->n || then->ms > now->ms)
		return false;
	*out = (struct disk_work) { .name = now->name,
				    .busy_ms = (double)(now->busy_ms - then->busy_ms),
				    .ms = (double)(now->ms - then->ms),
				    .n = (double)(now->n - then->n),
				    .queue_ms = (double)(now->queue_ms - then->queue_ms),
				    .bytes = (double)(now->b - then->b) };
	return true;
}

/* ---- others on the same device ---- */

struct disk_users {
	bool known; /* of the server, what it read and wrote */
	double server, others;
	double most;
	const struct processes_entry *who;
};

static void add_user(struct disk_users *u, const struct machine_between *b,
		     const struct processes_entry *p)
{
	const struct processes_entry *then = machine_then(b, p);
	enum machine_whose whose = machine_whose(b, p);
	double bytes;

	if (whose == MACHINE_SERVER && (!p->has_io || (then && !then->has_io)))
		u->known = false;
	/* The first process comes with the whole lives of those that it has adopted. */
	if (!p->has_io || (then && !then->has_io) || p->pid == 1)
		return;
	bytes = (double)p->io_b - (then ? (double)then->io_b : 0);
	if (bytes <= 0)
		return;
	if (whose == MACHINE_SERVER)
		u->server += bytes;
	if (whose != MACHINE_OTHER)
		return;
	u->others += bytes;
	if (bytes > u->most) {
		u->most = bytes;
		u->who = p;
	}
}

/* Those that have ended come, with their whole lives, with those who waited for them. */
static void take_off_ended(struct disk_users *u, const struct machine_between *b)
{
	for (size_t i = 0; i < b->before->processes.n; i++) {
		const struct processes_entry *then = &b->before->processes.entry[i];
		const struct processes_entry *parent = then->io_b ? machine_left_to(b, then) : NULL;
		enum machine_whose whose = parent ? machine_whose(b, parent) : MACHINE_KERNEL;

		if (whose == MACHINE_SERVER)
			u->server = fmax(u->server - (double)then->io_b, 0);
		if (whose == MACHINE_OTHER)
			u->others = fmax(u->others - (double)then->io_b, 0);
	}
}

static bool is_one_volume(const struct doctor_machine *m, const char *a, const char *b)
{
	const struct filesystem *fs;
	bool has_a, has_b;

	for (size_t i = 0; i < m->n_volumes; i++) {
		fs = &m->volume[i];
		has_a = has_b = false;
		for (size_t k = 0; k < fs->below.n; k++) {
			has_a |= !strcmp(fs->below.name[k], a);
			has_b |= !strcmp(fs->below.name[k], b);
		}
		if (has_a && has_b)
			return true;
	}
	return false;
}

/* What devices moved that are no part of a volume on this one. */
static double bytes_elsewhere(const struct machine_between *b, const char *name)
{
	const struct devices *all = &b->after->devices;
	struct disk_work one;
	double bytes = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct devices_entry *other = &all->entry[i];

		if (other->lowest && strcmp(other->name, name) != 0 &&
		    !is_one_volume(b->m, name, other->name) && disk_work(&one, b, other))
			bytes += one.bytes;
	}
	return bytes;
}

/* What each process moved, of all devices together. */
static struct disk_users disk_users(const struct machine_between *b)
{
	struct disk_users u = { .known = true };

	for (size_t i = 0; i < b->after->processes.n; i++)
		add_user(&u, b, &b->after->processes.entry[i]);
	take_off_ended(&u, b);
	return u;
}

/*
 * What programs read and write is known of all devices together, and a file system's journal makes
 * writes that no program made: so neither what is left of the device's bytes nor what the others
 * moved is all theirs, and the lesser of both is the most that may be. What other devices moved may
 * be theirs, too, and is the least of what went to them: the rest is still in memory. Where that
 * leaves less than half of what there is, it is not known: NAN.
 */
static double others_share(const struct machine_between *b, const struct disk_users *u,
			   const struct disk_work *d)
{
	double left = fmax(d->bytes - u->server, 0), most = fmin(left, u->others);

	if (most > 0 && fmin(left, u->others - IN_MEMORY * bytes_elsewhere(b, d->name)) < most / 2)
		return NAN;
	return d->bytes > 0 ? most / d->bytes : 0;
}

static void disk_others(const struct machine_between *b, const struct disk_work *d)
{
	struct disk_users u = disk_users(b);
	double share;

	if (!u.known || !b->before->all_processes) {
		run_figure_who(b->out, RUN_FIGURE_DEVICE_OTHERS,
			       u.known ? "processes outside this container cannot be seen"
				       : "no right to see what the server reads and writes");
		return;
	}
	share = others_share(b, &u, d);
	if (isnan(share)) {
		run_figure_who(b->out, RUN_FIGURE_DEVICE_OTHERS,
			       "which program used which disk is not known, and another disk was "
			       "busy, too");
		return;
	}
	run_figure_set(b->out, RUN_FIGURE_DEVICE_OTHERS, share);
	if (u.who && u.others > 0)
		run_figure_who(b->out, RUN_FIGURE_DEVICE_OTHERS, "%s%s (pid %d): %.3g MB/s",
			       run_kind_another(b->out->kind, u.who->st.comm), u.who->st.comm,
			       u.who->pid, fmin(u.most, u.others) / 1e6 * MACHINE_NS_PER_S / b->ns);
}

/* ---- the one that counts ---- */

/* A RAID below a volume; NULL: none is being rebuilt. */
static const char *being_rebuilt(const struct machine_between *b, const struct filesystem *fs,
				 char *what, size_t len)
{
	for (size_t k = 0; k < fs->below.n; k++)
		if (devices_rebuild(what, len, b->after->mdstat, fs->below.name[k]))
			return fs->below.name[k];
	return NULL;
}

/* A RAID that is being rebuilt below a volume on this device, which keeps it busy. */
static const char *rebuilt_on(const struct machine_between *b, const char *device, char *what,
			      size_t len)
{
	const char *name = NULL;

	for (size_t i = 0; !name && i < b->m->n_volumes; i++)
		for (size_t k = 0; !name && k < b->m->volume[i].below.n; k++)
			if (!strcmp(b->m->volume[i].below.name[k], device))
				name = being_rebuilt(b, &b->m->volume[i], what, len);
	return name;
}

static void rebuild(const struct machine_between *b, const char *device)
{
	char what[64];
	const char *name = rebuilt_on(b, device, what, sizeof(what));

	run_figure_set(b->out, RUN_FIGURE_DEVICE_REBUILD, name != NULL);
	if (name)
		run_figure_who(b->out, RUN_FIGURE_DEVICE_REBUILD, "%s %s", name, what);
}

static bool disk_is_busy(const struct machine_between *b, const struct disk_work *d)
{
	return d->busy_ms * 1e6 >= DEVICE_BUSY_MUCH * b->ns;
}

static bool disk_is_slow(const struct disk_work *d)
{
	return d->n > 0 && d->ms * 1e6 >= DEVICE_TIME_LONG * d->n;
}

/* As the causes need it: one that is busy and slow is not hidden by one that is busier and fast,
 * nor one that is rebuilt by another. */
static unsigned int disk_fit(const struct machine_between *b, const struct disk_work *d)
{
	char what[64];

	if (!disk_is_busy(b, d))
		return 0;
	return 2u * (rebuilt_on(b, d->name, what, sizeof(what)) != NULL) + disk_is_slow(d);
}

static void disk_unlike(const struct machine_between *b, enum run_figure which,
			const struct disk_work *other)
{
	b->out->known[which] = false;
	run_figure_who(b->out, which, "%s (volume %s), another disk, was busy, too", other->name,
		       machine_volume_on(b->m, other->name)->path);
}

/*
 * The figures are of one disk: where another that is busy, too, is of a cause that this one is not,
 * they do not rule that cause out.
 */
static void disks_beside(const struct machine_between *b, const struct disk_work *chosen)
{
	const struct disk_users u = disk_users(b);
	struct run_figures *out = b->out;
	struct disk_work d;

	for (size_t i = 0; i < b->after->devices.n; i++) {
		const char *name = b->after->devices.entry[i].name;

		if (!strcmp(name, chosen->name) || !machine_volume_on(b->m, name) ||
		    is_one_volume(b->m, name, chosen->name) ||
		    !disk_work(&d, b, &b->after->devices.entry[i]) || !disk_is_busy(b, &d))
			continue;
		if (disk_is_slow(&d) && !disk_is_slow(chosen))
			disk_unlike(b, RUN_FIGURE_DEVICE_TIME, &d);
		if (out->known[RUN_FIGURE_DEVICE_OTHERS] &&
		    out->value[RUN_FIGURE_DEVICE_OTHERS] < DEVICE_OTHERS_MUCH &&
		    !(others_share(b, &u, &d) < DEVICE_OTHERS_MUCH))
			disk_unlike(b, RUN_FIGURE_DEVICE_OTHERS, &d);
	}
}

static void no_devices(const struct machine_between *b)
{
	static const enum run_figure which[] = { RUN_FIGURE_DEVICE_BUSY, RUN_FIGURE_DEVICE_TIME,
						 RUN_FIGURE_DEVICE_QUEUE, RUN_FIGURE_DEVICE_OTHERS,
						 RUN_FIGURE_DEVICE_REBUILD };

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++)
		machine_no_device(b, which[i]);
}

void machine_disks(const struct machine_between *b)
{
	struct disk_work most = { .busy_ms = -1 }, one;
	unsigned int fit, best = 0;

	if (!machine_has_devices(b->m)) {
		no_devices(b);
		return;
	}
	for (size_t i = 0; i < b->after->devices.n; i++) {
		const struct devices_entry *d = &b->after->devices.entry[i];

		if (!machine_volume_on(b->m, d->name) || !disk_work(&one, b, d))
			continue;
		fit = disk_fit(b, &one);
		if (fit < best || (fit == best && one.busy_ms <= most.busy_ms))
			continue;
		most = one;
		best = fit;
	}
	if (most.busy_ms >= 0) {
		double ms = b->ns / 1e6;

		run_figure_share(b->out, RUN_FIGURE_DEVICE_BUSY, fmin(most.busy_ms, ms), ms);
		run_figure_who(b->out, RUN_FIGURE_DEVICE_BUSY, "%s (volume %s)", most.name,
			       machine_volume_on(b->m, most.name)->path);
		run_figure_share(b->out, RUN_FIGURE_DEVICE_TIME, most.ms * 1e6, most.n);
		run_figure_share(b->out, RUN_FIGURE_DEVICE_QUEUE, most.queue_ms, ms);
		disk_others(b, &most);
		rebuild(b, most.name);
		disks_beside(b, &most);
	}
}
