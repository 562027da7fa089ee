/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_WAY_H
#define KINDS_WAY_H

/*
 * The way of a connection to the AFP server at its end: past addresses that the kernel translates
 * (NAT), network namespaces of this machine, and programs that carry on what they read
 * (docker-proxy, socat, ssh -L, haproxy), which are never taken for the server, whatever they are
 * called.
 */

#include "base/err.h"
#include "host/net/sockets.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct way {
	pid_t server;               /* who serves the connection */
	struct sockets_entry end;   /* the server's end */
	bool relayed;               /* that has another's address in place of the client's */
	char through[ERR_TEXT_MAX]; /* what is in between; empty: nothing */
	char note[ERR_TEXT_MAX];    /* what is in doubt; empty: nothing */
};

/* What is to be at a way's end. */
struct way_goal {
	const char *protocol;              /* that it speaks */
	const char *(*foreign)(pid_t pid); /* as way_foreign() */
};
extern const struct way_goal way_afp;

/*
 * Finds the process that serves the connection local -> peer (the addresses as this end sees
 * them). -ENXIO: it is not on this host, or no server of the goal's kind, -EACCES: no right to see
 * which it is, -ENOTUNIQ: it may be one of several, until different things went through them; e has
 * a text for the user. out is filled in both cases, as far as it is known.
 */
int way_find(struct way *out, const struct way_goal *goal, const struct sockaddr_storage *local,
	     const struct sockaddr_storage *peer, struct err *e);

/*
 * What listens on a port, by its process, may be a program that carries on: *out is then the way of
 * one of its clients, else server is 0. Returns as way_find.
 */
int way_behind(struct way *out, pid_t pid, uint16_t port, struct err *e);

/*
 * What its program is not known to be, as in "socat (pid 7) is ...": a server by a library that it
 * has loaded, which is NULL; way_by_name, if it only is called so (names, with blanks in between);
 * else no. Anything can be called so, also a relay.
 */
extern const char way_by_name[];
const char *way_judge(pid_t pid, const char *library, const char *names, const char *no);
/* The same of netatalk's afpd. */
const char *way_foreign(pid_t pid);

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
