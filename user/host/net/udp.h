/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_UDP_H
#define HOST_NET_UDP_H

/* Sockets of datagrams, by /proc/PID/net/udp and the sockets themselves. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct udp_socket {
	uint64_t ino;
	uint16_t port;  /* local; 0: not bound */
	uint64_t queue; /* bytes that wait to be read, as the kernel counts memory */
	uint64_t drops; /* datagrams that found no room, or were damaged, since it was made */
	int fd;         /* with udp_of: a descriptor of it */
};

/*
 * Calls fn for each one in the network namespace of a process (0: this one), until it returns other
 * than 0, which is returned; else 0 or a negative errno.
 */
int udp_each(pid_t pid, int (*fn)(void *arg, const struct udp_socket *s), void *arg);

/* The same, of the process's own ones; -EACCES: no right to see. */
int udp_of(pid_t pid, int (*fn)(void *arg, const struct udp_socket *s), void *arg);

/* A line of /proc/net/udp or udp6. false: a heading, or malformed. */
bool udp_parse(struct udp_socket *out, const char *line);

/*
 * The memory that the kernel lets wait on the socket of another process's descriptor, in bytes:
 * twice what was asked for. 0 or a negative errno: before Linux 5.6, no right.
 */
int udp_buffer(uint64_t *out, pid_t pid, int fd);

/* The largest buffer that a process without CAP_NET_ADMIN may ask for; 0: not readable. */
uint64_t udp_buffer_max(void);

#endif
