/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_HUB_H
#define RX_HUB_H

/* What the calls of one end of Rx share: limits, counts, and which of them have something to do. */

#include "rx/packet.h"

/* X(name, meaning) */
#define RX_COUNTS(X)                                                                               \
	X(datagrams_sent, "datagrams sent")                                                        \
	X(data_sent, "DATA packets sent, resent ones included")                                    \
	X(resent, "DATA packets sent again")                                                       \
	X(bytes_sent, "bytes of data sent, resent ones included")                                  \
	X(acks_sent, "ACK packets sent, pings and their answers included")                         \
	X(pings_sent, "pings sent")                                                                \
	X(datagrams_received, "datagrams received")                                                \
	X(data_received, "DATA packets received, duplicates included")                             \
	X(bytes_received, "bytes of data received, without duplicates")                            \
	X(duplicates, "DATA packets received again")                                               \
	X(out_of_order, "DATA packets received before one that is to come before them")            \
	X(beyond_window, "DATA packets received that were not to be sent yet, and dropped")        \
	X(acks_received, "ACK packets received")                                                   \
	X(busy_received, "BUSY packets received")                                                  \
	X(aborts_received, "ABORT packets received")                                               \
	X(timeouts, "times that an answer did not come in time, and data was sent again")          \
	X(recoveries, "times that gaps in answers showed a loss, and data was sent again")         \
	X(dead, "calls given up after a long silence")                                             \
	X(strange, "packets dropped: damaged, or of no call here")

struct rx_counts {
#define X(name, meaning) uint64_t name;
	RX_COUNTS(X)
#undef X
};

#define RX_WINDOW       32u /* packets */
#define RX_WINDOW_MAX   RX_ACK_MAX
#define RX_WINDOW_FIRST 16u /* of a peer that has not said */
#define RX_JUMBO_USUAL  4u

/* What one end takes. */
struct rx_limits {
	size_t data_len;       /* bytes of data in a packet */
	unsigned int window;   /* packets that may be sent before the first is confirmed */
	unsigned int datagram; /* packets in one datagram; 1: no jumbograms */
};

#define RX_LIMITS_USUAL                                                                            \
	{                                                                                          \
		RX_DATA_LEN, RX_WINDOW, RX_JUMBO_USUAL                                             \
	}

/* Round-trip times; ns. */
struct rx_rtt {
	uint64_t smooth_ns, deviation_ns; /* meaningful if n is not 0 */
	uint64_t n, sum_ns, min_ns, max_ns;
};

/* What is assumed of the round trip before one was measured. */
#define RX_FIRST_RTT_NS 3000000000u
#define RX_DEAD_NS      12000000000u
#define RX_LEAST_RTT_NS 20000000u

struct rx_call;

struct rx_hub {
	struct rx_limits own; /* what this end takes, and the most that it sends */
	uint64_t first_rtt_ns, dead_ns;
	uint64_t least_rtt_ns; /* a round trip counts as so long, when data is to be sent again */
	struct rx_counts counts;
	struct rx_rtt rtt; /* of all connections: n, sum, min, max */
	/* Calls that may have something to send, each once. */
	struct rx_call *ready, **ready_tail;
	uint64_t due_ns; /* no call is due before; UINT64_MAX: none is */
};

void rx_hub_init(struct rx_hub *hub, const struct rx_limits *own);
/* The next call that may have something to send; NULL: none. */
struct rx_call *rx_hub_ready(struct rx_hub *hub);

void rx_counts_add(struct rx_counts *to, const struct rx_counts *from);

#endif
