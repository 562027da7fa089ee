/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_RX_WAITING_H
#define DRIVE_RX_WAITING_H

/*
 * Asks servers of Rx, as rxdebug does, how many calls wait for a thread. Nothing here waits: a
 * server that does not answer, or is in another network namespace, is one that did not answer.
 */

#include "run/run.h"
#include "watch/watch.h"

#include <netinet/in.h>

struct rx_waiting;

struct rx_waiting *rx_waiting_new(void); /* NULL: no memory, or no socket */
void rx_waiting_free(struct rx_waiting *a);

/* At most 16; others are passed over. */
void rx_waiting_add(struct rx_waiting *a, const struct sockaddr_in *server);
/* The sockets of the servers that are watched, on this host's loopback address. */
void rx_waiting_add_watched(struct rx_waiting *a, const struct watch *w);

/* Takes the answers that there are, and asks again: to be called ten times a second. */
void rx_waiting_tick(struct rx_waiting *a);

/* Fills r->waiting with the server of which calls waited most often. */
void rx_waiting_note(struct rx_waiting *a, struct run *r);

#endif
