/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_BESIDE_H
#define APP_BESIDE_H

/* What other programs make of a run that is kept: its place in a lake (--into), a bundle. */

#include "app/runs.h"

/* Before anything is done: 0, or a negative errno and why what was asked for cannot be made. */
int beside_check(const struct runs_cfg *cfg, struct err *e);

/* Makes it of the run in its folder, and says on out where it is. Whether all was made. */
bool beside_make(const struct runs_cfg *cfg, const char *folder, FILE *out);

/* Says what cannot be made, as the run is not kept. Whether there is any. */
bool beside_lack(const struct runs_cfg *cfg);

#endif
