/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_OBJECTS_H
#define KINDS_OBJECTS_H

/*
 * Inodes with a role that the programs cannot see: the client's and the CNID servers' sockets, log
 * files, and folders that contain only a CNID database, so that files which the database makes
 * later belong to it too.
 */

#include "kinds/target.h"

void objects_add_socket(struct target *t, uint64_t ino, enum afs_object object);

/* The file that a CNID server's Unix socket is bound to: all connections to it are CNID's. */
void objects_add_bound(struct target *t, uint64_t ino, uint32_t dev);

/* Of the open files of t->server and t->backend: log files, and all of them. */
void objects_add_logs(struct target *t);
void objects_add_files(struct target *t);

/* Whether a file of this path belongs to a CNID database that afpd keeps itself. */
bool objects_is_sqlite(const char *path);

#endif
