/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_TYPED_H
#define BASE_TYPED_H

/*
 * Commands of this program in texts for people ("afpscope report last"), as they have to be typed
 * here: the program may be on no PATH ("build/afpscope"), or have been run by sudo, whose runs only
 * root can read. For what is printed now, not for what is saved: that is read elsewhere.
 */

#include <stdio.h>

/*
 * "afpscope", if that is what a shell here runs; else its path, from this folder or from the root,
 * quoted for a shell; with "sudo " in front where sudo ran it. Of another program (a test)
 * "afpscope". Cut to fit; returns out.
 */
const char *typed_program(char *out, size_t room);

/*
 * The text with that in place of each "afpscope" that a command follows, unless "on the server: "
 * or the like says that it is to be typed elsewhere; to be freed. NULL: out of memory.
 */
char *typed_text(const char *text);

/* Prints it so; without memory as it is. */
void typed_print(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
