/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_RXPERF_H
#define DRIVE_RXPERF_H

/* afpscope rx as a client: its options, and a run of it. */

#include "drive/workload.h"
#include "work/rxperf/rxperf.h"

#include <netinet/in.h>

#define RXPERF_TESTS_MAX 16

struct rxperf_list {
	unsigned int n;
	enum rx_perf_command command[RXPERF_TESTS_MAX];
};

struct rxperf_words {
	uint32_t n, word[RX_PERF_ENTRIES];
};

struct rxperf_cfg {
	struct workload_cfg w;
	struct rxperf_list list;
	struct rxperf_words file;
	const struct rx_small_call *small; /* --op; NULL: not given */
	unsigned int clients, threads, times, duration_s, udp_kib, window, packet_len, volume,
	    ramp_ms, port, timeout_s;
	uint64_t bytes, rpc_sent, rpc_received, read_len, write_len;
	bool no_jumbo, no_verify, serves, probe;
	int live;           /* enum ticker_how */
	const char *server; /* HOST[:PORT] */
	char place[280];    /* "rx://HOST:PORT" */
	struct sockaddr_in to;
};

#define RXPERF_DEFAULTS                                                                            \
	{                                                                                          \
		.w = WORKLOAD_DEFAULTS, .clients = 1, .threads = 1, .times = 100, .udp_kib = 64,   \
		.window = RX_WINDOW, .packet_len = RX_HEADER_LEN + RX_DATA_LEN, .timeout_s = 60,   \
		.bytes = 1u << 20, .rpc_sent = 3, .rpc_received = 30, .read_len = 32768,           \
		.write_len = 32768,                                                                \
	}

extern const struct opt rxperf_options[];
int cmd_rxperf(int argc, char **argv);
int cmd_rxperf_tool(int argc, char **argv); /* under the name of OpenAFS's tool */

/* The command line or its job file; cfg has the defaults. Opens nothing. 0, or a negative errno. */
int rxperf_parse(struct rxperf_cfg *cfg, struct job *j, struct err *e);
extern const struct job_type rxperf_job;

/* Takes options and operands together. Opens nothing. 0, or a negative errno and a text. */
int rxperf_complete(struct rxperf_cfg *cfg, int n, char **operand, struct err *e);

/* What then needs the machine: the server's address. 0, or a negative errno and a text. */
int rxperf_find(struct rxperf_cfg *cfg, struct err *e);

/* The calls of test i. */
struct rxperf_opts rxperf_test(const struct rxperf_cfg *cfg, unsigned int i);

/* Those of the probe. */
struct rxperf_opts rxperf_probe(const struct rxperf_cfg *cfg);

/* What the run remembers. 0 or -ENOMEM. */
int rxperf_describe(const struct rxperf_cfg *cfg, struct run *r);

#endif
