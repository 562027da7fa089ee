/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_SETTINGS_H
#define KINDS_SETTINGS_H

/* Settings of a server that a diagnosis needs; defaults and meanings are those of afp.conf(5). */

#include "kinds/afpconf.h"
#include "kinds/servers.h"
#include "run/run.h"

/* "4.5.1" as 405, from the program's own text; 0: not found. */
unsigned int settings_version(const char *program, size_t len);

/*
 * Sets r->limit; what the configuration does not say is the default of this version, 0 where that
 * depends on it and it is not known.
 */
void settings_conf(struct run *r, const struct afpconf *c, unsigned int version);

/*
 * The same of a running server, as far as its configuration can be read; and r->has_asking, which
 * stays only where its sessions ask as the watch understands it.
 */
void settings_look(struct run *r, const struct servers_entry *s);

#endif
