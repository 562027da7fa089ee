/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any program: its calls, times, and what it does below its calls. Its protocol is not decoded,
 * so nothing is by request.
 */
#include "host/cgroup.h"
#include "host/procfs.h"
#include "kinds/kind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTED   8  /* of several programs, in a message */
#define COMM_LEN 15 /* the kernel cuts names */

/* Processes, the first the one that all others descend from, where there is such a one. */
struct processes {
	const char *exe; /* the name that is looked for */
	size_t n;
	pid_t pid[AFS_N_PROCESSES];
};

static bool is_listed(const struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->pid[i] == pid)
			return true;
	return false;
}

static int add(void *arg, pid_t pid)
{
	struct processes *p = arg;

	if (pid != getpid() && p->n < AFS_N_PROCESSES && !is_listed(p, pid))
		p->pid[p->n++] = pid;
	return 0;
}

static bool has_name(pid_t pid, const char *name)
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

/* One file may be several programs, by the name under which it was called: names come first. */
static int add_named(void *arg, pid_t pid)
{
	struct processes *p = arg;

	return has_name(pid, p->exe) ? add(p, pid) : 0;
}

static int add_running(void *arg, pid_t pid)
{
	struct processes *p = arg;

	return runs_file(pid, p->exe) ? add(p, pid) : 0;
}

/* Brings the processes whose parent is not among them to the front; returns how many there are. */
static size_t tops_first(struct processes *p)
{
	struct processes *old = malloc(sizeof(*old));
	struct procstat st;
	size_t n = 0, end = p->n;

	if (!old)
		return p->n;
	*old = *p;
	for (size_t i = 0; i < old->n; i++) {
		if (procstat_read(&st, old->pid[i]) || !is_listed(old, st.ppid))
			p->pid[n++] = old->pid[i];
		else
			p->pid[--end] = old->pid[i];
	}
	free(old);
	return n;
}

static int refuse_several(const struct processes *p, size_t n, struct err *e)
{
	char text[ERR_TEXT_MAX] = "";
	struct procstat st;

	for (size_t i = 0; i < n && i < LISTED; i++)
		servers_append(text, "%s%d %s", i ? ", " : "", p->pid[i],
			       procstat_read(&st, p->pid[i]) ? "" : st.comm);
	if (n > LISTED)
		servers_append(text, ", ...");
	return err_set(e, -ENOTUNIQ, "%zu processes are called %s (%s): name one with --pid PID", n,
		       p->exe, text);
}

static int find_exe(struct processes *p, const char *name, struct err *e)
{
	size_t n;

	p->exe = name;
	procfs_each(add_named, p);
	if (!p->n)
		procfs_each(add_running, p);
	if (!p->n)
		return err_set(e, -ENXIO, "no process is called %s: check the name with ps -e%s",
			       name, procfs_hides());
	n = tops_first(p);
	return n > 1 ? refuse_several(p, n, e) : 0;
}

static int find_unit(struct processes *p, const char *unit, struct err *e)
{
	int r = cgroup_each_process(unit, add, p);

	if (r)
		return err_set(
		    e, -ENXIO,
		    "no processes of unit %s: %s; systemctl status %s shows its "
		    "cgroup, whose path can be given instead",
		    unit, r == -ENOENT ? "there is no cgroup of that name" : strerror(-r), unit);
	if (!p->n)
		return err_set(e, -ENXIO, "unit %s has no process: is it running?", unit);
	tops_first(p);
	return 0;
}

static int find_pid(struct processes *p, pid_t pid, struct err *e)
{
	struct procstat st;

	if (pid == getpid())
		return err_set(e, -ENXIO, "process %d is this afpscope itself", pid);
	if (procstat_read(&st, pid))
		return err_set(e, -ESRCH, "there is no process %d%s", pid, procfs_hides());
	return add(p, pid);
}

static int find_processes(struct processes *p, struct kind_found *out, const struct kind_wish *w,
			  struct err *e)
{
	int r;

	if (w->pid)
		return find_pid(p, (pid_t)w->pid, e);
	if (w->exe)
		return find_exe(p, w->exe, e);
	if (w->unit)
		return find_unit(p, w->unit, e);
	if (!w->port)
		return err_set(e, -EINVAL,
			       "--kind any: name the program with --pid, --port, --exe or --unit");
	r = servers_of_port(&out->servers, (uint16_t)w->port, e);
	return r ? r : find_pid(p, out->servers.entry[0].master, e);
}

static int find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct processes *p = calloc(1, sizeof(*p));
	int r = p ? find_processes(p, out, w, e) : err_set(e, -ENOMEM, "out of memory");

	if (!r)
		target_processes(&out->target, p->pid, p->n);
	free(p);
	return r;
}

static int describe(const struct kind_found *f, struct run *r)
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
	.find = find,
	.describe = describe,
};
