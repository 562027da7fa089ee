/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UAM_METHODS_H
#define UAM_METHODS_H

/* The rows of uam.c's table that have a file of their own. */

#include "uam/uam.h"

extern const struct uam uam_kerberos, uam_srp, uam_dhx2, uam_randnum2, uam_randnum, uam_dhcast128;

#endif
