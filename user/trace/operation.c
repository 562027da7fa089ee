/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layouts, a letter for each field: see AFS_OPERATIONS in bpf/operations.h. */
#include "trace/operation.h"

#include "base/buf.h"
#include "trace/path.h"

/* AFP reference. */
#define RENAME        28
#define SET_DIR_PARMS 29
#define PATH_UTF8     3
#define RESOURCE_FORK 0x80
#define FROM_END      0x80 /* of writes and locks: the offset is from the end of the file */
#define IS_DIR        0x80
#define BIT_ATTRIBUTE 0
#define BIT_FINDER    5
#define BIT_ID        8
#define BIT_DATA_LEN  9
#define BIT_DATA_EXT  11
#define BIT_RSRC_EXT  14
#define BIT_UNIX      15
#define UNIX_MODE     8 /* in what that bit stands for */
#define PART_OF_NAME  0x80000000u
#define PLACE_LEN     16
#define VOLUME_BIT_ID 5

static const struct {
	const char *request, *reply;
	uint8_t copied, reply_copied;
} layouts[256] = {
#define X(number, request, reply, request_layout, reply_layout)                                    \
	[number] = { request_layout, reply_layout, request, reply },
	AFS_OPERATIONS(X)
#undef X
};

/* Bytes of what a bitmap says of a file (0), a directory (1) and a volume, before variable parts.
 */
static const uint8_t param_len[2][16] = {
	{ 2, 4, 4, 4, 4, 32, 2, 2, 4, 4, 4, 8, 2, 6, 8, 16 },
	{ 2, 4, 4, 4, 4, 32, 2, 2, 4, 2, 4, 4, 4, 6, 0, 16 },
};
static const uint8_t volume_len[16] = { 2, 2, 4, 4, 4, 2, 4, 4, 2, 8, 8, 4 };

struct layout_walk {
	struct rbuf b;
	const uint8_t *begin;
	struct names *names;
	struct afs_record_operations *r;
	struct path path, path2;
	bool two;       /* there is a second path */
	uint16_t shown; /* the reply's bitmap */
};

static const char *layout_of(uint16_t command, bool reply)
{
	const char *text = NULL;

	if (command < sizeof(layouts) / sizeof(layouts[0]))
		text = reply ? layouts[command].reply : layouts[command].request;
	return text ? text : "";
}

/* ---- requests ---- */

static void layout_path(struct layout_walk *w, struct path *p)
{
	const bool utf8 = rbuf_u8(&w->b) == PATH_UTF8;
	const uint8_t *name;
	size_t len;

	if (utf8)
		rbuf_u32(&w->b);
	len = utf8 ? rbuf_u16(&w->b) : rbuf_u8(&w->b);
	name = rbuf_bytes(&w->b, len);
	if (name)
		path_add(p, name, len, utf8);
}

/* Without a new name it keeps its own. Renamed, it stays in its folder. */
static void layout_new_name(struct layout_walk *w)
{
	unsigned int depth;

	if (w->r->command == RENAME) {
		w->r->dir2 = w->r->dir;
		w->path2 = w->path;
		path_up(&w->path2);
	}
	depth = w->path2.depth;
	layout_path(w, &w->path2);
	if (w->path2.depth == depth)
		path_add_last(&w->path2, &w->path);
}

/* What is next begins at an even offset of the command, whose number is not in these bytes. */
static void layout_pad(struct layout_walk *w)
{
	if ((w->b.at - w->begin) % 2 == 0)
		rbuf_u8(&w->b);
}

static void layout_attribute(struct layout_walk *w)
{
	const uint8_t *name;
	size_t len;

	layout_pad(w);
	len = rbuf_u16(&w->b);
	name = rbuf_bytes(&w->b, len);
	if (name)
		path_add(&w->path2, name, len, true);
	w->two = true;
}

static void layout_name(struct layout_walk *w, char field)
{
	w->two |= field != 'p';
	switch (field) {
	case 'p':
		layout_path(w, &w->path);
		break;
	case 'r':
		layout_new_name(w);
		break;
	case 'x':
		layout_attribute(w);
		break;
	default:
		layout_path(w, &w->path2);
		break;
	}
}

static uint64_t layout_offset(struct layout_walk *w, size_t len)
{
	const uint64_t v = rbuf_uint(&w->b, len);

	return len == 4 && w->r->flags & FROM_END ? (uint64_t)(int32_t)(uint32_t)v : v;
}

static bool any_byte(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; bytes && i < len; i++)
		if (bytes[i])
			return true;
	return false;
}

/* What is set of a file or directory: only attributes, permission bits, and whether there are data
 * of Finder; of what was not copied, nothing. */
static void layout_set(struct layout_walk *w)
{
	struct afs_record_operations *r = w->r;
	const bool is_dir = r->command == SET_DIR_PARMS;
	struct rbuf all, b;

	layout_pad(w);
	all = w->b;
	for (unsigned int bit = 0; bit < 16; bit++) {
		const size_t len = r->bitmap & 1u << bit ? param_len[is_dir][bit] : 0;
		const uint8_t *bytes = rbuf_bytes(&all, len);

		if (!bytes || !len)
			continue;
		b = rbuf_of(bytes, len);
		if (bit == BIT_ATTRIBUTE)
			r->flags = rbuf_u16(&b);
		if (bit == BIT_FINDER)
			r->which = any_byte(bytes, len);
		if (bit == BIT_UNIX) {
			rbuf_bytes(&b, UNIX_MODE);
			r->length = rbuf_u32(&b);
		}
	}
}

/* Of a search: whether it goes on from another, and what its two criteria are about. */
static void layout_search(struct layout_walk *w, char field)
{
	uint32_t bits;

	if (field == 'y') {
		w->r->offset = any_byte(rbuf_bytes(&w->b, PLACE_LEN), PLACE_LEN);
		return;
	}
	bits = rbuf_u32(&w->b);
	w->r->flags = (uint16_t)bits;
	w->r->which = bits & PART_OF_NAME ? 1 : 0;
}

/* What a fork's new length takes. */
static size_t length_len(uint16_t bitmap)
{
	return bitmap & (1u << BIT_DATA_EXT | 1u << BIT_RSRC_EXT) ? 8 : 4;
}

static void layout_more(struct layout_walk *w, char field)
{
	switch (field) {
	case 'e':
		layout_set(w);
		break;
	case 'h':
		layout_pad(w);
		w->r->length = rbuf_u8(&w->b);
		break;
	case 'u':
	case 'y':
		layout_search(w, field);
		break;
	default:
		layout_name(w, field);
		break;
	}
}

static void layout_range(struct layout_walk *w, char field)
{
	struct afs_record_operations *r = w->r;
	struct rbuf *b = &w->b;

	switch (field) {
	case 'o':
	case 'O':
		r->offset = layout_offset(w, field == 'o' ? 4 : 8);
		break;
	case 'l':
	case 'L':
		r->length = rbuf_uint(b, field == 'l' ? 4 : 8);
		break;
	case 'z':
		r->length = rbuf_uint(b, length_len(r->bitmap));
		break;
	case 'n':
	case 'N':
		r->length = rbuf_uint(b, field == 'n' ? 2 : 4);
		break;
	case 's':
	case 'S':
		r->offset = rbuf_uint(b, field == 's' ? 2 : 4);
		break;
	case 'm':
	case 'M':
		r->room = (uint32_t)rbuf_uint(b, field == 'm' ? 2 : 4);
		break;
	case 'F':
		r->flags = rbuf_u8(b);
		break;
	case 'a':
		r->flags = rbuf_u16(b);
		break;
	default:
		layout_more(w, field);
		break;
	}
}

static void layout_field(struct layout_walk *w, char field)
{
	struct afs_record_operations *r = w->r;
	struct rbuf *b = &w->b;

	switch (field) {
	case '.':
		rbuf_u8(b);
		break;
	case '_':
		rbuf_u32(b);
		break;
	case 'w':
		r->which = rbuf_u8(b) & RESOURCE_FORK ? 1 : 0;
		break;
	case 'v':
		r->volume = rbuf_u16(b);
		break;
	case 'V':
		r->volume2 = rbuf_u16(b);
		break;
	case 'd':
		r->dir = names_id(w->names, rbuf_u32(b));
		break;
	case 'D':
		r->dir2 = names_id(w->names, rbuf_u32(b));
		break;
	case 'i':
		r->id = names_id(w->names, rbuf_u32(b));
		break;
	case 'b':
		r->bitmap = rbuf_u16(b);
		break;
	case 'B':
		r->bitmap2 = rbuf_u16(b);
		break;
	case 'k':
		r->fork = rbuf_u16(b);
		break;
	default:
		layout_range(w, field);
		break;
	}
}

static void tell_paths(const struct layout_walk *w)
{
	struct afs_record_operations *r = w->r;
	const struct path_fields first = { &r->name,  &r->parent,    &r->name_len,
					   &r->depth, &r->name_kind, &r->ext_len };
	const struct path_fields second = { &r->name2,  &r->parent2,    &r->name2_len,
					    &r->depth2, &r->name2_kind, &r->ext2_len };

	path_tell(&w->path, w->names, &first);
	if (w->two && !w->b.bad)
		path_tell(&w->path2, w->names, &second);
	if (w->b.bad || w->path.bad || (w->two && w->path2.bad))
		r->marks |= AFS_MARK_ARGUMENTS;
}

void operation_request(struct afs_record_operations *r, struct names *names, const uint8_t *bytes,
		       size_t have, size_t len)
{
	struct layout_walk w = {
		.b = rbuf_of(bytes, have), .begin = bytes, .names = names, .r = r
	};

	r->size = AFS_SIZE_UNKNOWN;
	for (const char *field = layout_of(r->command, false); *field && !w.b.bad; field++)
		layout_field(&w, *field);
	tell_paths(&w);
	if (w.b.bad && have < len && have >= AFS_NAMED_LEN)
		r->marks |= AFS_MARK_CUT;
	if (!r->volume2 && (w.path2.depth || r->dir2))
		r->volume2 = r->volume;
}

size_t operation_wants(uint16_t command, size_t len)
{
	size_t most = command < sizeof(layouts) / sizeof(layouts[0]) ? layouts[command].copied : 0;

	most = most == AFS_COPY_NAMES   ? AFS_COMMAND_LEN
	       : most == AFS_COPY_BEGIN ? AFS_NAMED_LEN
					: most;
	if (!len)
		return 0;
	return len - 1 < most ? len - 1 : most;
}

/* ---- replies ---- */

/* What a bitmap says of a file or a directory, as far as it was copied. */
static void layout_params(struct layout_walk *w, uint16_t bitmap, bool is_dir)
{
	struct rbuf *b = &w->b;
	uint64_t v = 0;

	for (unsigned int bit = 0; bit < 16; bit++) {
		if (!(bitmap & 1u << bit))
			continue;
		if (bit == BIT_FINDER)
			rbuf_bytes(b, param_len[0][bit]);
		else if (param_len[is_dir][bit] <= 8)
			v = rbuf_uint(b, param_len[is_dir][bit]);
		if (b->bad)
			return;
		if (bit == BIT_ID)
			w->r->id = names_id(w->names, (uint32_t)v);
		if (!is_dir && (bit == BIT_DATA_LEN || bit == BIT_DATA_EXT))
			w->r->size = v;
	}
}

static void layout_volume(struct layout_walk *w)
{
	uint64_t v = 0;

	for (unsigned int bit = 0; bit <= VOLUME_BIT_ID; bit++)
		if (w->shown & 1u << bit)
			v = rbuf_uint(&w->b, volume_len[bit]);
	if (w->shown & 1u << VOLUME_BIT_ID && !w->b.bad)
		w->r->volume = (uint16_t)v;
}

static void layout_either(struct layout_walk *w)
{
	const uint16_t files = rbuf_u16(&w->b), dirs = rbuf_u16(&w->b);
	const bool is_dir = rbuf_u8(&w->b) & IS_DIR;

	rbuf_u8(&w->b);
	layout_params(w, is_dir ? dirs : files, is_dir);
}

static void layout_answer(struct layout_walk *w, char field)
{
	switch (field) {
	case '2':
	case '4':
	case '8':
		w->r->actual = rbuf_uint(&w->b, (size_t)(field - '0'));
		break;
	case 'c':
		w->shown = rbuf_u16(&w->b);
		break;
	case 'f':
		layout_params(w, w->shown, false);
		break;
	case 'v':
		layout_volume(w);
		break;
	case 'g':
		layout_either(w);
		break;
	default:
		layout_field(w, field);
		break;
	}
}

void operation_reply(struct afs_record_operations *r, struct names *names, const uint8_t *bytes,
		     size_t have)
{
	struct layout_walk w = {
		.b = rbuf_of(bytes, have), .begin = bytes, .names = names, .r = r
	};

	for (const char *field = layout_of(r->command, true); *field && !w.b.bad; field++)
		layout_answer(&w, *field);
}

size_t operation_reply_wants(uint16_t command, size_t len)
{
	const size_t n = sizeof(layouts) / sizeof(layouts[0]);
	const size_t most = command < n ? layouts[command].reply_copied : 0;

	return len < most ? len : most;
}

bool operation_expects(uint16_t command)
{
	return *layout_of(command, true);
}
