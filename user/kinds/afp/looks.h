/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_LOOKS_H
#define KINDS_AFP_LOOKS_H

/*
 * What can be seen of an AFP server from outside, whether or not anybody asks it: figures for a
 * diagnosis. What cannot be seen is not known.
 */

#include "kinds/afp/settings.h"
#include "kinds/servers.h"
#include "run/figures.h"
#include "run/run.h"

/*
 * Of the CNID servers that volumes use: one does not run, is stopped, cannot write its databases.
 * Sets CNID_DOWN and CNID_HELD, unless all is well with those that are seen, and one is not (a
 * database server, or on another host); likewise CNID_FOLDER; and CNID_MYSQL.
 */
void cnidstate_look(struct run_figures *out, const struct servers_entry *s,
		    const struct settings *set);

/*
 * Adds the ports of the CNID servers that its settings name, here or elsewhere, to those that are
 * known.
 */
void cnidstate_ports(struct servers_entry *s);

/* A process that serves as CNID server, such as a database server: it runs; adds to CNID_HELD. */
void cnidstate_held(struct run_figures *out, pid_t pid, const struct servers_entry *s);

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

/*
 * Connections on which nobody has logged in: those that only hold a place, and those whose login
 * has been sent and has had no answer, also if that was before the watch. Sets
 * RUN_FIGURE_NO_LOGIN and, of logins without an answer, LOGIN and LOGIN_PENDING as far as they are
 * not known to be more. r: a run whose processes may still live. Not known if this host's sockets
 * cannot be read.
 */
void strangers_look(struct run_figures *out, const struct run *r, const struct servers_entry *s);

/*
 * Clients whose connection comes from a program of this machine that carries on what another
 * connection brings: socat, docker-proxy, ssh -L, haproxy. Told by its sockets, not by its name.
 * Sets RUN_FIGURE_RELAY and RELAY_REQUESTS. r: as above. Not known if none is found, and this
 * host's sockets, or the open files of who holds a client's end here, cannot be read. The server's
 * own processes, n in ascending order, are not looked at.
 */
void relays_look(struct run_figures *out, const struct run *r, const struct servers_entry *s,
		 const pid_t *own, size_t n);

#endif
