/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_METADATA_H
#define TRACE_METADATA_H

/* The metadata of a trace: CTF 1.8, as text. */

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

struct run_kind;

struct trace_about {
	const struct run_kind *kind; /* of the server; NULL: AFP's */
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

#endif
