/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

/* The options of afpscope check. */

#include "attach/whom.h"

#include <stdbool.h>

struct check_cfg {
	struct whom_cfg whom;
	unsigned int verbose;
	const char *json;
	bool help;
};

/* What the arguments say. Opens nothing. 0, or a negative errno and a text. */
int check_parse(struct check_cfg *cfg, int argc, char **argv, struct err *e);

#endif
