/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any program: its calls, times, and what it does below its calls. Its protocol is not decoded,
 * so nothing is by request.
 */
#include "base/vec.h"
#include "host/cgroup.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "kinds/kind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_LEN 15 /* the kernel cuts names */

/* Processes, the first the one that all others descend from, where there is such a one. */
struct processes {
	size_t n;
	pid_t pid[AFS_N_PROCESSES];
};

static bool any_is_listed(const struct processes *p, pid_t pid)
{
	return VEC_FIND(one, p->pid, p->n, *one == pid);
}

static int any_add(void *arg, pid_t pid)
{
	struct processes *p = arg;

	if (pid != getpid() && p->n < AFS_N_PROCESSES && !any_is_listed(p, pid))
		p->pid[p->n++] = pid;
	return 0;
}

static bool any_has_name(pid_t pid, const char *name)
{
	struct procstat st;

	return !procstat_read(&st, pid) && procstat_lives(&st) &&
	       !strncmp(st.comm, name, COMM_LEN) && strlen(st.comm) == strnlen(name, COMM_LEN);
}

static bool runs_file(pid_t pid, const char *name)
{
	char path[PATH_MAX], *base;

	procfs_link(path, sizeof(path), pid, "exe");
	base = strrchr(path, '/');
	return base && (!strcmp(base + 1, name) || !strcmp(path, name));
}

static void add_fitting(struct processes *p, bool (*fits)(pid_t pid, const char *name),
			const char *name)
{
	struct procfs_numbers process;

	procfs_processes(&process);
	while (procfs_next(&process))
		if (fits(process.number, name))
			any_add(p, process.number);
}

/* Brings the processes whose parent is not among them to the front; returns how many there are. */
static size_t tops_first(struct processes *p)
{
	struct procstat st;
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		pid_t pid = p->pid[i];

		if (!procstat_read(&st, pid) && any_is_listed(p, st.ppid))
			continue;
		p->pid[i] = p->pid[n];
		p->pid[n++] = pid;
	}
	return n;
}

static int find_exe(struct processes *p, const char *name, struct err *e)
{
	char what[128];
	size_t n;

	/* One file may be several programs, by the name under which it was called. */
	add_fitting(p, any_has_name, name);
	if (!p->n)
		add_fitting(p, runs_file, name);
	if (!p->n)
		return err_set(e, -ENXIO, "no process is called %s: check the name with ps -e%s",
			       name, procfs_hides());
	n = tops_first(p);
	snprintf(what, sizeof(what), "%zu processes are called %.64s", n, name);
	return n > 1 ? owner_refuse(p->pid, n, what, "--pid PID", e) : 0;
}

static int find_pid(struct processes *p, pid_t pid, struct err *e)
{
	struct procstat st;

	if (pid == getpid())
		return err_set(e, -ENXIO, "process %d is this afpscope itself", pid);
	if (procstat_read(&st, pid))
		return err_set(e, -ESRCH, "there is no process %d%s", pid, procfs_hides());
	return any_add(p, pid);
}

/* Several that listen on one port, of one program; and what has started them, if it runs it. */
static int find_workers(struct processes *p, const struct servers *s, struct err *e)
{
	struct procstat st, up;
	bool one = true;

	for (size_t i = 0; i < s->n; i++) {
		const struct servers_entry *it = &s->entry[i];

		any_add(p, it->master);
		one &= it->owner == s->entry[0].owner && !strcmp(it->comm, s->entry[0].comm);
	}
	if (!one)
		return owner_refuse(p->pid, p->n, "several programs listen on that port",
				    "--pid PID", e);
	if (p->n > 1 && !procstat_read(&st, p->pid[0]) && !procstat_read(&up, st.ppid) &&
	    !strcmp(up.comm, st.comm))
		any_add(p, st.ppid);
	tops_first(p);
	return 0;
}

static int find_processes(struct processes *p, struct kind_found *out, const struct kind_wish *w,
			  struct err *e)
{
	int r;

	if (w->pid)
		return find_pid(p, (pid_t)w->pid, e);
	if (w->exe)
		return find_exe(p, w->exe, e);
	if (w->unit) {
		r = cgroup_each_process(w->unit, any_add, p, e);
		tops_first(p);
		return r;
	}
	if (!w->port)
		return err_set(e, -EINVAL,
			       "--kind any: name the program with --pid, --port, --exe or --unit");
	r = servers_look(&out->servers, 0, (uint16_t)w->port, e);
	return r ? r : find_workers(p, &out->servers, e);
}

static int any_find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct processes *p = calloc(1, sizeof(*p));
	int r = p ? find_processes(p, out, w, e) : err_set(e, -ENOMEM, "out of memory");

	if (!r)
		target_processes(&out->target, p->pid, p->n);
	free(p);
	return r;
}

static int any_describe(const struct kind_found *f, struct run *r)
{
	char path[PATH_MAX];
	struct procstat st;
	int e = 0;

	if (!procstat_read(&st, f->target.server))
		e = run_note(&r->server, "name", "%s", st.comm);
	if (!e && !procfs_link(path, sizeof(path), f->target.server, "exe"))
		e = run_note(&r->server, "program", "%s", path);
	return e;
}

const struct kind kind_any = {
	.is = { .name = "any",
		.role = { [AFS_ROLE_SERVER] = "server", [AFS_ROLE_BACKEND] = "backend" },
		.has_threads = true },
	.find = any_find,
	.describe = any_describe,
};
