/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_HEAL_H
#define KINDS_HEAL_H

#include "kinds/kind.h"
#include "run/figures.h"

/*
 * How many entries the indices of bricks say are to be healed. GlusterFS has a file for each, and
 * one that is a base for them, "xattrop-UUID". Not known where a brick does not answer in time.
 */
void heal_look(struct run_figures *out, const struct kind_found *found);

#endif
