/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_VOLUMES_H
#define KINDS_VOLUMES_H

/* The folders of a server's volumes, by its configuration. */

#include "kinds/afpconf.h"

#include "kinds/servers.h"
#include "run/figures.h"

#include <sys/types.h>

/* What run.json says a session's volumes are known from, if not from these. */
#define VOLUMES_FROM_REQUESTS "FPOpenVol"

/* Whether path is folder or in it. */
bool volumes_below(const char *path, const char *folder);

/* The innermost volume whose folder contains path; NULL: none. */
const char *volumes_find(const struct afpconf *c, const char *path);

/*
 * Where an afpd works: the folder of its volume, else its working directory, as seen from its own
 * root. NULL: in its root (before it opens a volume), or not known. To be freed.
 */
char *volumes_of(pid_t afpd);

/* RUN_FIGURE_ROOM: the least free space of the file systems that have its volumes and are not
 * mounted read-only. */
void volumes_room(struct run_figures *out, const struct servers_entry *s);

#endif
