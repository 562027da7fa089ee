/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_WHOM_H
#define ATTACH_WHOM_H

/* Options that name a server of this host: by its port, or by a process. */

#include "base/opt.h"

#include <limits.h>

struct whom_cfg {
	unsigned int port, pid; /* 0: not given */
};

/* clang-format off */
/* Rows for a table of options over a struct that has the whom_cfg as member "member". */
#define WHOM_OPTIONS(cfg_type, member)                                                             \
	{ 'p', "port", "PORT", OPT_UINT, offsetof(cfg_type, member.port),                          \
	  "the server that listens on this TCP port", 1, 65535, 0, NULL, NULL },                   \
	{ 0, "pid", "PID", OPT_UINT, offsetof(cfg_type, member.pid),                               \
	  "the server this process is the parent of, or this session only", 1, INT_MAX, 0, NULL,   \
	  NULL }
/* clang-format on */

/*
 * Checks what opt_parse has returned, and that not both options were given. Formerly -p named a
 * process: the text about a number that is no port says how to name one. 0 or a negative errno.
 */
int whom_check(const struct whom_cfg *c, int parsed, struct err *e);

#endif
