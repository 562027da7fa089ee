/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_KINDS_H
#define DOCTOR_KINDS_H

/*
 * Figures of servers that are not judged by their sessions (run/figures_rx.h, figures_kinds.h).
 * ns: watched. Each adds to out.
 */

#include "report/view.h"
#include "run/run.h"

/* Bricks of GlusterFS, if their requests were counted. 0 or -ENOMEM. */
int doctor_gluster(struct run_figures *out, const struct run *r, const struct view *v, double ns);

/* A server over Rx, and its clients. */
void doctor_rx(struct run_figures *out, const struct run *r, const struct view *v, double ns);

/* A server of SMB, if its requests were counted. 0 or -ENOMEM. */
int doctor_smb(struct run_figures *out, const struct run *r, const struct view *v, double ns);

/* A server of NFS, if its requests were counted. 0 or -ENOMEM. */
int doctor_nfs(struct run_figures *out, const struct run *r, const struct view *v, double ns);

#endif
