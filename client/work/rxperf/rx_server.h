/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_RXPERF_RX_SERVER_H
#define WORK_RXPERF_RX_SERVER_H

/*
 * The server of rxperf's calls, as servers of AFS are built: one thread reads all datagrams and
 * hands calls to threads that work on one call each (rx_Listener, rx_worker). A call waits while
 * all of these are busy. What clients send is checked (work/rx_data.h) as far as it is this
 * program's.
 *
 * Functions may be called by any thread.
 */

#include "rx/endpoint.h"

struct rx_server_opts {
	struct in_addr address;
	uint16_t port;           /* 0: any */
	unsigned int buffer_len; /* bytes asked for, of each of the socket's buffers */
	struct rx_limits own;
	unsigned int threads_least, threads_most; /* begun at once, and when calls wait */
	/*
	 * Threads that work for one peer (address and port), 0: any number; and the most that do as
	 * long as no call waits of a peer that has fewer than that, 0: no more.
	 */
	unsigned int quota, quota_most;
	unsigned int n_conns, n_calls;  /* kept at a time; 0: as many as is usual */
	uint64_t first_rtt_ns, dead_ns; /* 0: as in rx/hub.h */
	/* Called once the socket is open, before a thread begins and a byte is read. NULL: nothing.
	 */
	void (*opened)(const void *user);
	const void *user;
};

/* X(name, meaning) */
#define RX_SERVER_COUNTS(X)                                                                        \
	X(sends, "SEND calls answered")                                                            \
	X(recvs, "RECV calls answered")                                                            \
	X(rpcs, "RPC calls answered")                                                              \
	X(files, "FILE calls answered")                                                            \
	X(bytes_read, "bytes of data read from clients")                                           \
	X(bytes_written, "bytes of data written to clients")                                       \
	X(bytes_checked, "bytes read that were compared with what should have come")               \
	X(wrong, "calls with wrong bytes")                                                         \
	X(refused, "calls refused: not of rxperf's protocol")                                      \
	X(failed, "calls that ended before they were answered")                                    \
	X(waited, "calls that waited for a thread")                                                \
	X(most_waiting, "most calls that waited at a time")                                        \
	X(most_busy, "most threads that worked at a time")

struct rx_server_counts {
#define X(name, meaning) uint64_t name;
	RX_SERVER_COUNTS(X)
#undef X
};

struct rx_server_state {
	struct rx_server_counts counts;
	struct rx_counts rx;
	struct rx_rtt rtt;
	struct rx_buffers buffers;
	unsigned int threads, idle, waiting; /* now */
	bool drops_known;
	uint64_t drops; /* datagrams that the kernel dropped because the socket's buffer was full */
};

struct rx_server;

/* Its threads begin at once. */
int rx_server_open(struct rx_server **out, const struct rx_server_opts *o, struct err *e);
/* Gives up all calls. NULL is allowed. */
void rx_server_close(struct rx_server *s);

uint16_t rx_server_port(const struct rx_server *s);
void rx_server_read(struct rx_server *s, struct rx_server_state *out);
/* 0; or a negative errno and a text: the socket is lost, nothing is served any more. */
int rx_server_failure(struct rx_server *s, struct err *e);

#endif
