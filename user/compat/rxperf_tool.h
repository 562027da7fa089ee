/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMPAT_RXPERF_TOOL_H
#define COMPAT_RXPERF_TOOL_H

/*
 * OpenAFS's rxperf as this program is it under that name: its client, which makes the calls of one
 * test and prints one line. It is begun hundreds of times at once, so it watches nothing, has one
 * thread, and needs of this program only client/rx and what stands below.
 */

#include "rx/perf.h"

#include <stdio.h>

/* Numbers are as they were given, in the line that is printed as well. */
struct rxperf_tool {
	int command; /* enum rx_perf_command; -1: none */
	int bytes, sent, received, times, threads;
	int read_len, write_len, udp_kib, window, mtu, least_rtt_ms, port;
	bool no_jumbo, stats, no_stats;
	const char *host, *file;
	FILE *out;
};

/* How many bytes a packet has, by the longest one with the headers of IP and UDP; 0: the usual. */
unsigned int rxperf_tool_packet(int mtu);

/* Exit code: 0, 1, or 2 after SIGINT or SIGUSR1. Says on standard error what failed. */
int rxperf_tool_client(const struct rxperf_tool *t);

#endif
