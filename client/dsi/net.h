/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_NET_H
#define DSI_NET_H

#include "dsi/dsi.h"

/*
 * A connected TCP socket to opts->host, opts->port: every address is tried in turn within the
 * deadline. Returns the descriptor (blocking, no delay) or a negative errno with a text that
 * says what to do.
 */
int net_connect(const struct dsi_opts *opts, struct err *e);

#endif
