/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block of gfapi_perf_tool for a thread and for all of them. "MB/sec" are MiB, as there.
 * Scripts take the last "elapsed time", "throughput", "file rate" and "IOPS" of the text: no line
 * after the aggregate has these words.
 */
#include "compat/gfapi_text.h"

#include "report/cell.h"

#include <inttypes.h>

#define RATE_FILES_MIN 10 /* fewer files have no rate, as there */
#define MIB            1048576.0
#define NS_PER_S       1e9

void gfapi_result_add(struct gfapi_result *sum, const struct gfapi_result *one)
{
	sum->files_read += one->files_read;
	sum->files_written += one->files_written;
	sum->files_deleted += one->files_deleted;
	sum->files_missing += one->files_missing;
	sum->transfers += one->transfers;
	sum->bytes += one->bytes;
	sum->failed += one->failed;
	if (one->begin_ns && (!sum->begin_ns || one->begin_ns < sum->begin_ns))
		sum->begin_ns = one->begin_ns;
	if (one->end_ns > sum->end_ns)
		sum->end_ns = one->end_ns;
}

static void put_count(FILE *out, const char *what, uint64_t n)
{
	if (n)
		fprintf(out, "  %s = %" PRIu64 "\n", what, n);
}

static void put_rates(FILE *out, const struct gfapi_result *r, const struct gfapi_way *way,
		      double elapsed_s)
{
	uint64_t files = r->files_read + r->files_written + r->files_deleted;

	if (elapsed_s <= 0)
		return;
	if (r->bytes)
		fprintf(out, "  throughput      = %-9.2f MB/sec\n",
			(double)r->bytes / MIB / elapsed_s);
	if (files >= RATE_FILES_MIN)
		fprintf(out, "  file rate       = %-9.2f files/sec\n", (double)files / elapsed_s);
	if (r->transfers)
		fprintf(out, "  IOPS            = %-9.2f (%s)\n", (double)r->transfers / elapsed_s,
			way->what);
}

void gfapi_put_result(FILE *out, const struct gfapi_result *r, const struct gfapi_way *way)
{
	uint64_t files = r->files_read + r->files_written + r->files_deleted;
	double elapsed_s = r->end_ns > r->begin_ns && r->begin_ns
			       ? (double)(r->end_ns - r->begin_ns) / NS_PER_S
			       : 0;

	if (r->thread < 0)
		fputs("aggregate: ", out);
	else
		fprintf(out, "thread %3d: ", r->thread);
	if (way->debug)
		fprintf(out, "start %" PRIu64 " end %" PRIu64 "\n", r->begin_ns, r->end_ns);
	put_count(out, "files written", r->files_written);
	put_count(out, "files read", r->files_read);
	put_count(out, "files deleted", r->files_deleted);
	put_count(out, "files missing", r->files_missing);
	fprintf(out, "  files done = %" PRIu64 "\n", files);
	if (way->mixed && files)
		fprintf(out, "  fraction of reads = %6.2f%%\n",
			100.0 * (double)r->files_read / (double)files);
	put_count(out, "I/O (record) transfers", r->transfers);
	put_count(out, "total bytes", r->bytes);
	put_count(out, "files failed", r->failed);
	fprintf(out, "  elapsed time    = %-9.2f sec\n", elapsed_s);
	if (way->rates)
		put_rates(out, r, way, elapsed_s);
	else
		fputs("  no rates: not all of the files were done\n", out);
}

static void put_latency(FILE *out, const char *name, const struct hist *h)
{
	if (!h->n)
		return;
	fprintf(out, "  %-14s", name);
	put_text(out, cell_count(h->n).text, 12);
	put_text(out, cell_time((double)hist_quantile(h, 0.5)).text, 10);
	put_text(out, cell_time((double)hist_quantile(h, 0.99)).text, 10);
	put_text(out, cell_time((double)h->max).text, 10);
	fputc('\n', out);
}

void gfapi_put_latencies(FILE *out, const struct run_phase *p)
{
	struct run_action all;

	fprintf(out, "%-16s%12s%10s%10s%10s\n", "latencies:", "count", "p50", "p99", "max");
	for (size_t i = 0; i < p->n_commands; i++)
		put_latency(out, p->command[i]->name, &p->command[i]->latency);
	run_load_all(p->load, &all);
	put_latency(out, "file", &all.begun);
}
