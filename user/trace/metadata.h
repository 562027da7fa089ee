/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_METADATA_H
#define TRACE_METADATA_H

/* The metadata of a trace: CTF 1.8, as text. */

#include <stdint.h>
#include <stdio.h>

struct trace_about {
	uint8_t uuid[16];
	const char *run, *command, *host; /* printable, no quotes */
	int64_t offset_ns;                /* from CLOCK_MONOTONIC to the wall clock */
};

/* Errors stay in the stream. */
void metadata_write(FILE *out, const struct trace_about *about);

/* The tables of docs/trace.md. */
void metadata_document(FILE *out);

#endif
