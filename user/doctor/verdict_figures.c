/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the ratios of one phase on which a verdict is based. */
#include "doctor/verdict.h"
#include "report/transfer.h"

#include <math.h>
#include <string.h>

static void verdict_figures_put(struct verdict *v, enum verdict_figure f, double x)
{
	v->known[f] = true;
	v->figure[f] = x < 0 ? 0 : x;
}

static double capped(double x)
{
	return x > 1 ? 1 : x;
}

bool verdict_has_null(const struct verdict *v)
{
	return v->known[FIGURE_NULL_PEER] && v->figure[FIGURE_NULL_PEER] <= VERDICT_NULL_VOID;
}

/* How much a running total of one end grew over the phase. */
static bool verdict_figures_grown(const struct run_transfer *t, enum run_tcp_end end,
				  enum run_tcp_value value, double *out)
{
	const struct run_tcp *first = transfer_look(t, end, TCP_BEFORE, value);
	const struct run_tcp *last = transfer_look(t, end, TCP_AFTER, value);

	if (!first || !last || last->value[value] < first->value[value])
		return false;
	*out = (double)(last->value[value] - first->value[value]);
	return true;
}

/* The parts of two directions add up if they take turns; else the larger one counts. */
static void put_direction(struct verdict *v, enum verdict_figure f, double x, bool add)
{
	if (v->known[f] && add)
		verdict_figures_put(v, f, capped(v->figure[f] + x));
	else if (!v->known[f] || x > v->figure[f])
		verdict_figures_put(v, f, capped(x));
}

/* One end that sends file data. The looks were taken before and after the measured iterations. */
static void verdict_figures_path_of(struct verdict *v, const struct run_transfer *t,
				    enum run_tcp_end end)
{
	bool add = !strcmp(t->work, "Copy") && t->window <= 1;
	double all_us = 0, busy, rwnd, sndbuf;

	for (size_t i = 0; i < t->n_samples; i++)
		all_us += t->sample[i].warmup ? 0 : (double)t->sample[i].ns / 1e3;
	if (all_us <= 0 || !verdict_figures_grown(t, end, TCP_BUSY, &busy) ||
	    !verdict_figures_grown(t, end, TCP_RWND_LIMITED, &rwnd))
		return;
	put_direction(v, FIGURE_PATH_BUSY, busy > rwnd ? capped((busy - rwnd) / all_us) : 0, add);
	put_direction(v, FIGURE_RWND_LIMITED, capped(rwnd / all_us), add);
	if (verdict_figures_grown(t, end, TCP_SNDBUF_LIMITED, &sndbuf))
		put_direction(v, FIGURE_SNDBUF_LIMITED, capped(sndbuf / all_us), add);
}

static void retrans_of(struct verdict *v, const struct run_transfer *t)
{
	double again = 0, sent = 0, a, s;

	for (enum run_tcp_end end = TCP_CLIENT; end <= TCP_SERVER; end++) {
		if (!verdict_figures_grown(t, end, TCP_RETRANS_TOTAL, &a) ||
		    !verdict_figures_grown(t, end, TCP_SEGS_OUT, &s))
			continue;
		again += a;
		sent += s;
	}
	if (sent > 0)
		verdict_figures_put(v, FIGURE_RETRANS, again / sent);
}

/* The last look of this end, of whichever kind: after a transfer that broke off there is none. */
static const struct run_tcp *last_look(const struct run_transfer *t, enum run_tcp_end end,
				       enum run_tcp_value value)
{
	static const enum run_tcp_when order[] = { TCP_AFTER, TCP_DURING, TCP_BEFORE };
	const struct run_tcp *look = NULL;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && !look; i++)
		look = transfer_look(t, end, order[i], value);
	return look;
}

/* How often one end waits for the other, at the least. */
static double turns(const struct run_transfer *t)
{
	uint64_t window = t->window ? t->window : 1, n;

	if (!t->requests) /* a copy inside the server */
		return 1;
	if (strcmp(t->work, "Copy"))
		return (double)((t->requests + window - 1) / window);
	/* Each part is read, and then written. */
	n = (2 * t->requests + window - 1) / window;
	return (double)(n > 2 ? n : 2);
}

/* A smoothed round-trip time far above the least one has a queue in it. */
static void verdict_figures_queue_of(struct verdict *v, const struct run_transfer *t)
{
	const struct run_tcp *least = last_look(t, TCP_CLIENT, TCP_MIN_RTT);
	const struct run_tcp *look = transfer_look(t, TCP_CLIENT, TCP_DURING, TCP_RTT);
	double rtt;

	if (!look)
		look = last_look(t, TCP_CLIENT, TCP_RTT);
	if (!look || !least || !look->value[TCP_RTT])
		return;
	rtt = (double)look->value[TCP_RTT];
	verdict_figures_put(v, FIGURE_QUEUE, (rtt - (double)least->value[TCP_MIN_RTT]) / rtt);
}

static void path_figures(struct verdict *v, const struct run_transfer *t, const struct stats *s)
{
	const struct run_tcp *look = last_look(t, TCP_CLIENT, TCP_MIN_RTT);

	if (!look)
		look = last_look(t, TCP_SERVER, TCP_MIN_RTT);
	if (look && s->median > 0)
		verdict_figures_put(v, FIGURE_ROUND_TRIPS,
				    1e3 * (double)look->value[TCP_MIN_RTT] * turns(t) / s->median);
	verdict_figures_queue_of(v, t);
	if (t->requests && strcmp(t->work, "Write"))
		verdict_figures_path_of(v, t, TCP_SERVER);
	if (t->requests && strcmp(t->work, "Read"))
		verdict_figures_path_of(v, t, TCP_CLIENT);
	retrans_of(v, t);
}

static void client_figures(struct verdict *v, const struct transfer_cost *c, double ns)
{
	if (c->client_cpu.known)
		verdict_figures_put(v, FIGURE_CLIENT_CPU, c->client_cpu.v / ns);
	/* A wait that began before the transfer is counted in it as a whole. */
	if (c->client_runq.known)
		verdict_figures_put(
		    v, FIGURE_CLIENT_RUNQ,
		    fmin(c->client_runq.v / ns, 1 - capped(v->figure[FIGURE_CLIENT_CPU])));
	if (c->client_cpu.known)
		verdict_figures_put(v, FIGURE_CLIENT_RUN,
				    v->figure[FIGURE_CLIENT_CPU] + v->figure[FIGURE_CLIENT_RUNQ]);
}

static void server_figures(struct verdict *v, const struct transfer_cost *c, double ns)
{
	if (c->server_cpu.known)
		verdict_figures_put(v, FIGURE_SERVER_CPU, c->server_cpu.v / ns);
	if (c->server_runq.known)
		verdict_figures_put(v, FIGURE_SERVER_RUNQ, c->server_runq.v / ns);
	if (c->server_cpu.known && c->server_runq.known)
		verdict_figures_put(v, FIGURE_SERVER_RUN,
				    (c->server_cpu.v + c->server_runq.v) / ns);
	if (!c->has_times)
		return;
	verdict_figures_put(v, FIGURE_SERVER_DISK, (double)c->column[ACCOUNT_DISK] / ns);
	verdict_figures_put(v, FIGURE_SERVER_NET, (double)c->column[ACCOUNT_NET] / ns);
	verdict_figures_put(v, FIGURE_SERVER_BUSY, c->busy / ns);
}

static bool is_loopback(const struct run *r)
{
	const char *host = run_note_find(&r->server, "host");

	return host &&
	       (!strcmp(host, "localhost") || !strcmp(host, "::1") || !strncmp(host, "127.", 4));
}

/* Only what runs on this machine can be seen. */
static bool was_seen(const struct run_transfer *t, const struct transfer_cost *c)
{
	for (size_t i = 0; i < t->n_tcp; i++)
		if (t->tcp[i].end == TCP_SERVER)
			return true;
	return c->server_cpu.known || c->has_times;
}

void verdict_measure(struct verdict *v, const struct run *r, const struct run_phase *p,
		     const struct stats *s)
{
	const struct run_transfer *t = p->transfer;
	struct transfer_cost c;

	transfer_cost(p, &c);
	v->seen = was_seen(t, &c);
	v->here = v->seen || is_loopback(r);
	v->unsteady = s->n > 1 && s->cv > VERDICT_CV;
	if (t->null_ns && s->median > 0)
		verdict_figures_put(v, FIGURE_NULL_PEER, (double)t->null_ns / s->median);
	path_figures(v, t, s);
	if (!c.elapsed.known || c.elapsed.v <= 0)
		return;
	client_figures(v, &c, c.elapsed.v);
	server_figures(v, &c, c.elapsed.v);
	if (transfer_is_local(r))
		verdict_figures_put(v, FIGURE_WAITING, 1 - v->figure[FIGURE_CLIENT_RUN]);
	else if (v->known[FIGURE_CLIENT_CPU] && c.has_times && t->requests)
		verdict_figures_put(
		    v, FIGURE_WAITING,
		    1 - v->figure[FIGURE_CLIENT_RUN] -
			(v->figure[FIGURE_SERVER_BUSY] - v->figure[FIGURE_SERVER_NET]));
}
