/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_RELAYS_H
#define KINDS_RELAYS_H

/*
 * Clients whose connection comes from a program of this machine that carries on what another
 * connection brings: socat, docker-proxy, ssh -L, haproxy. Told by its sockets, not by its name.
 */

#include "kinds/servers.h"
#include "run/figures.h"
#include "run/run.h"

/*
 * Sets RUN_FIGURE_RELAY and RELAY_REQUESTS. r: a run whose processes may still live. Not known if
 * none is found, and this host's sockets, or the open files of who holds a client's end here,
 * cannot be read.
 */
void relays_look(struct run_figures *out, const struct run *r, const struct servers_entry *s);

#endif
