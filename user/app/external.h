/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_EXTERNAL_H
#define APP_EXTERNAL_H

/* Programs afpscope-NAME: the commands of saved runs, and others. */

#include "base/err.h"

#include <stddef.h>

/* What to execvp for afpscope-NAME: the one beside this program, else its bare name. */
void external_path(char *out, size_t size, const char *name);

/* 0: `afpscope export` is there to put a run into a lake; else a negative errno and why not. */
int external_lake_check(const char *lake, struct err *e);

/*
 * Puts the run kept in this folder into a lake, and waits for that; what the program says goes to
 * standard error. 0, or a negative errno and why it is not there.
 */
int external_lake_put(const char *lake, const char *folder, struct err *e);

/* The same of a bundle, which is written to a file: by `afpscope bundle`. */
int external_bundle_check(const char *file, struct err *e);
int external_bundle_make(const char *file, const char *folder, struct err *e);

#endif
