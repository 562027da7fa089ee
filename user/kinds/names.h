/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_NAMES_H
#define KINDS_NAMES_H

/* What a server's own things are called (run_names), for commands that are advised. */

#include "kinds/kind.h"

void names_look(struct run_figures *out, const struct kind_found *found);

#endif
