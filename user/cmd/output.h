/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

/* How wide standard output is, and whether it has colours (NO_COLOR is obeyed). */

#include "report/report.h"

struct report_opts output_terminal(void);

#endif
