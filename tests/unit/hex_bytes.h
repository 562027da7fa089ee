/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_HEX_BYTES_H
#define UNIT_HEX_BYTES_H

#include <stdint.h>
#include <stdlib.h>

/* "22 00 7788 'name'": hex digits, blanks, and text in quotes, as bytes. Returns how many. */
static inline size_t hex_bytes(uint8_t *out, const char *text)
{
	size_t n = 0;
	char hex[3] = "";

	while (*text) {
		if (*text == ' ') {
			text++;
		} else if (*text == '\'') {
			for (text++; *text != '\''; text++)
				out[n++] = (uint8_t)*text;
			text++;
		} else {
			hex[0] = *text++;
			hex[1] = *text++;
			out[n++] = (uint8_t)strtoul(hex, NULL, 16);
		}
	}
	return n;
}

#endif
