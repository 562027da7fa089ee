/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_METADATA_H
#define TRACE_METADATA_H

/* The metadata of a trace: CTF 1.8, as text. */

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

struct trace_about {
	uint8_t uuid[16];
	const char *run, *command, *host; /* printable, no quotes */
	int64_t offset_ns;                /* from CLOCK_MONOTONIC to the wall clock */
};

/* 0 or -ENOMEM; errors of writing stay in the stream. */
int metadata_write(FILE *out, const struct trace_about *about);

/*
 * What put prints, and then its CRC-32, eight digits between two texts. To be freed; NULL without
 * memory.
 */
char *metadata_summed(void (*put)(FILE *out, const struct trace_about *about),
		      const struct trace_about *about, const char *before, const char *after);

/*
 * Reads uuid and offset_ns from the text of a trace's metadata (len bytes and a NUL; the other
 * members are ""), if its layout and its names of numbers are exactly ours: then records are as in
 * bpf/records.h. -EBADMSG: damaged; -EPROTO: of another version; -ENOMEM; e says what to do.
 */
int metadata_read(const char *text, size_t len, struct trace_about *out, struct err *e);

/* The tables of docs/trace.md. */
void metadata_document(FILE *out);

#endif
