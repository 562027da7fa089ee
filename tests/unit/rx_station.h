/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_RX_STATION_H
#define UNIT_RX_STATION_H

/*
 * A server of rxperf's calls in a thread, one call's bytes at a time, with faults on demand: a
 * wrong cookie, a wrong byte, an answer that does not come.
 */

#include "base/clock.h"
#include "rx/endpoint.h"
#include "rx/perf.h"
#include "unit/rx_inside.h"
#include "work/rxperf/rx_data.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STATION_CALLS 256

enum station_fault { FAULT_NONE, FAULT_COOKIE, FAULT_BYTE, FAULT_SHORT, FAULT_ABORT, FAULT_SILENT };

struct station_call {
	struct rx_call *c;
	struct rx_perf p;
	uint8_t head[RX_PERF_LEN];
	uint64_t got, written; /* bytes of the request, of the reply */
	size_t head_len;       /* 0: not complete */
	bool known;
	struct rx_data_check check;
};

struct station {
	struct rx_endpoint *ep;
	pthread_t thread;
	atomic_bool leave;
	atomic_uint calls, wrong;
	atomic_int fault;
	unsigned int fault_at; /* number of the call that has it, from 1 */
	uint64_t now_ns;
	uint8_t cookie[8], zero[8];
	uint8_t data[RX_DATA_PERIOD];
	struct station_call call[STATION_CALLS];
};

static inline void station_read(struct station *s, struct station_call *x)
{
	const uint8_t *at;
	size_t len, n;

	while ((at = rx_call_peek(x->c, &len))) {
		n = 0;
		while (!x->known && n < len && x->got < RX_PERF_LEN) {
			x->head[x->got++] = at[n++];
			x->known = !rx_perf_parse(&x->p, x->head, x->got, &x->head_len);
			if (x->known)
				rx_data_check_begin(&x->check, rx_perf_sent(&x->p),
						    RX_DATA_OF_CLIENT);
		}
		if (x->known)
			rx_data_check(&x->check, at + n, len - n);
		x->got += len - n;
		rx_call_skip(x->c, len, s->now_ns);
	}
}

static inline void station_write(struct station *s, struct station_call *x, int fault)
{
	uint64_t body = rx_perf_received(&x->p) - (fault == FAULT_SHORT), at;
	uint64_t end = body + (x->p.command == RX_PERF_FILE ? 0 : 4);
	size_t place = rx_data_place(x->got, rx_perf_received(&x->p)), n, taken = 1;
	const uint8_t *from;

	while (x->written < end && taken) {
		at = (place + x->written) % RX_DATA_PERIOD;
		from = s->data + at;
		n = body - x->written < RX_DATA_PERIOD - at ? (size_t)(body - x->written)
							    : (size_t)(RX_DATA_PERIOD - at);
		if (x->written >= body) {
			from = s->cookie + (x->written - body) + 4 * (fault == FAULT_COOKIE);
			n = (size_t)(end - x->written);
		} else if (fault == FAULT_BYTE && x->written == 1000) {
			from = s->zero;
			n = 1;
		} else if (fault == FAULT_BYTE && x->written < 1000) {
			n = n < 1000 - x->written ? n : (size_t)(1000 - x->written);
		}
		taken = rx_call_write(x->c, from, n);
		x->written += taken;
	}
	if (x->written < end)
		return;
	rx_call_end(x->c);
	rx_endpoint_release(s->ep, x->c);
	x->c = NULL;
}

static inline void station_changed(void *user, struct rx_call *c)
{
	struct station *s = user;
	struct station_call *x = rx_endpoint_user(c);
	int fault;

	station_read(s, x);
	if (rx_call_state(c) == RX_CALL_OVER) {
		rx_endpoint_release(s->ep, c);
		x->c = NULL;
		return;
	}
	if (!rx_inside_is_read(c))
		return;
	if (!x->written) {
		s->calls++;
		s->wrong += x->check.len && x->check.state != RX_DATA_RIGHT;
	}
	fault = !s->fault_at || s->calls == s->fault_at ? s->fault : FAULT_NONE;
	if (fault == FAULT_SILENT)
		return;
	if (fault == FAULT_ABORT) {
		rx_call_abort(c, -4711);
		rx_endpoint_release(s->ep, c);
		x->c = NULL;
		return;
	}
	station_write(s, x, fault);
}

static inline bool station_arrived(void *user, struct rx_call *c)
{
	struct station *s = user;
	struct station_call *x = s->call;

	while (x < s->call + STATION_CALLS && x->c)
		x++;
	if (x == s->call + STATION_CALLS)
		return false;
	*x = (struct station_call) { .c = c };
	rx_endpoint_set_user(c, x);
	station_changed(user, c);
	return true;
}

static inline void *station_main(void *arg)
{
	struct station *s = arg;
	struct io_wait w;

	while (!s->leave) {
		rx_endpoint_wait(s->ep, &w);
		io_wait(&w, 20000000);
		s->now_ns = clock_now_ns();
		rx_endpoint_advance(s->ep, s->now_ns, NULL);
	}
	return NULL;
}

static inline struct station *station_start(uint16_t service)
{
	struct station *s = calloc(1, sizeof(*s));
	const struct rx_endpoint_opts o = {
		.address.s_addr = htonl(INADDR_LOOPBACK),
		.service = service,
		.buffer_len = 1 << 20,
		.n_conns = STATION_CALLS,
		.n_calls = STATION_CALLS,
		.events = { .user = s, .arrived = station_arrived, .changed = station_changed },
	};
	struct wbuf w = wbuf_of(s->cookie, 8);

	wbuf_u32(&w, RX_PERF_COOKIE);
	wbuf_u32(&w, ~RX_PERF_COOKIE);
	rx_data_fill(s->data, RX_DATA_OF_SERVER);
	assert_int_equal(rx_endpoint_open(&s->ep, &o, NULL), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, station_main, s), 0);
	return s;
}

static inline struct sockaddr_in station_address(const struct station *s)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_port = htons(rx_endpoint_port(s->ep)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static inline void station_stop(struct station *s)
{
	s->leave = true;
	pthread_join(s->thread, NULL);
	rx_endpoint_close(s->ep);
	free(s);
}

#endif
