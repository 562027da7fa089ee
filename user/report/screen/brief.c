/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a report on transfers: the conclusion, and what to do next. */
#include "doctor/verdict.h"
#include "report/section.h"
#include "report/transfer.h"
#include "run/tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAID_MAX 512 /* bytes of a sentence */
#define INDENT   22
#define SLOW     125e6 /* B/s: below it, networks are named by their bits */

struct brief {
	const struct run *run;
	const struct run_phase *phase;
	struct transfer_cost c;
	struct stats s;
	struct verdict v;
};

static void print_rate(struct section *s, const struct brief *b)
{
	double per_s = b->s.median > 0 ? (double)b->phase->transfer->moved * 1e9 / b->s.median : 0;
	struct transfer_unit u = transfer_unit(b->run);

	section_more(s, "%s" GLUE "%s/s", cell_rate(per_s / u.mega).text, u.mb);
	if (per_s < SLOW)
		section_more(s, GLUE "(%.3g" GLUE "Mbit/s)", per_s * 8 / 1e6);
}

static void print_figure(struct section *s, const struct brief *b, const char *what,
			 enum verdict_figure f)
{
	char said[SAID_MAX];

	if (b->v.known[f])
		section_more(s, ": %s %.0f" GLUE "%%", run_text(b->run, what, said, sizeof(said)),
			     100 * b->v.figure[f]);
}

static void brief_print_client(struct section *s, const struct brief *b)
{
	if (transfer_is_local(b->run))
		print_figure(s, b, "this program's CPU", FIGURE_CLIENT_CPU);
	else if (b->v.figure[FIGURE_CLIENT_RUN] < 0.8 && verdict_has_null(&b->v))
		print_figure(s, b, "the same against a server that stores nothing takes",
			     FIGURE_NULL_PEER);
	else
		print_figure(s, b, "the client's CPU", FIGURE_CLIENT_CPU);
}

static void print_disk(struct section *s, const struct brief *b)
{
	if (transfer_is_local(b->run)) {
		print_figure(s, b, "waiting for the file system", FIGURE_WAITING);
		return;
	}
	print_figure(s, b, "the server waits for its files", FIGURE_SERVER_DISK);
	if (b->c.has_files && b->c.sync_ns && b->c.elapsed.v > 0)
		section_more(s, " (fsync" GLUE "%.0f" GLUE "%%)",
			     100 * (double)b->c.sync_ns / b->c.elapsed.v);
}

static void print_queue(struct section *s, const struct brief *b)
{
	if (b->v.figure[FIGURE_SERVER_RUNQ] > b->v.figure[FIGURE_CLIENT_RUNQ])
		print_figure(s, b, "{server} waits for a CPU", FIGURE_SERVER_RUNQ);
	else
		print_figure(s, b, "the client waits for a CPU", FIGURE_CLIENT_RUNQ);
}

/* Where no figure reaches a threshold: the largest one. */
static void print_largest(struct section *s, const struct brief *b)
{
	static const struct {
		enum verdict_figure figure;
		const char *what;
	} parts[] = {
		{ FIGURE_CLIENT_CPU, "the client's CPU" },
		{ FIGURE_CLIENT_RUNQ, "the client waits for a CPU" },
		{ FIGURE_SERVER_CPU, "{server}'s CPU" },
		{ FIGURE_SERVER_RUNQ, "{server} waits for a CPU" },
		{ FIGURE_SERVER_DISK, "the server waits for its files" },
		{ FIGURE_WAITING, "neither end working" },
	};
	size_t most = 0;

	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (b->v.figure[parts[i].figure] > b->v.figure[parts[most].figure])
			most = i;
	print_figure(s, b, parts[most].what, parts[most].figure);
}

/* The one figure that shows it. */
static void print_because(struct section *s, const struct brief *b)
{
	switch (b->v.kind) {
	case VERDICT_CLIENT:
		brief_print_client(s, b);
		break;
	case VERDICT_DISK:
		print_disk(s, b);
		break;
	case VERDICT_SERVER_CPU:
		print_figure(s, b, "{server}'s CPU", FIGURE_SERVER_CPU);
		break;
	case VERDICT_CPU_QUEUE:
		print_queue(s, b);
		break;
	case VERDICT_LATENCY:
		print_figure(s, b, "round trips", FIGURE_ROUND_TRIPS);
		break;
	case VERDICT_NETWORK:
		if (b->v.known[FIGURE_PATH_BUSY] &&
		    b->v.figure[FIGURE_PATH_BUSY] >= b->v.figure[FIGURE_QUEUE] - 0.2)
			print_figure(s, b, "the path is busy", FIGURE_PATH_BUSY);
		else
			print_figure(s, b, "a queue's part of the round-trip time", FIGURE_QUEUE);
		break;
	case VERDICT_TURNS:
		print_figure(s, b, "the server works", FIGURE_SERVER_BUSY);
		break;
	default:
		print_largest(s, b);
	}
}

/* Where one end waits for the other, more requests under way would let both work. */
static const char *window_advice(const struct brief *b)
{
	const struct run_transfer *t = b->phase->transfer;

	if (t->window > 1 || !t->requests ||
	    (b->v.kind != VERDICT_TURNS && b->v.kind != VERDICT_LATENCY &&
	     b->v.kind != VERDICT_MIXED))
		return NULL;
	if (t->requests <= 1)
		return "a single request: a larger file allows several in flight";
	/* data that waits for a server on this host drops out of the caches (bench.py speed-cpu) */
	return b->v.here && strcmp(t->work, "Read")
		   ? "one request at a time: try" GLUE "-r" GLUE "4"
		   : "one request at a time: try" GLUE "-r" GLUE "8";
}

/* With several requests in flight a queue on the path can be distinguished from server work. */
static const char *not_seen_advice(const struct brief *b)
{
	const struct run_transfer *t = b->phase->transfer;

	if (b->v.here)
		return "watch the server to learn more (as root)";
	if (!strcmp(t->work, "Read") && t->window <= 1 && t->requests > 1)
		return "run it on the server to learn more, or try" GLUE "-r" GLUE "8";
	return "run it on the server to learn more";
}

/*
 * Whether afpd answers several reads in flight from this host under BBR. BBR paces loopback, too,
 * and iterations may differ much (measured; with reno they do not).
 */
static bool bbr_paces(const struct brief *b)
{
	const struct run_transfer *t = b->phase->transfer;
	const char *congestion = run_note_find(&b->run->server, "afpd.congestion");

	return b->v.here && t->window > 1 && !strcmp(t->work, "Read") && congestion &&
	       tcp_is_paced(congestion);
}

/* What to do; NULL: no advice. */
static const char *advice(const struct brief *b)
{
	static const char *const of_kind[VERDICT_N_KINDS] = {
		[VERDICT_CLIENT] = "a faster client, or several of them, would show more",
		[VERDICT_DISK] = "faster storage helps",
		[VERDICT_SERVER_CPU] = "{server} serves a session in one thread: a faster CPU, or "
				       "several sessions",
		[VERDICT_CPU_QUEUE] = "other programs, or client and server, share a CPU: use an "
				      "idle machine, or give each its own CPU (taskset)",
		[VERDICT_LATENCY] =
		    "each request waits for a round trip: fewer and larger ones (-q), "
		    "or more in flight (-r)",
		[VERDICT_NETWORK] = "a faster network helps",
	};

	if (transfer_is_local(b->run))
		return b->v.kind == VERDICT_CPU_QUEUE ? of_kind[VERDICT_CPU_QUEUE] : NULL;
	if (b->v.unsteady && bbr_paces(b))
		return "BBR paces loopback, too: try another net.ipv4.tcp_congestion_control "
		       "(sysctl)";
	if (b->v.kind == VERDICT_NOT_TOLD && !b->v.seen)
		return not_seen_advice(b);
	if (window_advice(b))
		return window_advice(b);
	if (b->v.kind == VERDICT_MIXED && b->v.here)
		return "client and server share this machine: try the client on another one";
	return of_kind[b->v.kind];
}

/* " (5 of 20 iterations)" where they are not all. */
static void print_part(struct section *s, const struct brief *b)
{
	const unsigned long all = run_note_number(&b->run->options, "iterations");

	if (all > b->s.n)
		section_more(s, " (%zu" GLUE "of" GLUE "%lu" GLUE "iterations)", b->s.n, all);
}

static void print_brief(struct section *s, const struct brief *b)
{
	const char *action = advice(b);
	char said[SAID_MAX];

	if (!b->s.n || !b->phase->complete) {
		section_more(s, "%s", b->v.text);
		return;
	}
	print_rate(s, b);
	print_part(s, b);
	section_more(s, ", %s", verdict_kinds[b->v.kind].words);
	if (b->v.unsteady)
		section_more(s, ", unsteady (CV" GLUE "%.0f" GLUE "%%)", 100 * b->s.cv);
	print_because(s, b);
	if (action)
		section_more(s, "; %s", run_text(b->run, action, said, sizeof(said)));
}

static int brief_put_work(struct section *s, const char *work)
{
	struct brief b = { .run = s->p->view.run };
	char label[INDENT + 32], size[RUN_SIZE_MAX];

	b.phase = transfer_largest(b.run, work, true);
	if (!b.phase)
		b.phase = transfer_largest(b.run, work, false);
	transfer_cost(b.phase, &b.c);
	if (transfer_stats(b.phase->transfer, &b.s) || verdict_of(&b.v, b.run, b.phase))
		return -ENOMEM;
	snprintf(label, sizeof(label), "  %.11s %s", work, run_size(b.phase->transfer->size, size));
	section_indented(s, label, INDENT);
	print_brief(s, &b);
	return 0;
}

static const struct section_type brief_section = {
	.key = "brief",
	.title = "In short",
	.rest = "  per work, its largest file",
};

int paint_brief(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct section s;
	int e = 0, ret;

	section_open(&s, p, &brief_section);
	for (size_t i = 0; i < r->n_phases && !e; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(r->phase[k]->transfer->work, r->phase[i]->transfer->work);
		e = seen ? 0 : brief_put_work(&s, r->phase[i]->transfer->work);
	}
	ret = section_close(&s);
	return e ? e : ret;
}
