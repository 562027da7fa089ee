/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_DSI_H
#define DSI_DSI_H

/*
 * One DSI session over one TCP connection: submit requests, reap them when their reply has
 * come, in any order. Requests belong to the caller and are lent to the session from
 * dsi_submit() until dsi_reap() hands them back (or dsi_close()). One thread per session.
 *
 * A reply's payload is received into its request's buffer. Before its header is known the buffer
 * may get bytes of other messages too, which are moved on: while a request is lent, all of its
 * reply_cap bytes belong to the session, and bytes after reply_len are undefined afterwards. Reply
 * buffers of requests lent at the same time begin at the same address or do not overlap. Large ones
 * should begin at a page: malloc's begin 16 bytes after one, where the kernel copies slower.
 *
 * The session always reads while it has something to send, so no window can deadlock; it accepts
 * tickle, attention and close at any message boundary. Every wait has a deadline: the oldest
 * request must make progress (bytes of it are sent, or of its reply received); tickles do not
 * count. Once a call returned a negative errno other than -EAGAIN the session is dead and stays so.
 */

#include "base/err.h"
#include "base/io_wait.h"
#include "dsi/frame.h"
#include "run/tcp.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DSI_SCRATCH_LEN 65536

/* Longest AFP command without its data that a request can hold. */
#define DSI_COMMAND_MAX 1100

/* Payloads of at least this size are dropped if a request says so; shorter ones are received. */
#define DSI_DISCARD_LEN 16384

/* All in ns, CLOCK_MONOTONIC. */
struct dsi_times {
	uint64_t queued_ns; /* given to dsi_submit */
	uint64_t begun_ns;  /* first byte offered to the kernel */
	uint64_t sent_ns;   /* last byte taken by the kernel */
	uint64_t first_ns;  /* first byte of the reply read */
	uint64_t last_ns;   /* last byte of the reply read */
};

struct dsi_request {
	/* Set by the caller before dsi_submit. */
	uint8_t command;  /* DSI_COMMAND, DSI_WRITE, DSI_OPEN, DSI_STATUS */
	size_t len;       /* of the AFP command at wire + DSI_HEADER_LEN */
	const void *data; /* what follows the command (DSI_WRITE), not copied */
	size_t data_len;
	void *reply;      /* where the reply's payload goes; see above */
	size_t reply_cap; /* a longer reply is a protocol error */
	bool discard;     /* the payload is not needed: it is counted, and if possible not copied to
			     reply */

	/* Set by the session when the request comes back. */
	int32_t result;
	size_t reply_len;
	struct dsi_times t;

	/* Internal to the session. */
	uint16_t id;
	size_t sent;
	struct dsi_request *next;
	uint8_t wire[DSI_HEADER_LEN + DSI_COMMAND_MAX];
};

struct addrinfo;
struct dsi_marks;
struct sources;

struct dsi_opts {
	const char *host, *port;
	unsigned int window;               /* most requests in flight; 1..32768 */
	unsigned int timeout_ms;           /* longest time without progress of the oldest request */
	const volatile sig_atomic_t *stop; /* may be NULL; set: waits end with -EINTR */
	/*
	 * DSI_SCRATCH_LEN bytes that sessions of one thread share, so that thousands fit into
	 * memory; its content matters only within a call. NULL: the session has its own.
	 */
	uint8_t *scratch;
	const struct addrinfo *address; /* of host and port; NULL: they are looked up */
	const struct sources *sources;  /* where the connection begins; NULL: the kernel chooses */
	unsigned int number;            /* of the connection: the sources take turns */
	struct dsi_marks *marks;        /* where the session is marked (mark.h); NULL: nowhere */
};

struct dsi;

/*
 * Sessions that never wait. The caller alternates between dsi_wait(), a wait for what it says, and
 * dsi_advance(), and meanwhile takes what is done. The calls that wait (dsi_connect, dsi_open,
 * dsi_reap, dsi_close) are made of these.
 */

/* Begins to connect; complete once dsi_is_connected(). */
int dsi_dial(struct dsi **out, const struct dsi_opts *opts, struct err *e);
bool dsi_is_connected(const struct dsi *d);

/* Begins DSIOpenSession; complete once dsi_quantum() is not 0. */
int dsi_greet(struct dsi *d, struct err *e);

/* What to wait for. */
void dsi_wait(struct dsi *d, struct io_wait *w);

/*
 * Does what can be done now. events: those that came, 0: the due time. Negative errno: the session
 * is dead; -EINTR: the stop flag is set, and the session as it was.
 */
int dsi_advance(struct dsi *d, short events, struct err *e);

/* A finished request, NULL: none. */
struct dsi_request *dsi_take(struct dsi *d);

/*
 * Begins the end: DSICloseSession, unless the connection is gone. Requests in flight are forgotten.
 * Complete once dsi_is_finished(), when the server has closed or 2 s have passed; dsi_close() then
 * only frees.
 */
void dsi_finish(struct dsi *d);
bool dsi_is_finished(const struct dsi *d);

/* Waits at most ns for an event of the session, and advances it. As dsi_advance(). */
int dsi_work(struct dsi *d, uint64_t ns, struct err *e);

/* Connects only, for dsi_status. */
int dsi_connect(struct dsi **out, const struct dsi_opts *opts, struct err *e);

/*
 * DSIGetStatus on a connection of dsi_connect: the server information block. *len in: room,
 * out: length. The server then waits for the close.
 */
int dsi_status(struct dsi *d, void *out, size_t *len, struct err *e);

/* DSIOpenSession on a connection of dsi_connect; learns the server's quantum. */
int dsi_open(struct dsi *d, struct err *e);

/* Server request quantum in bytes: the longest message it accepts. 0 before the session is open. */
uint32_t dsi_quantum(const struct dsi *d);

/*
 * Queues the request and sends what the kernel takes. 0; -EAGAIN: the window is full, reap
 * first; other negative errno: the session is dead.
 */
int dsi_submit(struct dsi *d, struct dsi_request *r, struct err *e);

/* Returns one finished request; waits for it. -ENOENT: none is lent. */
int dsi_reap(struct dsi *d, struct dsi_request **out, struct err *e);

/* Requests submitted and not yet reaped, answered or not. */
unsigned int dsi_lent(const struct dsi *d);

/* Ignores opts.stop from now on: for cleaning up after a stop. */
void dsi_ignore_stop(struct dsi *d);

/* Whether the server is on this host: both ends of the connection have the same address. */
bool dsi_is_near(const struct dsi *d);

/* Whether our end paces what it sends, even on one host. See tcp_is_paced(). */
bool dsi_is_paced(const struct dsi *d);

/* Both ends of the connection. */
void dsi_ends(const struct dsi *d, struct sockaddr_storage *local, struct sockaddr_storage *peer);

/*
 * This end of the connection as the kernel sees it now: fills t_ns and what the kernel gives of
 * RUN_TCP, marks the rest unknown, does not change end and when. false: not available.
 */
bool dsi_tcp(const struct dsi *d, struct run_tcp *out);

/* Our end's congestion control: "cubic", "bbr". false: not available. */
bool dsi_congestion(const struct dsi *d, char out[static TCP_CONGESTION_LEN]);

/* dsi_finish(), waits until it is complete, frees. NULL is allowed. */
void dsi_close(struct dsi *d);

#endif
