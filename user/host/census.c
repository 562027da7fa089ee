/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc once; servers.c interprets it. */

#include "host/census.h"

#include "base/text.h"
#include "base/vec.h"
#include "host/owner.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct census *c;
	const char *const *names;
	pid_t pid;
	uint16_t port;
};

int census_add_hold(struct census *c, size_t process, size_t socket)
{
	/* One process may hold it twice. */
	for (size_t i = c->n_holds; i-- > 0 && c->hold[i].process == process;)
		if (c->hold[i].socket == socket)
			return 0;
	return VEC_PUSH(c->hold, c->n_holds, (struct census_hold) { process, socket });
}

size_t census_find(const struct census *c, pid_t pid)
{
	const struct census_process key = { .pid = pid }, *found = NULL;

	if (c->n_processes)
		found = bsearch(&key, c->process, c->n_processes, sizeof(key), procstat_by_pid);
	return found ? (size_t)(found - c->process) : c->n_processes;
}

void census_below(char *out, size_t len, const char *path, const char *root)
{
	const char *below = text_below(path, root);

	snprintf(out, len, "%.*s", (int)len - 1, below ? below : path);
}

static void census_link(char *out, size_t len, pid_t pid, const char *name, const char *root)
{
	char text[PATH_MAX];

	if (!procfs_link(text, sizeof(text), pid, name))
		census_below(out, len, text, root);
}

static void read_places(struct census_process *p)
{
	char root[PATH_MAX];

	if (procfs_link(root, sizeof(root), p->pid, "root"))
		return;
	p->root = procfs_identity(p->pid, "root");
	census_link(p->exe, sizeof(p->exe), p->pid, "exe", root);
	census_link(p->cwd, sizeof(p->cwd), p->pid, "cwd", root);
}

void census_cwd(char *out, size_t len, pid_t pid)
{
	char root[PATH_MAX];

	*out = '\0';
	if (!procfs_link(root, sizeof(root), pid, "root"))
		census_link(out, len, pid, "cwd", root);
}

static bool census_is_wanted(const struct reading *r, const struct census_process *p)
{
	if (p->pid == r->pid)
		return true;
	for (size_t i = 0; r->names[i]; i++)
		if (!strcmp(p->comm, r->names[i]))
			return true;
	return false;
}

/* Whose it is, and where: too many calls to be made for each process of a large host. */
static void read_whose(struct census_process *p)
{
	if (p->looked)
		return;
	p->looked = true;
	p->has_uid = !procfs_uids(&p->owner, &p->uid, p->pid);
	if (!p->has_uid)
		p->owner = OWNER_UNKNOWN;
	p->net = procfs_identity(p->pid, "ns/net");
	read_places(p);
}

void census_look(struct census_process *p)
{
	read_whose(p);
	procfs_argument(p->conf, sizeof(p->conf), p->pid, "-F");
}

static int census_read_process(void *arg, pid_t pid)
{
	struct census_process p = { .pid = pid };
	struct reading *r = arg;
	struct procstat st;

	if (procstat_read(&st, pid) || !procstat_lives(&st) || st.is_kernel)
		return 0;
	p.ppid = st.ppid;
	p.started = st.started;
	snprintf(p.comm, sizeof(p.comm), "%s", st.comm);
	p.owner = OWNER_UNKNOWN;
	if (census_is_wanted(r, &p))
		read_whose(&p);
	return VEC_PUSH(r->c->process, r->c->n_processes, p);
}

/* Those that sockets_read() or sockets_read_of() returned r for, of a network namespace. */
static int add_census_sockets(struct census *c, struct sockets *all, uint64_t net, int r)
{
	for (size_t i = 0; i < all->n && !r; i++) {
		const struct census_socket s = { .tcp = all->entry[i], .net = net };

		if (s.tcp.ino && s.tcp.local.port)
			r = VEC_PUSH(c->socket, c->n_sockets, s);
	}
	sockets_fini(all);
	return r;
}

/* This namespace, and those of the wanted processes. One that has just ended is left out. */
static int read_sockets(struct reading *r)
{
	struct census *c = r->c;
	struct sockets all;
	int err;

	err = sockets_read(&all, NULL);
	err = add_census_sockets(c, &all, c->net, err);
	for (size_t i = 0; i < c->n_processes && !err; i++) {
		const struct census_process *p = &c->process[i];

		if (!p->net || p->net == c->net || !census_is_wanted(r, p) ||
		    VEC_FIND(one, c->process, i, one->net == p->net && census_is_wanted(r, one)))
			continue;
		err = sockets_read_of(&all, p->pid, NULL);
		err = add_census_sockets(c, &all, p->net, err);
		err = err == -ENOMEM ? err : 0;
	}
	if (c->n_sockets)
		qsort(c->socket, c->n_sockets, sizeof(*c->socket), sockets_by_inode);
	return err;
}

static int read_holds(struct census *c)
{
	struct census_socket key = { 0 }, *found;
	struct procfs_numbers fd;
	int r = 0, err;

	for (size_t i = 0; i < c->n_processes && !r; i++) {
		err = procfs_fds(&fd, c->process[i].pid);
		c->process[i].denied = err == -EACCES || err == -EPERM;
		while (!r && procfs_next(&fd)) {
			key.tcp.ino = procfs_fd_socket(c->process[i].pid, fd.number);
			if (!key.tcp.ino || !c->n_sockets)
				continue;
			found = bsearch(&key, c->socket, c->n_sockets, sizeof(key),
					sockets_by_inode);
			if (found)
				r = census_add_hold(c, i, (size_t)(found - c->socket));
		}
		procfs_end(&fd);
	}
	return r;
}

/* A server holds a socket; its sessions and what started it are its children and its parent. */
static int read_related(struct census *c)
{
	bool *holds = calloc(c->n_processes + 1, sizeof(*holds));
	size_t up;

	if (!holds)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_holds; i++)
		holds[c->hold[i].process] = true;
	for (size_t i = 0; i < c->n_processes; i++)
		holds[i] |= c->process[i].looked;
	for (size_t i = 0; i < c->n_processes; i++) {
		up = c->process[i].ppid > 1 ? census_find(c, c->process[i].ppid) : c->n_processes;
		if (holds[i] || holds[up])
			read_whose(&c->process[i]);
		if (holds[i] && up < c->n_processes)
			read_whose(&c->process[up]);
	}
	free(holds);
	return 0;
}

/*
 * Command lines may contain secrets, and reading one can block on a process that is stuck: reads
 * only those of the wanted processes and of possible servers.
 */
static void read_confs(struct reading *r)
{
	struct census *c = r->c;
	size_t wanted = census_find(c, r->pid);
	/* The process may be a session: then its parent is the server. */
	pid_t above = wanted < c->n_processes ? c->process[wanted].ppid : 0;
	bool listens;

	for (size_t i = 0, k = 0; i < c->n_processes; i++) {
		struct census_process *p = &c->process[i];

		for (listens = false; k < c->n_holds && c->hold[k].process == i; k++)
			listens |= c->socket[c->hold[k].socket].tcp.listens &&
				   c->socket[c->hold[k].socket].tcp.local.port == r->port;
		if (listens || p->pid == above || census_is_wanted(r, p))
			procfs_argument(p->conf, sizeof(p->conf), p->pid, "-F");
	}
}

int census_read(struct census *out, const char *const *names, pid_t pid, uint16_t port,
		struct err *e)
{
	struct reading r = { .c = out, .names = names, .pid = pid, .port = port };
	int err;

	memset(out, 0, sizeof(*out));
	out->net = procfs_identity(0, "ns/net");
	err = procfs_each(census_read_process, &r);
	if (err)
		return err_set(e, err, "cannot list processes: /proc: %s", strerror(-err));
	if (out->n_processes)
		qsort(out->process, out->n_processes, sizeof(*out->process), procstat_by_pid);
	err = read_sockets(&r);
	if (err)
		return err_set(e, err, "cannot list sockets: /proc/net/tcp: %s", strerror(-err));
	err = read_holds(out);
	err = err ? err : read_related(out);
	if (!err)
		read_confs(&r);
	return err ? err_set(e, err, "out of memory") : 0;
}

void census_fini(struct census *c)
{
	free(c->process);
	free(c->socket);
	free(c->hold);
	memset(c, 0, sizeof(*c));
}
