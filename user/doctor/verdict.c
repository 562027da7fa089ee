/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What limits a transfer: how the rules for its figures apply, and the texts. */
#include "doctor/verdict.h"

#include "report/transfer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
 * The part of the time that the client needs. A client that wakes up for every few segments often
 * waits for a CPU while data come in: it needs no more than with a null peer.
 */
static double client_needs(const struct verdict *v)
{
	double run = v->figure[FIGURE_CLIENT_RUN], null = v->figure[FIGURE_NULL_PEER];

	return !v->here && verdict_has_null(v) && null < run ? null : run;
}

/*
 * The smoothed round-trip time includes the server's work when a single request waits for its
 * answer. Only if the client sends data or has several requests in flight does it show a queue.
 */
static bool queue_applies(const struct verdict *v, const struct run_transfer *t)
{
	if (!t->requests || (!strcmp(t->work, "Read") && t->window <= 1))
		return false;
	return v->known[FIGURE_CLIENT_RUN] && 1 - client_needs(v) >= TRANSFER_QUEUE_WAITING;
}

/* Whether this rule applies to these figures. */
static bool applies(const struct verdict *v, const struct transfer_rule *r,
		    const struct run_transfer *t)
{
	if (!v->known[r->figure] || !v->known[r->also])
		return false;
	if (r->figure == FIGURE_NULL_PEER)
		return verdict_has_null(v);
	/* Between two ends on one machine there is no network, only its CPUs. */
	if (r->kind == VERDICT_NETWORK && v->here)
		return false;
	if (r->figure == FIGURE_QUEUE)
		return queue_applies(v, t);
	if (r->figure == FIGURE_PATH_BUSY && v->known[FIGURE_CLIENT_RUN])
		return 1 - client_needs(v) >= TRANSFER_PATH_WAITING;
	return true;
}

static enum verdict_kind by_rule(const struct verdict *v, const struct run_transfer *t)
{
	for (size_t i = 0; i < transfer_rules_n; i++) {
		const struct transfer_rule *r = &transfer_rules[i];

		if (applies(v, r, t) && v->figure[r->figure] >= r->least &&
		    v->figure[r->also] >= r->also_least)
			return r->kind;
	}
	return VERDICT_NOT_TOLD;
}

static bool is_short(double cpu, double runq)
{
	return runq > cpu && cpu + runq >= TRANSFER_SHORT_LEAST;
}

/* Which end waits for a CPU longer than it runs; NULL: neither. */
static const char *short_of_cpu(const struct verdict *v)
{
	double client = v->figure[FIGURE_CLIENT_CPU], client_runq = v->figure[FIGURE_CLIENT_RUNQ];
	double server = v->figure[FIGURE_SERVER_CPU], server_runq = v->figure[FIGURE_SERVER_RUNQ];
	bool has_client = v->known[FIGURE_CLIENT_CPU] && v->known[FIGURE_CLIENT_RUNQ];
	bool has_server = v->known[FIGURE_SERVER_RUN];
	bool one = has_client && is_short(client, client_runq) &&
		   client_needs(v) >= TRANSFER_SHORT_LEAST;
	bool other = has_server && is_short(server, server_runq);

	if ((one && other) || (has_client && has_server && !one && !other &&
			       is_short(client + server, client_runq + server_runq)))
		return "client and {server} wait";
	return one ? "the client waits" : other ? "{server} waits" : NULL;
}

static bool takes_turns(const struct verdict *v, const struct run_transfer *t)
{
	double client = v->figure[FIGURE_CLIENT_RUN];
	double server = v->figure[FIGURE_SERVER_BUSY] - v->figure[FIGURE_SERVER_NET];

	if (!v->known[FIGURE_CLIENT_RUN] || !v->known[FIGURE_SERVER_BUSY] || !t->requests ||
	    t->window > 1)
		return false;
	return client >= TRANSFER_TURNS_EACH && server >= TRANSFER_TURNS_EACH &&
	       client + server >= TRANSFER_TURNS_BOTH;
}

static void verdict_say(struct verdict *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void verdict_say(struct verdict *v, const char *fmt, ...)
{
	size_t at = strlen(v->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->text + at, sizeof(v->text) - at, fmt, ap);
	va_end(ap);
}

/* ", WHAT 12 %" when it is known and not next to nothing. */
static void verdict_tell(struct verdict *v, enum verdict_figure f, const char *what)
{
	if (v->known[f] && v->figure[f] >= TRANSFER_LEAST_TOLD)
		verdict_say(v, "%s%s %.0f %%", *v->text ? ", " : "", what, 100 * v->figure[f]);
}

/* "; WHAT 12 %" when it is known and not next to nothing. */
static void tell_after(struct verdict *v, enum verdict_figure f, const char *what)
{
	if (v->known[f] && v->figure[f] >= TRANSFER_LEAST_TOLD)
		verdict_say(v, "; %s %.0f %%", what, 100 * v->figure[f]);
}

static void verdict_missing(struct verdict *v, const struct run_transfer *t)
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
		verdict_say(v, "%s%s", gap, lacks[i].what);
		gap = ", ";
	}
}

/* "mixed" only when everything that a rule needs was measured; else unknown. */
static void no_rule(struct verdict *v, const struct run_transfer *t)
{
	verdict_missing(v, t);
	if (!*v->text) {
		v->kind = VERDICT_MIXED;
		return;
	}
	v->kind = VERDICT_NOT_TOLD;
	tell_after(v, FIGURE_CLIENT_CPU, "client's CPU");
	tell_after(v, FIGURE_CLIENT_RUNQ, "client waiting for a CPU");
	if (v->known[FIGURE_SERVER_CPU])
		verdict_say(v, "; {server}'s CPU %.0f %%", 100 * v->figure[FIGURE_SERVER_CPU]);
	if (!v->seen)
		verdict_say(v, v->here ? "; watch the server to learn more"
				       : "; run it on the server to learn more");
}

static void null_words(struct verdict *v)
{
	const char *comma = *v->text ? ", " : "";

	if (verdict_has_null(v))
		verdict_say(v, "%sthe same against a server that stores nothing takes %.0f %%",
			    comma, 100 * v->figure[FIGURE_NULL_PEER]);
	else if (v->known[FIGURE_NULL_PEER])
		verdict_say(v, "%snull peer not usable: it was slower than the server (%.0f %%)",
			    comma, 100 * v->figure[FIGURE_NULL_PEER]);
}

static void server_words(struct verdict *v)
{
	/* Prints both parts, even if one is close to 0. */
	if (v->kind == VERDICT_SERVER_CPU || v->kind == VERDICT_CPU_QUEUE) {
		if (v->known[FIGURE_SERVER_RUN])
			verdict_say(v,
				    "%s{server}'s CPU %.0f %%, {server} waiting for a CPU %.0f %%",
				    *v->text ? ", " : "", 100 * v->figure[FIGURE_SERVER_CPU],
				    100 * v->figure[FIGURE_SERVER_RUNQ]);
	} else {
		verdict_tell(v, FIGURE_SERVER_CPU, "{server}'s CPU");
		verdict_tell(v, FIGURE_SERVER_RUNQ, "{server} waiting for a CPU");
	}
	verdict_tell(v, FIGURE_SERVER_DISK, "{server} waiting for files");
	verdict_tell(v, FIGURE_SERVER_NET, "{server} waiting for the network");
}

static void words(struct verdict *v, const struct run_transfer *t)
{
	verdict_tell(v, FIGURE_CLIENT_CPU, "client's CPU");
	verdict_tell(v, FIGURE_CLIENT_RUNQ, "client waiting for a CPU");
	null_words(v);
	server_words(v);
	verdict_tell(v, FIGURE_WAITING, "neither end working");
	if (v->kind == VERDICT_LATENCY || v->kind == VERDICT_NETWORK) {
		verdict_tell(v, FIGURE_ROUND_TRIPS, "round trips");
		verdict_tell(v, FIGURE_PATH_BUSY, "path busy");
		verdict_tell(v, FIGURE_QUEUE, "a queue's part of the round-trip time");
	}
	if (v->known[FIGURE_RETRANS] && v->figure[FIGURE_RETRANS] >= 0.001)
		verdict_say(v, "%s%.1f %% of segments sent again", *v->text ? ", " : "",
			    100 * v->figure[FIGURE_RETRANS]);
	if ((v->kind == VERDICT_TURNS || v->kind == VERDICT_LATENCY) && t->requests > 1 &&
	    t->window <= 1)
		verdict_say(v, "; one request at a time: a window would overlap them");
	if (v->kind == VERDICT_MIXED && v->here)
		verdict_say(v, "%sclient and server share this machine", *v->text ? "; " : "");
}

/* Without a server there are this program and the file system. */
static void local(struct verdict *v)
{
	if (!v->known[FIGURE_CLIENT_CPU]) {
		verdict_say(v, "not measured: the CPU time of this program");
		return;
	}
	v->kind = VERDICT_MIXED;
	if (is_short(v->figure[FIGURE_CLIENT_CPU], v->figure[FIGURE_CLIENT_RUNQ]))
		v->kind = VERDICT_CPU_QUEUE;
	else if (v->figure[FIGURE_CLIENT_RUN] >= TRANSFER_LOCAL_CPU)
		v->kind = VERDICT_CLIENT;
	else if (v->figure[FIGURE_WAITING] >= TRANSFER_LOCAL_WAITING)
		v->kind = VERDICT_DISK;
	verdict_say(v, "this program's CPU %.0f %%", 100 * v->figure[FIGURE_CLIENT_CPU]);
	verdict_tell(v, FIGURE_CLIENT_RUNQ, "waiting for a CPU");
	verdict_say(v, ", waiting for the file system %.0f %%", 100 * v->figure[FIGURE_WAITING]);
}

static void verdict_judge(struct verdict *v, const struct run_transfer *t)
{
	const char *who = short_of_cpu(v);

	v->kind = who ? VERDICT_CPU_QUEUE : by_rule(v, t);
	if (!v->kind && takes_turns(v, t))
		v->kind = VERDICT_TURNS;
	if (!v->kind)
		no_rule(v, t);
	if (v->kind)
		words(v, t);
	if (who)
		verdict_say(v, "; %s for a CPU that others use too", who);
}

static const char *ordinal(unsigned int n)
{
	static const char *const ends[] = { "th", "st", "nd", "rd" };

	return n % 10 < 4 && n / 10 % 10 != 1 ? ends[n % 10] : ends[0];
}

/* "; unsteady: ...", and " (14 of 20 iterations; the 15th broke off)" if some are missing. */
static void remarks(struct verdict *v, const struct run *r, const struct run_transfer *t,
		    const struct stats *s)
{
	const char *planned = run_note_find(&r->options, "iterations");
	unsigned long all = planned ? strtoul(planned, NULL, 10) : s->n;
	unsigned int broken = 0;

	if (v->unsteady)
		verdict_say(v, "; unsteady: CV %.0f %%", 100 * s->cv);
	for (size_t i = 0; i < t->n_samples; i++)
		if (!t->sample[i].warmup && !t->sample[i].complete)
			broken = t->sample[i].iteration;
	if (all <= s->n && !broken)
		return;
	verdict_say(v, " (%zu of %lu iterations", s->n, all > s->n ? all : s->n + 1);
	if (broken)
		verdict_say(v, "; the %u%s broke off", broken, ordinal(broken));
	verdict_say(v, ")");
}

/* The words of the server's kind. */
static void verdict_name(struct verdict *v, const struct run *r)
{
	char text[sizeof(v->text)];

	memcpy(text, v->text, sizeof(text));
	run_text(r, text, v->text, sizeof(v->text));
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
		verdict_say(out, p->complete ? "no measured iteration" : "it broke off");
		return 0;
	}
	verdict_measure(out, r, p, &s);
	if (transfer_is_local(r))
		local(out);
	else
		verdict_judge(out, p->transfer);
	remarks(out, r, p->transfer, &s);
	verdict_name(out, r);
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
		/* What would be 0 % is left out, unless it is the only one. */
		if (*out->text && 200 * ns[most] < all)
			break;
		verdict_say(out, "%s%s %.0f %% of the time (%zu transfer%s)",
			    *out->text ? ", " : "", verdict_kinds[most].words,
			    all > 0 ? 100 * ns[most] / all : 0, n[most], n[most] == 1 ? "" : "s");
		n[most] = 0;
	}
	return 0;
}
