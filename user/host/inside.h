/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_INSIDE_H
#define HOST_INSIDE_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

#define INSIDE_MAX (1u << 20) /* bytes of an output */

/*
 * Runs a program as a process would start it: in its root folder and its namespaces, with an empty
 * environment, and for at most ms. The program belongs to whoever made that root folder, so it is
 * run without any capability, and only for a process of the user who runs this program. argv[0]:
 * its path there. out: what it printed to standard output, to be freed. 0; -EPERM: the process is
 * another user's, or the kernel does not let us in; -ENOENT: there is no such program; -ETIMEDOUT;
 * -EIO: it ended with an error; or another negative errno. e has a sentence.
 */
int inside_run(char **out, pid_t pid, char *const argv[], int ms, struct err *e);

#endif
