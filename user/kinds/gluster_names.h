/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_GLUSTER_NAMES_H
#define KINDS_GLUSTER_NAMES_H

/*
 * GlusterFS's procedures by account (bpf/programs.h), and its results: as Wireshark names them;
 * file operations from number 41 on as GlusterFS 10 sends them.
 */

#include "run/account.h"

#include <stdint.h>

extern const struct account_names gluster_accounts;

/* "No such file or directory" of an errno, "procedure unavailable"; NULL: no name. */
const char *gluster_result(int32_t code);

#endif
