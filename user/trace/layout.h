/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_LAYOUT_H
#define TRACE_LAYOUT_H

/*
 * The layout of a trace as JSON (docs/trace.md), for readers without a parser of CTF's metadata.
 * Its file is hidden: of any other, CTF's readers would take it for a stream.
 */

#include "trace/metadata.h"

#include <stdio.h>

#define LAYOUT_FILE ".layout.json"

/* 0 or -ENOMEM; errors of writing stay in the stream. */
int layout_write(FILE *out, const struct trace_about *about);

#endif
