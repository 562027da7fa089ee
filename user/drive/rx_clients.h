/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_RX_CLIENTS_H
#define DRIVE_RX_CLIENTS_H

/*
 * The clients of rxperf's calls (client/work/rxperf/rxperf.h), each an Rx peer with a socket of its
 * own. For each test they have new sockets, begin together, and are gone at its end.
 */

#include "drive/clients.h"
#include "drive/rxperf.h"

/* What the clients of a test did together. */
struct rx_clients_sum {
	struct rxperf_counts counts; /* sums; of its socket: of all sockets */
	unsigned int dead;           /* clients whose server did not answer a call any more */
	unsigned int stopped;        /* of these: called no more */
	unsigned int silent;         /* of these: the server never answered */
	unsigned int not_open;       /* clients without a socket */
	uint32_t buffer_min_len;     /* least that the kernel granted for receiving */
};

struct rx_clients_test {
	const struct rxperf_cfg *cfg;
	struct rxperf_opts work;
	void (*tick)(void *user); /* ten times a second */
	void *user;
	const char *name;          /* of the test */
	FILE *progress;            /* for what each second brings */
	struct rx_clients_sum sum; /* what they did: it is filled */
};

/* Does it: what it did is also in p. Calls that failed are no error. 0, or a negative errno with a
 * text. */
int rx_clients_do(struct rx_clients_test *t, struct run_phase *p, struct err *e);

#endif
