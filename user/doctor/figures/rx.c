/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server over Rx: its socket, the thread that receives, calls that wait for a thread, and what
 * the clients that are ours saw. Times are those of our clients' calls, as they have waited for
 * what the server lost; of other clients, those in the server.
 */
#include "doctor/figures/kinds.h"

#include "base/hist.h"
#include "doctor/figures/handed.h"
#include "doctor/figures/measure.h"
#include "doctor/rules/rules.h"
#include "run/requests.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_NS 100000000u /* a person notices */
/*
 * A gap in the calls' times: at least a tenth of the calls take less than 0.1 s, at least 5 take
 * 0.2 s (Rx's shortest timer) or more, and these are three times as many as those in between.
 */
#define TIMER_NS     200000000u
#define GAP_NS       100000000u
#define GAP_QUICK    0.1
#define GAP_SLOW_N   5
#define GAP_TIMES    3
#define ANSWERS      3 /* at least, for a figure */
#define LOOKS        20
#define NS_PER_S     1e9
#define BYTES_A_MB   1e6
#define PACKET_LEN   2304 /* a full packet in the kernel's memory (measured) */
#define WINDOW       32   /* packets of a call that may be under way */
#define MANY_CLIENTS 64   /* the least for whose calls a server's buffer should do */

/*
 * The times after which Rx sends a packet again, with the round trip: 0.2 s and more where one is
 * known, 3.2 or 3.6 s where none is, and twice these. In ms.
 */
static const struct {
	unsigned int from_ms, to_ms;
} timers[] = { { 200, 300 },   { 400, 500 },    { 3100, 3900 },
	       { 6300, 7400 }, { 9500, 11000 }, { 12500, 14500 } };

struct rx_figures {
	struct run_figures *out;
	const struct run *run;
	const struct view *view;
	double ns; /* watched */
	uint64_t clients;
};

static uint64_t doctor_rx_metric(const struct rx_figures *x, enum metric m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < x->run->n_phases; i++)
		sum += x->run->phase[i]->known[m] ? x->run->phase[i]->value[m] : 0;
	return sum;
}

/* ---- times of calls ---- */

/* All calls of our clients, into sum, which is empty. false: there are none. */
static bool own_times(const struct rx_figures *x, struct hist *sum)
{
	for (size_t i = 0; i < x->run->n_phases; i++)
		if (x->run->phase[i]->n_commands)
			hist_merge(sum, &x->run->phase[i]->command[0]->latency);
	return sum->n > 0;
}

static double ns_between(const struct hist *h, uint64_t from_ns, uint64_t to_ns)
{
	size_t last = hist_index(to_ns, HIST_BITS);
	double ns = 0;

	for (size_t i = hist_index(from_ns, HIST_BITS); i < last; i++)
		ns += (double)h->bucket[i] * (double)hist_low(i, HIST_BITS);
	return ns;
}

static uint64_t n_between(const struct hist *h, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t n = 0;

	for (size_t i = hist_index(from_ns, HIST_BITS); i < hist_index(to_ns, HIST_BITS); i++)
		n += h->bucket[i];
	return n;
}

/*
 * Whether calls are either quick or as long as a timer and more: then those that are long have
 * waited for timers, however often.
 */
static bool doctor_rx_has_gap(const struct hist *h)
{
	uint64_t quick = n_between(h, 0, GAP_NS), between = n_between(h, GAP_NS, TIMER_NS);
	uint64_t slow = h->n - quick - between;

	return quick >= GAP_QUICK * (double)h->n && slow >= GAP_SLOW_N &&
	       slow >= GAP_TIMES * between;
}

/* Calls as long as timers make them. */
struct rx_timed {
	double n, ns;
};

static struct rx_timed timed_calls(const struct hist *h)
{
	struct rx_timed t = { 0 };

	if (doctor_rx_has_gap(h))
		return (struct rx_timed) { (double)n_between(h, TIMER_NS, UINT64_MAX),
					   ns_between(h, TIMER_NS, UINT64_MAX) };
	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
		uint64_t from_ns = timers[i].from_ms * 1000000ull,
			 to_ns = timers[i].to_ms * 1000000ull;

		t.n += (double)n_between(h, from_ns, to_ns);
		t.ns += ns_between(h, from_ns, to_ns);
	}
	return t;
}

/*
 * DATA packets that were sent again, as far as is known: of those to the server what our clients
 * sent again, as what was lost on the way is new to the server when it comes; of those from it what
 * it sent again, or came to a client twice.
 */
static double sent_again(const struct rx_figures *x)
{
	double to = (double)doctor_rx_metric(x, METRIC_RX_RESENT);
	double back = (double)doctor_rx_metric(x, METRIC_RX_DUPLICATES);

	if (x->view->all.has_requests) {
		to = fmax(to, (double)ledger_packets(&x->view->all, false).again);
		back = fmax(back, (double)ledger_packets(&x->view->all, true).again);
	}
	return to + back;
}

/* Where the server is not watched and sends most of the data, clients do not see what it lost. */
static bool is_blind(const struct rx_figures *x)
{
	return !x->view->all.has_requests && doctor_rx_metric(x, METRIC_RX_DATA_RECEIVED) >
						 doctor_rx_metric(x, METRIC_RX_DATA_SENT);
}

/* Whether what the clients sent again is known: a server sees it once where the first was lost. */
static bool sees_resent(const struct rx_figures *x)
{
	for (size_t i = 0; i < x->run->n_phases; i++)
		if (!x->run->phase[i]->known[METRIC_RX_RESENT])
			return false;
	return true;
}

/*
 * A packet that was sent again makes one call long; of more calls the length has another reason.
 * Where such packets may not have been seen, and so many calls are long, nothing is known.
 */
static void set_timed_out(const struct rx_figures *x, const struct hist *h, double all)
{
	struct rx_timed t = timed_calls(h);
	double again = sent_again(x), share = t.n > 0 ? fmin(again / t.n, 1) : 0;
	double most = fmin(t.ns, all), timed = most * (is_blind(x) && again > 0 ? 1 : share);

	if ((is_blind(x) || !sees_resent(x)) && most >= RESENDS_LEAST * all &&
	    timed < RESENDS_LEAST * all) {
		run_figure_who(x->out, RUN_FIGURE_TIMED_OUT,
			       "not all packets that were sent again are seen from here");
		return;
	}
	run_figure_share(x->out, RUN_FIGURE_TIMED_OUT, timed, all);
	run_figure_share(x->out, RUN_FIGURE_TIMED_GUESS, timed - fmin(t.ns, all) * share, all);
}

/* The first error that a client of ours saw: rx notes it with how often calls failed. */
static void say_failed(const struct rx_figures *x)
{
	static const char first[] = "the first: ";
	const char *note = run_note_find(&x->run->warnings, "failed");
	const char *error = note ? strstr(note, first) : NULL;

	if (error)
		run_figure_who(x->out, RUN_FIGURE_FAILED, "%s", error + strlen(first));
}

static bool knows_received(const struct rx_figures *x)
{
	for (size_t i = 0; i < x->run->n_phases; i++)
		if (!x->run->phase[i]->known[METRIC_RX_RECEIVED])
			return false;
	return true;
}

static void set_own_times(const struct rx_figures *x, const struct hist *h)
{
	double all = hist_mean(h) * (double)h->n, slow = 0;
	uint64_t n = 0;

	for (size_t i = hist_index(SLOW_NS, HIST_BITS); i < HIST_BUCKETS(HIST_BITS); i++) {
		n += h->bucket[i];
		slow += (double)h->bucket[i] * (double)hist_low(i, HIST_BITS);
	}
	run_figure_set(x->out, RUN_FIGURE_REQUESTS, (double)h->n);
	run_figure_share(x->out, RUN_FIGURE_FAILED, (double)doctor_rx_metric(x, METRIC_ERRORS),
			 (double)doctor_rx_metric(x, METRIC_OPS));
	say_failed(x);
	if (knows_received(x))
		run_figure_set(x->out, RUN_FIGURE_UNHEARD,
			       !doctor_rx_metric(x, METRIC_RX_RECEIVED));
	run_figure_share(x->out, RUN_FIGURE_RATE, (double)h->n * NS_PER_S, x->ns);
	run_figure_share(x->out, RUN_FIGURE_BUSY, all, x->ns);
	run_figure_set(x->out, RUN_FIGURE_MEAN, hist_mean(h));
	run_figure_set(x->out, RUN_FIGURE_P50, (double)hist_quantile(h, 0.5));
	run_figure_set(x->out, RUN_FIGURE_P99, (double)hist_quantile(h, 0.99));
	run_figure_set(x->out, RUN_FIGURE_LONGEST, (double)h->max);
	run_figure_set(x->out, RUN_FIGURE_SLOW_N, (double)n);
	run_figure_share(x->out, RUN_FIGURE_SLOW, slow < all ? slow : all, all);
	set_timed_out(x, h, all);
}

static void doctor_rx_set_times(const struct rx_figures *x, const struct requests *all)
{
	const struct ledger_account *a = &all->all.a;
	double slow = 0, n = 0;

	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++) {
		uint64_t low = hist_low(i, AFS_REQUEST_BITS);

		if (low < SLOW_NS)
			continue;
		n += (double)a->hist[i];
		slow += (double)a->hist[i] * (double)low;
	}
	run_figure_set(x->out, RUN_FIGURE_REQUESTS, (double)a->sum.answered);
	run_figure_share(x->out, RUN_FIGURE_FAILED, (double)a->sum.errors, (double)a->sum.answered);
	run_figure_share(x->out, RUN_FIGURE_RATE, (double)a->sum.answered * NS_PER_S, x->ns);
	run_figure_share(x->out, RUN_FIGURE_BUSY, (double)a->sum.ns, x->ns);
	run_figure_set(x->out, RUN_FIGURE_SLOW_N, n);
	run_figure_share(x->out, RUN_FIGURE_SLOW, slow, (double)a->sum.ns);
	if (!a->sum.answered)
		return;
	run_figure_set(x->out, RUN_FIGURE_MEAN, (double)a->sum.ns / (double)a->sum.answered);
	doctor_mostly(x->out, x->run, all, NULL, NULL);
	run_figure_set(x->out, RUN_FIGURE_P50, requests_quantile(a, 0.5));
	run_figure_set(x->out, RUN_FIGURE_P99, requests_quantile(a, 0.99));
	run_figure_set(x->out, RUN_FIGURE_LONGEST, (double)a->max_ns);
}

static void doctor_rx_look_times(const struct rx_figures *x)
{
	struct hist *own = calloc(1, sizeof(*own));
	struct requests all;

	if (own && own_times(x, own)) {
		set_own_times(x, own);
	} else if (x->view->all.has_requests && !requests_init(&all, &x->view->all)) {
		doctor_rx_set_times(x, &all);
		requests_fini(&all);
	}
	free(own);
}

/* ---- files ---- */

/* AFS's code for a full partition. */
#define VDISKFULL 108

static void look_disk(const struct rx_figures *x)
{
	struct handed h;

	if (!x->view->all.has_requests || handed_init(&h, x->out, x->run, x->view, x->ns))
		return;
	handed_stopped(&h, 0);
	handed_disk(&h);
	handed_refused(&h, VDISKFULL, RUN_FIGURE_DISK_FULL, RUN_FIGURE_DISK_FULL_SHARE);
	handed_refused(&h, EROFS, RUN_FIGURE_LOCKED, RUN_FIGURE_LOCKED_SHARE);
	handed_fini(&h);
}

/* ---- the socket ---- */

/* That with the most drops, else the first. */
static const struct run_socket *worst_socket(const struct run *r)
{
	const struct run_socket *s = r->n_sockets ? &r->socket[0] : NULL;

	for (size_t i = 1; i < r->n_sockets; i++)
		if (r->socket[i].drops > s->drops)
			s = &r->socket[i];
	return s;
}

/* Of clients that are not ours, the calls that were seen at a time. */
static double clients_at_a_time(const struct rx_figures *x)
{
	double n = x->run->waiting.waiting_max;

	if (x->out->known[RUN_FIGURE_BUSY])
		n += ceil(x->out->value[RUN_FIGURE_BUSY]);
	return n > MANY_CLIENTS ? n : MANY_CLIENTS;
}

static void look_socket(const struct rx_figures *x)
{
	const struct run_socket *s = worst_socket(x->run);
	double clients = x->clients ? (double)x->clients : clients_at_a_time(x);

	if (!s)
		return;
	run_figure_set(x->out, RUN_FIGURE_DROPPED_N, (double)s->drops);
	run_figure_set(x->out, RUN_FIGURE_BUFFER_CLIENTS, clients);
	run_figure_set(x->out, RUN_FIGURE_BUFFER_NEED, clients * WINDOW * PACKET_LEN / 2);
	if (s->buffer_max)
		run_figure_set(x->out, RUN_FIGURE_BUFFER_MAX, (double)s->buffer_max);
	if (s->buffer_max && (double)s->buffer_max < x->out->value[RUN_FIGURE_BUFFER_NEED])
		run_figure_set(x->out, RUN_FIGURE_BUFFER_RAISE,
			       x->out->value[RUN_FIGURE_BUFFER_NEED]);
	if (s->buffer) {
		run_figure_set(x->out, RUN_FIGURE_BUFFER, (double)s->buffer / 2);
		run_figure_share(x->out, RUN_FIGURE_QUEUE, (double)s->queue_max, (double)s->buffer);
	}
}

/* ---- packets ---- */

static void look_packets(const struct rx_figures *x)
{
	const struct run_socket *s = worst_socket(x->run);
	const struct ledger *l = &x->view->all;
	struct afs_packets in = ledger_packets(l, false), back = ledger_packets(l, true);
	double dropped = s ? (double)s->drops : 0;

	if (!l->has_requests)
		return;
	if (s)
		run_figure_share(x->out, RUN_FIGURE_DROPPED, dropped,
				 dropped + (double)in.datagrams);
	if (s && in.datagrams)
		run_figure_who(x->out, RUN_FIGURE_DROPPED, "UDP port %u", s->port);
	run_figure_share(x->out, RUN_FIGURE_RESENT, (double)in.again, (double)in.type[AFS_RX_DATA]);
	run_figure_share(x->out, RUN_FIGURE_RESENT_BACK, (double)back.again,
			 (double)back.type[AFS_RX_DATA]);
	run_figure_share(x->out, RUN_FIGURE_ACKS_MB, (double)back.type[AFS_RX_ACK] * BYTES_A_MB,
			 (double)in.bytes);
}

/* Without counting, of the datagrams that our clients sent. */
static void look_drops_sampled(const struct rx_figures *x)
{
	const struct run_socket *s = worst_socket(x->run);

	if (s && !x->view->all.has_requests && x->clients)
		run_figure_share(x->out, RUN_FIGURE_DROPPED, (double)s->drops,
				 (double)doctor_rx_metric(x, METRIC_RX_SENT));
}

/* ---- threads ---- */

static const struct run_threads *listener(const struct run *r)
{
	for (size_t i = 0; i < r->n_threads; i++)
		if (!strcmp(r->threads[i].name, "listener") ||
		    !strncmp(r->threads[i].name, "rx_Listener", 11))
			return &r->threads[i];
	return NULL;
}

/*
 * Of the time of all calls, that which they wait for a CPU, at most: a call waits with the thread
 * that works for it, and all calls wait with the listener, which receives for all.
 */
static void rx_look_wait(const struct rx_figures *x, double wait_ns, double listener_ns)
{
	double calls_ns = x->out->value[RUN_FIGURE_BUSY] * x->ns;
	double rest_ns = fmax(wait_ns - listener_ns, 0), wait = listener_ns / x->ns;

	if (!x->out->known[RUN_FIGURE_BUSY] || !(x->ns > 0))
		return;
	if (rest_ns > 0)
		wait += rest_ns / fmax(rest_ns, calls_ns);
	run_figure_set(x->out, RUN_FIGURE_WAIT_CPU, fmin(wait, 1));
}

static void doctor_rx_look_threads(const struct rx_figures *x)
{
	const struct run_threads *t = listener(x->run);
	double received, cpu_ns = 0, wait_ns = 0;

	for (size_t i = 0; i < x->run->n_threads; i++) {
		cpu_ns += (double)x->run->threads[i].cpu_ns;
		wait_ns += (double)x->run->threads[i].runq_ns;
	}
	run_figure_share(x->out, RUN_FIGURE_THREADS_WAIT, wait_ns, cpu_ns + wait_ns);
	if (x->run->n_threads)
		rx_look_wait(x, wait_ns, t ? (double)(t->busiest_ns - t->busiest_cpu_ns) : 0);
	if (!t)
		return;
	received = (double)ledger_packets(&x->view->all, false).datagrams;
	run_figure_share(x->out, RUN_FIGURE_LISTENER, (double)t->busiest_ns, x->ns);
	run_figure_share(x->out, RUN_FIGURE_LISTENER_CPU, (double)t->busiest_cpu_ns, x->ns);
	run_figure_share(x->out, RUN_FIGURE_LISTENER_WAIT,
			 (double)(t->busiest_ns - t->busiest_cpu_ns), (double)t->busiest_ns);
	run_figure_share(x->out, RUN_FIGURE_PACKET_CPU, (double)t->cpu_ns, received);
	if (t->looks >= LOOKS)
		run_figure_share(x->out, RUN_FIGURE_LISTENER_ASLEEP, t->locked, t->looks);
}

/* By Little's law: calls that wait at a time, of those that are in the server at a time. */
static void look_waiting(const struct rx_figures *x)
{
	const struct run_waiting *w = &x->run->waiting;
	double busy = x->out->known[RUN_FIGURE_BUSY] ? x->out->value[RUN_FIGURE_BUSY] : 0, mean;

	if (w->answered < ANSWERS)
		return;
	mean = (double)w->waiting_sum / w->answered;
	run_figure_share(x->out, RUN_FIGURE_SHORT, w->n_short, w->answered);
	run_figure_set(x->out, RUN_FIGURE_WAITING, w->waiting_max);
	run_figure_set(x->out, RUN_FIGURE_WAITED, (double)w->waited);
	run_figure_share(x->out, RUN_FIGURE_WAIT_THREAD, mean < busy ? mean : busy, busy);
}

/* ---- our clients ---- */

static void look_clients(const struct rx_figures *x)
{
	uint64_t received = doctor_rx_metric(x, METRIC_RX_RECEIVED),
		 dropped = doctor_rx_metric(x, METRIC_RX_DROPS);
	uint64_t least = 0;

	for (size_t i = 0; i < x->run->n_phases; i++) {
		const struct run_phase *p = x->run->phase[i];

		if (p->known[METRIC_RX_BUFFER] && (!least || p->value[METRIC_RX_BUFFER] < least))
			least = p->value[METRIC_RX_BUFFER];
	}
	if (!x->clients)
		return;
	run_figure_share(x->out, RUN_FIGURE_OWN_DROPPED, (double)dropped,
			 (double)(received + dropped));
	if (least)
		run_figure_set(x->out, RUN_FIGURE_OWN_BUFFER, (double)least);
}

/* ---- what is not known, and why ---- */

static void because(const struct rx_figures *x, enum run_figure which, const char *why)
{
	if (!x->out->known[which])
		run_figure_who(x->out, which, "%s", why);
}

static void say_why(const struct rx_figures *x)
{
	static const enum run_figure inside[] = {
		RUN_FIGURE_DROPPED,      RUN_FIGURE_LISTENER,  RUN_FIGURE_LISTENER_ASLEEP,
		RUN_FIGURE_THREADS_WAIT, RUN_FIGURE_THROTTLED, RUN_FIGURE_REASSEMBLY,
		RUN_FIGURE_TRACED,       RUN_FIGURE_STOPPED,   RUN_FIGURE_STOPPED_FOR
	};
	const char *absent = run_note_find(&x->run->absent, "*");
	const struct run_waiting *w = &x->run->waiting;
	const char *silent = "the server does not answer as it does to rxdebug";

	because(x, RUN_FIGURE_LISTENER, "no thread was seen to receive");
	because(x, RUN_FIGURE_LISTENER_ASLEEP,
		"too few looks at the thread that receives, or no right to look");
	because(x, RUN_FIGURE_DROPPED, "the datagrams were not counted");
	for (size_t i = 0; absent && i < sizeof(inside) / sizeof(inside[0]); i++)
		because(x, inside[i], absent);
	if (!w->asked)
		silent = x->clients
			     ? "the run was too short to ask the server"
			     : "only doctor and rx ask the server, in their network namespace";
	else if (w->answered)
		silent = "the server answered too seldom";
	because(x, RUN_FIGURE_SHORT, silent);
	because(x, RUN_FIGURE_OWN_DROPPED, "there were no clients of our own");
	if (!*x->out->who[RUN_FIGURE_TIMED_OUT])
		because(x, RUN_FIGURE_TIMED_OUT, "there were no clients of our own");
}

void doctor_rx(struct run_figures *out, const struct run *r, const struct view *v, double ns)
{
	const struct rx_figures x = { .out = out,
				      .run = r,
				      .view = v,
				      .ns = ns,
				      .clients = run_note_number(&r->options, "clients") };

	doctor_rx_look_times(&x);
	look_disk(&x);
	look_socket(&x);
	look_packets(&x);
	look_drops_sampled(&x);
	doctor_rx_look_threads(&x);
	look_waiting(&x);
	look_clients(&x);
	say_why(&x);
}
