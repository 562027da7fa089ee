/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes which processes these are, and their allowed and last CPUs, the main cause of scatter. */

#include "watch/watch_priv.h"

#include "host/proc/procfs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void cpus_of(char *out, size_t len, pid_t pid)
{
	if (procfs_status(out, len, pid, "Cpus_allowed_list"))
		snprintf(out, len, "?");
}

/*
 * Notes which start of the server this is: that of the process that sessions descend from. Runs
 * with the same start have the same text; unknown if that process has ended.
 */
static int note_start(struct run *r, pid_t pid, const struct procstat *st)
{
	uint64_t started = st->started;
	struct procstat parent;
	char key[48];

	snprintf(key, sizeof(key), "%s.start", run_role_name(r, AFS_ROLE_SERVER));
	if (run_note_find(&r->server, key))
		return 0;
	if (st->ppid > 1 && !procstat_read(&parent, st->ppid) && !strcmp(parent.comm, st->comm)) {
		pid = st->ppid;
		started = parent.started;
	} else if (getpgid(pid) != pid) {
		/* A session that has outlived the server is not a process group leader. */
		return 0;
	}
	return run_note(&r->server, key, "pid %d, %llu ticks after boot", pid,
			(unsigned long long)started);
}

int place_note(struct run *r, const struct target_process *p)
{
	const char *name = run_role_name(r, p->role);
	char cpus[128], key[48];
	struct procstat st;
	uint32_t real, effective;
	int err = 0;

	if (procstat_read(&st, p->pid) || procfs_uids(&real, &effective, p->pid))
		return run_note(&r->server, name, "pid %d, has ended", p->pid);
	if (p->foreign) {
		name = st.comm;
		if (!run_note_find(&r->server, RUN_BACKEND_PROGRAM))
			err = run_note(&r->server, RUN_BACKEND_PROGRAM, "%s", name);
	}
	err |= run_note(&r->server, name, "pid %d (%s), user id %u, effective %u", p->pid, st.comm,
			real, effective);
	if (p->role == AFS_ROLE_SERVER)
		err |= note_start(r, p->pid, &st);
	cpus_of(cpus, sizeof(cpus), p->pid);
	snprintf(key, sizeof(key), "%s.cpus", name);
	return err | run_note(&r->server, key, "allowed %s, last on %d", cpus, st.cpu);
}

int place_note_self(struct run *r)
{
	struct procstat st;
	char cpus[128];

	cpus_of(cpus, sizeof(cpus), 0);
	if (procstat_read(&st, getpid()))
		return run_note(&r->environment, "client.cpus", "allowed %s", cpus);
	return run_note(&r->environment, "client.cpus", "allowed %s, last on %d", cpus, st.cpu);
}
