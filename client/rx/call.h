/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_CALL_H
#define RX_CALL_H

/*
 * One call of Rx, on either side: the client sends its request, the server its reply, both as
 * streams. Packets go in and come out; there is no socket, no clock (now_ns is given, any clock
 * that does not go back), no wait, and no allocation after rx_call_init(). What is sent is borrowed
 * from the caller until the call is over; what is received is read in place.
 *
 * A call is active from rx_call_begin() until it is over: a client's when it has read the whole
 * reply, a server's when the client has confirmed all of it, either when it failed. Then it still
 * answers packets that come again, until rx_call_begin() makes it the next call of its channel.
 */

#include "rx/hub.h"

#include <sys/uio.h>

enum rx_call_state { RX_CALL_IDLE, RX_CALL_ACTIVE, RX_CALL_OVER };

/* What a side of a connection knows. */
struct rx_conn {
	struct rx_hub *hub;
	uint32_t epoch, cid; /* without channel */
	uint32_t serial;     /* last one sent */
	uint16_t service;
	bool client;           /* this side began the connection */
	struct rx_limits peer; /* as the peer said last, at first what every peer takes */
	struct rx_rtt rtt;
	void *owner; /* of who keeps it */
};

/* Begins a connection of the hub; cid: a multiple of RX_CHANNELS. */
void rx_conn_init(struct rx_conn *conn, struct rx_hub *hub, uint32_t epoch, uint32_t cid);

#define RX_PIECES 4 /* of borrowed memory in a packet */

struct rx_call;

/* Bytes of memory of a call, and such memory (aligned as malloc's) as a call. */
size_t rx_call_size(const struct rx_hub *hub);
struct rx_call *rx_call_init(void *memory, const struct rx_hub *hub);

/* number: of the channel's calls, from 1. */
void rx_call_begin(struct rx_call *c, struct rx_conn *conn, unsigned int channel, uint32_t number,
		   uint64_t now_ns);

enum rx_call_state rx_call_state(const struct rx_call *c);
struct rx_conn *rx_call_conn(const struct rx_call *c);
/* Why it failed: enum rx_error or the peer's own; 0: it did not. */
int32_t rx_call_error(const struct rx_call *c);
/* More about the error, static; NULL: there is no more. */
const char *rx_call_why(const struct rx_call *c);

/*
 * Sends bytes after those before; returns how many were taken, fewer than len if there is no room
 * until the peer has confirmed some (0 of a call that is over). end: after the last ones.
 */
size_t rx_call_write(struct rx_call *c, const void *data, size_t len);
void rx_call_end(struct rx_call *c);

/*
 * The next bytes received, in the call's memory until they are skipped: *len of them, at least 1;
 * NULL: none now. skip: at most those of one peek.
 */
const void *rx_call_peek(const struct rx_call *c, size_t *len);
void rx_call_skip(struct rx_call *c, size_t len, uint64_t now_ns);

/* Gives the call up, and says so to the peer. */
void rx_call_abort(struct rx_call *c, int32_t code);
/* It is over without a word to the peer. */
void rx_call_fail(struct rx_call *c, int32_t code, const char *why);

/* A packet of this call: its header, and its payload. */
void rx_call_packet(struct rx_call *c, const struct rx_header *h, struct rbuf payload,
		    uint64_t now_ns);

/* When rx_call_time() is to be called, at the latest; UINT64_MAX: never. */
uint64_t rx_call_due_ns(const struct rx_call *c);
void rx_call_time(struct rx_call *c, uint64_t now_ns);

#define RX_JUMBO_MAX 6 /* packets of a datagram */
#define RX_IOV_MAX   (1 + RX_JUMBO_MAX * (1 + RX_PIECES))

/* A datagram to be sent. It points into itself: not to be moved. */
struct rx_datagram {
	struct iovec iov[RX_IOV_MAX];
	unsigned int n;              /* of iov */
	size_t len;                  /* bytes */
	const struct rx_call *lends; /* iov has borrowed memory of this call; NULL: of none */
	struct rx_conn *conn;
	uint8_t head[RX_HEADER_LEN + RX_ACK_LEN];
};

/* The next datagram to send now; false: none. */
bool rx_call_output(struct rx_call *c, struct rx_datagram *out, uint64_t now_ns);

#endif
