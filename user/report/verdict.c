/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds a transfer up: figures, the rules they are held against, and words. */
#include "report/verdict.h"

#include "report/transfer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct verdict_kind_def verdict_kinds[VERDICT_N_KINDS] = {
#define X(name, key, words) { key, words },
	VERDICT_KINDS(X)
#undef X
};

const struct verdict_figure_def verdict_figures[VERDICT_N_FIGURES] = {
#define X(name, key, meaning) { key, meaning },
	VERDICT_FIGURES(X)
#undef X
};

/*
 * The first rule whose figure reaches its threshold gives the verdict. 0.8: what is left is too
 * little to be worth another look. 0.5: waiting is never worked off beside something else, so more
 * than half of the time is the largest part whatever the others are.
 */
static const struct rule {
	enum verdict_kind kind;
	enum verdict_figure figure;
	double least;
} rules[] = {
	/* Without any server it takes nearly as long: what is measured is this program. */
	{ VERDICT_CLIENT, FIGURE_NULL_PEER, 0.8 },
	/* One thread: it has no more CPU to spend. */
	{ VERDICT_CLIENT, FIGURE_CLIENT_CPU, 0.8 },
	{ VERDICT_DISK, FIGURE_SERVER_DISK, 0.5 },
	/* afpd serves a session in one thread; waiting for a CPU is lack of CPU, too. */
	{ VERDICT_SERVER_CPU, FIGURE_SERVER_RUN, 0.8 },
	/* The least round-trip time: the smoothed one has the queues in it. */
	{ VERDICT_LATENCY, FIGURE_ROUND_TRIPS, 0.5 },
	/* The sender always has data under way and the receiver room: the path is full. */
	{ VERDICT_NETWORK, FIGURE_PATH_BUSY, 0.8 },
	{ VERDICT_NETWORK, FIGURE_WAITING, 0.5 },
};

#define PATH_WAITING 0.3 /* a busy path tells nothing while the ends wait less */
#define TURNS_EACH   0.2 /* client's and server's part, at least */
#define TURNS_BOTH   0.8 /* both together */
#define LEAST_TOLD   0.05

/* The same thresholds where there is no server. */
#define LOCAL_CPU     0.8
#define LOCAL_WAITING 0.5

static void put(struct verdict *v, enum verdict_figure f, double x)
{
	v->known[f] = true;
	v->figure[f] = x < 0 ? 0 : x;
}

static double capped(double x)
{
	return x > 1 ? 1 : x;
}

/* How much a running total of one end grew over the phase. */
static bool grown(const struct run_transfer *t, enum run_tcp_end end, enum run_tcp_value value,
		  double *out)
{
	const struct run_tcp *first = transfer_look(t, end, TCP_BEFORE, value);
	const struct run_tcp *last = transfer_look(t, end, TCP_AFTER, value);

	if (!first || !last || last->value[value] < first->value[value])
		return false;
	*out = (double)(last->value[value] - first->value[value]);
	return true;
}

/* One end that sends file data; of two the one that is held up more. */
static void path_of(struct verdict *v, const struct run_transfer *t, enum run_tcp_end end)
{
	double all_us = 0, busy, rwnd, sndbuf, room;

	for (size_t i = 0; i < t->n_samples; i++)
		all_us += (double)t->sample[i].ns / 1e3;
	if (all_us <= 0 || !grown(t, end, TCP_BUSY, &busy) ||
	    !grown(t, end, TCP_RWND_LIMITED, &rwnd))
		return;
	room = busy > rwnd ? capped((busy - rwnd) / all_us) : 0;
	if (!v->known[FIGURE_PATH_BUSY] || room > v->figure[FIGURE_PATH_BUSY])
		put(v, FIGURE_PATH_BUSY, room);
	if (!v->known[FIGURE_RWND_LIMITED] || rwnd / all_us > v->figure[FIGURE_RWND_LIMITED])
		put(v, FIGURE_RWND_LIMITED, capped(rwnd / all_us));
	if (!grown(t, end, TCP_SNDBUF_LIMITED, &sndbuf))
		return;
	if (!v->known[FIGURE_SNDBUF_LIMITED] || sndbuf / all_us > v->figure[FIGURE_SNDBUF_LIMITED])
		put(v, FIGURE_SNDBUF_LIMITED, capped(sndbuf / all_us));
}

static void retrans_of(struct verdict *v, const struct run_transfer *t)
{
	double again = 0, sent = 0, a, s;

	for (enum run_tcp_end end = TCP_CLIENT; end <= TCP_SERVER; end++) {
		if (!grown(t, end, TCP_RETRANS_TOTAL, &a) || !grown(t, end, TCP_SEGS_OUT, &s))
			continue;
		again += a;
		sent += s;
	}
	if (sent > 0)
		put(v, FIGURE_RETRANS, again / sent);
}

static void path_figures(struct verdict *v, const struct run_transfer *t, const struct stats *s)
{
	const enum run_tcp_value rtt = TCP_MIN_RTT;
	const struct run_tcp *look = transfer_look(t, TCP_CLIENT, TCP_AFTER, rtt);
	double turns = t->requests;

	if (!look)
		look = transfer_look(t, TCP_SERVER, TCP_AFTER, rtt);
	/* A copy inside the server is one request. */
	if (!t->requests)
		turns = 1;
	else if (t->window > 1)
		turns = (double)((t->requests + t->window - 1) / t->window);
	if (look && s->median > 0)
		put(v, FIGURE_ROUND_TRIPS, 1e3 * (double)look->value[rtt] * turns / s->median);
	if (t->requests && strcmp(t->work, "Write"))
		path_of(v, t, TCP_SERVER);
	if (t->requests && strcmp(t->work, "Read"))
		path_of(v, t, TCP_CLIENT);
	retrans_of(v, t);
}

static void figures(struct verdict *v, const struct run_phase *p, const struct stats *s)
{
	const struct run_transfer *t = p->transfer;
	struct transfer_cost c;
	double ns;

	transfer_cost(p, &c);
	ns = c.elapsed.known ? c.elapsed.v : 0;
	if (t->null_ns && s->median > 0)
		put(v, FIGURE_NULL_PEER, (double)t->null_ns / s->median);
	path_figures(v, t, s);
	if (ns <= 0)
		return;
	if (c.client_cpu.known)
		put(v, FIGURE_CLIENT_CPU, c.client_cpu.v / ns);
	if (c.server_cpu.known)
		put(v, FIGURE_SERVER_CPU, c.server_cpu.v / ns);
	if (!c.has_times)
		return;
	put(v, FIGURE_SERVER_RUN, (c.server_cpu.v + (double)c.column[ACCOUNT_RUNQ]) / ns);
	put(v, FIGURE_SERVER_DISK, (double)c.column[ACCOUNT_DISK] / ns);
	put(v, FIGURE_SERVER_NET, (double)c.column[ACCOUNT_NET] / ns);
	put(v, FIGURE_SERVER_BUSY, c.busy / ns);
	if (c.client_cpu.known && t->requests)
		put(v, FIGURE_WAITING,
		    1 - v->figure[FIGURE_CLIENT_CPU] -
			(v->figure[FIGURE_SERVER_BUSY] - v->figure[FIGURE_SERVER_NET]));
}

/* Whether the figure may be held against this rule. */
static bool applies(const struct verdict *v, const struct rule *r)
{
	/* Waiting alone does not tell a long way from a narrow one. */
	if (r->figure == FIGURE_WAITING && !v->known[FIGURE_ROUND_TRIPS])
		return false;
	/* Two ends that hardly rest keep a loopback busy, too. */
	if (r->figure == FIGURE_PATH_BUSY && v->known[FIGURE_WAITING] &&
	    v->figure[FIGURE_WAITING] < PATH_WAITING)
		return false;
	return v->known[r->figure];
}

static bool takes_turns(const struct verdict *v, const struct run_transfer *t)
{
	double client = v->figure[FIGURE_CLIENT_CPU];
	double server = v->figure[FIGURE_SERVER_BUSY] - v->figure[FIGURE_SERVER_NET];

	if (!v->known[FIGURE_CLIENT_CPU] || !v->known[FIGURE_SERVER_BUSY] || t->window > 1)
		return false;
	return client >= TURNS_EACH && server >= TURNS_EACH && client + server >= TURNS_BOTH;
}

static void say(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct verdict *v, const char *fmt, ...)
{
	size_t at = strlen(v->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->text + at, sizeof(v->text) - at, fmt, ap);
	va_end(ap);
}

/* "; WHAT 12 %" when it is known and not next to nothing. */
static void tell(struct verdict *v, enum verdict_figure f, const char *what)
{
	if (v->known[f] && v->figure[f] >= LEAST_TOLD)
		say(v, "%s%s %.0f %%", *v->text ? ", " : "", what, 100 * v->figure[f]);
}

static void missing(struct verdict *v, const struct run_transfer *t)
{
	const struct {
		bool is;
		const char *what;
	} lacks[] = {
		{ !v->known[FIGURE_CLIENT_CPU], "the client's CPU time" },
		{ !v->known[FIGURE_SERVER_CPU], "the server's CPU time" },
		{ !v->known[FIGURE_SERVER_DISK], "what the server waited for" },
		{ t->requests && !v->known[FIGURE_ROUND_TRIPS], "the round-trip time" },
		{ t->requests && !v->known[FIGURE_PATH_BUSY], "the sender's TCP figures" },
	};
	const char *gap = "not measured: ";

	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		if (!lacks[i].is)
			continue;
		say(v, "%s%s", gap, lacks[i].what);
		gap = ", ";
	}
}

/* Told as mixed only when everything that a rule needs was measured. */
static void no_rule(struct verdict *v, const struct run_transfer *t)
{
	missing(v, t);
	if (*v->text) {
		v->kind = VERDICT_NOT_TOLD;
		if (v->known[FIGURE_CLIENT_CPU])
			say(v, "; client's CPU %.0f %%", 100 * v->figure[FIGURE_CLIENT_CPU]);
		if (v->known[FIGURE_SERVER_CPU])
			say(v, "; afpd's CPU %.0f %%", 100 * v->figure[FIGURE_SERVER_CPU]);
		return;
	}
	v->kind = VERDICT_MIXED;
}

static void words(struct verdict *v, const struct run_transfer *t)
{
	tell(v, FIGURE_CLIENT_CPU, "client's CPU");
	if (v->known[FIGURE_NULL_PEER])
		say(v, "%sthe same against a peer that keeps nothing takes %.0f %%",
		    *v->text ? ", " : "", 100 * v->figure[FIGURE_NULL_PEER]);
	tell(v, FIGURE_SERVER_CPU, "afpd's CPU");
	tell(v, FIGURE_SERVER_DISK, "afpd waiting for disk");
	tell(v, FIGURE_SERVER_NET, "afpd waiting for the network");
	tell(v, FIGURE_WAITING, "neither end working");
	if (v->kind == VERDICT_LATENCY || v->kind == VERDICT_NETWORK) {
		tell(v, FIGURE_ROUND_TRIPS, "round trips");
		tell(v, FIGURE_PATH_BUSY, "path busy");
	}
	if (v->known[FIGURE_RETRANS] && v->figure[FIGURE_RETRANS] >= 0.001)
		say(v, "%s%.1f %% of segments sent again", *v->text ? ", " : "",
		    100 * v->figure[FIGURE_RETRANS]);
	if ((v->kind == VERDICT_TURNS || v->kind == VERDICT_LATENCY) && t->requests > 1 &&
	    t->window <= 1)
		say(v, "; one request at a time: a window would overlap them");
}

/* Without a server there are this program and the file system. */
static void local(struct verdict *v)
{
	double client = v->figure[FIGURE_CLIENT_CPU];

	if (!v->known[FIGURE_CLIENT_CPU]) {
		say(v, "not measured: the CPU time of this program");
		return;
	}
	put(v, FIGURE_WAITING, 1 - client);
	v->kind = VERDICT_MIXED;
	if (client >= LOCAL_CPU)
		v->kind = VERDICT_CLIENT;
	else if (v->figure[FIGURE_WAITING] >= LOCAL_WAITING)
		v->kind = VERDICT_DISK;
	say(v, "this program's CPU %.0f %%, waiting for the file system %.0f %%", 100 * client,
	    100 * v->figure[FIGURE_WAITING]);
}

int verdict_of(struct verdict *out, const struct run *r, const struct run_phase *p)
{
	struct stats s;
	int e;

	*out = (struct verdict) { .kind = VERDICT_NOT_TOLD };
	e = transfer_stats(p->transfer, &s);
	if (e)
		return e;
	if (!p->complete || !s.n) {
		say(out, p->complete ? "no measured iteration" : "it broke off");
		return 0;
	}
	figures(out, p, &s);
	if (transfer_is_local(r)) {
		local(out);
		return 0;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !out->kind; i++)
		if (applies(out, &rules[i]) && out->figure[rules[i].figure] >= rules[i].least)
			out->kind = rules[i].kind;
	if (!out->kind && takes_turns(out, p->transfer))
		out->kind = VERDICT_TURNS;
	if (!out->kind)
		no_rule(out, p->transfer);
	if (out->kind)
		words(out, p->transfer);
	return 0;
}

int verdict_of_run(struct verdict *out, const struct run *r)
{
	double ns[VERDICT_N_KINDS] = { 0 }, all = 0;
	size_t n[VERDICT_N_KINDS] = { 0 };
	struct verdict v;
	int e;

	*out = (struct verdict) { .kind = VERDICT_NOT_TOLD };
	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *p = r->phase[i];
		double one = p->complete ? (double)p->value[METRIC_ELAPSED] : 0;

		if (!p->transfer)
			continue;
		e = verdict_of(&v, r, p);
		if (e)
			return e;
		ns[v.kind] += one;
		n[v.kind]++;
		all += one;
	}
	for (size_t k = 0; k < VERDICT_N_KINDS; k++)
		if (ns[k] > ns[out->kind])
			out->kind = k;
	for (size_t done = 0; done < VERDICT_N_KINDS; done++) {
		size_t most = VERDICT_N_KINDS;

		for (size_t k = 0; k < VERDICT_N_KINDS; k++)
			if (n[k] && (most == VERDICT_N_KINDS || ns[k] > ns[most]))
				most = k;
		if (most == VERDICT_N_KINDS)
			break;
		say(out, "%s%s %.0f %% of the time (%zu transfer%s)", *out->text ? ", " : "",
		    verdict_kinds[most].words, all > 0 ? 100 * ns[most] / all : 0, n[most],
		    n[most] == 1 ? "" : "s");
		n[most] = 0;
	}
	return 0;
}
