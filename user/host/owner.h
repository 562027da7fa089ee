/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_OWNER_H
#define HOST_OWNER_H

/*
 * Whose a process is. Anybody may give a program a server's name: without being named itself, only
 * one of root or of the user who runs this program counts.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNER_UNKNOWN UINT32_MAX

/* Its real user id, which a server's session keeps when it works for a client. */
uint32_t owner_of(pid_t pid);
bool owner_counts(uint32_t uid);

/* -ENOTUNIQ, "what (LIST): name one with how". */
int owner_refuse(const pid_t *pid, size_t n, const char *what, const char *how, struct err *e);

/* 0 where all are of one user and in one systemd unit; else as above. */
int owner_one(const pid_t *pid, size_t n, const char *what, struct err *e);

#endif
