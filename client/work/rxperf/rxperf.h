/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_RXPERF_RXPERF_H
#define WORK_RXPERF_RXPERF_H

/*
 * What a client of rxperf does: calls that move bytes, one after the other, or several at a time.
 * What is received is compared with what this program's own server sends; bytes of other servers
 * are counted as not compared. Or small calls of AFS (work/rx_calls.h).
 */

#include "load/actor.h"
#include "rx/perf.h"
#include "store/rx.h"
#include "work/rxperf/rx_calls.h"

struct rxperf_opts {
	struct rx_perf call;               /* what each call is; not its version */
	const struct rx_small_call *small; /* in its place; NULL: none */
	uint32_t volume;                   /* of a small call */
	unsigned int threads;              /* calls at a time; at least 1 */
	/*
	 * Of each of them; 0: without an end, one at a time, also after a call that was not
	 * answered any more, unless the server never has answered.
	 */
	uint64_t calls;
	bool verify;     /* what is received */
	uint32_t period; /* bytes of what is sent, again and again; 0: RX_DATA_PERIOD */
};

#define RXPERF_THREADS_MAX 128

/* What a client has done. */
struct rxperf_counts {
	uint64_t done, failed;   /* calls */
	uint64_t sent, received; /* bytes of data of those that did not fail */
	uint64_t not_compared;   /* calls: the bytes are another program's, or were not looked at */
	bool dead;               /* the server did not answer a call any more */
	bool stopped;            /* and no other was made */
	bool looked;             /* socket is known */
	struct store_rx_state socket; /* after the last call */
};

struct rxperf;

/* data: RX_DATA_PERIOD bytes of rx_data_fill() for a client, which all share, or as
 * many as o->period says. o is borrowed. number: of
 * the client. NULL without memory. */
struct rxperf *rxperf_new(const struct rxperf_opts *o, const uint8_t *data, unsigned int number);
void rxperf_free(struct rxperf *p);

/* An action is a call, or, where several are made at a time, all of them. Class 0. */
struct script *rxperf_script(struct rxperf *p);

/* While no script is in use. */
const struct rxperf_counts *rxperf_counts(const struct rxperf *p);

/* "recv", "GetTime": the name of its calls. */
const char *rxperf_name(const struct rxperf_opts *o);

#endif
