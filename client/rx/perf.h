/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RX_PERF_H
#define RX_PERF_H

/* The calls of rxperf (version 3), which moves bytes over Rx and does nothing else. */

#include "base/buf.h"

#define RX_PERF_PORT    7009
#define RX_PERF_SERVICE 147
#define RX_PERF_VERSION 3
#define RX_PERF_COOKIE  0x4711u      /* ends the reply of all but FILE */
#define RX_PERF_CHUNK   (512u << 10) /* most bytes of a read or write that a call may ask for */
#define RX_PERF_ENTRIES 64u          /* of a FILE, at most, here */
#define RX_PERF_HEAD    16u          /* bytes of every call before its own numbers */

enum rx_perf_command {
	RX_PERF_SEND,    /* u32 n, n bytes; reply: cookie */
	RX_PERF_RECV,    /* u32 n; reply: n bytes, cookie */
	RX_PERF_RPC = 3, /* u32 n, u32 m, n bytes; reply: m bytes, cookie */
	RX_PERF_FILE,    /* u32 k, k numbers of 4-byte words, 0: the direction changes; no cookie */
};

/* The numbers in front of a call's data. */
struct rx_perf {
	uint32_t version, command;
	uint32_t read_len, write_len; /* bytes of one read, one write of the server */
	uint32_t n;                   /* bytes to the server; of RECV, from it */
	uint32_t m;                   /* RPC: bytes from the server */
	uint32_t entries;             /* FILE */
	uint32_t entry[RX_PERF_ENTRIES];
};

/* Longest of them. */
#define RX_PERF_LEN (RX_PERF_HEAD + 4u + 4u * RX_PERF_ENTRIES)

void rx_perf_put(struct wbuf *b, const struct rx_perf *p);

/*
 * From the bytes that are there: 0; -EAGAIN: more must come; -EPROTO: not such a call (version,
 * command, sizes). *used: bytes of the numbers.
 */
int rx_perf_parse(struct rx_perf *out, const void *data, size_t len, size_t *used);

/* Data bytes of the request and of the reply, without numbers and cookie. */
uint64_t rx_perf_sent(const struct rx_perf *p);
uint64_t rx_perf_received(const struct rx_perf *p);

/* "recv"; NULL: there is no such command. */
const char *rx_perf_name(unsigned int command);

#endif
