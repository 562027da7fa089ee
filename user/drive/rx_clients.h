/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_RX_CLIENTS_H
#define DRIVE_RX_CLIENTS_H

/*
 * The clients of rxperf's calls (client/work/rxperf/rxperf.h), each an Rx peer with a socket of its
 * own. For each test they have new sockets, begin together, and are gone at its end.
 */

#include "drive/clients.h"
#include "work/rxperf/rxperf.h"

struct rx_clients_opts {
	struct sockaddr_in to;
	struct rx_limits own;
	unsigned int clients, buffer_len, timeout_ms;
	uint64_t duration_ns; /* 0: until all calls are made */
	uint64_t ramp_ns;     /* they begin one after the other within it; 0: together */
	/* Of one more client, which makes one such call a second beside them, if duration_ns is
	 * given: what a user feels. NULL: none. */
	const struct rxperf_opts *probe;
	void (*tick)(void *user); /* ten times a second */
	void *user;
};

/* What the clients of a test did together. */
struct rx_clients_sum {
	struct rxperf_counts counts; /* sums; of its socket: of all sockets */
	unsigned int dead, silent;   /* clients whose server did not answer any more; never did */
	unsigned int not_open;       /* clients without a socket */
	uint32_t buffer_min_len;     /* least that the kernel granted for receiving */
};

/*
 * Does a test: what it did is in p and *sum. Calls that failed are no error. 0, or a negative errno
 * with a text.
 */
int rx_clients_do(const struct rx_clients_opts *o, const struct rxperf_opts *work,
		  struct run_phase *p, struct rx_clients_sum *sum, struct err *e);

#endif
