/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_ENDPOINT_H
#define RX_ENDPOINT_H

/*
 * One UDP socket with the connections and calls of Rx on it, as client, as server, or both. It
 * never waits, and allocates only in rx_endpoint_open().
 *
 * Threads: all functions, and those of rx/call.h on its calls, under one lock of the caller; only
 * rx_endpoint_fetch() needs no lock, and is called by one thread. A caller with one thread has no
 * lock, and uses rx_endpoint_wait() and rx_endpoint_advance(). One with more than one:
 *
 *	the listener	wait for the socket or the due time (rx_endpoint_wait)
 *			rx_endpoint_fetch
 *			lock; rx_endpoint_take, rx_endpoint_time, rx_endpoint_flush; unlock
 *	a worker	lock; rx_call_peek, rx_call_write, ...; rx_endpoint_flush; unlock
 *
 * A call that a worker has made due sooner than the listener's wait ends is due at the latest
 * 100 ms later if the listener waits no longer than that.
 */

#include "base/err.h"
#include "base/io_wait.h"
#include "rx/call.h"

#include <netinet/in.h>

/* Of a server, and of a client whose server calls it back. All may be NULL. */
struct rx_events {
	void *user;
	/*
	 * A new call of a peer, with its first packet: it is the user's until
	 * rx_endpoint_release(). false: it is refused (RX_INVALID_OPERATION).
	 */
	bool (*arrived)(void *user, struct rx_call *c);
	/* A call of the user's has news: bytes to read, room to write, or it is over. */
	void (*changed)(void *user, struct rx_call *c);
	/* A DEBUG packet that asks for something; 0: no answer; else bytes of it in out. */
	size_t (*debug)(void *user, struct rbuf asked, uint8_t out[static RX_DATA_LEN]);
	/* A DEBUG or VERSION packet that answers; h->call is the number of the question. */
	void (*answered)(void *user, const struct rx_header *h, struct rbuf answer);
};

struct rx_endpoint_opts {
	struct in_addr address; /* to bind to */
	uint16_t port;          /* 0: any */
	uint16_t service;       /* of incoming calls; 0: none are taken */
	unsigned int
	    buffer_len;       /* bytes asked for, of each of the socket's buffers; 0: the usual */
	struct rx_limits own; /* all 0: RX_LIMITS_USUAL */
	unsigned int n_conns, n_calls; /* most at a time */
	/*
	 * Memory for datagrams received, which endpoints of one thread may share: it matters only
	 * within a call. NULL: the endpoint has its own.
	 */
	void *scratch;
	size_t scratch_len;
	uint64_t first_rtt_ns, dead_ns, least_rtt_ns; /* 0: as in rx/hub.h */
	struct rx_events events;
};

/* What became of the socket's buffers. */
struct rx_buffers {
	uint32_t asked_len; /* 0: nothing was asked */
	uint32_t received_len,
	    sent_len; /* granted: as setsockopt() counts, half of what ss shows */
	bool forced;  /* past the system's limit, by the right to do so */
};

struct rx_endpoint;

int rx_endpoint_open(struct rx_endpoint **out, const struct rx_endpoint_opts *o, struct err *e);
void rx_endpoint_close(struct rx_endpoint *ep); /* NULL is allowed */

uint16_t rx_endpoint_port(const struct rx_endpoint *ep);
struct rx_hub *rx_endpoint_hub(struct rx_endpoint *ep); /* its counts and RTT */
struct rx_buffers rx_endpoint_buffers(const struct rx_endpoint *ep);
/* Datagrams that the kernel dropped because this socket's buffer was full; false: not known. */
bool rx_endpoint_drops(struct rx_endpoint *ep, uint64_t *out);

/* ---- client ---- */

/* A new connection to a peer's service; NULL: there is no room. */
struct rx_conn *rx_endpoint_connect(struct rx_endpoint *ep, const struct sockaddr_in *to,
				    uint16_t service);
/* A new call on a free channel of the connection; NULL: none is free, or there is no room. */
struct rx_call *rx_endpoint_begin(struct rx_endpoint *ep, struct rx_conn *conn, uint64_t now_ns);

/* Why a peer could not be reached, static; NULL: it was not so. */
const char *rx_endpoint_refused(const struct rx_endpoint *ep);
/*
 * Asks a server something outside of calls: type is RX_DEBUG, with this payload, or RX_VERSION. Not
 * kept: who asked asks again. 0, also where the kernel takes nothing now; else the socket is lost.
 */
int rx_endpoint_ask(struct rx_endpoint *ep, const struct sockaddr_in *to, uint32_t number,
		    enum rx_packet_type type, struct rbuf payload);

/* ---- both ---- */

const struct sockaddr_in *rx_endpoint_peer(const struct rx_conn *conn);
/* The user of a call, for events; NULL at first. */
void rx_endpoint_set_user(struct rx_call *c, void *user);
void *rx_endpoint_user(const struct rx_call *c);
/*
 * The caller does not use the call any more. A server's call that is not over goes on by itself:
 * what it has borrowed must stay until then. It is best released right after rx_call_end(). A
 * client's is given up.
 */
void rx_endpoint_release(struct rx_endpoint *ep, struct rx_call *c);

/* What to wait for. */
void rx_endpoint_wait(const struct rx_endpoint *ep, struct io_wait *w);
/* All of the below, without a lock; now_ns: as it begins. 0, or a negative errno and a text: the
 * socket is lost. */
int rx_endpoint_advance(struct rx_endpoint *ep, uint64_t now_ns, struct err *e);

/* Reads datagrams from the socket, as many as there is room for. How many, or a negative errno. */
int rx_endpoint_fetch(struct rx_endpoint *ep);
/* Gives those to their calls. */
void rx_endpoint_take(struct rx_endpoint *ep, uint64_t now_ns);
void rx_endpoint_time(struct rx_endpoint *ep, uint64_t now_ns);
/* Sends what the calls have to send. 0, -EAGAIN: the kernel takes no more now, or an errno. */
int rx_endpoint_flush(struct rx_endpoint *ep, uint64_t now_ns);

#endif
