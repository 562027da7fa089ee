/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What netatalk's text and CSV of speedtest share. */
#include "compat/speed.h"

#include "report/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

char *speed_size(uint64_t bytes, char out[static SPEED_SIZE_MAX])
{
	bool small = bytes < 1u << 20;

	snprintf(out, SPEED_SIZE_MAX, "%" PRIu64 " %s", bytes >> (small ? 10 : 20),
		 small ? "KB" : "MB");
	return out;
}

double speed_mb_s(uint64_t bytes, double us)
{
	return us > 0 ? (double)bytes * 1e6 / (MIB * us) : 0;
}

int speed_stats(const struct run_transfer *t, struct speed_stats *out)
{
	uint64_t *us;
	size_t n;
	int e;

	*out = (struct speed_stats) { 0 };
	us = transfer_times(t, 1000, &n);
	if (!us)
		return -ENOMEM;
	e = stats_of(&out->us, us, n);
	if (n)
		out->p95 = (double)us[(n - 1) * 95 / 100];
	free(us);
	return e;
}

bool speed_begins_size(const struct run *r, size_t i)
{
	return !i || r->phase[i]->transfer->size != r->phase[i - 1]->transfer->size;
}

bool speed_is_sweep(const struct run *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_phases; i++)
		n += speed_begins_size(r, i);
	return n > 1 || run_note_find(&r->options, "sweep");
}

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
