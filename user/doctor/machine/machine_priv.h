/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_MACHINE_MACHINE_PRIV_H
#define DOCTOR_MACHINE_MACHINE_PRIV_H

#include "doctor/machine/machine.h"

#define MACHINE_NS_PER_S 1e9

struct machine_between {
	struct run_figures *out;
	const struct doctor_machine *m;
	const struct machine *before, *after;
	double ns;
};

/* Whom a process's work counts for. */
enum machine_whose { MACHINE_SERVER, MACHINE_SELF, MACHINE_KERNEL, MACHINE_OTHER, MACHINE_N_WHOSE };
enum machine_whose machine_whose(const struct machine_between *b, const struct processes_entry *p);

/* The same process in the look before; NULL: it was not there. */
const struct processes_entry *machine_then(const struct machine_between *b,
					   const struct processes_entry *p);

/* A volume on a device; NULL: none. */
const struct filesystem *machine_volume_on(const struct doctor_machine *m, const char *device);
/* Whether at least one volume lies on a device. */
bool machine_has_devices(const struct doctor_machine *m);
/* Says why a figure of devices is not known: what the volumes lie on. */
void machine_no_device(const struct machine_between *b, enum run_figure which);

/*
 * Of a process of the first look that has ended: its parent, or the parent's and so on, that lives;
 * what it had used may have been added to that one's. NULL: it lives, or nobody.
 */
const struct processes_entry *machine_left_to(const struct machine_between *b,
					      const struct processes_entry *then);

/*
 * Ticks that processes used between the looks that have ended since, by who waited for them or for
 * those who did: [i] belongs to the i-th process of the second look. Whom the first process has
 * adopted, whatever had started it, is nobody's. 0 or -ENOMEM; *out is to be freed in both cases.
 */
int machine_ended(double **out, const struct machine_between *b);

/* Of its cgroup: CPU quota, memory, limits of devices. */
void machine_groups(const struct machine_between *b);
/* Of the devices on which the volumes lie. */
void machine_disks(const struct machine_between *b);

#endif
