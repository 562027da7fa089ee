/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_SETTINGS_H
#define KINDS_SETTINGS_H

/* Settings of a server that a diagnosis needs; defaults and meanings are those of afp.conf(5). */

#include "kinds/afpconf.h"
#include "kinds/servers.h"
#include "run/run.h"

/* Sets r->limit; what the configuration does not say, and has no one default, is 0. */
void settings_conf(struct run *r, const struct afpconf *c);

/*
 * The same of a running server, as far as its configuration can be read; and r->has_asking, which
 * stays only where its sessions ask as the watch understands it.
 */
void settings_look(struct run *r, const struct servers_entry *s);

#endif
