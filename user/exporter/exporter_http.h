/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EXPORTER_EXPORTER_HTTP_H
#define EXPORTER_EXPORTER_HTTP_H

/*
 * The HTTP server of the exporter, by libmicrohttpd, which is loaded at run time. It never waits
 * for a client, and has room for so many at once: the oldest connection makes room for a new one.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http;

struct http_source {
	void *user;
	/* Whether the figures are fresh; if not, http_waits() is true until http_answer(). */
	bool (*ready)(void *user);
	/* All metrics, to be freed. NULL: no memory. */
	char *(*text)(void *user, bool openmetrics, size_t *len);
};

/* listener: a socket that listens, then owned. 0, or a negative errno and a text. */
int http_open(struct http **out, int listener, const struct http_source *source, struct err *e);

/* What to poll for input, and how long at most. */
int http_fd(const struct http *h);
int http_timeout_ms(const struct http *h, int most_ms);

/* Does what can be done now. */
void http_run(struct http *h);

/* Whether a client waits for fresh figures. */
bool http_waits(const struct http *h);

/* Answers those that have waited since before then. */
void http_answer(struct http *h, uint64_t before_ns);

void http_close(struct http *h); /* NULL is allowed */

#endif
