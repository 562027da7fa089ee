/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFP_PARAMS_H
#define AFP_PARAMS_H

/* Parameters of files and directories, as they follow a bitmap in replies. */

#include "base/buf.h"

struct afp_params {
	bool is_dir;
	uint16_t bitmap; /* which of the fields below are set */
	uint16_t attributes;
	uint32_t parent, id;
	int32_t created, modified; /* seconds since 2000-01-01 00:00 UTC */
	uint64_t data_len;         /* file; the wider of bits 9 and 11 where both came */
	uint16_t offspring;        /* directory */
	char long_name[32];
	char name[256]; /* UTF-8 */
};

/* Fields from b by bitmap; variable parts follow them. false: malformed. */
bool afp_params_parse(struct afp_params *out, struct rbuf *b, uint16_t bitmap, bool is_dir);

/* One Pascal string, cut to the room there is; "" where b ends before it. */
void afp_copy_pascal(char *out, size_t room, struct rbuf *b);

/* A name as commands carry it: type 3 (UTF-8: hint, length, bytes) or 2 (Pascal string). */
void afp_name_put(struct wbuf *b, uint8_t type, const char *name);

/* The same behind its type. */
void afp_path_put(struct wbuf *b, uint8_t type, const char *name);

#endif
