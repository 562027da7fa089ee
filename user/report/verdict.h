/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

/*
 * What limits a transfer, as text with the figures that show it; docs/counting.md describes how
 * it is decided. A pure function of the run.
 */

#include "run/run.h"

/* X(NAME, key, words) */
#define VERDICT_KINDS(X)                                                                           \
	X(NOT_TOLD, "not_told", "unknown")                                                         \
	X(CLIENT, "client", "client-bound")                                                        \
	X(DISK, "disk", "disk-bound")                                                              \
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

extern const struct verdict_kind_def {
	const char *key, *words;
} verdict_kinds[VERDICT_N_KINDS];

extern const struct verdict_figure_def {
	const char *key, *meaning;
} verdict_figures[VERDICT_N_FIGURES];

struct verdict {
	enum verdict_kind kind;
	bool known[VERDICT_N_FIGURES];
	double figure[VERDICT_N_FIGURES];
	bool seen;      /* something of the server was observed: it is on this machine */
	bool here;      /* client and server share this machine */
	bool unsteady;  /* the iterations differ by more than VERDICT_CV */
	char text[640]; /* the figures behind the verdict, or what is missing; no full stop */
};

#define VERDICT_CV        0.3 /* standard deviation / mean above which nothing is steady */
#define VERDICT_NULL_VOID 1.1 /* a null peer slower than this x the server is no reference */

/* Whether the figure NULL_PEER is known and may be used. */
bool verdict_has_null(const struct verdict *v);

struct stats;

/* The figures of a phase with at least one iteration that counts, and seen, here, unsteady. */
void verdict_measure(struct verdict *v, const struct run *r, const struct run_phase *p,
		     const struct stats *s);

/* The verdict of one transfer. 0 or -ENOMEM. */
int verdict_of(struct verdict *out, const struct run *r, const struct run_phase *p);

/*
 * The verdict of all transfers: the kind with most of the time; the text has every kind's share. No
 * figures. 0 or -ENOMEM.
 */
int verdict_of_run(struct verdict *out, const struct run *r);

#endif
