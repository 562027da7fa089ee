/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_WAY_H
#define KINDS_WAY_H

/*
 * The way of a connection to the AFP server at its end: past addresses that the kernel translates
 * (NAT), network namespaces of this machine, and programs that carry on what they read
 * (docker-proxy, socat, ssh -L, haproxy), which are never taken for the server.
 */

#include "base/err.h"
#include "host/net/sockets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct run;

struct way {
	pid_t server;               /* who serves the connection */
	struct sockets_entry end;   /* the server's end */
	bool relayed;               /* that has another's address in place of the client's */
	char through[ERR_TEXT_MAX]; /* what is in between; empty: nothing */
	char note[ERR_TEXT_MAX];    /* what is in doubt; empty: nothing */
};

/*
 * Finds the process that serves the connection local -> peer (the addresses as this end sees
 * them). -ENXIO: it is not on this host, or no AFP server, -EACCES: no right to see which it is,
 * -ENOTUNIQ: it may be one of several, until different things went through them; e has a text for
 * the user. out is filled in both cases, as far as it is known.
 */
int way_find(struct way *out, const struct sockaddr_storage *local,
	     const struct sockaddr_storage *peer, struct err *e);

/*
 * What listens on a port, by its process, may be a program that carries on: *out is then the way of
 * one of its clients, else server is 0. Returns as way_find.
 */
int way_behind(struct way *out, pid_t pid, uint16_t port, struct err *e);

#define WAY_AFPD "afpd by name or library"
/* Whether it is netatalk's server, by its name or by netatalk's library. */
bool way_is_afpd(pid_t pid);

/*
 * A program that carries on by what is no connection of TCP (a pipe, a Unix socket) looks like a
 * server, but moves elsewhere what it reads. Returns what the server of a run moved through pipes
 * and other sockets for each of its clients' bytes. Of one over Rx, for each that came: the packets
 * of data that it sent in calls of its own, or the datagrams that it sent from other sockets. NAN:
 * requests were not followed.
 */
double way_passed_on(const struct run *r);
#define WAY_PASSED_ON 0.5 /* so much and more: it may be no server */

/*
 * Warns of a server that is foreign (struct target), by its name: where WAY_PASSED_ON or more was
 * passed on, and where that is not known (NAN). 0 or -ENOMEM.
 */
int way_foreign_note(struct run *r, const char *name, pid_t pid, const char *foreign,
		     double passed);

/* A connection over which a process may carry on what it reads. */
struct way_onward {
	size_t n;                  /* connections but those to the same port, on either side */
	struct sockets_entry best; /* through which went most nearly as many bytes */
	bool is_told;              /* about as many, and that of no other */
	bool one_place;            /* all lead to one address and port */
	uint64_t bytes;            /* both ways through the one that it carries on */
};

/* end: the connection that a process would carry on; its: all that it holds; all: all there are. */
void way_look_onward(struct way_onward *out, const struct sockets *all,
		     const struct sockets_held *its, const struct sockets_entry *end);

/* A process that holds the wanted socket. */
#define WAY_DEPTH 32
struct way_holder {
	pid_t pid;
	uint64_t started;
	char exe[128];
	size_t n_up;
	pid_t up[WAY_DEPTH]; /* parent, its parent, ... */
};

/*
 * Which of several holders serves the connection: not one whose own fork holds it too (the
 * listener), not a helper program that inherited it; of those left the youngest. Returns its
 * index; *left (which may be NULL) is how many were left.
 */
size_t way_choose(const struct way_holder *h, size_t n, size_t *left);

#endif
