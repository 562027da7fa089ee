/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes and decodes the DSI header. */
#include "dsi/frame.h"

#include <errno.h>

void dsi_frame_put(uint8_t out[static DSI_HEADER_LEN], const struct dsi_frame *f)
{
	struct wbuf b = wbuf_of(out, DSI_HEADER_LEN);

	wbuf_u8(&b, f->flag);
	wbuf_u8(&b, f->command);
	wbuf_u16(&b, f->id);
	wbuf_u32(&b, f->code);
	wbuf_u32(&b, f->len);
	wbuf_u32(&b, 0);
}

int dsi_frame_parse(struct dsi_frame *out, const uint8_t raw[static DSI_HEADER_LEN])
{
	struct rbuf b = rbuf_of(raw, DSI_HEADER_LEN);

	out->flag = rbuf_u8(&b);
	out->command = rbuf_u8(&b);
	out->id = rbuf_u16(&b);
	out->code = rbuf_u32(&b);
	out->len = rbuf_u32(&b);
	if (out->flag > DSI_REPLY || !out->command || out->command > DSI_ATTENTION)
		return -EPROTO;
	return 0;
}

int32_t dsi_result(uint32_t code)
{
	if (code > 0x7fff && code <= 0xffff)
		return (int32_t)code - 0x10000;
	return (int32_t)code;
}
