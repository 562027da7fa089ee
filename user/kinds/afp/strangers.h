/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_STRANGERS_H
#define KINDS_AFP_STRANGERS_H

/*
 * Connections on which nobody has logged in: those that only hold a place, and those whose login
 * has been sent and has had no answer, also if that was before the watch.
 */

#include "kinds/servers.h"
#include "run/figures.h"
#include "run/run.h"

/*
 * Sets RUN_FIGURE_NO_LOGIN and, of logins without an answer, LOGIN and LOGIN_PENDING as far as
 * they are not known to be more. r: a run whose processes may still live. Not known if this host's
 * sockets cannot be read.
 */
void strangers_look(struct run_figures *out, const struct run *r, const struct servers_entry *s);

#endif
