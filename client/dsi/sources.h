/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_SOURCES_H
#define DSI_SOURCES_H

/*
 * This host's own addresses that connections begin at. One address has at most as many connections
 * to one server as net.ipv4.ip_local_port_range has ports.
 */

#include "base/err.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>

#define SOURCES_MAX 64

union source_addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct sources {
	unsigned int n; /* 0: the kernel chooses */
	union source_addr at[SOURCES_MAX];
};

/*
 * "192.0.2.1,2001:db8::1,fe80::1%eth0": numbers, no names; for struct opt, to is a struct sources.
 * 0; -EINVAL with a text.
 */
int sources_parse(void *to, const char *list, struct err *e);

/* How many are of the family (AF_INET, AF_INET6). */
unsigned int sources_of(const struct sources *s, int family);

/* Looks whether each is an address of this host. 0; -EADDRNOTAVAIL with a text that names it. */
int sources_check(const struct sources *s, struct err *e);

/*
 * Binds a socket that is to be connected to the address that is connection i's turn; the port is
 * chosen only as it connects, so that one serves for several servers. 0, also where s is NULL or
 * empty; -EAFNOSUPPORT: none is of this family; another negative errno.
 */
int sources_bind(const struct sources *s, unsigned int i, int fd, int family);

#endif
