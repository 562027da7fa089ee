/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_RULES_RULES_TRANSFER_H
#define DOCTOR_RULES_RULES_TRANSFER_H

/*
 * What limits a transfer: its figures, their limits, and the rules in their order. doctor/verdict.c
 * says which of them apply to a transfer.
 */

#include <stddef.h>

/* X(NAME, key, words) */
#define VERDICT_KINDS(X)                                                                           \
	X(NOT_TOLD, "not_told", "unknown")                                                         \
	X(CLIENT, "client", "client-bound")                                                        \
	X(DISK, "disk", "I/O-bound")                                                               \
	X(SERVER_CPU, "server_cpu", "server CPU-bound")                                            \
	X(CPU_QUEUE, "cpu_queue", "short of CPU")                                                  \
	X(LATENCY, "latency", "latency-bound")                                                     \
	X(NETWORK, "network", "network-bound")                                                     \
	X(TURNS, "turns", "by turns")                                                              \
	X(MIXED, "mixed", "mixed")

enum verdict_kind {
#define X(name, key, words) VERDICT_##name,
	VERDICT_KINDS(X)
#undef X
	    VERDICT_N_KINDS
};

/* Figures, all of them ratios. X(NAME, key, meaning) */
#define VERDICT_FIGURES(X)                                                                         \
	X(CLIENT_CPU, "client_cpu", "CPU time of the thread that makes the requests / elapsed")    \
	X(CLIENT_RUNQ, "client_runq", "that thread runnable, waiting for a CPU / elapsed")         \
	X(CLIENT_RUN, "client_run", "client_cpu + client_runq, as far as it is known")             \
	X(NULL_PEER, "null_peer", "median against a server that stores nothing / median")          \
	X(SERVER_CPU, "server_cpu", "CPU time of {server} / elapsed")                              \
	X(SERVER_RUNQ, "server_runq", "{server} waiting for a CPU, in requests / elapsed")         \
	X(SERVER_RUN, "server_run", "server_cpu + server_runq")                                    \
	X(SERVER_DISK, "server_disk", "requests blocked on files and directories / elapsed")       \
	X(SERVER_NET, "server_net", "requests blocked on the client's connection / elapsed")       \
	X(SERVER_BUSY, "server_busy", "time with a request in service / elapsed")                  \
	X(WAITING, "waiting", "elapsed in which neither client nor server worked / elapsed")       \
	X(ROUND_TRIPS, "round_trips", "least round-trip time x turns of the window / median")      \
	X(QUEUE, "queue", "part of the client's smoothed round-trip time above the least")         \
	X(PATH_BUSY, "path_busy", "sender had data under way and room in the window / time")       \
	X(RWND_LIMITED, "rwnd_limited", "sender held up by the receiver's window / time")          \
	X(SNDBUF_LIMITED, "sndbuf_limited", "sender held up by its own buffer / time")             \
	X(RETRANS, "retrans", "segments sent again / segments sent")

enum verdict_figure {
#define X(name, key, meaning) FIGURE_##name,
	VERDICT_FIGURES(X)
#undef X
	    VERDICT_N_FIGURES
};

struct transfer_rule {
	enum verdict_kind kind;
	enum verdict_figure figure;
	double least;
	enum verdict_figure also; /* the second figure; the same one: no second threshold */
	double also_least;
};

/*
 * The first rule whose figures reach their thresholds gives the verdict. 0.8: the rest is too small
 * to matter. 0.5: waiting does not overlap with other parts, so more than half of the time is the
 * largest part whatever the others are.
 */
extern const struct transfer_rule transfer_rules[];
extern const size_t transfer_rules_n;

#define TRANSFER_PATH_WAITING  0.3 /* the path only counts if the client waits this part */
#define TRANSFER_QUEUE_WAITING 0.5 /* the same for a queue */
#define TRANSFER_TURNS_EACH    0.2 /* client's and server's part, at least */
#define TRANSFER_TURNS_BOTH    0.8 /* both together */
#define TRANSFER_SHORT_LEAST   0.5 /* on a CPU and waiting for one, to be short of it */
#define TRANSFER_LEAST_TOLD    0.05

/* The same thresholds where there is no server. */
#define TRANSFER_LOCAL_CPU     0.8
#define TRANSFER_LOCAL_WAITING 0.5

#define VERDICT_CV             0.3 /* standard deviation / mean above which nothing is steady */
#define VERDICT_NULL_VOID      1.1 /* a null peer slower than this x the server is no reference */

#endif
