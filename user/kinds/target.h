/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_TARGET_H
#define KINDS_TARGET_H

/*
 * What is watched: the process at the other end of the client's connection, the backends it is
 * connected to (of AFP: its CNID servers), and their sockets. Never decided by names alone,
 * but by who holds which end of which connection.
 */

#include "base/err.h"
#include "bpf/calls.h"
#include "kinds/way.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define TARGET_BACKENDS_MAX  512
#define TARGET_OTHERS_MAX    64 /* of all other roles together */
#define TARGET_PROCESSES_MAX (1 + AFS_N_PROCESSES + TARGET_BACKENDS_MAX + TARGET_OTHERS_MAX)

/*
 * Where afpd connects for a volume whose CNID numbers are in a database server ("cnid scheme =
 * mysql"): MySQL's port or socket, as libmysqlclient and libmariadb know them, whatever program
 * answers there.
 */
struct backend {
	uint16_t port;
	char path[108]; /* of the socket, if it is not a usual one; below the server's root */
};

/* The usual ones, or those in the environment of a process. */
void backend_read(struct backend *out, pid_t pid);

/* Whether a Unix socket that is bound to this path is the database server's. */
bool backend_is_socket(const struct backend *b, const char *path);

struct run;
struct servers_entry;

/* The pid may be reused once the process has ended. */
struct target_process {
	pid_t pid;
	bool ended;
	bool foreign;     /* a backend that is not the kind's own program, such as a database's */
	uint8_t role;     /* enum afs_role */
	uint64_t started; /* as in struct procstat */
};

/* target_look never removes anything: it adds, and marks what has ended. */
struct target {
	pid_t server;             /* a session, or the parent of all */
	bool serves;              /* it is a session although "client" is not known */
	bool whole;               /* its children are sessions */
	pid_t metad;              /* its cnid_metad, of a whole server; 0: it has none */
	bool plain;               /* any program: its children belong to it, whatever they run */
	enum afs_decoder decoder; /* of clients' bytes; the kind's */
	bool any_order;           /* it answers in any order, in any thread; the kind's */
	bool parks;               /* of any_order: as setup.parks of bpf/calls.h; the kind's */
	enum afs_files files;     /* how regular files are distinguished; the kind's */
	const struct account_names *accounts; /* the kind's; NULL: AFP's */
	uint64_t client; /* inode of its end of the client's connection; 0: none */
	/*
	 * The first is the server, once there are any. A process keeps its place; a later one of
	 * its role may take that of one that has ended.
	 */
	size_t n;
	struct target_process process[TARGET_PROCESSES_MAX];
	char far[80];            /* a backend on another host; empty: none seen */
	struct afs_inodes known; /* complete after target_look; ports before, of a whole server */
	bool crowded;            /* more than fit into known */
	size_t n_more;           /* sessions found that did not fit, at most at once */
	struct way way;          /* to it; all 0: not looked for, or nothing is in between */
	/* What is said of the server's program where it is not known to be its kind's own, as of
	 * way_judge(); NULL: it is, or the kind takes any. */
	const char *foreign;
};

/* Who serves the connection local -> peer: way_find(). */
int target_find(struct target *out, const struct sockaddr_storage *local,
		const struct sockaddr_storage *peer, struct err *e);

/* A server as kinds/servers.h found it, whole, or one session of it (0: whole). */
void target_server(struct target *out, const struct servers_entry *s, pid_t session);

/* Programs of any kind, the first the one that the others descend from, if there is such a one. */
void target_processes(struct target *out, const pid_t *pid, size_t n);

/* One more process, unless it is there. NULL: it has ended, or there is no room. */
struct target_process *target_add(struct target *t, pid_t pid, enum afs_role role);

/* The next of a role from place *at on, which is left behind it; NULL: no more. */
const struct target_process *target_next(const struct target *t, enum afs_role role, size_t *at);

/* How many there are of a role; AFS_ROLE_OTHER: of all but servers and backends. */
size_t target_count(const struct target *t, enum afs_role role);

/* Connections from this local port, or to it, are the object. */
void target_add_port(struct target *t, uint16_t port, enum afs_object object);

/*
 * Looks again for the backends of t->server, ended processes, and sockets. Keeps what it
 * cannot see any more.
 */
void target_look(struct target *t);

/* Looks again for new sessions, which are the server's children, alone. */
void target_look_children(struct target *t);

/*
 * Looks for the cnid_metad that has taken the place of one that has ended, on its port; of a whole
 * server without one, for the parent of its backends. false: there is none, or none is needed.
 */
bool target_look_metad(struct target *t);

/* The sessions that live now, as the programs in the kernel see them; pid is sorted. */
void target_set_sessions(struct target *t, pid_t *pid, size_t n);

/* Notes what only the kind of server explains: why no backend is watched. 0 or -ENOMEM. */
int target_note(const struct target *t, struct run *r);

#endif
