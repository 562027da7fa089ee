/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_CGROUP_H
#define HOST_CGROUP_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/*
 * Calls fn for each process of a systemd unit, those of the cgroups below its own included, until
 * it returns other than 0, which is returned. name: "smbd", "smbd.service", or with a slash the
 * path of a cgroup ("system.slice/smbd.service", also with /sys/fs/cgroup in front). -ENXIO: there
 * is no such cgroup, or it has no process; -ENOTUNIQ: several units with processes have that name
 * (system and users have units of their own). e then says so.
 */
int cgroup_each_process(const char *name, int (*fn)(void *arg, pid_t pid), void *arg,
			struct err *e);

/*
 * The systemd unit (a service or a scope) that the process pid is in, as systemctl names it; empty:
 * in none, or not readable.
 */
void cgroup_unit(char *out, size_t len, pid_t pid);
/* The same of the text of /proc/PID/cgroup, which is changed. */
void cgroup_unit_in(char *out, size_t len, char *text);

/*
 * The container that it is in, by the names of its cgroups: as docker ps and podman ps list it (the
 * first 12 digits of its id), or as lxc-ls and machinectl do. Empty: in none that is known, or not
 * readable.
 */
void cgroup_container(char *out, size_t len, pid_t pid);
/* The same of the text of /proc/PID/cgroup, which is changed. */
void cgroup_container_in(char *out, size_t len, char *text);

#endif
