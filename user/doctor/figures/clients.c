/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each client sends its requests, and what its TCP connection does meanwhile. */
#include "doctor/figures/clients.h"

#include "base/hist.h"
#include "doctor/figures/measure_priv.h"
#include "doctor/rules/rules.h"
#include "run/account.h"

#include <math.h>

#define NS_PER_S      1e9
#define PAUSES        CLIENT_PAUSES
#define PAUSE_LEAST   4e6  /* ns: shorter ones may be the client's own work */
#define ALIKE         3    /* buckets in a row: the longest is at most 1.75 times the shortest */
#define ACK_LEAST     36e6 /* ns: Linux delays by 40 ms, and a tick of 4 or 10 */
#define ACK_MOST      52e6
#define REPLY_MOST    1000 /* bytes: they fit into a segment */
#define WINDOW_SEEN   0.1  /* share of the time: less is nobody's fault */
#define LINK_SEEN     0.3  /* share of its time: less explains no pauses */
#define RETRANSMITTED 20   /* segments: fewer are chance */

/* Whether a client's figures are as a cause needs them. */
enum client_fit { CLIENT_NOT, CLIENT_MAY, CLIENT_FITS };

#define CLIENT_RULES 8 /* about one figure, at most */

struct client_looks {
	struct run_figures *out;
	uint64_t begin_ns, end_ns; /* watched */
	double ns;                 /* between them */
	double requests;           /* of all sessions */
	double busy_ns;            /* likewise: their time in the server */
	double drain_ns;           /* replies on their way, sum of the clients */
	double trips_ns;           /* of round trips, all clients */
	double acks_ns;            /* of waits for delayed acknowledgements, all clients */
	double clients;            /* that asked for something */
	/* Of those whose connections are not seen: how many, and those of which TCP has not yet
	 * measured a rate; the time of both outside the server. */
	double unseen, unrated, unseen_ns, unseen_requests;
	const struct run *run;
	/* By the first figure of a group: how well the client fits that it is about, and its value.
	 */
	unsigned int fit[N_RUN_FIGURES];
	double first[N_RUN_FIGURES];
	double bound[N_RUN_FIGURES]; /* of clients of whom it is not known, and no cause */
};

struct client_look {
	const struct run_session *s;
	double ns;   /* watched */
	double n;    /* pauses */
	double link; /* share of ns that its replies were on their way; less than 0: not known */
};

static void clients_who(struct client_looks *c, enum run_figure which, const struct client_look *is)
{
	run_figure_who(c->out, which, "%s from %s", is->s->user ? is->s->user : "nobody",
		       is->s->address ? is->s->address : "?");
}

/* One of a group of figures of a client; where it is not known, it is at most its value. */
struct client_figure {
	enum run_figure which;
	double value;
	bool unknown;
};

static const struct client_figure *in_group(const struct client_figure *f, size_t n,
					    enum run_figure which)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].which == which)
			return &f[i];
	return NULL;
}

/* By those of a rule's conditions, and of its harm, that are in the group. */
static enum client_fit fit_of(const struct client_figure *f, size_t n, const struct doctor_rule *r)
{
	const struct client_figure *is = in_group(f, n, r->harm);
	enum client_fit fit = is && is->unknown ? CLIENT_MAY : CLIENT_FITS;

	if (is && is->value < r->least)
		return CLIENT_NOT;
	for (size_t i = 0; i < r->n_tests; i++) {
		const struct doctor_test *t = &r->test[i];

		is = in_group(f, n, t->figure);
		if (!is)
			continue;
		if (t->most ? !is->unknown && is->value > t->limit : is->value < t->limit)
			return CLIENT_NOT;
		if (is->unknown)
			fit = CLIENT_MAY;
	}
	return fit;
}

static bool wants_much_of(const struct doctor_rule *r, enum run_figure which)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (r->test[i].figure == which && !r->test[i].most)
			return true;
	return false;
}

/* How well a group is what rules need that are about its first figure: one that a rule names
 * before those that it may name, and of either the first rule before the next ones. */
static unsigned int fit_all(const struct client_figure *f, size_t n)
{
	const struct doctor_rules *all = &doctor_rules_clients;
	unsigned int fits = 0, may = 0;

	for (size_t i = 0; i < all->n; i++) {
		enum client_fit fit;

		if (!wants_much_of(&all->rule[i], f->which))
			continue;
		fit = fit_of(f, n, &all->rule[i]);
		fits = fits * 2 + (fit == CLIENT_FITS);
		may = may * 2 + (fit == CLIENT_MAY);
	}
	return fits << CLIENT_RULES | may;
}

/*
 * Sets a group of figures, if the client is the one that it is about: one that a rule alone would
 * name comes before others, as a client on a fast link hides none on a slow one; of equals that
 * whose first figure is largest. Whether it is set.
 */
static bool put_worst(struct client_looks *c, const struct client_figure *f, size_t n)
{
	unsigned int fit = fit_all(f, n), *most = &c->fit[f->which];
	double *first = &c->first[f->which];

	/* One of whom little is known, and that is not as any rule says. */
	if (f->unknown && !fit) {
		c->bound[f->which] = fmax(c->bound[f->which], f->value);
		return false;
	}
	if ((c->out->known[f->which] || *most) &&
	    (fit < *most || (fit == *most && f->value <= *first)))
		return false;
	*most = fit;
	*first = f->value;
	for (size_t i = 0; i < n; i++) {
		run_figure_set(c->out, f[i].which, f[i].unknown ? 0 : f[i].value);
		c->out->known[f[i].which] = !f[i].unknown;
	}
	return true;
}

#define PUT_WORST(c, ...)                                                                          \
	put_worst(c, (const struct client_figure[]) { __VA_ARGS__ },                               \
		  sizeof((const struct client_figure[]) { __VA_ARGS__ }) /                         \
		      sizeof(struct client_figure))
#define FIGURE(name, v)                                                                            \
	{                                                                                          \
		.which = RUN_FIGURE_##name, .value = (v)                                           \
	}
#define IF_KNOWN(name, v, is)                                                                      \
	{                                                                                          \
		.which = RUN_FIGURE_##name, .value = (is) ? (v) : HUGE_VAL, .unknown = !(is)       \
	}
#define UP_TO(name, v, is)                                                                         \
	{                                                                                          \
		.which = RUN_FIGURE_##name, .value = (v), .unknown = !(is)                         \
	}
#define AT_MOST(name, v)                                                                           \
	{                                                                                          \
		.which = RUN_FIGURE_##name, .value = (v), .unknown = true                          \
	}
#define AT_MOST_OF(is, v)                                                                          \
	(const struct client_figure)                                                               \
	{                                                                                          \
		.which = (is), .value = (v), .unknown = true                                       \
	}
#define UNKNOWN(name) AT_MOST(name, HUGE_VAL)

/* Middle of a bucket of pauses, in ns. */
static double middle(size_t bucket)
{
	uint64_t twice = hist_low(bucket, AFS_PAUSE_BITS) + hist_low(bucket + 1, AFS_PAUSE_BITS);

	return (double)(twice << AFS_PAUSE_SHIFT) / 2;
}

static double clients_per_second(const struct client_look *is, double n)
{
	return n * NS_PER_S / is->ns;
}

/* Round trips */

static void look_trips(struct client_looks *c, const struct client_look *is)
{
	double rtt = (double)is->s->tcp.min_rtt_ns, n = 0, share;

	for (size_t i = 0; i < AFS_PAUSE_BUCKETS; i++)
		if ((double)(hist_low(i + 1, AFS_PAUSE_BITS) << AFS_PAUSE_SHIFT) > rtt)
			n += is->s->habit.pause[i];
	share = n < PAUSES ? 0 : n * rtt / is->ns;
	c->trips_ns += fmin(n * rtt, is->ns);
	run_figure_share(c->out, RUN_FIGURE_TRIP_CLIENTS, c->trips_ns, c->ns);
	if (PUT_WORST(c, FIGURE(TRIPS, fmin(share, 1)), FIGURE(TRIP_RTT, rtt),
		      FIGURE(TRIP_RATE, clients_per_second(is, (double)is->s->requests)),
		      FIGURE(TRIP_BUSY, (double)is->s->busy_ns / is->ns),
		      FIGURE(TRIP_1000, 1000 * rtt)))
		clients_who(c, RUN_FIGURE_TRIPS, is);
}

/* Pauses alike */

/* The first of the buckets in a row with the most pauses. */
static size_t most_alike(const struct client_look *is, double *out)
{
	const uint32_t *pause = is->s->habit.pause;
	size_t best = 0;

	*out = 0;
	for (size_t i = 0; i + ALIKE < AFS_PAUSE_BUCKETS; i++) {
		double n = 0;

		for (size_t k = i; k < i + ALIKE; k++)
			n += pause[k];
		if (middle(i) < PAUSE_LEAST || n <= *out)
			continue;
		best = i;
		*out = n;
	}
	return best;
}

static void look_pauses(struct client_looks *c, const struct client_look *is)
{
	double n, ns = 0, rtt = (double)is->s->tcp.min_rtt_ns;
	size_t first = most_alike(is, &n);

	for (size_t k = first; k < first + ALIKE; k++)
		ns += is->s->habit.pause[k] * middle(k);
	/* Round trips are another cause, and so are replies that are on their way. */
	if (n < PAUSES || ns / n < 2 * rtt || is->link > LINK_SEEN)
		n = ns = 0;
	if (ns > is->ns)
		ns = is->ns;
	if (PUT_WORST(c, FIGURE(PAUSED, ns / is->ns), FIGURE(PAUSE, n > 0 ? ns / n : 0),
		      FIGURE(PAUSE_ALIKE, is->n > 0 ? n / is->n : 0),
		      IF_KNOWN(PAUSE_RTT, rtt, is->s->tcp.known),
		      FIGURE(PAUSE_RATE, clients_per_second(is, (double)is->s->requests)),
		      FIGURE(PAUSE_BUSY, (double)is->s->busy_ns / is->ns)))
		clients_who(c, RUN_FIGURE_PAUSED, is);
}

/* Delayed acknowledgements */

/* Its pauses as long as a delayed acknowledgement, and their time. */
static double late_pauses(const struct run_session *s, double *ns)
{
	double n = 0;

	*ns = 0;
	for (size_t i = 0; i < AFS_PAUSE_BUCKETS; i++)
		if (middle(i) > ACK_LEAST && middle(i) < ACK_MOST) {
			n += s->habit.pause[i];
			*ns += s->habit.pause[i] * middle(i);
		}
	return n;
}

/*
 * The client waits for an acknowledgement before it sends the rest of a request, and the server's
 * kernel sends that 40 ms later, as it has nothing else to send: there is a segment more than
 * replies, if each of these fits into one.
 */
static void look_acks(struct client_looks *c, const struct client_look *is)
{
	const struct run_session *s = is->s;
	double n = (double)s->requests, waited, ns, acks, share = 0;

	if (!s->requests)
		return;
	waited = late_pauses(s, &ns);
	acks = ((double)s->tcp.segments - n) / n;
	/* Requests of many segments are acknowledged as well: such a pause may be the client's. */
	if (waited >= PAUSES && (double)s->bytes_out / n < REPLY_MOST &&
	    (double)s->bytes_in / n < REPLY_MOST)
		share = fmax(0, fmin(1, fmin(acks, waited / n)));
	if (share > 0)
		c->acks_ns += fmin(share * n * ns / waited, is->ns);
	run_figure_share(c->out, RUN_FIGURE_ACK_CLIENTS, c->acks_ns, c->ns);
	if (PUT_WORST(c, FIGURE(ACKS, share), FIGURE(ACKS_RTT, (double)s->tcp.min_rtt_ns),
		      FIGURE(ACKS_RATE, clients_per_second(is, n)),
		      FIGURE(ACKS_BUSY, (double)s->busy_ns / is->ns)))
		clients_who(c, RUN_FIGURE_ACKS, is);
}

/* Its connection */

/* One that took nothing for most of that time need not be slow: a machine that sleeps does so. */
static void look_window(struct client_looks *c, const struct client_look *is, double window,
			double lost)
{
	const struct run_session_tcp *tcp = &is->s->tcp;
	bool took = !tcp->window_ns || (tcp->acked && 2 * tcp->still_ns <= tcp->window_ns);

	if (!PUT_WORST(c, UP_TO(WINDOW, fmin(window, 1), took), FIGURE(WINDOW_LOST, lost)))
		return;
	if (!took)
		run_figure_who(c->out, RUN_FIGURE_WINDOW,
			       "a client took nothing for long: whether it sleeps or is slow is "
			       "not seen");
	else if (window >= WINDOW_SEEN)
		clients_who(c, RUN_FIGURE_WINDOW, is);
}

static void look_tcp(struct client_looks *c, const struct client_look *is)
{
	const struct run_session_tcp *tcp = &is->s->tcp;
	double lost = 0, window;

	window = (double)tcp->window_ns / c->ns;
	if (tcp->retransmitted >= RETRANSMITTED)
		lost = (double)tcp->retransmitted / (double)tcp->segments;
	look_window(c, is, window, lost);
	if (PUT_WORST(c, FIGURE(LOST, lost), FIGURE(LOST_N, (double)tcp->retransmitted),
		      IF_KNOWN(LOST_REQUESTS,
			       c->requests > 0 ? (double)is->s->requests / c->requests : 0,
			       c->requests > 0)))
		clients_who(c, RUN_FIGURE_LOST, is);
}

/*
 * What is not acknowledged may have arrived long ago: the client's kernel sends the last
 * acknowledgement with the next request, or after 40 ms. So it is not more than the bytes take at
 * the rate that TCP has measured.
 */
static double on_way_ns(const struct run_session_tcp *tcp)
{
	if (!tcp->acked)
		return 0;
	return fmin((double)tcp->busy_ns - (double)tcp->window_ns,
		    (double)tcp->acked * NS_PER_S / (double)tcp->rate);
}

/* Without a round trip for each reply that the client waited for: that is not the link's. */
static double link_share(const struct client_look *is)
{
	const struct run_session_tcp *tcp = &is->s->tcp;
	double ns;

	if (!tcp->known || (tcp->acked && !tcp->rate))
		return -1;
	ns = on_way_ns(tcp) - is->n * (double)tcp->min_rtt_ns;
	return fmax(0, fmin(1, ns / is->ns));
}

static bool has_asked(const struct run_session *s)
{
	return s->requests || s->busy_ns;
}

/* What it waits for outside the server is not known, for so long at most. */
static void clients_add_unseen(struct client_looks *c, const struct client_look *is, double ns)
{
	c->unseen_requests += (double)is->s->requests;
	c->unseen_ns += ns;
}

/* At most all of its time, and nothing waits to be sent but replies: those that are counted, unless
 * one is begun that is not. */
static void look_unseen_link(struct client_looks *c, const struct client_look *is)
{
	double n = fmax((double)is->s->requests, 1);
	const struct run_session_tcp *tcp = &is->s->tcp;
	bool counted = is->s->requests && !measure_is_in_service(c->run, is->s->pid);

	PUT_WORST(c, AT_MOST(LINK, tcp->known ? fmin((double)tcp->busy_ns / is->ns, 1) : 1),
		  AT_MOST(LINK_REPLY, is->ns / n), UNKNOWN(LINK_RATE), UNKNOWN(LINK_QUEUE),
		  AT_MOST(LINK_UNSENT, counted ? (double)is->s->bytes_out : HUGE_VAL),
		  UNKNOWN(LINK_RTT), UNKNOWN(LINK_RTT_LEAST));
}

static void look_link(struct client_looks *c, const struct client_look *is)
{
	const struct run_session_tcp *tcp = &is->s->tcp;
	double way;

	if (is->link < 0) {
		look_unseen_link(c, is);
		if (!c->out->known[RUN_FIGURE_LINK])
			run_figure_who(c->out, RUN_FIGURE_LINK,
				       "TCP has not yet measured how fast a client takes replies");
		if (!has_asked(is->s))
			return;
		c->unrated++;
		clients_add_unseen(c, is, fmin((double)tcp->busy_ns, is->ns));
		return;
	}
	c->drain_ns += is->link * is->ns;
	run_figure_share(c->out, RUN_FIGURE_DRAIN, c->drain_ns, c->ns);
	way = on_way_ns(tcp);
	/* A reply that takes longer than the watch is none of a request that was answered. */
	if (PUT_WORST(
		c, FIGURE(LINK, is->link),
		FIGURE(LINK_REPLY, is->link * is->ns / fmax((double)is->s->requests, 1)),
		IF_KNOWN(LINK_RATE, way > 0 ? (double)tcp->acked * NS_PER_S / way : 0, way > 0),
		FIGURE(LINK_QUEUE, (double)tcp->queue_mean),
		FIGURE(LINK_UNSENT, (double)tcp->unsent_mean),
		FIGURE(LINK_RTT, (double)tcp->rtt_ns),
		FIGURE(LINK_RTT_LEAST, (double)tcp->min_rtt_ns)))
		clients_who(c, RUN_FIGURE_LINK, is);
}

static void look_upload(struct client_looks *c, const struct client_look *is)
{
	const struct run_session_tcp *tcp = &is->s->tcp;

	if (PUT_WORST(
		c, FIGURE(UPLOAD, fmin((double)is->s->habit.upload_ns / is->ns, 1)),
		IF_KNOWN(UPLOAD_RATE, clients_per_second(is, (double)tcp->received), tcp->known),
		IF_KNOWN(UPLOAD_RTT, (double)tcp->min_rtt_ns, tcp->known)))
		clients_who(c, RUN_FIGURE_UPLOAD, is);
}

/* A connection that is not seen */

/* The most that they may be, by the client's pauses: late acknowledgements are in these, and so are
 * round trips, of which short ones are no cause. */
static void look_unseen(struct client_looks *c, const struct client_look *is)
{
	const struct run_session *s = is->s;
	double busy = (double)s->busy_ns / is->ns, rate, late, n = 0, pauses = 0, ns;

	if (!has_asked(s))
		return;
	rate = clients_per_second(is, (double)s->requests);
	for (size_t i = 0; i < AFS_PAUSE_BUCKETS; i++)
		if (middle(i + 1) > SLOW_TRIP) {
			n += s->habit.pause[i];
			pauses += s->habit.pause[i] * middle(i + 1);
		}
	late = late_pauses(s, &ns);
	c->unseen++;
	clients_add_unseen(c, is, fmax(is->ns - (double)s->busy_ns, 0));
	PUT_WORST(c, AT_MOST(TRIPS, n < PAUSES ? 0 : fmin(pauses / is->ns, 1)), UNKNOWN(TRIP_RTT),
		  FIGURE(TRIP_RATE, rate), FIGURE(TRIP_BUSY, busy), UNKNOWN(TRIP_1000));
	PUT_WORST(c, AT_MOST(ACKS, late < PAUSES ? 0 : fmin(late / (double)s->requests, 1)),
		  UNKNOWN(ACKS_RTT), FIGURE(ACKS_RATE, rate), FIGURE(ACKS_BUSY, busy));
	PUT_WORST(c, AT_MOST(WINDOW, fmin(is->ns / c->ns, 1)), UNKNOWN(WINDOW_LOST));
	PUT_WORST(c, AT_MOST(LOST, 1), UNKNOWN(LOST_N),
		  AT_MOST(LOST_REQUESTS, c->requests > 0 ? (double)s->requests / c->requests : 1));
	look_unseen_link(c, is);
}

/* Why a figure is not known of all. */
static void say_why_unseen(struct client_looks *c, enum run_figure which)
{
	double rest = (double)c->run->n_rest, n = c->unseen + rest, asked = c->clients + rest;

	if (rest > 0)
		run_figure_who(c->out, which,
			       "the connections of %.0f of %.0f clients are not seen, or no longer "
			       "listed",
			       n, asked);
	else if (n > 0)
		run_figure_who(c->out, which,
			       "the connections of %.0f of %.0f clients are not seen", n, asked);
}

/* How many, and what may be theirs: of the time that clients wait for the server or the network. */
static void say_unseen(struct client_looks *c, const struct run *r)
{
	static const enum run_figure first[] = { RUN_FIGURE_TRIPS, RUN_FIGURE_ACKS, RUN_FIGURE_LOST,
						 RUN_FIGURE_WINDOW, RUN_FIGURE_LINK };
	double rest = (double)r->n_rest, n = c->unseen + c->unrated + rest;
	double requests = c->unseen_requests + (double)r->rest.requests;
	double ns = c->unseen_ns +
		    fmin(fmax((double)r->rest_ns - (double)r->rest.busy_ns, 0), c->ns * rest);
	double busy_ns = c->busy_ns;

	if (c->out->known[RUN_FIGURE_BUSY])
		busy_ns = c->out->value[RUN_FIGURE_BUSY] * c->ns;
	run_figure_set(c->out, RUN_FIGURE_TCP_UNSEEN, 0);
	if (!(n > 0))
		return;
	run_figure_share(c->out, RUN_FIGURE_TCP_UNSEEN, ns,
			 ns + busy_ns + c->drain_ns + c->trips_ns + c->acks_ns);
	run_figure_who(c->out, RUN_FIGURE_TCP_UNSEEN,
		       "%.0f of %.0f clients (%.0f%% of all requests)", n, c->clients + rest,
		       c->requests > 0 ? 100 * requests / c->requests : 0);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		/* One who is not listed may be as a cause needs it, if none is who is listed. */
		if (r->n_rest && !c->fit[first[i]])
			c->out->known[first[i]] = false;
		if (c->out->known[first[i]])
			continue;
		say_why_unseen(c, first[i]);
		if (r->n_rest || c->fit[first[i]] ||
		    fit_all(&AT_MOST_OF(first[i], c->bound[first[i]]), 1))
			continue;
		run_figure_set(c->out, first[i], c->bound[first[i]]);
		run_figure_who(c->out, first[i], "at most");
	}
}

/* One command again and again */

static void look_chatty(struct client_looks *c, const struct client_look *is)
{
	const struct run_session *s = is->s;
	char name[ACCOUNT_NAME_MAX];
	double n = s->habit.most_n;

	if (!s->requests || !PUT_WORST(c, FIGURE(CHATTY, fmin(n / c->requests, 1)),
				       FIGURE(CHATTY_RATE, n * NS_PER_S / c->ns),
				       FIGURE(CHATTY_BYTES, (double)(s->bytes_in + s->bytes_out) /
								(double)s->requests)))
		return;
	run_figure_who(c->out, RUN_FIGURE_CHATTY, "%s from %s: %s", s->user ? s->user : "nobody",
		       s->address ? s->address : "?", account_name(s->habit.most, name));
}

/* Of one that has ended only how long it lived is known; one that ran whenever it served, and not
 * all the time, may have filled a CPU for as long as its client waited. */
static void clients_look_cpu(struct client_looks *c, const struct run_session *s, double lived_ns)
{
	double ran = s->has_cpu ? (double)(s->cpu_ns + s->runq_ns) : lived_ns, busy = c->busy_ns;
	double own = (double)s->busy_ns, most = s->has_cpu ? c->ns : ran;
	bool known = s->has_cpu && (own < NS_PER_S || ran < 0.9 * own || ran >= 0.9 * c->ns);

	if (PUT_WORST(c, UP_TO(SESSION_RUN, fmin((known ? ran : most) / c->ns, 1), known),
		      IF_KNOWN(SESSION_CPU, (double)s->cpu_ns / c->ns, known),
		      UP_TO(SESSION_WAIT, busy > 0 ? fmin(own, ran) / busy : HUGE_VAL,
			    known && busy > 0)))
		run_figure_who(c->out, RUN_FIGURE_SESSION_RUN,
			       known ? "%s (pid %d)" : "a session may have filled a CPU for a time",
			       s->user ? s->user : "nobody", s->pid);
}

static double watched_ns(const struct client_looks *c, const struct run_session *s)
{
	uint64_t begin = s->begun_ns > c->begin_ns ? s->begun_ns : c->begin_ns;
	uint64_t end = s->ended_ns && s->ended_ns < c->end_ns ? s->ended_ns : c->end_ns;

	return end > begin ? (double)(end - begin) : 0;
}

static void look_connection(struct client_looks *c, const struct client_look *is)
{
	look_trips(c, is);
	look_acks(c, is);
	look_tcp(c, is);
	look_link(c, is);
}

void doctor_clients(struct run_figures *out, const struct run *r)
{
	struct client_looks c = { .out = out, .run = r };

	if (r->n_phases > 1)
		doctor_parts(out, r);
	if (r->n_phases != 1 || !r->phase[0]->known[METRIC_ELAPSED])
		return;
	c.begin_ns = r->phase[0]->start_ns;
	c.end_ns = c.begin_ns + r->phase[0]->value[METRIC_ELAPSED];
	c.ns = (double)(c.end_ns - c.begin_ns);
	c.requests = (double)r->rest.requests;
	c.busy_ns = (double)r->rest.busy_ns;
	for (size_t i = 0; i < r->n_sessions; i++) {
		c.requests += (double)r->session[i].requests;
		c.busy_ns += (double)r->session[i].busy_ns;
	}
	doctor_actions(out, r);
	for (size_t i = 0; i < r->n_sessions; i++) {
		struct client_look is = { .s = &r->session[i],
					  .ns = watched_ns(&c, &r->session[i]) };

		if (is.ns <= 0)
			continue;
		for (size_t k = 0; k < AFS_PAUSE_BUCKETS; k++)
			is.n += is.s->habit.pause[k];
		is.link = link_share(&is);
		c.clients += has_asked(is.s);
		if (is.s->tcp.known)
			look_connection(&c, &is);
		else
			look_unseen(&c, &is);
		look_pauses(&c, &is);
		look_upload(&c, &is);
		look_chatty(&c, &is);
		if (is.s->requests && !is.s->shared)
			clients_look_cpu(&c, is.s, is.ns);
	}
	if (r->n_rest)
		clients_look_cpu(&c, &(struct run_session) { .busy_ns = r->rest.busy_ns },
				 (double)r->rest_ns);
	say_unseen(&c, r);
}
