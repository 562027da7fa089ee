/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_HINTS_H
#define KINDS_AFP_HINTS_H

/*
 * What spoils figures: settings of the server, states of its processes and of the machine. Each
 * hint says what it is, where it is and what to do. Texts of the server's configuration are quoted
 * unchanged.
 */

#include "base/err.h"
#include "kinds/conf.h"
#include "kinds/servers.h"

#include <stdbool.h>
#include <stddef.h>

struct hint {
	const char *key; /* static, for scripts: "log-level" */
	bool weak;       /* may matter; else it certainly changes the figures */
	char what[ERR_TEXT_MAX];
	char where[CENSUS_PATH_MAX + 32]; /* "/etc/netatalk/afp.conf:12", "pid 4711" */
	char todo[ERR_TEXT_MAX];
};

struct hints {
	int error; /* 0 or -ENOMEM: some are missing */
	size_t n;
	struct hint *hint; /* owned */
};

/* All add to out, which starts zeroed. */

/* From the settings alone. version: 405 is netatalk 4.5; 0: not known. */
void hints_conf(struct hints *out, const struct afpconf *c, unsigned int version);

/* A log file on a volume's file system. root: of the server's paths, "/proc/PID/root". */
void hints_log(struct hints *out, const struct afpconf *c, const char *root);

/* Reads the server's configuration, and looks at its processes. */
void hints_server(struct hints *out, const struct servers_entry *s);

void hints_machine(struct hints *out);

void hints_fini(struct hints *h);

#endif
