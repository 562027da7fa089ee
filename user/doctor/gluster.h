/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_GLUSTER_H
#define DOCTOR_GLUSTER_H

#include "report/view.h"
#include "run/figures.h"

/* Figures of bricks of GlusterFS, if their requests were counted. ns: watched. 0 or -ENOMEM. */
int doctor_gluster(struct run_figures *out, const struct run *r, const struct view *v, double ns);

#endif
