/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_CHANNEL_H
#define RANKS_CHANNEL_H

/*
 * A TCP connection between rank 0 and another rank: messages with a type and a length. An end that
 * dies closes it; a host that disappears is noticed within CHANNEL_SILENCE_S.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CHANNEL_SILENCE_S 20

/* Longest message of an end that is not known yet, and of one that is. */
#define CHANNEL_STRANGER_MAX 1024u
#define CHANNEL_MAX          (256u << 20)

struct channel {
	int fd; /* -1: closed */
	uint8_t *in;
	size_t have, room, taken; /* bytes of in; of the message that was taken last */
	uint32_t len_max;
};

/* A message, borrowed until the next is taken. */
struct message {
	uint8_t type;
	const uint8_t *data;
	size_t len;
};

/* Over a connected socket, which it closes. */
void channel_init(struct channel *c, int fd);
/* Nothing to do twice. */
void channel_close(struct channel *c);

/* Waits until the kernel has taken it. 0 or a negative errno: the channel is lost. */
int channel_send(struct channel *c, uint8_t type, const void *data, size_t len);

/*
 * The next message: 1; 0: none yet (none until until_ns, CLOCK_MONOTONIC; 0: does not wait);
 * negative errno: the channel is lost; -EINTR: a signal came.
 */
int channel_take(struct channel *c, struct message *out, uint64_t until_ns);

/* A socket that listens at all addresses of this host: its descriptor and port. */
int channel_listen(uint16_t *port, struct err *e);

/* Connects within wait_ns. A descriptor or a negative errno. */
int channel_dial(const struct sockaddr_storage *to, uint64_t wait_ns);

#endif
