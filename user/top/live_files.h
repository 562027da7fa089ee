/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_LIVE_FILES_H
#define TOP_LIVE_FILES_H

/*
 * Which file or directory a request is about, from the records of requests and names: the name in
 * it, or that of the fork whose number it has, as the reply to FPOpenFork gave it. One thread.
 */

#include "base/err.h"
#include "bpf/paths.h"
#include "bpf/records.h"

#include <stdbool.h>
#include <stdint.h>

struct files;

/* texts: files are named by their names, else by a keyed hash. 0 or a negative errno. */
int files_open(struct files **out, bool texts, struct err *e);
void files_close(struct files *f); /* NULL is allowed */

/* The name in a command that is in service now. */
void files_named(struct files *f, const struct afs_named *named);

#define FILES_NAME_MAX (AFS_TEXT_LEN + 32)
/*
 * What an answered request is about: "report.doc (folder 17)", for the root "report.doc". Texts in
 * brackets where it is about no file, or about one that was opened before the watch. Not cleaned.
 */
void files_request(struct files *f, const struct afs_record_requests *r, char out[FILES_NAME_MAX]);

/* A session has ended. */
void files_end(struct files *f, uint32_t session);

#endif
