/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_PASSED_H
#define KINDS_PASSED_H

/*
 * A program that carries on by what is no connection of TCP (a pipe, a Unix socket, datagrams)
 * looks like a server, but moves elsewhere what it reads: that is told by what it did.
 */
#include "kinds/target.h"
#include "run/run.h"

/*
 * What a foreign server (struct target) moved through pipes and other sockets for each of its
 * clients' bytes. Of one over Rx, for each that came: the datagrams that it sent from other
 * sockets, or the packets of data that it sent in calls of its own. NAN: requests were not
 * followed. 0 if it is not foreign. r: its watch has ended, and its sockets are noted.
 */
double passed_share(const struct target *t, const struct run *r);
#define PASSED_HARM 0.5 /* so much and more: it may be no server */

/*
 * Warns of a foreign server, by its name: where PASSED_HARM or more was passed on, and where that
 * is not known. 0 or -ENOMEM.
 */
int passed_note(const struct target *t, struct run *r, const char *name);

#endif
