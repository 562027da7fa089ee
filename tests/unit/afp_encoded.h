/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_AFP_ENCODED_H
#define UNIT_AFP_ENCODED_H

/* What afp_prep_*() made, byte by byte. */

#include "afp/afp.h"
#include "unit/hex_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

static inline void assert_command(const struct afp_op *op, uint8_t dsi_command, const char *text)
{
	uint8_t want[DSI_COMMAND_MAX];
	size_t len = hex_bytes(want, text);

	assert_int_equal(op->dsi.command, dsi_command);
	assert_int_equal(op->code, want[0]);
	assert_int_equal(op->dsi.len, len);
	assert_memory_equal(op->dsi.wire + 16, want, len);
}

/* An op that holds rubbish from its last use. */
static inline struct afp_op *used_op(void)
{
	static struct afp_op op;

	memset(&op, 0xee, sizeof(op));
	return &op;
}

static inline void assert_plain(const struct afp_op *op)
{
	assert_null(op->dsi.data);
	assert_int_equal(op->dsi.data_len, 0);
	assert_ptr_equal(op->dsi.reply, op->reply);
	assert_int_equal(op->dsi.reply_cap, AFP_REPLY_LEN);
}

#endif
