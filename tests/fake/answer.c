/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake server's AFP commands: decode, do it on the volume, encode the answer. Written from the
 * protocol's tables, and shares nothing with the client but the numbers of proto.h.
 */
#include "fake/peer.h"

#include "afp/proto.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#define VOLUME_ID 0x0102
#define OTHER_ID  0x0103 /* the same tree under another name */
#define REPLY_MAX 65000

struct object {
	uint32_t dir;
	char name[256];
};

void peer_reply_set(struct peer_reply *out, int32_t result, const void *payload, size_t len)
{
	out->frame = calloc(1, 16 + len);
	if (!out->frame)
		abort();
	if (payload && len)
		memcpy(out->frame + 16, payload, len);
	out->result = result;
	out->len = len;
}

static void get_path(struct rbuf *b, char name[static 256])
{
	const uint8_t *p;
	uint8_t type = rbuf_u8(b);
	size_t len;

	if (type == 3 && rbuf_u32(b) != 0x08000103)
		b->bad = true;
	len = type == 3 ? rbuf_u16(b) : rbuf_u8(b);
	p = rbuf_bytes(b, len);
	*name = '\0';
	if (!p || len > 255 || (type != 2 && type != 3)) {
		b->bad = true;
		return;
	}
	memcpy(name, p, len);
	name[len] = '\0';
}

static void put_times(struct wbuf *b, const struct volume_node *n, uint16_t bitmap)
{
	if (bitmap & 0x0001)
		wbuf_u16(b, 0);
	if (bitmap & 0x0002)
		wbuf_u32(b, n->parent);
	if (bitmap & 0x0004)
		wbuf_u32(b, n->time);
	if (bitmap & 0x0008)
		wbuf_u32(b, n->time + 1);
	if (bitmap & 0x0010)
		wbuf_u32(b, 0x80000000);
	if (bitmap & 0x0020)
		wbuf_zero(b, 32);
}

static void put_lengths(struct wbuf *b, const struct volume_node *n, uint16_t bitmap)
{
	if (bitmap & 0x0200)
		wbuf_uint(b,
			  n->is_dir             ? n->n_children
			  : n->len > UINT32_MAX ? UINT32_MAX
						: n->len,
			  n->is_dir ? 2 : 4);
	if (bitmap & 0x0400)
		wbuf_u32(b, n->is_dir ? 501 : 0);
	if (bitmap & 0x0800)
		wbuf_uint(b, n->is_dir ? 20 : n->len, n->is_dir ? 4 : 8);
	if (bitmap & 0x1000)
		wbuf_u32(b, 0x87070707);
}

static void put_params(struct wbuf *b, const struct volume_node *n, uint16_t bitmap)
{
	size_t name_len = strlen(n->name), long_len = name_len > 31 ? 31 : name_len;
	const uint8_t *start = b->at;
	uint8_t *long_at = NULL, *name_at = NULL;

	put_times(b, n, bitmap);
	if (bitmap & 0x0040)
		long_at = wbuf_room(b, 2);
	if (bitmap & 0x0080)
		wbuf_u16(b, 0);
	if (bitmap & 0x0100)
		wbuf_u32(b, n->id);
	put_lengths(b, n, bitmap);
	if (bitmap & 0x2000) {
		name_at = wbuf_room(b, 2);
		wbuf_u32(b, 0);
	}
	if (bitmap & 0x4000)
		wbuf_u64(b, 0);
	if (bitmap & 0x8000)
		wbuf_zero(b, 16);
	if (long_at) {
		long_at[0] = (uint8_t)((b->at - start) >> 8);
		long_at[1] = (uint8_t)(b->at - start);
		wbuf_u8(b, (uint8_t)long_len);
		wbuf_bytes(b, n->name, long_len);
	}
	if (name_at) {
		name_at[0] = (uint8_t)((b->at - start) >> 8);
		name_at[1] = (uint8_t)(b->at - start);
		wbuf_u32(b, 0);
		wbuf_u16(b, (uint16_t)name_len);
		wbuf_bytes(b, n->name, name_len);
	}
}

static bool is_open(const struct peer *p, uint16_t volume)
{
	return volume == VOLUME_ID || (volume == OTHER_ID && p->other_open);
}

static struct object get_object(struct peer *p, struct rbuf *b)
{
	struct object o = { .dir = 0 };

	if (!is_open(p, rbuf_u16(b)))
		peer_complain(p, "a command for another volume");
	o.dir = rbuf_u32(b);
	get_path(b, o.name);
	return o;
}

static int32_t login(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	const uint8_t *version, *uam;
	uint8_t version_len, uam_len;

	(void)p;
	(void)out;
	in->at--; /* no pad byte behind this code */
	version_len = rbuf_u8(in);
	version = rbuf_bytes(in, version_len);
	uam_len = rbuf_u8(in);
	uam = rbuf_bytes(in, uam_len);
	if (in->bad || version_len < 6 || memcmp(version, "AFP", 3))
		return AFP_ERR_BAD_VERSION;
	return uam_len == 15 && !memcmp(uam, "No User Authent", 15) ? AFP_ERR_OK : AFP_ERR_BAD_UAM;
}

static int32_t logout(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	(void)in;
	(void)out;
	volume_close_all(&p->volume);
	return AFP_ERR_OK;
}

static int32_t server_params(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	(void)p;
	in->bad = false;
	wbuf_u32(out, 0x32000000);
	wbuf_u8(out, 2);
	wbuf_u8(out, 0);
	wbuf_pascal(out, "Fake");
	wbuf_u8(out, 0);
	wbuf_pascal(out, "Other");
	return AFP_ERR_OK;
}

static int32_t open_volume(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	uint16_t bitmap = rbuf_u16(in);
	size_t len = rbuf_u8(in);
	const uint8_t *name = rbuf_bytes(in, len);

	if (in->bad || !(bitmap & 0x0020))
		return AFP_ERR_BAD_BITMAP;
	if (p->opened && len == 5 && !memcmp(name, "Other", 5))
		p->other_open = true;
	else if (len != 4 || memcmp(name, "Fake", 4))
		return AFP_ERR_NO_OBJECT;
	p->opened = true;
	wbuf_u16(out, bitmap);
	wbuf_u16(out, 0);
	wbuf_u16(out, len == 5 ? OTHER_ID : VOLUME_ID);
	return AFP_ERR_OK;
}

static int32_t close_volume(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	uint16_t id = rbuf_u16(in);

	(void)out;
	if (in->bad || !is_open(p, id))
		return AFP_ERR_BAD_PARAMETER;
	p->other_open &= id != OTHER_ID;
	return AFP_ERR_OK;
}

static int32_t volume_params(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	uint16_t id = rbuf_u16(in), bitmap = rbuf_u16(in);

	if (id != VOLUME_ID)
		peer_complain(p, "FPGetVolParms of another volume");
	wbuf_u16(out, bitmap);
	if (bitmap & AFP_VOLUME_ATTRIBUTES)
		wbuf_u16(out, p->keeps_backups ? AFP_ATTRIBUTE_BACKUPS : 0);
	if (bitmap == AFP_VOLUME_ROOM || bitmap == AFP_VOLUME_EXT_FREE)
		wbuf_u64(out, p->room);
	else
		wbuf_zero(out, bitmap == 0x0208 ? 12 : 0);
	return AFP_ERR_OK;
}

static int32_t create(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	struct object o = get_object(p, in);
	uint32_t id;

	(void)out;
	return in->bad ? AFP_ERR_BAD_PARAMETER
		       : volume_create(&p->volume, o.dir, o.name, false, &id);
}

static int32_t create_dir(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	struct object o = get_object(p, in);
	uint32_t id = 0;
	int32_t result;

	if (in->bad)
		return AFP_ERR_BAD_PARAMETER;
	result = volume_create(&p->volume, o.dir, o.name, true, &id);
	wbuf_u32(out, id);
	return result;
}

static int32_t delete_object(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	struct object o = get_object(p, in);

	(void)out;
	return in->bad ? AFP_ERR_BAD_PARAMETER : volume_delete(&p->volume, o.dir, o.name);
}

static int32_t get_params(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	uint16_t volume = rbuf_u16(in), bitmap[2];
	uint32_t dir = rbuf_u32(in);
	struct volume_node *n;
	char name[256];

	bitmap[0] = rbuf_u16(in);
	bitmap[1] = rbuf_u16(in);
	get_path(in, name);
	if (in->bad || !is_open(p, volume))
		return AFP_ERR_BAD_PARAMETER;
	n = volume_find(&p->volume, dir, name);
	if (!n)
		return AFP_ERR_NO_OBJECT;
	wbuf_u16(out, bitmap[0]);
	wbuf_u16(out, bitmap[1]);
	wbuf_u16(out, n->is_dir ? 0x8000 : 0);
	put_params(out, n, bitmap[n->is_dir]);
	return AFP_ERR_OK;
}

/* One entry: length, kind, parameters, padded to an even length. false: it does not fit. */
static bool put_entry(struct wbuf *out, const struct volume_node *n, uint16_t bitmap, bool wide)
{
	uint8_t *start = out->at;
	size_t len;

	if (wide) /* length and kind are followed by a byte each that is 0 */
		wbuf_u32(out, n->is_dir ? 0x00008000 : 0);
	else
		wbuf_u16(out, n->is_dir ? 0x0080 : 0);
	put_params(out, n, bitmap);
	if ((out->at - start) % 2)
		wbuf_u8(out, 0);
	if (out->bad) {
		out->at = start;
		return false;
	}
	len = (size_t)(out->at - start);
	if (wide)
		*start++ = (uint8_t)(len >> 8);
	*start = (uint8_t)len;
	return true;
}

/* Those from the start-th on; wide: of FPEnumerateExt2. */
struct listing {
	uint16_t bitmap[2];
	unsigned int count, start;
	bool wide;
};

static int32_t put_entries(struct wbuf *out, const struct volume_node *n, const struct listing *l)
{
	uint8_t *count_at;
	unsigned int done = 0, at = 0;

	wbuf_u16(out, l->bitmap[0]);
	wbuf_u16(out, l->bitmap[1]);
	count_at = wbuf_room(out, 2);
	for (; n && done < l->count && !out->bad; n = n->next) {
		if (!l->bitmap[n->is_dir] || ++at < l->start)
			continue;
		done += put_entry(out, n, l->bitmap[n->is_dir], l->wide);
	}
	if (!done)
		return out->bad ? AFP_ERR_BAD_PARAMETER : AFP_ERR_NO_OBJECT;
	out->bad = false;
	count_at[0] = (uint8_t)(done >> 8);
	count_at[1] = (uint8_t)done;
	return AFP_ERR_OK;
}

static int32_t list_entries(struct peer *p, struct rbuf *in, struct wbuf *out, bool wide)
{
	uint16_t volume = rbuf_u16(in);
	uint32_t dir = rbuf_u32(in), max;
	struct listing l = { .wide = wide };
	struct volume_node *n;
	struct wbuf room;
	int32_t result;
	char name[256];

	l.bitmap[0] = rbuf_u16(in);
	l.bitmap[1] = rbuf_u16(in);
	l.count = rbuf_u16(in);
	l.start = wide ? rbuf_u32(in) : rbuf_u16(in);
	max = wide ? rbuf_u32(in) : rbuf_u16(in);
	get_path(in, name);
	if (in->bad || volume != VOLUME_ID || !l.start || max < 6 || max > REPLY_MAX)
		return AFP_ERR_BAD_PARAMETER;
	n = volume_find(&p->volume, dir, name);
	if (!n)
		return AFP_ERR_NO_DIRECTORY;
	if (!n->is_dir)
		return AFP_ERR_WRONG_TYPE;
	if (!l.bitmap[0] && !l.bitmap[1])
		return AFP_ERR_BAD_BITMAP;
	room = wbuf_of(out->at, max);
	result = put_entries(&room, n->first, &l);
	out->at = room.at;
	return result;
}

static int32_t enumerate(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	return list_entries(p, in, out, false);
}

static int32_t enumerate_wide(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	return list_entries(p, in, out, true);
}

static int32_t open_fork(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	uint16_t volume = rbuf_u16(in), bitmap, access;
	uint32_t dir = rbuf_u32(in);
	struct volume_node *n;
	unsigned int fork = 0;
	int32_t result;
	char name[256];

	bitmap = rbuf_u16(in);
	access = rbuf_u16(in);
	get_path(in, name);
	if (in->bad || !is_open(p, volume))
		return AFP_ERR_BAD_PARAMETER;
	n = volume_find(&p->volume, dir, name);
	if (!n)
		return AFP_ERR_NO_OBJECT;
	result = volume_open(&p->volume, n, access, &fork);
	wbuf_u16(out, bitmap);
	wbuf_u16(out, (uint16_t)fork);
	put_params(out, n, bitmap);
	return result;
}

static int32_t fork_params(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	struct volume_node *n = volume_fork(&p->volume, rbuf_u16(in));
	uint16_t bitmap = rbuf_u16(in);

	if (!n || in->bad)
		return AFP_ERR_BAD_PARAMETER;
	wbuf_u16(out, bitmap);
	put_params(out, n, bitmap);
	return AFP_ERR_OK;
}

static int32_t set_fork_params(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	struct volume_node *n = volume_fork(&p->volume, rbuf_u16(in));
	uint16_t bitmap = rbuf_u16(in);
	uint64_t len = rbuf_uint(in, bitmap & 0x0800 ? 8 : 4);

	(void)out;
	if (!n || in->bad || rbuf_left(in) || len > INT64_MAX)
		return AFP_ERR_BAD_PARAMETER;
	if (bitmap != 0x0200 && bitmap != 0x0800)
		return AFP_ERR_BAD_BITMAP;
	n->len = len;
	return AFP_ERR_OK;
}

static int32_t flush_fork(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	(void)out;
	return volume_fork(&p->volume, rbuf_u16(in)) ? AFP_ERR_OK : AFP_ERR_BAD_PARAMETER;
}

static int32_t copy_file(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	uint16_t volume = rbuf_u16(in), to_volume;
	uint32_t dir = rbuf_u32(in), to_dir, id;
	char name[256], path[256], to_name[256];
	struct volume_node *n;
	int32_t result;

	(void)out;
	to_volume = rbuf_u16(in);
	to_dir = rbuf_u32(in);
	get_path(in, name);
	get_path(in, path);
	get_path(in, to_name);
	if (in->bad || *path || !is_open(p, volume) || !is_open(p, to_volume))
		return AFP_ERR_BAD_PARAMETER;
	n = volume_find(&p->volume, dir, name);
	if (!n)
		return AFP_ERR_NO_OBJECT;
	result = volume_create(&p->volume, to_dir, to_name, false, &id);
	if (!result)
		volume_find(&p->volume, to_dir, to_name)->len = n->len;
	return result;
}

static int32_t close_fork(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	(void)out;
	return volume_close(&p->volume, rbuf_u16(in));
}

static int32_t lock_range(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	bool unlock = in->at[-1] & 0x01;
	uint16_t fork = rbuf_u16(in);
	uint32_t offset = rbuf_u32(in), len = rbuf_u32(in);

	wbuf_u32(out, offset);
	return in->bad ? AFP_ERR_BAD_PARAMETER : volume_lock(&p->volume, fork, unlock, offset, len);
}

static int32_t write_fork(struct peer *p, struct rbuf *in, struct wbuf *out, size_t width)
{
	unsigned int fork = rbuf_u16(in);
	struct volume_node *n = volume_fork(&p->volume, fork);
	uint64_t offset = rbuf_uint(in, width), len = rbuf_uint(in, width), end = offset + len;

	if (!n || in->bad)
		return AFP_ERR_BAD_PARAMETER;
	if (!(p->volume.fork[fork - 1].access & AFP_WRITE))
		return AFP_ERR_ACCESS_DENIED;
	if (end > n->len)
		n->len = end;
	wbuf_uint(out, end, width);
	return AFP_ERR_OK;
}

static int32_t write32(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	return write_fork(p, in, out, 4);
}

static int32_t write64(struct peer *p, struct rbuf *in, struct wbuf *out)
{
	return write_fork(p, in, out, 8);
}

/* Reads have replies of any length: not through a wbuf. */
static void read_fork(struct peer *p, struct rbuf *in, struct peer_reply *out, size_t width)
{
	unsigned int fork = rbuf_u16(in);
	struct volume_node *n = volume_fork(&p->volume, fork);
	uint64_t offset = rbuf_uint(in, width), len = rbuf_uint(in, width), there;

	if (!n || in->bad) {
		peer_reply_set(out, AFP_ERR_BAD_PARAMETER, NULL, 0);
		return;
	}
	there = offset < n->len ? n->len - offset : 0;
	if (there >= len)
		peer_reply_set(out, AFP_ERR_OK, NULL, len);
	else
		peer_reply_set(out, AFP_ERR_END_OF_FILE, NULL, there);
}

static void give(struct rbuf *in, struct peer_reply *out)
{
	uint8_t seed = in->at[-1];
	uint32_t len = rbuf_u32(in);

	peer_reply_set(out, AFP_ERR_OK, NULL, len);
	for (size_t i = 0; i < len; i++)
		out->frame[16 + i] = peer_byte(seed, i);
}

static void take(const struct peer_request *q, struct peer_reply *out)
{
	uint8_t payload[8];
	struct wbuf b = wbuf_of(payload, sizeof(payload));

	wbuf_u32(&b, (uint32_t)q->data_len);
	wbuf_u32(&b, (uint32_t)q->data_bad);
	peer_reply_set(out, AFP_ERR_OK, payload, sizeof(payload));
}

static int32_t (*const commands[256])(struct peer *p, struct rbuf *in, struct wbuf *out) = {
	[AFP_ByteRangeLock] = lock_range,
	[AFP_CloseVol] = close_volume,
	[AFP_CloseFork] = close_fork,
	[AFP_CopyFile] = copy_file,
	[AFP_CreateDir] = create_dir,
	[AFP_CreateFile] = create,
	[AFP_Delete] = delete_object,
	[AFP_Enumerate] = enumerate,
	[AFP_EnumerateExt2] = enumerate_wide,
	[AFP_FlushFork] = flush_fork,
	[AFP_GetForkParms] = fork_params,
	[AFP_GetSrvrParms] = server_params,
	[AFP_GetVolParms] = volume_params,
	[AFP_Login] = login,
	[AFP_Logout] = logout,
	[AFP_OpenVol] = open_volume,
	[AFP_OpenFork] = open_fork,
	[AFP_SetForkParms] = set_fork_params,
	[AFP_Write] = write32,
	[AFP_GetFileDirParms] = get_params,
	[AFP_WriteExt] = write64,
};

void peer_execute(struct peer *p, const struct peer_request *q, struct peer_reply *out)
{
	uint8_t code = q->command[0], payload[REPLY_MAX];
	struct rbuf in = rbuf_of(q->command, q->len);
	struct wbuf b = wbuf_of(payload, sizeof(payload));
	int32_t result;

	rbuf_u8(&in);
	rbuf_u8(&in); /* flags or pad, where there are any */
	if (code == PEER_GIVE) {
		give(&in, out);
	} else if (code == PEER_TAKE) {
		take(q, out);
	} else if (code == AFP_Read || code == AFP_ReadExt) {
		read_fork(p, &in, out, code == AFP_Read ? 4 : 8);
	} else if (!commands[code]) {
		peer_complain(p, "AFP command %u", code);
		peer_reply_set(out, AFP_ERR_NOT_SUPPORTED, NULL, 0);
	} else {
		result = commands[code](p, &in, &b);
		peer_reply_set(out, result, payload, result ? 0 : (size_t)(b.at - payload));
	}
}
