/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_CENSUS_H
#define HOST_CENSUS_H

/*
 * A snapshot of all processes of this host and of who holds which TCP socket: the facts from which
 * servers.c derives who serves whom. It is slightly out of date: each process has its start time,
 * and before acting on one the caller must check that again.
 */

#include "base/err.h"
#include "host/net/sockets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CENSUS_PATH_MAX 256

struct census_process {
	pid_t pid, ppid;
	uint64_t started; /* ticks after boot */
	char comm[32];
	char exe[CENSUS_PATH_MAX];  /* below its root; empty: not readable */
	char conf[CENSUS_PATH_MAX]; /* argument of -F; empty: none, or not read */
	char cwd[CENSUS_PATH_MAX];  /* below its root; empty: not readable, or its root */
	uint64_t root;              /* number of its root; 0: not readable */
	uint64_t net;               /* number of its network namespace; 0: not readable */
	uint32_t uid;               /* effective */
	uint32_t owner;             /* real */
	bool has_uid;
	bool looked; /* exe to has_uid were asked for */
	bool denied; /* its open files are not readable */
};

struct census_socket {
	struct sockets_entry tcp;
	uint64_t net; /* network namespace; 0: this process's, unknown which */
};

/* Process i holds socket k. */
struct census_hold {
	size_t process, socket;
};

struct census {
	uint64_t net; /* this process's namespace; 0: unknown */
	size_t n_processes;
	struct census_process *process; /* by pid, without kernel threads */
	size_t n_sockets;
	struct census_socket *socket; /* by inode */
	size_t n_holds;
	struct census_hold *hold;
};

/* Reads owner, root, exe, cwd and conf of the process pid. */
void census_look(struct census_process *p);

/* Only its cwd, as there. */
void census_cwd(char *out, size_t len, pid_t pid);

/*
 * 0 or a negative errno; census_fini in both cases. Sockets of other network namespaces are read
 * for processes whose comm is in names (which ends with NULL), and for the process pid (0: none).
 * Command lines are read only of these and of processes that listen on port (0: none). Whose a
 * process is, and where, is read of these, of those that hold a socket, and of their parents and
 * children.
 */
int census_read(struct census *out, const char *const *names, pid_t pid, uint16_t port,
		struct err *e);
void census_fini(struct census *c);

/* Index of a process; c->n_processes: not found. */
size_t census_find(const struct census *c, pid_t pid);

/* 0 or -ENOMEM. */
int census_add_hold(struct census *c, size_t process, size_t socket);

/* path without root in front of it ("/srv/x" below "/srv" is "/x"); root itself is "". */
void census_below(char *out, size_t len, const char *path, const char *root);

#endif
