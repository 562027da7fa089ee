/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CHECK_CHECK_FOUND_H
#define CHECK_CHECK_FOUND_H

/* What afpscope check found, and its two forms. */

#include "app/cmd.h"
#include "base/err.h"
#include "kinds/afp/hints.h"
#include "kinds/servers.h"
#include "watch/ladder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A server, and what a watch of it would do. */
struct check_server {
	const struct servers_entry *entry; /* borrowed from servers */
	bool exact;                        /* every call of it can be counted */
	char use[ERR_TEXT_MAX];            /* how its calls would be watched, or why not */
	struct hints hints;
};

struct check {
	struct ladder ladder;
	bool exact; /* every call of a server can be counted here */
	size_t n_servers;
	struct servers servers;
	struct check_server *server;
	struct hints machine;
	struct err none; /* why there is no server; code 0: there is one */
	enum outcome outcome;
};

/* For people: what matters, or (verbose) all that was found. */
void check_text(const struct check *c, bool verbose, FILE *out);

/* As one JSON object on one line, complete or not at all; "-" is stdout. */
int check_json(const struct check *c, const char *path, struct err *e);

#endif
