/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_SERVERS_H
#define KINDS_SERVERS_H

/*
 * Finds the AFP servers of this host, their sessions and CNID processes, without connecting to
 * them. A server is the process that listens and its children of the same program that serve the
 * connections it accepted, or did until the client went away, according to the kernel. Process
 * names only decide which listening processes are considered by default (afpd), and which may be
 * CNID servers.
 */

#include "base/err.h"
#include "host/census.h"
#include "kinds/way.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SERVERS_PORTS 4
#define SERVERS_AFPD  "afpd"
#define SERVERS_METAD "cnid_metad"

struct servers_session {
	pid_t pid;
	uint64_t started;  /* ticks after boot: identifies the process together with the pid */
	uint32_t uid;      /* effective user id; 0 also before the login is done */
	bool left;         /* by an earlier server, which has ended: it may be of another build */
	bool disconnected; /* its client has gone; afpd keeps the session in case it comes back */
	struct sockets_addr client;   /* port 0: unknown */
	char volume[CENSUS_PATH_MAX]; /* path on the server; empty: unknown */
	const char *uid_from;         /* static: the source; NULL: not known */
	const char *client_from;
	const char *volume_from;
};

struct servers_entry {
	pid_t master; /* 0: none, a session whose master has ended */
	uint64_t started;
	uint32_t owner; /* its real user */
	char comm[32];
	char exe[CENSUS_PATH_MAX];  /* below its root; empty: not readable */
	char conf[CENSUS_PATH_MAX]; /* below its root; empty: unknown */
	const char *conf_from;      /* static; NULL: unknown */
	size_t n_ports;
	uint16_t port[SERVERS_PORTS];
	uint64_t net;                 /* number of its network namespace; 0: not readable */
	char address[SOCKETS_IP_LEN]; /* that it listens on; empty: not readable */
	bool elsewhere;               /* in another network namespace than this process */
	bool denied;                  /* no right to see its open files: ports, clients not known */
	pid_t cnid_metad;             /* 0: unknown */
	const char *cnid_from;        /* static: how it was found, or why it is unknown */
	size_t n_cnid_ports;
	uint16_t cnid_port[SERVERS_PORTS];
	size_t n_dbd;
	pid_t *dbd;                      /* owned: children of cnid_metad */
	size_t n_sessions, n_left;       /* of these, left by an earlier server that has ended */
	struct servers_session *session; /* owned, by pid */
};

struct servers {
	pid_t session;  /* it was asked for; 0: for whole servers */
	struct way way; /* to it from the port that servers_named was asked for */
	size_t n;
	struct servers_entry *entry; /* owned, by pid of the master */
};

/*
 * Neither pid nor port: all AFP servers of users that count (host/owner.h); -ENXIO: none, and e
 * says what else was seen. pid: the server it belongs to, whatever its name: a listening process
 * with all sessions, or one session alone (out->session; the entry then has only this). -ESRCH: no
 * such process, -ENXIO: it serves no TCP connections, -EACCES: no right to see. port: the server
 * that listens there, whatever its name; one of a user that does not count only if there is no
 * other. -ENXIO: none, -EACCES: not readable. servers_fini in every case.
 */
int servers_look(struct servers *out, pid_t pid, uint16_t port, struct err *e);

/* The same; of a port at which another program carries on to a server, that server. */
int servers_named(struct servers *out, unsigned int port, pid_t pid, struct err *e);

/* 0 when s has one server; -ENOTUNIQ and a text that lists them and names the options. */
int servers_one(const struct servers *s, struct err *e);

void servers_fini(struct servers *s);

/* The same from a census. */
int servers_choose(struct servers *out, const struct census *c, struct err *e);
int servers_choose_pid(struct servers *out, const struct census *c, pid_t pid, struct err *e);
int servers_choose_port(struct servers *out, const struct census *c, uint16_t port, struct err *e);

/* Why there is none: at all; at a port, which starter may hold for one. A negative errno. */
int servers_none(const struct census *c, struct err *e);
int servers_no_port(const struct census *c, uint16_t port, const char *starter,
		    const struct servers *others, struct err *e);
int servers_serves_nobody(const struct census_process *p, struct err *e);
int servers_not_afp(const struct servers *others, uint16_t port, const char *why, struct err *e);

/* ", port 548": adds it to a text of ERR_TEXT_MAX bytes. */
void servers_append_ports(char *text, const uint16_t *port, size_t n);
/* The CNID processes in a line, or why they are not known. Returns out or a constant. */
const char *servers_backend(const struct servers_entry *s, char out[ERR_TEXT_MAX]);

/* A process of it that lives: its master, else a session; 0: none. */
pid_t servers_process(const struct servers_entry *s);

/* Whether a port is one of these; adds it if it is not, and there is room. */
bool servers_has_port(const uint16_t *port, size_t n, uint16_t one);
void servers_add_port(uint16_t *port, size_t *n, uint16_t one);

/* Sets conf and conf_from of the server that p belongs to, where they are known. */
void servers_conf(struct servers_entry *e, const struct census_process *p);

/* A session of the list with this pid; NULL: none. */
const struct servers_session *servers_session(const struct servers_entry *s, pid_t pid);

#endif
