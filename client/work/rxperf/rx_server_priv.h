/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_RXPERF_RX_SERVER_PRIV_H
#define WORK_RXPERF_RX_SERVER_PRIV_H

/* The server's threads, and what one does for a call. Only for rx_server.c and rx_server_call.c. */

#include "rx/perf.h"
#include "work/rxperf/rx_data.h"
#include "work/rxperf/rx_server.h"

#include <pthread.h>

/* A thread that works on calls. */
struct rx_worker {
	struct rx_server *s;
	pthread_t thread;
	pthread_cond_t news; /* of its call, or the server ends */
	struct rx_call *call;
	uint8_t head[RX_PERF_LEN];
	struct rx_data_check check;
};

struct rx_server {
	struct rx_endpoint *ep;
	struct rx_server_opts o;
	uint8_t *pattern;
	pthread_mutex_t lock; /* of the endpoint, and of all below */
	pthread_cond_t work;  /* a call waits, or the server ends */
	bool ends, listener_ends, listens;
	pthread_t listener;
	struct err failure;
	struct rx_worker *worker;
	unsigned int n_workers, n_idle;
	struct rx_call **queue; /* calls that wait, the oldest first */
	unsigned int n_queued;
	struct rx_server_counts counts;
};

/* Answers the worker's call. Called, and returns, with the lock held. */
void rx_server_call(struct rx_worker *w);

#endif
