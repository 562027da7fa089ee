/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_VOLUMES_H
#define KINDS_VOLUMES_H

/* The folders of a server's volumes, by its configuration. */

#include "kinds/afpconf.h"
#include "kinds/servers.h"

#include <sys/types.h>

/* What run.json says a session's volumes are known from, if not from these. */
#define VOLUMES_FROM_REQUESTS "FPOpenVol"

/* The innermost volume whose folder contains path; NULL: none. */
const char *volumes_find(const struct afpconf *c, const char *path);

/* Whether the settings of the volume with this folder say that it is read-only. */
bool volumes_read_only(const struct afpconf *c, const char *path);

/* The settings of one server, which its sessions share; all 0 at first. */
struct volumes_settings {
	uint64_t root;    /* identity of the processes' root; 0: nothing was read */
	uint64_t read_ns; /* CLOCK_MONOTONIC */
	struct afpconf conf;
};

void volumes_settings_fini(struct volumes_settings *s);

/*
 * Where an afpd works: the folder of its volume, else its working directory, as seen from its own
 * root. NULL: in its root (before it opens a volume), or not known. To be freed. What s has of the
 * server is read again after VOLUMES_SETTINGS_NS, or if this process has another root.
 */
#define VOLUMES_SETTINGS_NS 10000000000u
char *volumes_of(struct volumes_settings *s, pid_t afpd);

/*
 * The folders of a server's volumes, as the server calls them, each once: those that its
 * configuration names, and others in which its sessions worked when it was found. Names that depend
 * on the user are left out. Returns how many, at most room.
 */
size_t volumes_list(char (*out)[CENSUS_PATH_MAX], size_t room, const struct afpconf *c,
		    const struct servers_entry *s);

#endif
