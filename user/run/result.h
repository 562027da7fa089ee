/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_RESULT_H
#define RUN_RESULT_H

#include <stdint.h>

/* "no such object"; NULL for a code that has no name. */
const char *result_text(int32_t code);

/* Calls put for each code that has a name. */
void result_names(void (*put)(void *user, int32_t code, const char *text), void *user);

#endif
