/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of rxperf's server: one that listens, those that work, and who gets which call. */
#include "work/rxperf/rx_server_priv.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_LEN (512u << 10)
#define WAIT_NS   100000000u /* what a worker has made due is seen by then */
#define CONNS     4096u
#define CALLS     4096u
/* DEBUG: what is asked for, and the answer where there is none. */
#define ASKED_STATS     1u
#define ASKED_CONNS     2u
#define ASKED_ALL_CONNS 3u
#define ASKED_PEERS     5u
#define STATS_LEN       56
#define STATS_VERSION   'R'  /* with calls that waited, without a number of packets */
#define NO_MORE         0xff /* each byte */
#define NOT_KNOWN       0xfffffff8u

/* ---- who gets which call ---- */

static bool is_peer_of(const struct rx_call *a, const struct rx_call *b)
{
	const struct sockaddr_in *x = rx_endpoint_peer(rx_call_conn(a));
	const struct sockaddr_in *y = rx_endpoint_peer(rx_call_conn(b));

	return x->sin_addr.s_addr == y->sin_addr.s_addr && x->sin_port == y->sin_port;
}

static bool is_within(const struct rx_server *s, const struct rx_call *c, unsigned int quota)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n_workers; i++)
		n += s->worker[i].call && is_peer_of(s->worker[i].call, c);
	return n < quota;
}

/* The oldest call of a peer that has fewer threads than that, 0: of any; NULL: none. */
static struct rx_call *take_within(struct rx_server *s, unsigned int quota)
{
	struct rx_call *c;

	for (unsigned int i = 0; i < s->n_queued; i++) {
		c = s->queue[i];
		if (quota && !is_within(s, c, quota))
			continue;
		s->n_queued--;
		memmove(s->queue + i, s->queue + i + 1, (s->n_queued - i) * sizeof(c));
		return c;
	}
	return NULL;
}

/* The call to be worked on next; NULL: none may be. */
static struct rx_call *take_call(struct rx_server *s)
{
	struct rx_call *c = take_within(s, s->o.quota);

	return c || !s->o.quota_most ? c : take_within(s, s->o.quota_most);
}

/* Whether no thread will take it at once. */
static bool must_wait(const struct rx_server *s, const struct rx_call *c)
{
	unsigned int most = s->o.quota_most ? s->o.quota_most : s->o.quota;

	return s->n_queued >= s->n_idle || (most && !is_within(s, c, most));
}

/* Calls that no thread will take at once. */
static unsigned int n_waiting(const struct rx_server *s)
{
	if (s->o.quota)
		return s->n_queued;
	return s->n_queued > s->n_idle ? s->n_queued - s->n_idle : 0;
}

static void note_most(uint64_t *most, uint64_t n)
{
	if (n > *most)
		*most = n;
}

static void work_on(struct rx_worker *w, struct rx_call *c)
{
	struct rx_server *s = w->s;

	w->call = c;
	rx_endpoint_set_user(c, w);
	s->n_idle--;
	note_most(&s->counts.most_busy, s->n_workers - s->n_idle);
	if (s->n_queued && s->n_idle)
		pthread_cond_signal(&s->work);
	rx_server_call(w);
	rx_endpoint_release(s->ep, c);
	rx_endpoint_flush(s->ep, clock_now_ns());
	w->call = NULL;
	s->n_idle++;
}

static void *run_worker(void *user)
{
	struct rx_worker *w = user;
	struct rx_server *s = w->s;
	struct rx_call *c;

	pthread_setname_np(pthread_self(), "rx_worker");
	pthread_mutex_lock(&s->lock);
	while (!s->ends) {
		c = take_call(s);
		if (c)
			work_on(w, c);
		else
			pthread_cond_wait(&s->work, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int begin_thread(pthread_t *out, void *(*run)(void *), void *user)
{
	pthread_attr_t attr;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_LEN);
	r = pthread_create(out, &attr, run, user);
	pthread_attr_destroy(&attr);
	return -r;
}

/* One more, idle. */
static int add_worker(struct rx_server *s)
{
	struct rx_worker *w = &s->worker[s->n_workers];
	int r;

	w->s = s;
	pthread_cond_init(&w->news, NULL);
	r = begin_thread(&w->thread, run_worker, w);
	if (r) {
		pthread_cond_destroy(&w->news);
		return r;
	}
	s->n_workers++;
	s->n_idle++;
	return 0;
}

/* ---- events ---- */

static bool rx_server_on_arrived(void *user, struct rx_call *c)
{
	struct rx_server *s = user;
	if (s->ends)
		return false;
	if (s->n_queued >= s->n_idle && s->n_workers < s->o.threads_most)
		add_worker(s);
	s->counts.waited += must_wait(s, c);
	s->queue[s->n_queued++] = c;
	note_most(&s->counts.most_waiting, n_waiting(s));
	pthread_cond_signal(&s->work);
	return true;
}

static void rx_server_on_changed(void *user, struct rx_call *c)
{
	struct rx_worker *w = rx_endpoint_user(c);

	(void)user;
	if (w)
		pthread_cond_signal(&w->news);
}

/* The statistics that every server of Rx gives. There is no pool of packets here: none are free. */
static void put_stats(const struct rx_server *s, struct wbuf *w)
{
	const struct rx_server_counts *n = &s->counts;

	wbuf_zero(w, 8);
	wbuf_u32(w, (uint32_t)(n->sends + n->recvs + n->rpcs + n->files));
	wbuf_u8(w, 0);
	wbuf_u8(w, 1); /* descriptors */
	wbuf_u8(w, STATS_VERSION);
	wbuf_u8(w, 0);
	wbuf_u32(w, n_waiting(s));
	wbuf_u32(w, s->n_idle);
	wbuf_u32(w, (uint32_t)n->waited);
}

/* Lists of connections and peers are empty. */
static size_t on_debug(void *user, struct rbuf asked, uint8_t out[static RX_DATA_LEN])
{
	struct wbuf w = wbuf_of(out, STATS_LEN);
	uint32_t type = rbuf_u32(&asked);

	if (asked.bad)
		return 0;
	if (type == ASKED_STATS)
		put_stats(user, &w);
	else if (type == ASKED_CONNS || type == ASKED_ALL_CONNS || type == ASKED_PEERS)
		memset(wbuf_room(&w, STATS_LEN), NO_MORE, STATS_LEN);
	else
		wbuf_u32(&w, NOT_KNOWN);
	wbuf_zero(&w, (size_t)(w.end - w.at));
	return STATS_LEN;
}

/* ---- the thread that listens ---- */

static int rx_server_advance(struct rx_server *s)
{
	int n, r;

	n = rx_endpoint_fetch(s->ep);
	pthread_mutex_lock(&s->lock);
	rx_endpoint_take(s->ep, clock_now_ns());
	rx_endpoint_time(s->ep, clock_now_ns());
	r = rx_endpoint_flush(s->ep, clock_now_ns());
	if (n < 0)
		r = err_set(&s->failure, n, "cannot receive from the UDP socket: %s", strerror(-n));
	else if (r && r != -EAGAIN)
		err_set(&s->failure, r, "cannot send to the UDP socket: %s", strerror(-r));
	return r == -EAGAIN ? 0 : r;
}

static void *run_listener(void *user)
{
	struct rx_server *s = user;
	struct io_wait wait;
	int r = 0;

	pthread_setname_np(pthread_self(), "rx_Listener");
	pthread_mutex_lock(&s->lock);
	while (!r && !s->listener_ends) {
		rx_endpoint_wait(s->ep, &wait);
		pthread_mutex_unlock(&s->lock);
		io_wait(&wait, WAIT_NS);
		r = rx_server_advance(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- begin and end ---- */

static int rx_server_open_endpoint(struct rx_server *s, struct err *e)
{
	const struct rx_endpoint_opts o = { .address = s->o.address,
					    .port = s->o.port,
					    .service = RX_PERF_SERVICE,
					    .buffer_len = s->o.buffer_len,
					    .own = s->o.own,
					    .n_conns = s->o.n_conns,
					    .n_calls = s->o.n_calls,
					    .first_rtt_ns = s->o.first_rtt_ns,
					    .dead_ns = s->o.dead_ns,
					    .events = { .user = s,
							.arrived = rx_server_on_arrived,
							.changed = rx_server_on_changed,
							.debug = on_debug } };

	return rx_endpoint_open(&s->ep, &o, e);
}

static int begin_threads(struct rx_server *s, struct err *e)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (!r && s->n_workers < s->o.threads_least)
		r = add_worker(s);
	if (!r)
		r = begin_thread(&s->listener, run_listener, s);
	s->listens = !r;
	pthread_mutex_unlock(&s->lock);
	return r ? err_set(e, r, "cannot begin thread %u: %s", s->n_workers + 1, strerror(-r)) : 0;
}

int rx_server_open(struct rx_server **out, const struct rx_server_opts *o, struct err *e)
{
	struct rx_server *s = calloc(1, sizeof(*s));
	int r;

	*out = NULL;
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->o = *o;
	s->o.n_conns = o->n_conns ? o->n_conns : CONNS;
	s->o.n_calls = o->n_calls ? o->n_calls : CALLS;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	s->pattern = malloc(RX_DATA_PERIOD);
	s->worker = calloc(o->threads_most, sizeof(*s->worker));
	s->queue = calloc(s->o.n_calls, sizeof(struct rx_call *));
	if (s->pattern && s->worker && s->queue) {
		rx_data_fill(s->pattern, RX_DATA_OF_SERVER);
		r = rx_server_open_endpoint(s, e);
		if (!r && o->opened)
			o->opened(o->user);
		r = r ? r : begin_threads(s, e);
	} else {
		r = err_set(e, -ENOMEM, "out of memory");
	}
	if (r)
		rx_server_close(s);
	else
		*out = s;
	return r;
}

static void end_workers(struct rx_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_cond_broadcast(&s->work);
	for (unsigned int i = 0; i < s->n_workers; i++)
		pthread_cond_signal(&s->worker[i].news);
	for (unsigned int i = 0; i < s->n_queued; i++)
		rx_call_abort(s->queue[i], RX_RESTARTING);
	pthread_mutex_unlock(&s->lock);
	for (unsigned int i = 0; i < s->n_workers; i++) {
		pthread_join(s->worker[i].thread, NULL);
		pthread_cond_destroy(&s->worker[i].news);
	}
}

void rx_server_close(struct rx_server *s)
{
	if (!s)
		return;
	end_workers(s);
	pthread_mutex_lock(&s->lock);
	if (s->ep)
		rx_endpoint_flush(s->ep, clock_now_ns());
	s->listener_ends = true;
	pthread_mutex_unlock(&s->lock);
	if (s->listens)
		pthread_join(s->listener, NULL);
	rx_endpoint_close(s->ep);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s->pattern);
	free(s->worker);
	free(s->queue);
	free(s);
}

/* ---- what is known of it ---- */

uint16_t rx_server_port(const struct rx_server *s)
{
	return rx_endpoint_port(s->ep);
}

void rx_server_read(struct rx_server *s, struct rx_server_state *out)
{
	const struct rx_hub *hub;

	pthread_mutex_lock(&s->lock);
	hub = rx_endpoint_hub(s->ep);
	*out = (struct rx_server_state) { .counts = s->counts,
					  .rx = hub->counts,
					  .rtt = hub->rtt,
					  .buffers = rx_endpoint_buffers(s->ep),
					  .threads = s->n_workers,
					  .idle = s->n_idle,
					  .waiting = n_waiting(s) };
	out->drops_known = rx_endpoint_drops(s->ep, &out->drops);
	pthread_mutex_unlock(&s->lock);
}

int rx_server_failure(struct rx_server *s, struct err *e)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = s->failure.code;
	if (r && e)
		*e = s->failure;
	pthread_mutex_unlock(&s->lock);
	return r;
}
