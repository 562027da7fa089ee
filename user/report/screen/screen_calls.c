/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls over Rx: a line for each test, how fast they were, and what the clients' sockets did. */
#include "report/screen/screen.h"

#include <stdlib.h>
#include <string.h>

enum {
	COL_NAME,
	COL_N,
	COL_FAILED,
	COL_RATE,
	COL_BYTES,
	COL_MEAN,
	COL_P50,
	COL_P99,
	COL_P999,
	COL_MAX,
	COL_RESENT,
	COL_DROPPED,
	COL_RTT
};

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "calls" },
	[COL_N] = { .head = "done" },
	[COL_FAILED] = { .head = "failed" },
	[COL_RATE] = { .head = "per" GLUE "s", .unit = "1/s" },
	[COL_BYTES] = { .head = "MB/s", .name = "mb_per_s", .unit = "MB/s" },
	[COL_MEAN] = { .head = "mean" },
	[COL_P50] = { .head = "p50", .drop = 3 },
	[COL_P99] = { .head = "p99" },
	[COL_P999] = { .head = "p99.9", .name = "p999", .drop = 1 },
	[COL_MAX] = { .head = "max" },
	[COL_RESENT] = { .head = "resent" },
	[COL_DROPPED] = { .head = "dropped" },
	[COL_RTT] = { .head = "round" GLUE "trip", .drop = 2 },
};

static const struct section_type rx_section = {
	.key = "rx_calls",
	.title = "Calls",
	.begin = SECTION_AT_ONCE,
	SECTION_OF(columns),
};

#define TIME_COLS 8

enum { TIMES_FROM, TIMES_WORD, TIMES_TO, TIMES_N, TIMES_BAR };

static const struct section_column times_columns[] = {
	[TIMES_FROM] = { .head = "from" },
	[TIMES_WORD] = { .name = "word" },
	[TIMES_TO] = { .head = "to", .width = TIME_COLS },
	[TIMES_N] = { .head = "calls", .width = TIME_COLS + 3 },
	[TIMES_BAR] = { .name = "bar", .bar = true },
};

static const struct section_type times_section = {
	.key = "rx_times",
	.rest = ": how many calls took how long",
	SECTION_OF(times_columns),
	.gap = 1,
};

static struct cell counted(const struct run_phase *phase, enum metric m)
{
	return phase->known[m] ? cell_count(phase->value[m]) : cell_na();
}

static struct cell screen_calls_per_second(double n, double s)
{
	return s > 0 ? cell_rate(n / s) : cell_na();
}

static void latencies(struct cell *cell, const struct hist *h)
{
	cell[COL_MEAN] = h->n ? screen_time(hist_mean(h)) : cell_na();
	cell[COL_P50] = screen_quantile(h, 0.5);
	cell[COL_P99] = screen_quantile(h, 0.99);
	cell[COL_P999] = screen_quantile(h, 0.999);
	cell[COL_MAX] = h->n ? screen_time((double)h->max) : cell_na();
}

static void screen_calls_put_row(struct section *to, const struct run_phase *phase)
{
	struct cell *cell = section_row(to)->cell;
	double s = (double)phase->value[METRIC_ELAPSED] / 1e9;
	uint64_t failed = phase->value[METRIC_ERRORS], done = phase->value[METRIC_OPS];

	cell[COL_NAME] = cell_text(phase->title, 16);
	cell[COL_N] = cell_count(done - failed);
	cell[COL_FAILED] = failed ? cell_count(failed) : cell_blank();
	cell[COL_RATE] = screen_calls_per_second((double)(done - failed), s);
	cell[COL_BYTES] = screen_calls_per_second((double)phase->value[METRIC_BYTES] / 1e6, s);
	if (phase->n_commands)
		latencies(cell, &phase->command[0]->latency);
	cell[COL_RESENT] = counted(phase, METRIC_RX_RESENT);
	cell[COL_DROPPED] = counted(phase, METRIC_RX_DROPS);
	cell[COL_RTT] = phase->known[METRIC_RX_RTT]
			    ? screen_time((double)phase->value[METRIC_RX_RTT])
			    : cell_na();
}

/* Columns that say nothing here. */
static void screen_calls_choose_columns(struct section *s, const struct run *r)
{
	bool failed = false, bytes = false;

	for (size_t i = 0; i < r->n_phases; i++) {
		failed |= r->phase[i]->value[METRIC_ERRORS] > 0;
		bytes |= r->phase[i]->value[METRIC_BYTES] > 0;
	}
	s->column[COL_FAILED].off = !failed;
	s->column[COL_BYTES].off = !bytes;
}

/* The least buffer of all tests; 0: not known. */
static uint64_t least_buffer(const struct run *r)
{
	uint64_t least = 0;

	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->known[METRIC_RX_BUFFER] &&
		    (!least || r->phase[i]->value[METRIC_RX_BUFFER] < least))
			least = r->phase[i]->value[METRIC_RX_BUFFER];
	return least;
}

/* "250 clients, each 100 calls, 4 at a time; recv and send of 64 KiB, rpc of 3 B and 30 B" */
static void screen_calls_put_set(const struct paint *p)
{
	const struct run *r = p->view.run;
	uint64_t clients = run_note_number(&r->options, "clients"),
		 threads = run_note_number(&r->options, "threads");
	char size[RUN_SIZE_MAX], there[RUN_SIZE_MAX], back[RUN_SIZE_MAX];
	struct screen_text t = { 0 };

	screen_add(&t, "%s client%s, %s", cell_count(clients).text, clients == 1 ? "" : "s",
		   clients == 1 ? "" : "each ");
	if (run_note_number(&r->options, "times"))
		screen_add(&t, "%s call%s",
			   cell_count(run_note_number(&r->options, "times") * threads).text,
			   run_note_number(&r->options, "times") * threads == 1 ? "" : "s");
	else
		screen_add(&t, "calling for %s s",
			   cell_count(run_note_number(&r->options, "duration_s")).text);
	if (threads > 1)
		screen_add(&t, ", %s at a time", cell_count(threads).text);
	if (!run_note_find(&r->options, "op"))
		screen_add(&t, "; recv and send of %s, rpc of %s and %s",
			   run_size(run_note_number(&r->options, "bytes"), size),
			   run_size(run_note_number(&r->options, "rpc_sent_bytes"), there),
			   run_size(run_note_number(&r->options, "rpc_received_bytes"), back));
	fputc('\n', p->out);
	screen_put(p, INK_BOLD, t.text, 2);
}

/* "Clients' sockets: buffers of 64 KiB, windows of 32 packets, up to 4 packets in a datagram" */
static void put_sockets(const struct paint *p)
{
	const struct run *r = p->view.run;
	uint64_t granted = least_buffer(r),
		 asked = run_note_number(&r->options, "udp_buffer_bytes");
	char size[RUN_SIZE_MAX], wanted[RUN_SIZE_MAX];
	struct screen_text t = { 0 };

	screen_add(&t, "Clients' sockets: ");
	if (granted)
		screen_add(&t, "buffers of %s", run_size(granted, size));
	else
		screen_add(&t, "buffers n/a");
	if (granted && granted != asked)
		screen_add(&t, " (asked for %s)", run_size(asked, wanted));
	screen_add(&t, ", windows of %s packets, up to %s packet%s in a datagram",
		   cell_count(run_note_number(&r->options, "window")).text,
		   cell_count(run_note_number(&r->options, "datagram_packets")).text,
		   run_note_number(&r->options, "datagram_packets") == 1 ? "" : "s");
	screen_put(p, INK_NONE, t.text, 2);
}

/* What the sockets did beyond what the table has. */
static void put_packets(const struct paint *p, const struct run_phase *phase)
{
	const uint64_t *v = phase->value;
	struct screen_text t = { 0 };

	if (!phase->known[METRIC_RX_SENT])
		return;
	screen_add(&t, "%s: %s DATA and %s ACK sent, %s and %s received", phase->title,
		   cell_count(v[METRIC_RX_DATA_SENT]).text, cell_count(v[METRIC_RX_ACKS_SENT]).text,
		   cell_count(v[METRIC_RX_DATA_RECEIVED]).text,
		   cell_count(v[METRIC_RX_ACKS_RECEIVED]).text);
	if (v[METRIC_RX_DUPLICATES])
		screen_add(&t, ", %s of them again", cell_count(v[METRIC_RX_DUPLICATES]).text);
	if (v[METRIC_RX_TIMEOUTS])
		screen_add(&t, "; %s time%s no answer came in time",
			   cell_count(v[METRIC_RX_TIMEOUTS]).text,
			   v[METRIC_RX_TIMEOUTS] == 1 ? "" : "s");
	if (v[METRIC_RX_BUSY])
		screen_add(&t, "; %s times the server was busy",
			   cell_count(v[METRIC_RX_BUSY]).text);
	screen_put(p, INK_NONE, t.text, 2);
}

/* "Probe (one rpc a second) beside recv: 10 done, p50 1.2ms, ..." */
static void put_probe(const struct paint *p, const struct run_phase *phase)
{
	const char *what = run_note_find(&p->view.run->options, "probe");
	struct run_action all = { 0 };
	struct screen_text t = { 0 };

	if (!phase->probe || !what)
		return;
	run_load_all(phase->probe, &all);
	screen_add(&t, "Probe beside %s, one %s a second: %s done", phase->title, what,
		   cell_count(all.n - all.failed).text);
	if (all.failed)
		screen_add(&t, ", %s failed", cell_count(all.failed).text);
	if (all.planned.n)
		screen_add(&t, ", mean %s, p50 %s, max %s",
			   screen_time(hist_mean(&all.planned)).text,
			   screen_quantile(&all.planned, 0.5).text,
			   screen_time((double)all.planned.max).text);
	screen_put(p, INK_NONE, t.text, 2);
}

static void screen_calls_put_caption(const struct paint *p, bool failed)
{
	struct screen_text t = { 0 };

	screen_add(&t,
		   "per s, MB/s: of the calls that did not fail, until the last client was done, "
		   "bytes of both directions. resent: DATA packets, by the clients. dropped: "
		   "datagrams, by the clients' own full sockets");
	if (failed)
		screen_add(&t, ". The times are also those of calls that failed");
	screen_put(p, INK_NONE, t.text, 4);
	fputc('\n', p->out);
}

int screen_calls(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct section s;
	bool any, failed;
	int e;

	section_open(&s, p, &rx_section);
	screen_calls_choose_columns(&s, r);
	failed = !s.column[COL_FAILED].off;
	screen_calls_put_set(p);
	put_sockets(p);
	fputc('\n', p->out);
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phase[i]->load)
			screen_calls_put_row(&s, r->phase[i]);
	any = s.n_rows;
	e = section_close(&s);
	if (e || !any)
		return e;
	screen_calls_put_caption(p, failed);
	for (size_t i = 0; i < r->n_phases; i++) {
		if (r->phase[i]->load)
			screen_silence(p, r->phase[i]->title, "call", r->phase[i]->load);
		put_packets(p, r->phase[i]);
		put_probe(p, r->phase[i]);
	}
	return 0;
}

/* Calls that took from low_ns to less than twice that. */
static uint64_t in_octave(const struct hist *h, uint64_t low_ns)
{
	size_t from = hist_index(low_ns, HIST_BITS), to = hist_index(2 * low_ns, HIST_BITS);
	uint64_t n = 0;

	for (size_t i = from; i < to; i++)
		n += h->bucket[i];
	return n;
}

/* The octaves are those of the histogram: powers of 2 of a nanosecond. */
static int put_times(const struct paint *p, const char *name, const struct hist *h)
{
	struct section s;
	uint64_t ns = 1;

	section_open(&s, p, &times_section);
	section_title(&s, "%s", name);
	s.headless = true;
	section_text(&s, INK_NONE, "%s", "");
	while (2 * ns <= h->min)
		ns *= 2;
	for (; ns <= h->max; ns *= 2) {
		struct cell *cell = section_row(&s)->cell;

		cell[TIMES_FROM] = screen_time((double)ns);
		snprintf(cell->text, sizeof(cell->text), "%*s", TIME_COLS,
			 screen_time((double)ns).text);
		cell[TIMES_WORD] = cell_name("to");
		cell[TIMES_TO] = screen_time(2 * (double)ns);
		cell[TIMES_N] = cell_count(in_octave(h, ns));
	}
	return section_close(&s);
}

int screen_call_times(const struct paint *p)
{
	const struct run *r = p->view.run;
	int e = 0;

	for (size_t i = 0; i < r->n_phases && !e; i++) {
		const struct run_phase *phase = r->phase[i];

		if (phase->n_commands && phase->command[0]->latency.n)
			e = put_times(p, phase->title, &phase->command[0]->latency);
	}
	return e;
}
