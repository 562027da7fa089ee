/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_TCPDIAG_H
#define HOST_NET_TCPDIAG_H

/*
 * The state of the other end of a TCP connection of this host, from the kernel's socket
 * diagnostics: of that socket only, whichever process holds it. Sees this network namespace. Needs
 * no rights.
 */

#include "host/net/netlink.h"
#include "host/net/sockets.h"
#include "run/tcp.h"

#include <linux/inet_diag.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* All 0: closed. */
struct tcpdiag {
	struct netlink netlink;
	uint8_t family;             /* under which the kernel finds the socket */
	struct inet_diag_sockid id; /* with the kernel's cookie: this socket and no later one */
};

/*
 * Finds the other end of the connection local -> peer (the addresses as this end sees them). 0,
 * -ENOENT: not found (another host, another network namespace, ended) or the kernel has no
 * socket diagnostics, or another negative errno; then out is closed.
 */
int tcpdiag_open(struct tcpdiag *out, const struct sockaddr_storage *local,
		 const struct sockaddr_storage *peer);

/*
 * Fills value and known of out, and nothing else of it. false, out untouched: closed, or no process
 * has that socket any more. May wait for the socket's lock: milliseconds while its process sends or
 * receives without a pause.
 */
bool tcpdiag_look(struct tcpdiag *d, struct run_tcp *out);

/* The socket's congestion control: "cubic", "bbr". Errors as tcpdiag_look. */
bool tcpdiag_congestion(struct tcpdiag *d, char out[static TCP_CONGESTION_LEN]);

void tcpdiag_close(struct tcpdiag *d); /* may be closed already */

/*
 * The next three ask once, about a connection that a process of this network namespace holds, by
 * its end. false: closed, or not known.
 *
 * Whether the last data came from the other side, and none was sent since; ms: for how long. The
 * kernel's clock for it has steps of some milliseconds: within one, data counts as the last if at
 * least "bytes" came in all.
 */
bool tcpdiag_owed(const struct sockets_entry *end, uint64_t bytes, uint32_t *ms);

/*
 * For how long nothing has come from the other side, and how many bytes came that its process has
 * not read. false also if nothing ever came, or no more will: the other side has closed its end.
 */
bool tcpdiag_silent(const struct sockets_entry *end, uint32_t *ms, uint32_t *unread_bytes);

/* How many bytes its process has read from it, and how many it has written; false: untouched. */
bool tcpdiag_carried(const struct sockets_entry *end, uint64_t *read, uint64_t *written);

/*
 * Calls fn for each connection of this network namespace whose end here has this port, with its far
 * end and its figures but SNDBUF, RCVBUF and MSS, until fn returns other than 0, which is returned.
 * 0 or another negative errno.
 */
typedef int tcpdiag_fn(void *arg, const struct sockets_addr *far, const struct run_tcp *tcp);
int tcpdiag_each(uint16_t port, tcpdiag_fn *fn, void *arg);

/* How many connections to this port no process has accepted yet. 0 or a negative errno. */
int tcpdiag_unaccepted(uint16_t port, uint64_t *n);

#endif
