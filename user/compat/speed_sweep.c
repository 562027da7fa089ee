/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables that end speedtest 4.5's text of a list of sizes. */
#include "compat/speed.h"
#include "report/cell.h"
#include "report/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define TEST_WIDTH 86 /* columns between the borders */
#define TCP_WIDTH  73

static void border(const char *left, const char *right, size_t width, FILE *out)
{
	fputs(left, out);
	while (width--)
		fputs("═", out);
	fprintf(out, "%s\n", right);
}

static int speed_sweep_put_row(const struct run_transfer *t, FILE *out)
{
	char size[SPEED_SIZE_MAX];
	struct speed_stats s;
	int e = speed_stats(t, &s);

	if (e || !s.us.n)
		return e;
	fprintf(out, "║ %8s │ %10.2f │ %12.2f │ %9.2f │ %9.2f │ %10.1f │ %8.1f ║\n",
		speed_size(t->size, size), speed_mb_s(t->size, s.us.mean),
		speed_mb_s(t->size, s.us.median), speed_mb_s(t->size, s.us.max),
		speed_mb_s(t->size, s.us.min), s.us.stddev_population / 1000, s.us.mean / 1000);
	return 0;
}

static int speed_sweep_put_test(const struct run *r, const char *work, FILE *out)
{
	bool any = false;
	int e = 0;

	for (size_t i = 0; i < r->n_phases; i++)
		any |= !strcmp(r->phase[i]->transfer->work, work);
	if (!any)
		return 0;
	fputc('\n', out);
	border("╔", "╗", TEST_WIDTH, out);
	fprintf(out, "║%22sFile Size Performance Summary for %-30s║\n", "", work);
	border("╠", "╣", TEST_WIDTH, out);
	fputs("║     Size │ Mean(MB/s) │ Median(MB/s) │ Min(MB/s) │ Max(MB/s) │ StdDev(ms) │ "
	      "Mean(ms) ║\n",
	      out);
	border("╠", "╣", TEST_WIDTH, out);
	for (size_t i = 0; i < r->n_phases && !e; i++)
		if (!strcmp(r->phase[i]->transfer->work, work))
			e = speed_sweep_put_row(r->phase[i]->transfer, out);
	border("╚", "╝", TEST_WIDTH, out);
	return e;
}

static void speed_sweep_put_tcp(const struct run *r, FILE *out)
{
	char value[3][SPEED_TCP_MAX];
	uint64_t at[2];

	if (!speed_looks(r, 0, TCP_RTT, at) && !speed_looks(r, 0, TCP_SNDBUF, at))
		return;
	fputc('\n', out);
	border("╔", "╗", TCP_WIDTH, out);
	fprintf(out, "║%17sTCP Metrics Evolution Across All Tests%18s║\n", "", "");
	border("╠", "╣", TCP_WIDTH, out);
	fprintf(out, "║ %-24s │ %13s │ %13s │ %13s ║\n", "Metric", "Initial", "Final", "Total Δ");
	border("╠", "╣", TCP_WIDTH, out);
	for (size_t i = 0; i < SPEED_TCP; i++) {
		const struct speed_tcp *t = &speed_tcp[i];

		if (!speed_looks(r, 0, t->value, at) || (t->positive && !at[0]))
			continue;
		speed_tcp_text(t, (int64_t)at[0], false, true, value[0]);
		speed_tcp_text(t, (int64_t)at[1], false, true, value[1]);
		speed_tcp_text(t, (int64_t)(at[1] - at[0]), false, true, value[2]);
		fprintf(out, "║ %-24s │ %13s │ %13s │ %12s ║\n", t->sweep_label, value[0], value[1],
			value[2]);
	}
	border("╚", "╝", TCP_WIDTH, out);
	fputc('\n', out);
}

int report_speed_sweep(const struct run *r, FILE *out)
{
	int e = 0;

	for (size_t i = 0; i < SPEED_TESTS && !e; i++)
		e = speed_sweep_put_test(r, speed_tests[i], out);
	if (!e)
		speed_sweep_put_tcp(r, out);
	return e;
}
