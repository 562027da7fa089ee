/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/place.h"

#include "watch/procfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void cpus_of(char *out, size_t len, pid_t pid)
{
	if (procfs_status(out, len, pid, "Cpus_allowed_list"))
		snprintf(out, len, "?");
}

int place_note(struct run *r, pid_t pid, enum afs_role role)
{
	char uids[64], cpus[128], key[32];
	struct procfs_stat st;
	unsigned int real = 0, effective = 0;
	int err;

	if (procfs_stat(&st, pid) || procfs_status(uids, sizeof(uids), pid, "Uid"))
		return run_note(&r->server, ledger_role_name(role), "pid %d, has ended", pid);
	sscanf(uids, "%u %u", &real, &effective);
	err = run_note(&r->server, ledger_role_name(role), "pid %d (%s), user id %u, effective %u",
		       pid, st.comm, real, effective);
	if (err)
		return err;
	cpus_of(cpus, sizeof(cpus), pid);
	snprintf(key, sizeof(key), "%s.cpus", ledger_role_name(role));
	return run_note(&r->server, key, "allowed %s, last on %d", cpus, st.cpu);
}

int place_note_self(struct run *r)
{
	struct procfs_stat st;
	char cpus[128];

	cpus_of(cpus, sizeof(cpus), 0);
	if (procfs_stat(&st, getpid()))
		return run_note(&r->environment, "client.cpus", "allowed %s", cpus);
	return run_note(&r->environment, "client.cpus", "allowed %s, last on %d", cpus, st.cpu);
}
