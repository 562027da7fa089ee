/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_CONNTRACK_H
#define HOST_NET_CONNTRACK_H

/* Addresses that the kernel translates (NAT), by its own table of connections. */

#include "host/net/sockets.h"

#include <stdbool.h>

/*
 * Of a TCP connection of this network namespace, as the side that opened it sees it (near: its own
 * address): changes both ends to what the other side sees. false: nothing is translated, or it is
 * not known, as without CAP_NET_ADMIN; then they stay as they are.
 */
bool conntrack_look(struct sockets_addr *near, struct sockets_addr *far);

#endif
