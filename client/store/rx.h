/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_RX_H
#define STORE_RX_H

/* What a store of calls of Rx knows of its socket. */

#include "rx/endpoint.h"
#include "store/store.h"

/*
 * The "how" of an operation that is a question outside of calls: its head is what is asked, or the
 * server's version is.
 */
#define STORE_RX_ASK         0x100
#define STORE_RX_ASK_VERSION 0x200

struct store_rx_state {
	struct rx_counts counts;
	struct rx_rtt rtt;
	struct rx_buffers buffers;
	uint64_t drops; /* datagrams that the kernel dropped because its buffer was full */
	bool has_drops; /* they are known */
	uint16_t port;
	uint32_t called_back; /* calls of its server that were answered */
};

#endif
