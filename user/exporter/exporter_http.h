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

/* All metrics, to be freed. NULL: no memory. */
typedef char *http_text_fn(void *user, bool openmetrics, size_t *len);

/* listener: a socket that listens, then owned. 0, or a negative errno and a text. */
int http_open(struct http **out, int listener, http_text_fn *text, void *user, struct err *e);

/* What to poll for input, and how long at most. */
int http_fd(const struct http *h);
int http_timeout_ms(const struct http *h, int most_ms);

/* Does what can be done now. */
void http_run(struct http *h);

void http_close(struct http *h);

#endif
