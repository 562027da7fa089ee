/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_UDPSOCKETS_H
#define ATTACH_UDPSOCKETS_H

/*
 * The server's sockets of datagrams: what waits in them and what they had no room for, looked at
 * ten times a second. What comes and goes between two looks is not in the queue's figures, but in
 * those of drops.
 */

#include "run/run.h"
#include "watch/watch.h"

struct udpsockets;

struct udpsockets *udpsockets_new(void); /* NULL: no memory */
void udpsockets_free(struct udpsockets *u);

/* The first look is where counting begins. */
void udpsockets_look(struct udpsockets *u, const struct watch *w);

/* Fills r->socket with all that was seen, and warns of drops. Once. 0 or -ENOMEM. */
int udpsockets_note(struct udpsockets *u, const struct watch *w, struct run *r);

#endif
