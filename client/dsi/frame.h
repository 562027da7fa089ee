/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DSI_FRAME_H
#define DSI_FRAME_H

/*
 * The 16 bytes in front of every message of the Data Stream Interface (AFP over TCP).
 * Source: AFP 3.x reference, "DSI header"; codes checked on the wire against netatalk 4.5.1.
 */

#include "base/buf.h"

#include <stdint.h>

#define DSI_HEADER_LEN 16

enum dsi_flag {
	DSI_REQUEST = 0,
	DSI_REPLY = 1,
};

enum dsi_command {
	DSI_CLOSE = 1,
	DSI_COMMAND = 2,
	DSI_STATUS = 3,
	DSI_OPEN = 4,
	DSI_TICKLE = 5,
	DSI_WRITE = 6,
	DSI_ATTENTION = 8,
};

struct dsi_frame {
	uint8_t flag, command;
	uint16_t id;
	uint32_t code; /* request: offset of the data (DSIWrite); reply: result, see dsi_result */
	uint32_t len;  /* of what follows the header */
};

void dsi_frame_put(uint8_t out[static DSI_HEADER_LEN], const struct dsi_frame *f);

/* 0, or -EPROTO when these 16 bytes cannot begin a DSI message. */
int dsi_frame_parse(struct dsi_frame *out, const uint8_t raw[static DSI_HEADER_LEN]);

/*
 * A reply's result. AFP results are negative 32-bit numbers; errors of the DSI layer itself come
 * as the low 16 bits of a negative number (0x0000FBD1 = -1071, server busy).
 */
int32_t dsi_result(uint32_t code);

#endif
