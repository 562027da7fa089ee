/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLOW_SLOW_H
#define SLOW_SLOW_H

/* The options of afpscope slow. */

#include "attach/whom.h"

#include <stdbool.h>
#include <stdint.h>

struct slow_cfg {
	struct whom_cfg whom;
	uint64_t over_ns;
	unsigned int rate, seconds, lines, verbose;
	double max_cpu;
	bool names, json, help;
};

/* Defaults, and what the arguments say. Opens nothing. 0, or a negative errno and a text. */
int slow_parse(struct slow_cfg *cfg, int argc, char **argv, struct err *e);

#endif
