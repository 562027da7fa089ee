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
	{ .letter = 'p', .name = "port", .arg = "PORT", .type = OPT_UINT,                          \
	  .offset = offsetof(cfg_type, member.port),                                               \
	  .min = 1, .max = 65535,                                                                  \
	  .help = "the server that listens on this TCP port" },                                    \
	{ .name = "pid", .arg = "PID", .type = OPT_UINT,                                           \
	  .offset = offsetof(cfg_type, member.pid),                                                \
	  .min = 1, .max = INT_MAX,                                                                \
	  .help = "the server this process is the parent of, or this session only" }
/* clang-format on */

/*
 * Checks what opt_parse has returned, and that not both options were given. Formerly -p named a
 * process: the text about a number that is no port says how to name one. 0 or a negative errno.
 */
int whom_check(const struct whom_cfg *c, int parsed, struct err *e);

#endif
