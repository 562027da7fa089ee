/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_CRASHLOG_H
#define KINDS_AFP_CRASHLOG_H

#include "kinds/afpconf.h"
#include "kinds/servers.h"
#include "run/figures.h"

/*
 * Adds to the figure of sessions that crashed (CRASHED_SHARE) what the server's own log says of the
 * last one, and in which function of afpd that was. Seen with the logs of
 * netatalk 3.1.12 to 4.5.1, which have a line "INTERNAL ERROR: Signal 11 in pid 4711 (4.5.1)", and
 * a backtrace after it. A log that is no file, or that does not answer in time, says nothing.
 */
void crashlog_look(struct run_figures *out, const struct servers_entry *s, const struct afpconf *c,
		   pid_t pid);

/* The same of the end of a log, which may have crashes of other sessions, too. */
void crashlog_read(struct run_figures *out, const char *log, pid_t pid);

#endif
