/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_RESULT_H
#define REPORT_RESULT_H

#include <stdint.h>

/* "no such object"; NULL for a code that has no name. */
const char *result_text(int32_t code);

#endif
