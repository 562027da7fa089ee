/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

/*
 * One stream of a trace: puts records of a fixed size into packets of one size, each written whole.
 * A partly written packet is cut off again if possible; otherwise a reader notices that the file is
 * not a multiple of the packet's size.
 */

#include "bpf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_PACKET_LEN 65536u

/* How a packet begins. Sizes in bits. */
struct trace_packet_head {
	uint32_t magic; /* TRACE_MAGIC */
	uint8_t uuid[16];
	uint32_t stream;
	uint64_t begin_ns, end_ns; /* first and last record's timestamp */
	uint64_t content_size, packet_size;
	uint64_t discarded; /* records of the stream lost since the begin of the trace */
	uint64_t seq;       /* from 0 */
	uint32_t crc32;     /* of the whole packet, with this as 0 */
	uint32_t pad;
};

#define TRACE_MAGIC 0xc1fc1fc1u

struct trace_stream {
	unsigned int number; /* enum afs_stream_number */
	size_t record_len;
	int fd;                     /* -1: not wanted, or closed */
	uint8_t *packet;            /* owned; TRACE_PACKET_LEN */
	size_t used;                /* of it */
	uint64_t since_ns, last_ns; /* when the first record came; last timestamp */
	uint64_t n_open, n_written; /* records in the open packet; in packets that were written */
	uint64_t seq, discarded;    /* as written last */
};

/* What all streams share. */
struct trace_shared {
	uint8_t uuid[16];
	uint64_t room; /* bytes that may still be written */
	uint64_t written;
};

/* Opens the file in the folder. 0, -ENOMEM or the errno of open. */
int trace_stream_open(struct trace_stream *s, unsigned int number, int folder);
void trace_stream_close(struct trace_stream *s);

/* 0, or a negative errno of a packet that could not be written; -E2BIG: the limit is reached. */
int trace_stream_put(struct trace_stream *s, struct trace_shared *all, const void *record,
		     uint64_t discarded);

/* Writes the open packet, even if it is empty. */
int trace_stream_flush(struct trace_stream *s, struct trace_shared *all, uint64_t discarded);

#endif
