/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables that end speedtest 4.5's text of a list of sizes, and what its CSV shares with them.
 */
#include "report/cell.h"
#include "report/speed.h"
#include "report/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define TEST_WIDTH 86 /* columns between the borders */
#define TCP_WIDTH  73

const char *const speed_tests[SPEED_TESTS] = { "Read", "Write", "Copy", "ServerCopy" };

const struct speed_tcp speed_tcp[SPEED_TCP] = {
	{ TCP_SNDBUF, SPEED_KB, true, "TCP Send Buffer", "TCP Send Buffer", "tcp_send_buffer_kb" },
	{ TCP_RCVBUF, SPEED_KB, true, "TCP Recv Buffer", "TCP Recv Buffer", "tcp_recv_buffer_kb" },
	{ TCP_MSS, SPEED_B, true, "TCP MSS", "TCP MSS", "tcp_mss_bytes" },
	{ TCP_CWND, SPEED_N, true, "TCP Cwnd (segs)", "Cwnd (segments)", "tcp_cwnd_segments" },
	{ TCP_SSTHRESH, SPEED_N, true, "TCP SSThresh", "SSThresh (segments)",
	  "tcp_ssthresh_segments" },
	{ TCP_RTT, SPEED_MS, true, "TCP RTT", "RTT", "tcp_rtt_ms" },
	{ TCP_RTT_VAR, SPEED_MS, true, "TCP RTT Variance", "RTT Variance", "tcp_rtt_variance_ms" },
	{ TCP_RETRANS, SPEED_N, false, "TCP Retrans", "Retrans (current)", "tcp_retrans_current" },
	{ TCP_RETRANS_TOTAL, SPEED_N, false, "TCP Total Retrans", "Total Retrans",
	  "tcp_total_retrans" },
	{ TCP_LOST, SPEED_N, false, "TCP Lost", "Lost Packets", "tcp_lost_packets" },
	{ TCP_REORDERING, SPEED_N, false, "TCP Reordering", "Reordering", "tcp_reordering" },
	{ TCP_SND_MSS, SPEED_B, true, "TCP Send MSS", "TCP Send MSS", "tcp_send_mss_bytes" },
	{ TCP_RCV_MSS, SPEED_B, true, "TCP Recv MSS", "TCP Recv MSS", "tcp_recv_mss_bytes" },
	{ TCP_ADV_MSS, SPEED_B, true, "TCP Adv MSS", "TCP Adv MSS", "tcp_adv_mss_bytes" },
	{ TCP_RCV_SPACE, SPEED_KB, true, "TCP Recv Space", "TCP Recv Space", "tcp_recv_space_kb" },
};

bool speed_looks(const struct run *r, uint64_t size, enum run_tcp_value value, uint64_t out[2])
{
	const struct run_tcp *first = NULL, *last = NULL;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_transfer *t = r->phase[i]->transfer;
		const struct run_tcp *look;

		if (size && t->size != size)
			continue;
		look = transfer_look(t, TCP_CLIENT, TCP_BEFORE, value);
		first = first ? first : look;
		look = transfer_look(t, TCP_CLIENT, TCP_AFTER, value);
		last = look ? look : last;
	}
	if (!first || !last)
		return false;
	out[0] = first->value[value];
	out[1] = last->value[value];
	return true;
}

char *speed_tcp_text(const struct speed_tcp *t, int64_t v, bool sign, bool unit,
		     char out[static SPEED_TCP_MAX])
{
	static const char *const units[] = {
		[SPEED_KB] = " KB", [SPEED_B] = " B", [SPEED_N] = "", [SPEED_MS] = " ms"
	};
	const char *u = unit ? units[t->unit] : "";

	if (t->unit == SPEED_MS)
		snprintf(out, SPEED_TCP_MAX, sign ? "%+.2f%s" : "%.2f%s", (double)v / 1000, u);
	else
		snprintf(out, SPEED_TCP_MAX, sign ? "%+" PRId64 "%s" : "%" PRId64 "%s",
			 t->unit == SPEED_KB ? v / 1024 : v, u);
	return out;
}

static void border(const char *left, const char *right, size_t width, FILE *out)
{
	fputs(left, out);
	while (width--)
		fputs("═", out);
	fprintf(out, "%s\n", right);
}

static int put_row(const struct run_transfer *t, FILE *out)
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

static int put_test(const struct run *r, const char *work, FILE *out)
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
			e = put_row(r->phase[i]->transfer, out);
	border("╚", "╝", TEST_WIDTH, out);
	return e;
}

static void put_tcp(const struct run *r, FILE *out)
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
		e = put_test(r, speed_tests[i], out);
	if (!e)
		put_tcp(r, out);
	return e;
}
