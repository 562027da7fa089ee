/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GlusterFS servers: the bricks (glusterfsd) of this host, and beside them the processes that
 * manage, heal and mount volumes. What a process is for is in its command line; to which glusterd
 * it belongs, in its connections.
 */
#include "base/vec.h"
#include "bpf/programs.h"
#include "host/cgroup.h"
#include "host/filesystem.h"
#include "host/owner.h"
#include "host/proc/procfs.h"
#include "kinds/gluster/bricks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 256
#define WORD_LEN      256
#define VERSION_LEN   24

/* A process of GlusterFS. */
struct daemon {
	pid_t pid;
	enum afs_role role; /* SERVER: a brick, OTHER: glusterd and the like */
	bool manages;       /* glusterd */
	/* By its command line; empty, 0: not known. */
	unsigned int port;
	char path[CENSUS_PATH_MAX]; /* a brick's folder */
	char host[WORD_LEN];        /* the address of its server */
	char volume[WORD_LEN];
};

/* At first all, then those that were asked for. */
struct daemons {
	pid_t named;     /* the process that was asked for; 0: none */
	const char *exe; /* only of this name; NULL: any */
	size_t n;
	struct daemon daemon[PROCESSES_MAX];
};

/*
 * The volume is "one" of "--volfile-id one.127.0.0.2.srv-brick", whose host is the argument of -s;
 * of "shd/one", "/one".
 */
static void look_at_words(struct daemon *d)
{
	char word[WORD_LEN] = "", host[WORD_LEN + 2], *end;

	if (!procfs_argument(word, sizeof(word), d->pid, "--brick-port"))
		d->port = (unsigned int)strtoul(word, NULL, 10);
	procfs_argument(d->path, sizeof(d->path), d->pid, "--brick-name");
	if (procfs_argument(d->host, sizeof(d->host), d->pid, "-s"))
		procfs_argument(d->host, sizeof(d->host), d->pid, "--volfile-server");
	if (procfs_argument(word, sizeof(word), d->pid, "--volfile-id"))
		return;
	snprintf(d->volume, sizeof(d->volume), "%s",
		 word + (!strncmp(word, "shd/", 4) ? 4 : word[0] == '/'));
	snprintf(host, sizeof(host), ".%s.", d->host);
	end = *d->host ? strstr(d->volume, host) : NULL;
	if (end)
		*end = '\0';
}

/* Whether it is a process of GlusterFS, and what it is for. */
static bool gluster_look(struct daemon *d, const char *name)
{
	char word[WORD_LEN];

	d->manages = !strcmp(name, "glusterd");
	if (!d->manages && strcmp(name, "glusterfsd") != 0 && strcmp(name, "glusterfs") != 0)
		return false;
	look_at_words(d);
	d->role = !strcmp(name, "glusterfsd") && *d->path ? AFS_ROLE_SERVER : AFS_ROLE_OTHER;
	if (strcmp(name, "glusterfs") != 0)
		return true;
	if (procfs_argument(word, sizeof(word), d->pid, "--process-name") || !strcmp(word, "fuse"))
		d->role = AFS_ROLE_CLIENT;
	else if (!strcmp(word, "glustershd"))
		d->role = AFS_ROLE_BACKEND;
	return true;
}

static int gluster_add(void *arg, pid_t pid)
{
	struct daemons *m = arg;
	struct daemon is = { .pid = pid };
	struct procstat st;

	if (m->n < PROCESSES_MAX && (pid == m->named || owner_counts(owner_of(pid))) &&
	    !procstat_read(&st, pid) && procstat_lives(&st) && gluster_look(&is, st.comm) &&
	    (!m->exe || !strcmp(st.comm, m->exe)))
		m->daemon[m->n++] = is;
	return 0;
}

static const struct daemon *daemon_of(const struct daemons *m, pid_t pid)
{
	return VEC_FIND(is, m->daemon, m->n, is->pid == pid);
}

/* Leaves only those of which the condition on "is" is true. */
#define GLUSTER_KEEP(m, condition)                                                                 \
	({                                                                                         \
		size_t kept = 0;                                                                   \
		for (const struct daemon *is = (m)->daemon; is < (m)->daemon + (m)->n; is++)       \
			if (condition)                                                             \
				(m)->daemon[kept++] = *is;                                         \
		(m)->n = kept;                                                                     \
	})

/* By connections */

struct connections_from {
	struct sockets all;
	struct sockets_held its;
};

static bool is_connected(const struct daemon *is, const struct connections_from *from)
{
	struct sockets_held own = { 0 };
	uint64_t peer;

	sockets_hold(&own, is->pid);
	for (size_t i = 0; i < own.n; i++) {
		peer = sockets_peer(&from->all, own.socket[i].ino);
		for (size_t k = 0; peer && k < from->its.n; k++)
			if (from->its.socket[k].ino == peer)
				return true;
	}
	return false;
}

/* This glusterd, and all that are connected to it. 0 or a negative errno. */
static int choose_managed(struct daemons *m, pid_t glusterd, struct err *e)
{
	struct connections_from from = { 0 };
	int r = sockets_read(&from.all, e);

	sockets_hold(&from.its, glusterd);
	if (!r)
		GLUSTER_KEEP(m, is->manages ? is->pid == glusterd : is_connected(is, &from));
	sockets_fini(&from.all);
	return r;
}

/* What the user asks for */

static int choose_one(struct daemons *m, struct daemon is, struct err *e)
{
	if (is.manages)
		return choose_managed(m, is.pid, e);
	m->daemon[0] = is;
	m->n = 1;
	return 0;
}

static int gluster_choose_pid(struct daemons *m, const struct kind_wish *w, struct err *e)
{
	const struct daemon *is = daemon_of(m, (pid_t)w->pid);
	struct procstat st;

	if (!is && procstat_read(&st, (pid_t)w->pid))
		return err_set(e, -ESRCH, "there is no process %u%s", w->pid, procfs_hides());
	if (!is)
		return err_set(e, -ESRCH,
			       "process %u is not of GlusterFS (glusterfsd, glusterd): any other "
			       "program is recorded with --kind any",
			       w->pid);
	if (!is->manages && is->role != AFS_ROLE_SERVER)
		return err_set(e, -ENXIO,
			       "process %u serves no brick: name a glusterfsd or a glusterd, or "
			       "record it with --kind any",
			       w->pid);
	return choose_one(m, *is, e);
}

/* A glusterd's; or a brick's, whatever it is called. */
static int gluster_choose_port(struct daemons *m, unsigned int port, bool known, struct err *e)
{
	struct daemon brick = { .role = AFS_ROLE_SERVER };
	const struct daemon *is;
	struct servers at = { 0 };
	int r = servers_look(&at, 0, (uint16_t)port, e);

	if (r == -ENXIO)
		r = err_set(e, r, "no brick and no glusterd of this host has port %u%s", port,
			    procfs_hides());
	r = r ? r : servers_one(&at, e);
	brick.pid = r ? 0 : at.entry[0].master;
	servers_fini(&at);
	if (r)
		return r;
	is = daemon_of(m, brick.pid);
	if (!is && known)
		return -ENXIO;
	if (is && (is->manages || is->role == AFS_ROLE_SERVER))
		brick = *is;
	else
		look_at_words(&brick);
	brick.port = brick.port ? brick.port : port;
	return choose_one(m, brick, e);
}

static int gluster_choose(struct daemons *m, const struct kind_wish *w, struct err *e)
{
	if (w->unit)
		return cgroup_each_process(w->unit, gluster_add, m, e);
	m->named = (pid_t)w->pid;
	m->exe = w->exe;
	procfs_each(gluster_add, m);
	if (w->pid)
		return gluster_choose_pid(m, w, e);
	return w->port ? gluster_choose_port(m, w->port, w->known, e) : 0;
}

/* Leaves only the bricks to which this process, or the process of a mount, is connected. */
static int choose_connected(struct daemons *m, const char *host, struct err *e)
{
	struct connections_from from = { 0 };
	int r = sockets_read(&from.all, e);

	GLUSTER_KEEP(m, is->role != AFS_ROLE_CLIENT || !strcmp(is->host, host));
	sockets_hold(&from.its, getpid());
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].role == AFS_ROLE_CLIENT)
			sockets_hold(&from.its, m->daemon[i].pid);
	if (!r)
		GLUSTER_KEEP(m, is->role != AFS_ROLE_SERVER || is_connected(is, &from));
	sockets_fini(&from.all);
	return r;
}

/*
 * Leaves only those of a host's server. Bricks have the name of their own host, which may differ
 * from the name by which the volume was opened: then the connections tell.
 */
static int choose_host(struct daemons *m, const char *host, struct err *e)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->daemon[i].role != AFS_ROLE_SERVER || strcmp(m->daemon[i].host, host) != 0)
			continue;
		/* A brick, or a process that heals or mounts, of this host; a glusterd is of all.
		 */
		GLUSTER_KEEP(m, is->manages || !strcmp(is->host, host));
		return 0;
	}
	return choose_connected(m, host, e);
}

/* The target: the bricks, their ports, and the others. */
static int gluster_make_target(struct target *out, const struct daemons *m,
			       const struct kind_wish *w, struct err *e)
{
	bool named = w->pid || w->port || w->unit || w->host;
	const struct daemon *brick[PROCESSES_MAX];
	pid_t pid[PROCESSES_MAX];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < m->n; i++) {
		brick[n] = &m->daemon[i];
		pid[n] = m->daemon[i].pid;
		n += m->daemon[i].role == AFS_ROLE_SERVER;
	}
	if (!n)
		return err_set(e, -ENXIO,
			       "no such brick (glusterfsd) runs here: gluster volume status lists "
			       "the volumes, their bricks and the processes%s",
			       procfs_hides());
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
		if (!brick[i]->port)
			return err_set(e, -ENXIO,
				       "the port of the brick of process %d is not known: its "
				       "command line has no --brick-port",
				       pid[i]);
		target_add_port(out, (uint16_t)brick[i]->port, AFS_OBJECT_CLIENT);
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].role != AFS_ROLE_SERVER)
			target_add(out, m->daemon[i].pid, m->daemon[i].role);
	return 0;
}

/* The bricks' folders. 0 or -ENOMEM. */
static int take_folders(struct kind_found *out, const struct daemons *m)
{
	out->folder = calloc(m->n, sizeof(*out->folder));
	if (!out->folder)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		if (m->daemon[i].role == AFS_ROLE_SERVER && *m->daemon[i].path)
			memcpy(out->folder[out->n_folders++], m->daemon[i].path, CENSUS_PATH_MAX);
	return 0;
}

static int gluster_find(struct kind_found *out, const struct kind_wish *w, struct err *e)
{
	struct daemons *m = calloc(1, sizeof(*m));
	int r = m ? gluster_choose(m, w, e) : err_set(e, -ENOMEM, "out of memory");

	if (!r && w->volume)
		GLUSTER_KEEP(m, is->manages || !strcmp(is->volume, w->volume));
	if (!r && w->host)
		r = choose_host(m, w->host, e);
	r = r ? r : gluster_make_target(&out->target, m, w, e);
	if (!r && take_folders(out, m))
		r = err_set(e, -ENOMEM, "out of memory");
	free(m);
	return r;
}

/* "10.3" in the path of a library: /usr/lib/x86_64-linux-gnu/glusterfs/10.3/xlator/... */
static void find_version(char out[static VERSION_LEN], pid_t pid)
{
	struct procfs_lines l;
	const char *at, *end;

	procfs_lines(&l, pid, "maps");
	while (!*out && procfs_line(&l)) {
		at = strstr(l.text, "/glusterfs/");
		end = at ? strstr(at, "/xlator/") : NULL;
		if (!end)
			continue;
		at += strlen("/glusterfs/");
		if (end > at && end - at < VERSION_LEN)
			memcpy(out, at, (size_t)(end - at));
	}
	procfs_lines_end(&l);
}

/* Adds a volume's name unless it is there. */
static void gluster_add_volume(char text[ERR_TEXT_MAX], const char *volume)
{
	size_t len = strlen(volume);

	for (const char *at = text; (at = strstr(at, volume)); at += len)
		if ((at == text || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return;
	err_append(text, "%s%s", *text ? ", " : "", volume);
}

/* Adds its volume to those that there are. */
static int describe_brick(struct run *r, size_t number, pid_t pid, char volumes[ERR_TEXT_MAX])
{
	struct daemon d = { .pid = pid };
	const char *volume;
	char key[32];

	look_at_words(&d);
	volume = *d.volume ? d.volume : "?";
	gluster_add_volume(volumes, volume);
	snprintf(key, sizeof(key), "brick %zu", number);
	return run_note(&r->server, key, "%s:%s (process %d, port %u)", volume,
			*d.path ? d.path : "?", pid, d.port);
}

static int gluster_describe(const struct kind_found *f, struct run *r)
{
	const struct target *t = &f->target;
	char volumes[ERR_TEXT_MAX] = "", version[VERSION_LEN] = "";
	size_t n = target_count(t, AFS_ROLE_SERVER);
	const struct target_process *p;
	int e = 0;

	for (size_t at = 0; !e && (p = target_next(t, AFS_ROLE_SERVER, &at));)
		e = describe_brick(r, at, p->pid, volumes);
	find_version(version, t->server);
	if (version[0])
		e |= run_note(&r->server, "machine", "GlusterFS %s", version);
	e |= run_note(&r->server, "name", "%zu brick%s of %s", n, n > 1 ? "s" : "", volumes);
	if (target_count(t, AFS_ROLE_OTHER) == TARGET_OTHERS_MAX)
		e |= run_note(&r->warnings, "processes",
			      "there are %d or more processes beside the bricks: those beyond that "
			      "are not watched",
			      TARGET_OTHERS_MAX);
	return e;
}

/* What is to be seen of the bricks */

#define INDEX "/.glusterfs/indices/xattrop"
#define BASE  "xattrop-"
#define MOST  10000u /* for one brick; more need not be counted */

struct heal_index {
	char path[CENSUS_PATH_MAX + 128];
	bool known;
	unsigned int n;
};

static void bricks_count(void *arg)
{
	struct heal_index *x = arg;
	struct dirent *entry;
	DIR *d = opendir(x->path);

	x->known = d != NULL;
	while (d && x->n < MOST && (entry = readdir(d)))
		x->n += entry->d_name[0] != '.' && strncmp(entry->d_name, BASE, strlen(BASE)) != 0;
	if (d)
		closedir(d);
}

static void bricks_look_heal(struct run_figures *out, const struct kind_found *found)
{
	unsigned int most = 0;
	double all = 0;
	char root[64];

	procfs_inside(root, sizeof(root), found->target.server, "");
	for (size_t i = 0; i < found->n_folders; i++) {
		struct heal_index x = { 0 };

		snprintf(x.path, sizeof(x.path), "%s%s%s", root, found->folder[i], INDEX);
		if (filesystem_ask(found->target.server, found->folder[i], bricks_count, &x, &x,
				   sizeof(x)) ||
		    !x.known)
			continue;
		all += x.n;
		run_figure_set(out, RUN_FIGURE_HEAL_ENTRIES, all);
		if (x.n > most)
			run_figure_who(out, RUN_FIGURE_HEAL_ENTRIES, "most on %s",
				       found->folder[i]);
		most = x.n > most ? x.n : most;
	}
}

static void say_brick(struct run_figures *out, enum run_figure which,
		      const struct kind_found *found, size_t i, pid_t pid)
{
	run_figure_who(out, which, "%s (pid %d)", i < found->n_folders ? found->folder[i] : "?",
		       pid);
}

void bricks_look(struct run_figures *out, const struct kind_found *found)
{
	const struct target *t = &found->target;
	double ended = 0, held = 0;
	const struct target_process *p;
	struct procstat st;

	for (size_t at = 0; (p = target_next(t, AFS_ROLE_SERVER, &at));) {
		if (procstat_read(&st, p->pid) || !procstat_lives(&st)) {
			ended++;
			say_brick(out, RUN_FIGURE_SERVER_ENDED, found, at - 1, p->pid);
		} else if (st.state == 'T' || st.state == 't') {
			held++;
			say_brick(out, RUN_FIGURE_BRICKS_HELD, found, at - 1, p->pid);
		}
	}
	if (ended > 0)
		run_figure_set(out, RUN_FIGURE_SERVER_ENDED, ended);
	run_figure_set(out, RUN_FIGURE_BRICKS_HELD, held);
	run_figure_share(out, RUN_FIGURE_BRICKS_HELD_SHARE, held,
			 (double)target_count(t, AFS_ROLE_SERVER));
	bricks_look_heal(out, found);
}

/*
 * Procedures by account (bpf/programs.h), and results: as Wireshark names them; file operations
 * from number 41 on as GlusterFS 10 sends them.
 */

static void gluster_unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	static const struct {
		const char *name;
		unsigned int first, n;
	} programs[] = {
#define X(NAME, number, first, n, results) { #NAME, first, n },
		AFS_RPC_PROGRAMS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (number - programs[i].first >= programs[i].n)
			continue;
		snprintf(buf, ACCOUNT_NAME_MAX, "%s procedure %u", programs[i].name,
			 number - programs[i].first);
		return;
	}
	snprintf(buf, ACCOUNT_NAME_MAX, "account %u", number);
}

/* What a client looks up before it makes it; attributes that a file does not have. */
static const struct account_normal normal[] = {
	{ AFS_RPC_FOP + 27, ENOENT },  /* LOOKUP */
	{ AFS_RPC_FOP + 18, ENODATA }, /* GETXATTR */
	{ AFS_RPC_FOP + 35, ENODATA }, /* FGETXATTR */
};

/* clang-format off */
static const struct account_names gluster_accounts = {
	.unnamed = gluster_unnamed,
	.normal = normal,
	.n_normal = sizeof(normal) / sizeof(normal[0]),
	.name = {
		"NULL", "STAT", "READLINK", "MKNOD", "MKDIR", "UNLINK", "RMDIR", "SYMLINK",
		"RENAME", "LINK", "TRUNCATE", "OPEN", "READ", "WRITE", "STATFS", "FLUSH", "FSYNC",
		"SETXATTR", "GETXATTR", "REMOVEXATTR", "OPENDIR", "FSYNCDIR", "ACCESS", "CREATE",
		"FTRUNCATE", "FSTAT", "LK", "LOOKUP", "READDIR", "INODELK", "FINODELK", "ENTRYLK",
		"FENTRYLK", "XATTROP", "FXATTROP", "FGETXATTR", "FSETXATTR", "RCHECKSUM",
		"SETATTR", "FSETATTR", "READDIRP", "RELEASE", "RELEASEDIR", "FREMOVEXATTR",
		"FALLOCATE", "DISCARD", "ZEROFILL", "IPC", "SEEK",
		[56] = "COPY_FILE_RANGE", [63] = "other file operations",
		[AFS_RPC_HANDSHAKE] = "HANDSHAKE NULL", "SETVOLUME", "GETSPEC", "PING",
		"LOCK VERSION", "EVENTNOTIFY", "GETVOLUMEINFO", "other HANDSHAKE",
		[AFS_RPC_PORTMAP] = "PORTMAP NULL", "PORTBYBRICK", "BRICKBYPORT", "SIGNUP",
		"SIGNIN", "SIGNOUT", [AFS_RPC_PORTMAP + 7] = "other PORTMAP",
		[AFS_RPC_DUMP] = "DUMP NULL", "DUMP", "DUMP PING", "other DUMP",
		[AFS_RPC_CALLBACK] = "CALLBACK", [AFS_RPC_CLI] = "CLI",
		[AFS_RPC_MANAGE] = "MANAGEMENT", [AFS_RPC_FRIEND] = "FRIEND",
		[AFS_RPC_BRICK_OP] = "BRICK OPERATION", [AFS_RPC_OTHER] = "other programs",
		[AFS_ACCOUNT_BETWEEN] = "between requests",
		[AFS_ACCOUNT_THREADS] = "all threads but the first",
		[AFS_ACCOUNT_NONE] = "first threads", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

/* "No such file or directory" of an errno; NULL: no name. */
static const char *gluster_result_text(int32_t code)
{
	return code > 0 ? strerrordesc_np(code) : kind_rpc_text(code);
}

static const char *gluster_foreign(pid_t pid)
{
	return way_judge(pid, "/libglusterfs.so", "glusterfsd glusterfs glusterd",
			 "no program of GlusterFS by name or library");
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
		.judged = RUN_JUDGED_BRICKS,
		.accounts = &gluster_accounts,
		.result_text = gluster_result_text },
	.decoder = AFS_DECODER_SUNRPC,
	.any_order = true,
	.has_volumes = true,
	.files = AFS_FILES_GLUSTER,
	.foreign = gluster_foreign,
	.find = gluster_find,
	.describe = gluster_describe,
};
