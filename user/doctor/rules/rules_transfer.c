/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/rules/rules_transfer.h"

const struct transfer_rule transfer_rules[] = {
	/* Hardly faster against the null peer, and this program works in that time. */
	{ VERDICT_CLIENT, FIGURE_NULL_PEER, 0.8, FIGURE_CLIENT_RUN, 0.5 },
	/* One thread: it has no more CPU to spend. */
	{ VERDICT_CLIENT, FIGURE_CLIENT_RUN, 0.8, FIGURE_CLIENT_CPU, 0.5 },
	{ VERDICT_DISK, FIGURE_SERVER_DISK, 0.5, FIGURE_SERVER_DISK, 0 },
	/* afpd serves a session in one thread. */
	{ VERDICT_SERVER_CPU, FIGURE_SERVER_RUN, 0.8, FIGURE_SERVER_CPU, 0.5 },
	/* The least round-trip time: the smoothed one has the queues in it. */
	{ VERDICT_LATENCY, FIGURE_ROUND_TRIPS, 0.5, FIGURE_ROUND_TRIPS, 0 },
	/* The sender always has data under way and the receiver room: the path is full. */
	{ VERDICT_NETWORK, FIGURE_PATH_BUSY, 0.8, FIGURE_PATH_BUSY, 0 },
	/* The server's end is not visible, but that acknowledgements wait in a queue is. */
	{ VERDICT_NETWORK, FIGURE_QUEUE, 0.75, FIGURE_QUEUE, 0 },
};

const size_t transfer_rules_n = sizeof(transfer_rules) / sizeof(transfer_rules[0]);
