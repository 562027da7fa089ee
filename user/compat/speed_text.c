/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of speedtest 4.5, up to the tables of a sweep. */
#include "compat/speed.h"
#include "report/cell.h"
#include "report/report.h"
#include "report/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define P95_MIN 20 /* iterations from which netatalk prints it */

static const char *speed_text_note(const struct run_notes *in, const char *key, const char *without)
{
	const char *text = run_note_find(in, key);

	return text ? text : without;
}

static void speed_text_put_note(FILE *out, const char *label, const char *text)
{
	fputs(label, out);
	put_text(out, text, 0);
	fputc('\n', out);
}

static bool is_local(const struct run *r)
{
	return !strcmp(speed_text_note(&r->options, "mode", ""), "local");
}

void report_speed_size(uint64_t size, FILE *out)
{
	char text[SPEED_SIZE_MAX];

	fputc('\n', out);
	put_rule(out, '=', 40);
	fprintf(out, "\n**** Testing with File Size: %s ****\n", speed_size(size, text));
	put_rule(out, '=', 40);
	fputc('\n', out);
}

/* The list as it was noted, or the works of the phases. */
static void speed_text_put_tests(const struct run *r, FILE *out)
{
	const char *noted = run_note_find(&r->options, "tests"), *comma = "";

	for (size_t i = 0; !noted && i < r->n_phases; i++) {
		if (i && speed_begins_size(r, i))
			break;
		fprintf(out, "%s%s", comma, r->phase[i]->transfer->work);
		comma = ",";
	}
	fprintf(out, "%s\n", noted ? noted : "");
}

void report_speed_banner(const struct run *r, uint64_t size, bool statistics, FILE *out)
{
	const char *delay = run_note_find(&r->options, "delay_s");
	char text[SPEED_SIZE_MAX];

	fputs("\nAFP Speedtest - Configuration\n", out);
	for (size_t i = 0; i < 40; i++)
		fputs("═", out);
	fputc('\n', out);
	if (is_local(r)) {
		fputs(" Mode:            Local (Direct Filesystem I/O)\n"
		      " AFP Version:     N/A (Local)\n",
		      out);
		speed_text_put_note(
		    out, " Directory:       ", speed_text_note(&r->options, "directory", "n/a"));
	} else {
		speed_text_put_note(
		    out, " Server:          ", speed_text_note(&r->server, "host", "n/a"));
		speed_text_put_note(
		    out, " AFP Version:     ", speed_text_note(&r->server, "afp_version", "n/a"));
		speed_text_put_note(
		    out, " Volume:          ", speed_text_note(&r->server, "volume", "n/a"));
	}
	fputs(" Tests:           ", out);
	speed_text_put_tests(r, out);
	fprintf(out, " File Size:       %s\n", speed_size(size, text));
	fprintf(out, " Iterations:      %s\n", speed_text_note(&r->options, "iterations", "n/a"));
	fprintf(out, " Warmup Runs:     %s\n", speed_text_note(&r->options, "warmup", "n/a"));
	if (delay && strcmp(delay, "0"))
		fprintf(out, " Delay:           %s seconds\n", delay);
	if (statistics)
		fputs(" Statistics:      Enabled\n", out);
	fputc('\n', out);
}

/* The largest request in bytes; of a work without requests, that of the others. */
static uint64_t quantum(const struct run *r, const struct run_transfer *t)
{
	const char *noted = run_note_find(&r->options, "chunk_bytes");
	uint64_t most = t->chunk;

	if (!most && noted)
		most = strtoull(noted, NULL, 10);
	for (size_t i = 0; i < r->n_phases && !t->chunk && !noted; i++)
		if (r->phase[i]->transfer->chunk > most)
			most = r->phase[i]->transfer->chunk;
	return most;
}

void report_speed_head(const struct run *r, const struct run_phase *p, FILE *out)
{
	const struct run_transfer *t = p->transfer;
	const char *warmup = speed_text_note(&r->options, "warmup", "0");
	/* netatalk prints it of Write as well, although Write fills its file. */
	bool sparse = t->sparse || !strcmp(speed_text_note(&r->options, "sparse", "no"), "yes");
	char size[SPEED_SIZE_MAX];

	fprintf(out, "\n===== Test Passes for %s =====\n", t->work);
	fprintf(out, "%s quantum %" PRIu64 " KB, size %s %s\n", t->work, quantum(r, t) / 1024,
		speed_size(t->size, size), sparse ? "sparse file" : "");
	if (strcmp(warmup, "0"))
		fprintf(out, "Warmup: %s runs, Measured: %s runs\n", warmup,
			speed_text_note(&r->options, "iterations", "n/a"));
	fputs("run\t  microsec\t  MB/s\n", out);
}

void report_speed_sample(const struct run_phase *p, const struct run_sample *s, FILE *out)
{
	uint64_t us = s->ns / 1000;

	fprintf(out, s->warmup ? "[W%u]\t" : "%u\t", s->iteration);
	if (s->complete)
		fprintf(out, "%9" PRIu64 "\t%.2f\n", us, speed_mb_s(p->transfer->size, (double)us));
	else
		fputs("broke off\n", out);
	fflush(out);
}

static void speed_text_put_time(const char *label, uint64_t size, double us, FILE *out)
{
	put_text(out, label, -16);
	if (us > 0)
		fprintf(out, "%.0f μs (%.2f MB/s)\n", us, speed_mb_s(size, us));
	else
		fputs("<1 μs (too fast to measure)\n", out);
}

int report_speed_statistics(const struct run_phase *p, FILE *out)
{
	const struct run_transfer *t = p->transfer;
	char size[SPEED_SIZE_MAX];
	struct speed_stats s;
	int e = speed_stats(t, &s);

	if (e || s.us.n < 2)
		return e;
	fprintf(out, "\n===== Statistics for %s =====\n", t->work);
	fprintf(out, "File Size:      %s\n", speed_size(t->size, size));
	fprintf(out, "Iterations:     %zu\n", s.us.n);
	speed_text_put_time("Mean:", t->size, s.us.mean, out);
	speed_text_put_time("Median:", t->size, s.us.median, out);
	fprintf(out, "Std Dev:        %.0f μs (%.2f%%)\n", s.us.stddev_population,
		s.us.mean > 0 ? 100 * s.us.stddev_population / s.us.mean : 0);
	speed_text_put_time("Min:", t->size, s.us.min, out);
	speed_text_put_time("Max:", t->size, s.us.max, out);
	if (s.us.n >= P95_MIN)
		speed_text_put_time("P95:", t->size, s.p95, out);
	return 0;
}

static bool is_localhost(const char *host)
{
	return !strcmp(host, "localhost") || !strcmp(host, "::1") || !strncmp(host, "127.", 4);
}

void report_speed_network(const struct run *r, uint64_t size, FILE *out)
{
	uint64_t quantum = strtoull(speed_text_note(&r->server, "quantum_bytes", "0"), NULL, 10),
		 at[2];
	char text[SPEED_SIZE_MAX], value[3][SPEED_TCP_MAX];

	if (!speed_looks(r, size, TCP_RTT, at) && !speed_looks(r, size, TCP_SNDBUF, at))
		return;
	fprintf(out, "\n=========== Network & DSI Metrics for File Size: %s ===========\n",
		speed_size(size, text));
	fprintf(out, "Connection Type: %s\n",
		is_localhost(speed_text_note(&r->server, "host", "")) ? "Localhost" : "Network");
	fprintf(out, "Server Quantum:  %" PRIu64 " bytes (%.1f KB)\n\n", quantum,
		(double)quantum / 1024);
	fprintf(out, "%-20s %15s %15s %15s\n", "Metric", "Before", "After", "Delta");
	fprintf(out, "%-20s %15s %15s %15s\n", "------", "------", "-----", "-----");
	for (size_t i = 0; i < SPEED_TCP; i++) {
		const struct speed_tcp *t = &speed_tcp[i];

		if (!speed_looks(r, size, t->value, at) || (t->positive && !at[0]))
			continue;
		speed_tcp_text(t, (int64_t)at[0], false, true, value[0]);
		speed_tcp_text(t, (int64_t)at[1], false, true, value[1]);
		speed_tcp_text(t, (int64_t)(at[1] - at[0]), true, true, value[2]);
		fprintf(out, "%-20s %15s %15s %15s\n", t->label, value[0], value[1], value[2]);
	}
	put_rule(out, '=', 68);
	fputc('\n', out);
}

static int speed_text_put_test(const struct run *r, const struct run_phase *p, bool statistics,
			       FILE *out)
{
	const struct run_transfer *t = p->transfer;

	report_speed_head(r, p, out);
	for (size_t i = 0; i < t->n_samples; i++)
		report_speed_sample(p, &t->sample[i], out);
	return statistics ? report_speed_statistics(p, out) : 0;
}

void report_speed_skipped(FILE *out)
{
	fputs("\n===== Test Passes for ServerCopy =====\n"
	      "ServerCopy test skipped in Local mode (requires AFP server)\n",
	      out);
}

/* The phases of one size from the i-th on; returns how many there are. */
static size_t speed_text_put_size(const struct run *r, size_t i, bool statistics, FILE *out, int *e)
{
	uint64_t size = r->phase[i]->transfer->size;
	size_t n = 0;

	if (speed_is_sweep(r))
		report_speed_size(size, out);
	report_speed_banner(r, size, statistics, out);
	do
		*e = speed_text_put_test(r, r->phase[i + n++], statistics, out);
	while (!*e && i + n < r->n_phases && !speed_begins_size(r, i + n));
	if (is_local(r) && strstr(speed_text_note(&r->options, "tests", ""), "ServerCopy"))
		report_speed_skipped(out);
	if (!*e && statistics)
		report_speed_network(r, size, out);
	return n;
}

int report_speed_peer(const struct run *r, bool statistics, FILE *out)
{
	int e = 0;

	for (size_t i = 0; i < r->n_phases && !e;)
		i += speed_text_put_size(r, i, statistics, out, &e);
	if (!e && speed_is_sweep(r))
		e = report_speed_sweep(r, out);
	if (!e && !r->complete)
		fputs("\nINCOMPLETE: the run broke off\n", out);
	if (!e && (fflush(out) || ferror(out)))
		e = errno ? -errno : -EIO;
	return e;
}
