/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_CNIDSTATE_H
#define KINDS_AFP_CNIDSTATE_H

/*
 * What can be seen of a CNID server from outside, whether or not anybody asks it: it does not run,
 * it is stopped, it cannot write its databases.
 */

#include "kinds/afp/settings.h"
#include "kinds/servers.h"
#include "run/figures.h"

/*
 * Sets CNID_DOWN and CNID_HELD, unless no volume uses cnid_dbd or it runs on another host, and
 * CNID_FOLDER and CNID_MYSQL. What cannot be seen is not known.
 */
void cnidstate_look(struct run_figures *out, const struct servers_entry *s,
		    const struct settings *set);

/*
 * Adds the ports of the CNID servers that its settings name, here or elsewhere, to those that are
 * known.
 */
void cnidstate_ports(struct servers_entry *s);

/* A process that serves as CNID server, such as a database server: adds to CNID_HELD. */
void cnidstate_held(struct run_figures *out, pid_t pid, const struct servers_entry *s);

#endif
