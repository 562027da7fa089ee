/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_SOCKETS_H
#define HOST_NET_SOCKETS_H

/*
 * This host's connected sockets and the other end of each, from the kernel's socket diagnostics,
 * or from /proc/net/tcp if those are not available. Sees this network namespace.
 */

#include "base/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* One end of a TCP connection; IPv4 in the form ::ffff:1.2.3.4. */
struct sockets_addr {
	uint8_t ip[16];
	/* The interface of a link-local address, by its number here; 0: not known, or another. */
	uint32_t scope;
	uint16_t port;
};

struct sockets_entry {
	uint64_t ino;
	struct sockets_addr local, remote; /* TCP */
	uint64_t peer;                     /* Unix: the other end's inode; 0 for TCP */
	uint32_t uid;                      /* TCP: the owner */
	bool listens;                      /* TCP: it has no remote end */
	/* Unix: what it, or the socket that accepted it, is bound to. */
	char path[109];    /* as given to bind(); empty: not bound, or no path */
	uint64_t file_ino; /* the file's inode, 0: none, and its device by the kernel's number */
	uint32_t file_dev;
};

struct sockets {
	size_t n;
	struct sockets_entry *entry; /* by inode */
};

/* The order of sockets, of struct sockets_entry or of what begins with one: for qsort(). */
int sockets_by_inode(const void *a, const void *b);

/* All sockets that are connected or listen. 0 or a negative errno; sockets_fini in both cases. */
int sockets_read(struct sockets *out, struct err *e);
void sockets_fini(struct sockets *s);

/*
 * The same of the network namespace of a process; of another than this one TCP only, and without
 * the interfaces of link-local addresses.
 */
int sockets_read_of(struct sockets *out, pid_t pid, struct err *e);

/* The same by /proc/PID/net/tcp and tcp6 (which may be missing) alone; pid 0: this process. */
int sockets_read_proc(struct sockets *out, pid_t pid);

/* false: not an Internet address. */
bool sockets_addr(struct sockets_addr *out, const struct sockaddr_storage *from);

/* "192.0.2.1:50000", "[2001:db8::1]:50000" or "[fe80::1%3]:50000"; false: neither. */
bool sockets_addr_parse(struct sockets_addr *out, const char *text);

/* A scope that is not known may be any. */
bool sockets_same(const struct sockets_addr *a, const struct sockets_addr *b);

/* For a call of the system, as IPv6. */
struct sockaddr_storage sockets_sockaddr(const struct sockets_addr *from);

/* Its address, without the port; with a scope "fe80::1%3". */
#define SOCKETS_IP_LEN (INET6_ADDRSTRLEN + 11)
void sockets_ip_text(char out[static SOCKETS_IP_LEN], const struct sockets_addr *from);

/* With the port, as a URL has both: "192.0.2.1:548", "[2001:db8::1]:548"; cut to fit. */
#define SOCKETS_TEXT_LEN (SOCKETS_IP_LEN + 8)
void sockets_text(char *out, size_t len, const struct sockets_addr *from);

bool sockets_is_v4(const struct sockets_addr *a);
bool sockets_is_loopback(const struct sockets_addr *a);
/* Whether an address is this machine's: a socket can be bound to it. */
bool sockets_is_ours(const struct sockets_addr *a);

/*
 * An address as a message of the kernel's socket diagnostics has it, with the interface that the
 * socket is bound to; 0: not known.
 */
void sockets_diag_addr(struct sockets_addr *out, int family, const void *ip, uint16_t port,
		       uint32_t interface);

/*
 * NULL: not found, or several may be it, as their scopes are not known. Those that may be it are
 * added to n (or NULL).
 */
const struct sockets_entry *sockets_find(const struct sockets *s, const struct sockets_addr *local,
					 const struct sockets_addr *remote, size_t *n);

/* The socket with this inode; NULL: not found. */
const struct sockets_entry *sockets_of_inode(const struct sockets *s, uint64_t ino);

/* Inode of the other end of the socket with inode ino; 0: not on this host, or not connected. */
uint64_t sockets_peer(const struct sockets *s, uint64_t ino);

/* The sockets that a process has open; of very many the first. */
#define SOCKETS_HELD_MAX 4096
struct sockets_held {
	size_t n;
	struct {
		uint64_t ino;
		int fd;
	} socket[SOCKETS_HELD_MAX];
};

/* Adds those of a process. 0; -EACCES: no right to see, or another negative errno. */
int sockets_hold(struct sockets_held *to, pid_t pid);

/*
 * Calls fn for each message of the kernel's socket diagnostics about TCP sockets of both families,
 * as the request asks, until it returns other than 0, which is returned; or a negative errno.
 */
struct inet_diag_req_v2;
struct netlink_answer;
typedef int sockets_fn(void *arg, const struct netlink_answer *a);
int sockets_each_tcp(const struct inet_diag_req_v2 *of, sockets_fn *fn, void *arg);

/*
 * A line of /proc/net/tcp or tcp6. false: a heading, a socket that is not connected and does not
 * listen, or malformed.
 */
bool sockets_parse(struct sockets_entry *out, const char *line);

#endif
