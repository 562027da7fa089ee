/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Written from the protocol's tables; shares nothing with the client but the numbers of proto.h and
 * the byte cursors.
 */
#include "fake/facade.h"

#include "afp/proto.h"
#include "base/buf.h"

#define VOLUME_ID 1
#define FORK      1
#define ANY_ID    17
#define QUANTUM   (1u << 20)
#define FILE_LEN  (1ull << 40) /* any offset of a mix is in it */

/* Machine type at 18, versions at 24, methods at 46. */
static const uint8_t status[] = "\x00\x12\x00\x18\x00\x2e\x00\x00\x83\x7b"
				"\x07"
				"Unmoved"
				"\x05"
				"Known"
				"\x03\x06"
				"AFP3.1\x06"
				"AFP3.3\x06"
				"AFP3.4\x01\x0f"
				"No User Authent";

static void put_params(struct wbuf *out, uint16_t bitmap, bool is_dir)
{
	static const struct {
		uint16_t bit;
		uint8_t file_len, dir_len;
	} fields[] = {
		{ AFP_BIT_ATTRIBUTES, 2, 2 }, { AFP_BIT_PARENT, 4, 4 },
		{ AFP_BIT_CREATED, 4, 4 },    { AFP_BIT_MODIFIED, 4, 4 },
		{ AFP_BIT_BACKUP, 4, 4 },     { AFP_BIT_FINDER, 32, 32 },
		{ AFP_BIT_LONG_NAME, 2, 2 },  { AFP_BIT_SHORT_NAME, 2, 2 },
		{ AFP_BIT_ID, 4, 4 },         { AFP_BIT_DATA_LEN, 4, 2 },
		{ AFP_BIT_RSRC_LEN, 4, 4 },   { AFP_BIT_DATA_EXT, 8, 4 },
		{ AFP_BIT_ACCESS, 4, 4 },
	};
	uint8_t *start = out->at, *name_at = NULL;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!(bitmap & fields[i].bit))
			continue;
		if (fields[i].bit == AFP_BIT_LONG_NAME)
			name_at = out->at;
		wbuf_uint(out, fields[i].bit == AFP_BIT_ID ? ANY_ID : 0,
			  is_dir ? fields[i].dir_len : fields[i].file_len);
	}
	if (name_at && !out->bad) {
		name_at[1] = (uint8_t)(out->at - start);
		wbuf_pascal(out, "name of one"); /* a look is answered with 40 bytes */
	}
}

/* What is asked for its id is a directory: a workload goes on with that. */
static void get_params(struct facade_reply *r, struct rbuf *in, struct wbuf *out)
{
	uint16_t file, dir;
	bool is_dir;

	rbuf_bytes(in, 2 + 4); /* volume, directory */
	file = rbuf_u16(in);
	dir = rbuf_u16(in);
	is_dir = dir & AFP_BIT_ID;
	r->is_look = !is_dir;
	wbuf_u16(out, file);
	wbuf_u16(out, dir);
	wbuf_u16(out, is_dir ? 0x8000 : 0);
	put_params(out, is_dir ? dir : file, is_dir);
}

static void open_fork(struct rbuf *in, struct wbuf *out)
{
	uint16_t bitmap;

	rbuf_bytes(in, 2 + 4);
	bitmap = rbuf_u16(in);
	wbuf_u16(out, bitmap);
	wbuf_u16(out, FORK);
	put_params(out, bitmap, false);
}

static void fork_params(struct rbuf *in, struct wbuf *out)
{
	uint16_t bitmap;

	rbuf_u16(in); /* fork */
	bitmap = rbuf_u16(in);
	wbuf_u16(out, bitmap);
	if (bitmap & AFP_BIT_DATA_LEN)
		wbuf_u32(out, INT32_MAX);
	if (bitmap & AFP_BIT_DATA_EXT)
		wbuf_u64(out, FILE_LEN);
}

static void volume_params(struct rbuf *in, struct wbuf *out)
{
	uint16_t bitmap;

	rbuf_u16(in); /* volume */
	bitmap = rbuf_u16(in) & AFP_VOLUME_ROOM;
	wbuf_u16(out, bitmap);
	if (bitmap & AFP_VOLUME_ATTRIBUTES)
		wbuf_u16(out, 0);
	if (bitmap & AFP_VOLUME_EXT_FREE)
		wbuf_u64(out, FILE_LEN);
}

static void open_volume(struct rbuf *in, struct wbuf *out)
{
	wbuf_u16(out, rbuf_u16(in));
	wbuf_u16(out, 0);
	wbuf_u16(out, VOLUME_ID);
}

static void read_fork(struct facade_reply *r, struct rbuf *in, size_t width)
{
	rbuf_bytes(in, 2 + width); /* fork, offset */
	r->zeros = rbuf_uint(in, width);
	if (r->zeros > QUANTUM) {
		r->zeros = 0;
		r->result = AFP_ERR_BAD_PARAMETER;
	}
}

static void write_fork(struct rbuf *in, struct wbuf *out, size_t width)
{
	uint64_t offset;

	rbuf_u16(in); /* fork */
	offset = rbuf_uint(in, width);
	wbuf_uint(out, offset + rbuf_uint(in, width), width);
}

static void answer(struct facade_reply *r, uint8_t code, struct rbuf *in, struct wbuf *out)
{
	switch (code) {
	case AFP_GetFileDirParms:
		get_params(r, in, out);
		break;
	case AFP_OpenFork:
		open_fork(in, out);
		break;
	case AFP_GetForkParms:
		fork_params(in, out);
		break;
	case AFP_GetVolParms:
		volume_params(in, out);
		break;
	case AFP_OpenVol:
		open_volume(in, out);
		break;
	case AFP_CreateDir:
		wbuf_u32(out, ANY_ID);
		break;
	case AFP_Read:
	case AFP_ReadExt:
		read_fork(r, in, code == AFP_Read ? 4 : 8);
		break;
	case AFP_Write:
	case AFP_WriteExt:
		write_fork(in, out, code == AFP_Write ? 4 : 8);
		break;
	case AFP_Enumerate:
	case AFP_EnumerateExt:
	case AFP_EnumerateExt2:
		r->result = AFP_ERR_NO_OBJECT;
		break;
	default:
		break;
	}
}

void facade_answer(struct facade_reply *out, const uint8_t *command, size_t len)
{
	struct rbuf in = rbuf_of(command, len);
	struct wbuf to = wbuf_of(out->payload, sizeof(out->payload));
	uint8_t code = rbuf_u8(&in);

	out->result = AFP_ERR_OK;
	out->is_look = false;
	out->zeros = 0;
	rbuf_u8(&in); /* flags or pad, where there are any */
	answer(out, code, &in, &to);
	out->len = (size_t)(to.at - out->payload);
}

void facade_status(struct facade_reply *out)
{
	*out = (struct facade_reply) { .len = sizeof(status) - 1 };
	memcpy(out->payload, status, sizeof(status) - 1);
}

void facade_welcome(struct facade_reply *out)
{
	struct wbuf to;

	*out = (struct facade_reply) { .len = 6 };
	to = wbuf_of(out->payload, sizeof(out->payload));
	wbuf_u8(&to, 0); /* option: request quantum */
	wbuf_u8(&to, 4);
	wbuf_u32(&to, QUANTUM);
}
