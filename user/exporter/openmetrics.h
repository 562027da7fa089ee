/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EXPORTER_OPENMETRICS_H
#define EXPORTER_OPENMETRICS_H

/* A tally as text for Prometheus: OpenMetrics 1.0, or the older format 0.0.4. */

#include "exporter/tally.h"
#include "run/kind.h"

#include <stdio.h>

struct openmetrics_style {
	bool openmetrics;      /* else format 0.0.4 */
	uint64_t created_ms;   /* since 1970: when the totals began */
	uint64_t own_ns;       /* CPU time of this program's processes */
	uint64_t unwatched_ns; /* since created_ms; no server was watched */
	/* Which server it is, as labels of every series, so that those of several do not collide.
	 */
	unsigned int port;           /* 0: that of the last reading */
	const char *name;            /* NULL: none */
	const struct run_kind *kind; /* of the server; NULL: AFP's */
};

#define OPENMETRICS_TYPE      "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OPENMETRICS_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"

/* Whether a client with this Accept header (or NULL) takes OpenMetrics. */
bool openmetrics_wanted(const char *accept);

/*
 * The age of the figures, in seconds, is left out: age_at is where it belongs, as ftell() counts;
 * 0: nowhere, as nothing is watched. 0 or -ENOMEM.
 */
int openmetrics_write(FILE *out, const struct tally *t, const struct openmetrics_style *s,
		      size_t *age_at);

/* A label's value: escaped, without control characters. Returns out. */
#define OPENMETRICS_LABEL_MAX 256
char *openmetrics_label(char out[OPENMETRICS_LABEL_MAX], const char *value);

/*
 * The i-th border of the histogram, in ns: requests that took less are counted exactly, as it is a
 * border of the kernel's histogram, too. 0: no more.
 */
uint64_t openmetrics_border(size_t i);

#endif
