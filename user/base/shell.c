/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shell.h"

#include <stdio.h>
#include <string.h>

const char *shell_word(char *out, size_t room, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-@:+=,";
	size_t at = 0;

	if (*word && !word[strspn(word, plain)]) {
		snprintf(out, room, "%s", word);
		return out;
	}
	at += (size_t)snprintf(out, room, "'");
	for (; *word && at + 1 < room; word++)
		at += (size_t)snprintf(out + at, room - at, *word == '\'' ? "'\\%c'" : "%c", *word);
	if (at + 1 < room)
		snprintf(out + at, room - at, "'");
	return out;
}
