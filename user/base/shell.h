/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

#include <stddef.h>

/*
 * A text as one word of a command line that people paste into a shell: in quotes where it has
 * characters that the shell interprets, or is empty. Cut if room (bytes, with the 0 at the end)
 * does not suffice. Returns out.
 */
const char *shell_word(char *out, size_t room, const char *word);

#endif
