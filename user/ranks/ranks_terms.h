/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_RANKS_TERMS_H
#define RANKS_RANKS_TERMS_H

/* What rank 0 and the others compute alike. Only for ranks*.c; others use ranks.h. */

#include "ranks/ranks.h"

/* A text that differs where version or options do. 0 or not 0 without memory. */
#define RANKS_TERMS_LEN 64
int ranks_terms(const struct ranks_opts *o, char out[static RANKS_TERMS_LEN]);

#endif
