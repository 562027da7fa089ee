/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes and decodes bitmaps, parameters and paths. */
#include "afp/params.h"

#include "afp/proto.h"

#define PATH_HINT 0x08000103u /* kTextEncodingUTF8, as macOS sends it */

void afp_name_put(struct wbuf *b, uint8_t type, const char *name)
{
	size_t len = strlen(name);

	if (type == 2) {
		wbuf_pascal(b, name);
		return;
	}
	if (len > 0xffff) {
		b->bad = true;
		return;
	}
	wbuf_u32(b, PATH_HINT);
	wbuf_u16(b, (uint16_t)len);
	wbuf_bytes(b, name, len);
}

void afp_path_put(struct wbuf *b, uint8_t type, const char *name)
{
	wbuf_u8(b, type);
	afp_name_put(b, type, name);
}

/* A name at an offset from start: Pascal string, or (utf8) hint, length, bytes. */
static bool params_name_at(char *out, size_t room, const struct rbuf *start, uint16_t offset,
			   bool utf8)
{
	struct rbuf b = *start;
	const uint8_t *p;
	size_t len;

	rbuf_bytes(&b, offset);
	if (utf8)
		rbuf_u32(&b);
	len = utf8 ? rbuf_u16(&b) : rbuf_u8(&b);
	p = rbuf_bytes(&b, len);
	if (!p || len >= room)
		return false;
	memcpy(out, p, len);
	out[len] = '\0';
	return true;
}

static void parse_sizes(struct afp_params *out, struct rbuf *b, uint16_t bitmap)
{
	uint32_t narrow;

	if (bitmap & AFP_BIT_DATA_LEN) {
		narrow = out->is_dir ? rbuf_u16(b) : rbuf_u32(b);
		out->offspring = (uint16_t)narrow;
		out->data_len = out->is_dir ? 0 : narrow;
	}
	if (bitmap & AFP_BIT_RSRC_LEN)
		rbuf_u32(b);
	if (bitmap & AFP_BIT_DATA_EXT) {
		if (out->is_dir)
			rbuf_u32(b);
		else
			out->data_len = rbuf_u64(b);
	}
}

bool afp_params_parse(struct afp_params *out, struct rbuf *b, uint16_t bitmap, bool is_dir)
{
	const struct rbuf start = *b;
	uint16_t long_at = 0, name_off = 0;
	bool ok = true;

	memset(out, 0, sizeof(*out));
	out->is_dir = is_dir;
	out->bitmap = bitmap;
	if (bitmap & AFP_BIT_ATTRIBUTES)
		out->attributes = rbuf_u16(b);
	if (bitmap & AFP_BIT_PARENT)
		out->parent = rbuf_u32(b);
	if (bitmap & AFP_BIT_CREATED)
		out->created = (int32_t)rbuf_u32(b);
	if (bitmap & AFP_BIT_MODIFIED)
		out->modified = (int32_t)rbuf_u32(b);
	if (bitmap & AFP_BIT_BACKUP)
		rbuf_u32(b);
	if (bitmap & AFP_BIT_FINDER)
		rbuf_bytes(b, 32);
	if (bitmap & AFP_BIT_LONG_NAME)
		long_at = rbuf_u16(b);
	if (bitmap & AFP_BIT_SHORT_NAME)
		rbuf_u16(b);
	if (bitmap & AFP_BIT_ID)
		out->id = rbuf_u32(b);
	parse_sizes(out, b, bitmap);
	if (bitmap & AFP_BIT_ACCESS && is_dir)
		rbuf_u32(b);
	if (bitmap & AFP_BIT_NAME) {
		name_off = rbuf_u16(b);
		rbuf_u32(b);
	}
	if (bitmap & AFP_BIT_RSRC_EXT && !is_dir)
		rbuf_u64(b);
	if (bitmap & AFP_BIT_UNIX)
		rbuf_bytes(b, 16);
	if (bitmap & AFP_BIT_LONG_NAME)
		ok = params_name_at(out->long_name, sizeof(out->long_name), &start, long_at, false);
	if (bitmap & AFP_BIT_NAME)
		ok = params_name_at(out->name, sizeof(out->name), &start, name_off, true) && ok;
	return ok && !b->bad;
}

void afp_copy_pascal(char *out, size_t room, struct rbuf *b)
{
	size_t len = rbuf_u8(b);
	const uint8_t *p = rbuf_bytes(b, len);

	if (len >= room)
		len = room - 1;
	if (p)
		memcpy(out, p, len);
	out[p ? len : 0] = '\0';
}
