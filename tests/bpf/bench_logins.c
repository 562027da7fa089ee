/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live watch for days, in minutes: a server that forks for each connection, a client that logs in
 * and out again and again, and the watch of "afpscope top" in this process. Prints a JSON line for
 * each tenth: logins made, logins counted, what was lost, memory and CPU time of this process.
 *
 *	bench_logins [LOGINS]
 *
 * Exits with 1 if a login was not counted, or anything was lost.
 */
#include "logins.h"

#include "base/clock.h"
#include "top/live.h"
#include "watch/bpf/rung.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define LOGINS  1000000
#define STEP_MS 100

/* Watch */

static uint64_t logins_in(const struct live *l)
{
	return live_last(l)->logins;
}

/* All table rows agree with the ledger. */
static uint64_t rows_in(const struct live *l, enum live_by by)
{
	const struct live_table *t = live_rows(l, by);
	uint64_t n = t->rest.requests;

	for (size_t i = 0; i < t->n; i++)
		n += t->row[i]->sum.requests;
	return n;
}

struct watching {
	struct live *live;
	struct watch *w;
	uint64_t counted, requests, rows, begun_ns;
};

static void step(struct watching *x)
{
	must(!live_wait(x->live, STEP_MS), "wait");
	watch_tick(x->w);
	must(!live_step(x->live), "step");
	x->counted += logins_in(x->live);
	x->requests += live_last(x->live)->all.requests;
	x->rows += rows_in(x->live, LIVE_SESSION);
}

static void say(const struct watching *x, uint64_t made)
{
	printf("{\"logins\": %" PRIu64 ", \"counted\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"rss_kib\": %" PRIu64 ", \"s\": %.1f, \"cpu_s\": %.2f}\n",
	       made, x->counted, live_last(x->live)->lost, logins_rss_kib(getpid()),
	       (double)(clock_now_ns() - x->begun_ns) / 1e9, (double)clock() / CLOCKS_PER_SEC);
	fflush(stdout);
}

static void say_losses(struct watch *w)
{
	struct run r;

	must(!run_init(&r, "bench", "bench") && !watch_losses(w, &r), "losses");
	for (size_t i = 0; i < r.n_losses; i++)
		if (r.loss[i].n)
			fprintf(stderr, "%s: %" PRIu64 "\n", r.loss[i].what, r.loss[i].n);
	run_fini(&r);
}

static void open_watch(struct watching *x, pid_t server, uint16_t port)
{
	const struct live_opts opts = { 0 };
	struct watch_opts watch = { .mode = WATCH_BPF };
	struct target t = { .server = server, .whole = true, .decoder = AFS_DECODER_DSI };
	struct err e = { 0 };

	target_add_port(&t, port, AFS_OBJECT_CLIENT);
	x->live = live_new(&opts, &e);
	must(x->live != NULL, "live");
	watch.sink = live_sink(x->live);
	if (watch_open_traced(&x->w, &watch, &t, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	must(!live_begin(x->live, x->w), "begin");
	x->begun_ns = clock_now_ns();
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : LOGINS, due = n / 10;
	struct watching x = { 0 };
	struct logins l;
	bool right;

	logins_serve(&l);
	open_watch(&x, l.server, ntohs(l.at.sin_port));
	logins_begin(&l, n);
	while (!logins_ended(&l)) {
		step(&x);
		if (*l.made < due)
			continue;
		say(&x, *l.made);
		due += n / 10;
	}
	for (int i = 0; i < 50 && (x.counted < n || live_last(x.live)->sessions); i++)
		step(&x);
	say(&x, *l.made);
	say_losses(x.w);
	right = *l.made == n && x.counted == n && x.rows == x.requests && !live_last(x.live)->lost;
	if (!right)
		fprintf(stderr,
			"%" PRIu64 " logins, %" PRIu64 " counted; %" PRIu64 " requests, %" PRIu64
			" by session\n",
			*l.made, x.counted, x.requests, x.rows);
	watch_free(x.w);
	live_free(x.live);
	logins_stop(&l);
	return !right;
}
