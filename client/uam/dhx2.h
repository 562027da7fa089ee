/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UAM_DHX2_H
#define UAM_DHX2_H

#include "uam/uam.h"

extern const struct uam uam_dhx2;

/* See uam_init. */
int dhx2_init(struct err *e);

#endif
