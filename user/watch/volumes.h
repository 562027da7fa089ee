/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_VOLUMES_H
#define WATCH_VOLUMES_H

/* The folders of a server's volumes, by its configuration. */

#include "watch/afpconf.h"

#include <sys/types.h>

/* The same folder, or in it. */
bool volumes_below(const char *path, const char *folder);

/* The volume whose folder has "path" in it, of several the innermost; NULL: none is known. */
const char *volumes_find(const struct afpconf *c, const char *path);

/*
 * Where an afpd works: the folder of the volume it is in, else the folder it is in, as seen from
 * its own root. NULL: in its root, where it is before it opens a volume, or not known. To be freed.
 */
char *volumes_of(pid_t afpd);

#endif
