/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/names.h"

#include "host/cgroup.h"
#include "host/procfs.h"

#include <stdio.h>

/* A path of its root as one of this machine, where that is another one. */
static void name_conf(struct run_figures *out, pid_t pid, const char *conf)
{
	uint64_t own = procfs_identity(0, "root"), its = procfs_identity(pid, "root");
	char path[RUN_NAME_MAX];

	snprintf(path, sizeof(path), "%s", conf);
	if (own && its && own != its)
		procfs_inside(path, sizeof(path), pid, conf);
	run_name_set(out, RUN_NAME_CONF, "%s", path);
}

void names_look(struct run_figures *out, const struct kind_found *found)
{
	const struct servers_entry *s = found->servers.n ? &found->servers.entry[0] : NULL;
	pid_t pid = s && s->master ? s->master : found->target.server;
	char unit[RUN_NAME_MAX];

	if (pid)
		run_name_set(out, RUN_NAME_PID, "%d", pid);
	if (s && s->n_ports)
		run_name_set(out, RUN_NAME_PORT, "%u", s->port[0]);
	else if (found->target.n_ports)
		run_name_set(out, RUN_NAME_PORT, "%u", found->target.port[0].port);
	cgroup_unit(unit, sizeof(unit), pid);
	run_name_set(out, RUN_NAME_UNIT, "%s", unit);
	if (s && s->conf[0] && pid)
		name_conf(out, pid, s->conf);
	if (s && s->cnid_metad)
		run_name_set(out, RUN_NAME_CNID_METAD, "%d", s->cnid_metad);
}
