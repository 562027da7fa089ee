/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread of rxperf's server does for one call: reads the request, writes the reply. */
#include "base/clock.h"
#include "work/rxperf/rx_server_priv.h"

#include <errno.h>
#include <string.h>

static const uint8_t cookie[4] = { 0, 0, RX_PERF_COOKIE >> 8, RX_PERF_COOKIE & 0xff };

/* Sends what there is, and waits for news of the call. false: there is no point in going on. */
static bool rx_server_call_await(struct rx_worker *w)
{
	struct rx_server *s = w->s;

	if (s->ends || rx_call_state(w->call) != RX_CALL_ACTIVE)
		return false;
	rx_endpoint_flush(s->ep, clock_now_ns());
	pthread_cond_wait(&w->news, &s->lock);
	return !s->ends && rx_call_state(w->call) == RX_CALL_ACTIVE;
}

/* The next bytes; NULL: no more will come. */
static const uint8_t *next_bytes(struct rx_worker *w, size_t *len)
{
	const uint8_t *data;

	while (!(data = rx_call_peek(w->call, len)))
		if (!rx_server_call_await(w))
			return NULL;
	return data;
}

/* The numbers of the call. 0, -EPROTO, -ECANCELED. */
static int read_head(struct rx_worker *w, struct rx_perf *p)
{
	size_t have = 0, len, part, used;
	const uint8_t *data;
	int r;

	do {
		data = next_bytes(w, &len);
		if (!data)
			return -ECANCELED;
		part = sizeof(w->head) - have < len ? sizeof(w->head) - have : len;
		memcpy(w->head + have, data, part);
		r = rx_perf_parse(p, w->head, have + part, &used);
		if (!r)
			part = used - have;
		have += part;
		rx_call_skip(w->call, part, clock_now_ns());
	} while (r == -EAGAIN && have < sizeof(w->head));
	return r == -EAGAIN ? -EPROTO : r;
}

/*
 * The request's data. They are looked at without the lock: until they are skipped they stay, as the
 * call is this thread's.
 */
static int read_data(struct rx_worker *w, uint64_t total)
{
	struct rx_server *s = w->s;
	uint64_t left = total;
	const uint8_t *data;
	size_t len;

	rx_data_check_begin(&w->check, total, RX_DATA_OF_CLIENT);
	while (left) {
		data = next_bytes(w, &len);
		if (!data)
			return -ECANCELED;
		len = len < left ? len : (size_t)left;
		pthread_mutex_unlock(&s->lock);
		rx_data_check(&w->check, data, len);
		pthread_mutex_lock(&s->lock);
		rx_call_skip(w->call, len, clock_now_ns());
		s->counts.bytes_read += len;
		left -= len;
	}
	return rx_call_peek(w->call, &len) ? -EPROTO : 0;
}

static int rx_server_call_write_all(struct rx_worker *w, const uint8_t *data, size_t len)
{
	size_t n;

	for (; len; data += n, len -= n) {
		n = rx_call_write(w->call, data, len);
		if (!n && !rx_server_call_await(w))
			return -ECANCELED;
	}
	return 0;
}

static int write_data(struct rx_worker *w, uint64_t total)
{
	struct rx_server *s = w->s;
	size_t at = rx_data_place(s->counts.recvs + s->counts.rpcs + s->counts.files, total), n;
	uint64_t left = total;
	int r = 0;

	for (; !r && left; left -= n, at = 0) {
		n = RX_DATA_PERIOD - at < left ? RX_DATA_PERIOD - at : (size_t)left;
		r = rx_server_call_write_all(w, s->pattern + at, n);
		s->counts.bytes_written += r ? 0 : n;
	}
	return r;
}

static void rx_server_call_count(struct rx_worker *w, unsigned int command)
{
	struct rx_server_counts *n = &w->s->counts;
	uint64_t *const of[] = { [RX_PERF_SEND] = &n->sends,
				 [RX_PERF_RECV] = &n->recvs,
				 [RX_PERF_RPC] = &n->rpcs,
				 [RX_PERF_FILE] = &n->files };

	++*of[command];
	if (w->check.state == RX_DATA_RIGHT || w->check.state == RX_DATA_WRONG)
		n->bytes_checked += w->check.len;
	n->wrong += w->check.state == RX_DATA_WRONG;
}

/* A client's data after the server's cannot be: a reply confirms all of the request. */
static bool is_possible(const struct rx_perf *p)
{
	unsigned int turns = 0;

	for (uint32_t i = 0; i < p->entries; i++) {
		turns += !p->entry[i];
		if (p->entry[i] && turns > 1 && turns % 2 == 0)
			return false;
	}
	return true;
}

static int rx_server_call_answer(struct rx_worker *w, struct rx_perf *p)
{
	int r = read_head(w, p);

	if (!r && !is_possible(p))
		r = -EPROTO;
	r = r ? r : read_data(w, rx_perf_sent(p));
	r = r ? r : write_data(w, rx_perf_received(p));
	if (!r && p->command != RX_PERF_FILE)
		r = rx_server_call_write_all(w, cookie, sizeof(cookie));
	if (!r)
		rx_call_end(w->call);
	return r;
}

void rx_server_call(struct rx_worker *w)
{
	struct rx_server *s = w->s;
	struct rx_perf p;
	int r = rx_server_call_answer(w, &p);

	if (!r) {
		rx_server_call_count(w, p.command);
	} else if (r == -EPROTO) {
		s->counts.refused++;
		rx_call_abort(w->call, RX_PROTOCOL_ERROR);
	} else {
		s->counts.failed++;
		rx_call_abort(w->call, RX_RESTARTING); /* if it is not over */
	}
}
