/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GlusterFS servers: the bricks (glusterfsd) of this host, and beside them the processes that
 * manage, heal and mount volumes. What a process is for is in its command line; to which glusterd
 * it belongs, in its connections.
 */
#include "bpf/programs.h"
#include "host/cgroup.h"
#include "host/owner.h"
#include "host/procfs.h"
#include "kinds/gluster_names.h"
#include "kinds/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 256
#define SOCKETS_MAX   1024
#define WORD_LEN      256
#define VERSION_LEN   24

/* A process of GlusterFS. */
struct daemon {
	pid_t pid;
	enum afs_role role; /* SERVER: a brick, OTHER: glusterd and the like */
	bool manages;       /* glusterd */
	bool in;            /* it was asked for */
};

struct daemons {
	pid_t named;       /* the process that was asked for; 0: none */
	unsigned int port; /* likewise */
	size_t n;
	struct daemon daemon[PROCESSES_MAX];
	size_t n_sockets;
	uint64_t socket[SOCKETS_MAX]; /* of the glusterd that was asked for */
	const struct sockets *all;
};

static bool has_name(pid_t pid, const char *name)
{
	struct procstat st;

	return !procstat_read(&st, pid) && procstat_lives(&st) && !strcmp(st.comm, name);
}

/* Whether it is a process of GlusterFS, and what it is for. */
static bool look(struct daemon *m, pid_t pid)
{
	char word[WORD_LEN];

	*m = (struct daemon) { .pid = pid, .role = AFS_ROLE_OTHER };
	if (has_name(pid, "glusterd")) {
		m->manages = true;
		return true;
	}
	if (has_name(pid, "glusterfsd")) {
		if (!procfs_argument(word, sizeof(word), pid, "--brick-name"))
			m->role = AFS_ROLE_SERVER;
		return true;
	}
	if (!has_name(pid, "glusterfs"))
		return false;
	if (procfs_argument(word, sizeof(word), pid, "--process-name") || !strcmp(word, "fuse"))
		m->role = AFS_ROLE_CLIENT;
	else if (!strcmp(word, "glustershd"))
		m->role = AFS_ROLE_BACKEND;
	return true;
}

static int add(void *arg, pid_t pid)
{
	struct daemons *m = arg;

	if (m->n < PROCESSES_MAX && (pid == m->named || owner_counts(owner_of(pid))) &&
	    look(&m->daemon[m->n], pid))
		m->n++;
	return 0;
}

static struct daemon *daemon_of(struct daemons *m, pid_t pid)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].pid == pid)
			return &m->daemon[i];
	return NULL;
}

/* Belonging to a glusterd */

static int add_socket(void *arg, pid_t pid, int fd, const char *name)
{
	uint64_t ino = procfs_socket(name);
	struct daemons *m = arg;

	(void)pid;
	(void)fd;
	if (ino && m->n_sockets < SOCKETS_MAX)
		m->socket[m->n_sockets++] = ino;
	return 0;
}

static int is_connected(void *arg, pid_t pid, int fd, const char *name)
{
	uint64_t ino = procfs_socket(name), peer;
	const struct daemons *m = arg;

	(void)pid;
	(void)fd;
	peer = ino ? sockets_peer(m->all, ino) : 0;
	for (size_t i = 0; peer && i < m->n_sockets; i++)
		if (m->socket[i] == peer)
			return 1;
	return 0;
}

/* All that are connected to this glusterd. 0 or a negative errno. */
static int choose_managed(struct daemons *m, struct daemon *glusterd, struct err *e)
{
	struct sockets all = { 0 };
	int r = sockets_read(&all, e);

	m->all = &all;
	m->n_sockets = 0;
	glusterd->in = true;
	if (!r)
		procfs_each_fd(glusterd->pid, add_socket, m);
	for (size_t i = 0; i < m->n && !r; i++)
		if (!m->daemon[i].manages)
			m->daemon[i].in |= procfs_each_fd(m->daemon[i].pid, is_connected, m) == 1;
	sockets_fini(&all);
	m->all = NULL;
	return r;
}

/* What the user asks for */

static int choose_pid(struct daemons *m, const struct kind_wish *w, struct err *e)
{
	struct daemon *is = daemon_of(m, (pid_t)w->pid);

	if (!is)
		return err_set(e, -ESRCH,
			       "process %u is not of GlusterFS (glusterfsd, glusterd): any other "
			       "program is recorded with --kind any",
			       w->pid);
	if (is->manages)
		return choose_managed(m, is, e);
	if (is->role != AFS_ROLE_SERVER)
		return err_set(e, -ENXIO,
			       "process %u serves no brick: name a glusterfsd or a glusterd, or "
			       "record it with --kind any",
			       w->pid);
	is->in = true;
	return 0;
}

static unsigned int brick_port(pid_t pid)
{
	char word[WORD_LEN];

	if (procfs_argument(word, sizeof(word), pid, "--brick-port"))
		return 0;
	return (unsigned int)strtoul(word, NULL, 10);
}

/* A glusterd's; or a brick's, whatever it is called. */
static int choose_port(struct daemons *m, unsigned int port, bool known, struct err *e)
{
	struct servers at = { 0 };
	struct daemon *is;
	int r = servers_look(&at, 0, (uint16_t)port, e);

	if (r == -ENXIO)
		r = err_set(e, r, "no brick and no glusterd of this host has port %u", port);
	r = r ? r : servers_one(&at, e);
	is = r ? NULL : daemon_of(m, at.entry[0].master);
	if (!r && !is && known)
		r = -ENXIO;
	if (!r && !is && m->n < PROCESSES_MAX) {
		is = &m->daemon[m->n++];
		*is = (struct daemon) { .pid = at.entry[0].master, .role = AFS_ROLE_SERVER };
	}
	servers_fini(&at);
	if (is && is->manages)
		return choose_managed(m, is, e);
	if (is)
		is->in = true;
	m->port = port;
	return r;
}

static int choose_listed(void *arg, pid_t pid)
{
	struct daemon *is = daemon_of(arg, pid);

	if (is)
		is->in = true;
	return 0;
}

static int choose(struct daemons *m, const struct kind_wish *w, struct err *e)
{
	if (w->pid)
		return choose_pid(m, w, e);
	if (w->port)
		return choose_port(m, w->port, w->known, e);
	if (w->unit)
		return cgroup_each_process(w->unit, choose_listed, m, e);
	for (size_t i = 0; i < m->n; i++)
		m->daemon[i].in = !w->exe || has_name(m->daemon[i].pid, w->exe);
	return 0;
}

/*
 * "one" of "--volfile-id one.127.0.0.2.srv-brick", whose host is the argument of -s; of "shd/one",
 * "/one".
 */
static void volume_of(char *out, size_t len, pid_t pid)
{
	char host[WORD_LEN + 2], *end;
	size_t skip;

	if (procfs_argument(out, len, pid, "--volfile-id")) {
		snprintf(out, len, "?");
		return;
	}
	skip = !strncmp(out, "shd/", 4) ? 4 : out[0] == '/';
	memmove(out, out + skip, strlen(out + skip) + 1);
	host[0] = '.';
	if (procfs_argument(host + 1, WORD_LEN, pid, "-s"))
		return;
	strcat(host, ".");
	end = strstr(out, host);
	if (end)
		*end = '\0';
}

/* The address of its server, as in its command line. */
static bool is_of_host(pid_t pid, const char *host)
{
	char word[WORD_LEN];

	if (procfs_argument(word, sizeof(word), pid, "-s") &&
	    procfs_argument(word, sizeof(word), pid, "--volfile-server"))
		return false;
	return !strcmp(word, host);
}

/* Leaves only the bricks to which this process, or the process of a mount, is connected. */
static int choose_connected(struct daemons *m, const char *host, struct err *e)
{
	struct sockets all = { 0 };
	int r = sockets_read(&all, e);

	m->all = &all;
	m->n_sockets = 0;
	if (!r)
		procfs_each_fd(getpid(), add_socket, m);
	for (size_t i = 0; i < m->n && !r; i++) {
		if (m->daemon[i].role != AFS_ROLE_CLIENT)
			continue;
		m->daemon[i].in &= is_of_host(m->daemon[i].pid, host);
		if (m->daemon[i].in)
			procfs_each_fd(m->daemon[i].pid, add_socket, m);
	}
	for (size_t i = 0; i < m->n && !r; i++)
		if (m->daemon[i].role == AFS_ROLE_SERVER)
			m->daemon[i].in &= procfs_each_fd(m->daemon[i].pid, is_connected, m) == 1;
	sockets_fini(&all);
	m->all = NULL;
	return r;
}

/*
 * Leaves only those of a host's server. Bricks have the name of their own host, which may differ
 * from the name by which the volume was opened: then the connections tell.
 */
static int choose_host(struct daemons *m, const char *host, struct err *e)
{
	bool any = false;

	for (size_t i = 0; i < m->n; i++)
		any |= m->daemon[i].in && m->daemon[i].role == AFS_ROLE_SERVER &&
		       is_of_host(m->daemon[i].pid, host);
	if (!any)
		return choose_connected(m, host, e);
	for (size_t i = 0; i < m->n; i++)
		if (!m->daemon[i].manages)
			m->daemon[i].in &= is_of_host(m->daemon[i].pid, host);
	return 0;
}

/* Leaves only what belongs to a volume. */
static void choose_volume(struct daemons *m, const char *volume)
{
	char name[WORD_LEN];

	for (size_t i = 0; i < m->n; i++) {
		if (m->daemon[i].manages)
			continue;
		volume_of(name, sizeof(name), m->daemon[i].pid);
		m->daemon[i].in &= !strcmp(name, volume);
	}
}

/* The target: the bricks, their ports, and the others. */
static int make_target(struct target *out, const struct daemons *m, const struct kind_wish *w,
		       struct err *e)
{
	pid_t pid[PROCESSES_MAX];
	bool named = w->pid || w->port || w->unit || w->host;
	unsigned int port;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].in && m->daemon[i].role == AFS_ROLE_SERVER)
			pid[n++] = m->daemon[i].pid;
	if (!n)
		return err_set(e, -ENXIO,
			       "no such brick (glusterfsd) runs here: gluster volume status lists "
			       "the volumes, their bricks and the processes");
	if (n > AFS_N_PORTS)
		return err_set(e, -ENOTUNIQ,
			       "%zu bricks run here, and at most %d can be recorded at once: name "
			       "fewer with --volume or --pid",
			       n, AFS_N_PORTS);
	r = named ? 0 : owner_one(pid, n, "bricks of several servers run here", e);
	if (r)
		return r;
	target_processes(out, pid, n);
	for (size_t i = 0; i < n; i++) {
		port = brick_port(pid[i]);
		if (!port && n == 1)
			port = m->port;
		if (!port)
			return err_set(e, -ENXIO,
				       "the port of the brick of process %d is not known: its "
				       "command line has no --brick-port",
				       pid[i]);
		target_add_port(out, (uint16_t)port, AFS_OBJECT_CLIENT);
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].in && m->daemon[i].role != AFS_ROLE_SERVER)
			target_add(out, m->daemon[i].pid, m->daemon[i].role);
	return 0;
}

/* The bricks' folders. 0 or -ENOMEM. */
static int take_folders(struct kind_found *out)
{
	const struct target *t = &out->target;

	out->folder = calloc(t->n_sessions + 1, sizeof(*out->folder));
	if (!out->folder)
		return -ENOMEM;
	for (size_t i = 0; i <= t->n_sessions; i++)
		out->n_folders += !procfs_argument(out->folder[out->n_folders], CENSUS_PATH_MAX,
						   i ? t->session[i - 1].pid : t->server,
						   "--brick-name");
	return 0;
}

static int find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct daemons *m = calloc(1, sizeof(*m));
	int r = m ? 0 : err_set(e, -ENOMEM, "out of memory");

	if (!r) {
		m->named = (pid_t)w->pid;
		procfs_each(add, m);
		r = choose(m, w, e);
	}
	if (!r && w->volume)
		choose_volume(m, w->volume);
	if (!r && w->host)
		r = choose_host(m, w->host, e);
	r = r ? r : make_target(&out->target, m, w, e);
	if (!r && take_folders(out))
		r = err_set(e, -ENOMEM, "out of memory");
	free(m);
	return r;
}

/* "10.3" in the path of a library: /usr/lib/x86_64-linux-gnu/glusterfs/10.3/xlator/... */
static int find_version(void *arg, const char *line)
{
	const char *at = strstr(line, "/glusterfs/"), *end = at ? strstr(at, "/xlator/") : NULL;
	char *out = arg;

	if (!end)
		return 0;
	at += strlen("/glusterfs/");
	if (end <= at || end - at >= VERSION_LEN)
		return 0;
	memcpy(out, at, (size_t)(end - at));
	return 1;
}

struct brick {
	pid_t pid;
	char volume[WORD_LEN], path[WORD_LEN];
};

static void brick_look(struct brick *b, pid_t pid)
{
	b->pid = pid;
	volume_of(b->volume, sizeof(b->volume), pid);
	if (procfs_argument(b->path, sizeof(b->path), pid, "--brick-name"))
		snprintf(b->path, sizeof(b->path), "?");
}

/* Adds a volume's name unless it is there. */
static void add_volume(char text[ERR_TEXT_MAX], const char *volume)
{
	size_t len = strlen(volume);

	for (const char *at = text; (at = strstr(at, volume)); at += len)
		if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return;
	servers_append(text, "%s%s", *text ? ", " : "", volume);
}

static int describe(const struct kind_found *f, struct run *r)
{
	const struct target *t = &f->target;
	char volumes[ERR_TEXT_MAX] = "", version[VERSION_LEN] = "", key[32];
	struct brick b;
	int e = 0;

	for (size_t i = 0; i <= t->n_sessions && !e; i++) {
		brick_look(&b, i ? t->session[i - 1].pid : t->server);
		add_volume(volumes, b.volume);
		snprintf(key, sizeof(key), "brick %zu", i + 1);
		e = run_note(&r->server, key, "%s:%s (process %d, port %u)", b.volume, b.path,
			     b.pid, brick_port(b.pid));
	}
	procfs_each_line(t->server, "maps", find_version, version);
	if (!e && version[0])
		e = run_note(&r->server, "machine", "GlusterFS %s", version);
	if (!e)
		e = run_note(&r->server, "name", "%zu brick%s of %s", t->n_sessions + 1,
			     t->n_sessions ? "s" : "", volumes);
	if (!e && t->n_others == TARGET_OTHERS_MAX)
		e = run_note(&r->warnings, "processes",
			     "there are %d or more processes beside the bricks: those beyond that "
			     "are not watched",
			     TARGET_OTHERS_MAX);
	return e;
}

const struct kind kind_gluster = {
	.is = { .name = "gluster",
		.role = { [AFS_ROLE_SERVER] = "brick",
			  [AFS_ROLE_BACKEND] = "glustershd",
			  [AFS_ROLE_OTHER] = "glusterd",
			  [AFS_ROLE_CLIENT] = "glusterfs" },
		.has_requests = true,
		.has_threads = true,
		.has_diagnosis = true,
		.accounts = &gluster_accounts,
		.result_text = gluster_result },
	.decoder = AFS_DECODER_SUNRPC,
	.any_order = true,
	.files = AFS_FILES_GLUSTER,
	.find = find,
	.describe = describe,
};
