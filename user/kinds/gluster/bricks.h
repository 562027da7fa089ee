/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_GLUSTER_BRICKS_H
#define KINDS_GLUSTER_BRICKS_H

#include "kinds/kind.h"
#include "run/figures.h"

/*
 * What can be seen of the bricks of GlusterFS that were found, when the watch has ended: those that
 * have ended since (SERVER_ENDED, which may be set), that are stopped, and how many entries their
 * indices say are to be healed. GlusterFS has a file for each of these, and one that is a base for
 * them, "xattrop-UUID". A brick whose index does not answer in time is left out.
 */
void bricks_look(struct run_figures *out, const struct kind_found *found);

#endif
