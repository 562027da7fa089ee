/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands by their layouts, which are those of records of operations (bpf/operations.h). */
#include "afp/again.h"

#define RESOURCE_FORK 0x80
#define SEARCH_PART   0x80000000u
#define DATE          0x2cb41780u /* 23 years and some months after 2000 */
#define ALL_RIGHTS    0x07070707u /* of all kinds of users */
/* Attributes that keep a file or directory from being written, renamed or deleted: it must be
 * possible to remove it afterwards. */
#define INHIBITS (0x0020 | 0x0080 | 0x0100)

struct again_walk {
	struct wbuf b;
	const uint8_t *begin; /* of the command, with its number */
	const struct afp *a;
	const struct afp_again *w;
};

/* ---- names ---- */

static const char *again_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* On the wire a 0 stands between components. */
static void again_put_path(struct again_walk *x, const char *path, size_t len)
{
	char name[DSI_COMMAND_MAX];

	if (len >= sizeof(name)) {
		x->b.bad = true;
		return;
	}
	memcpy(name, path, len);
	name[len] = '\0';
	afp_path_put(&x->b, x->a->path_type, name);
	/* Not in what is before the name: its length may be 47, which is a '/', too. */
	for (uint8_t *at = x->b.at - len; !x->b.bad && at < x->b.at; at++)
		if (*at == '/')
			*at = 0;
}

static void again_pad(struct again_walk *x)
{
	if ((x->b.at - x->begin) % 2)
		wbuf_u8(&x->b, 0);
}

static void again_put_name(struct again_walk *x, char field)
{
	const char *to = x->w->to_path ? x->w->to_path : "";
	const size_t len = strlen(to), last = strlen(again_last(to));

	switch (field) {
	case 'p':
		again_put_path(x, x->w->path, strlen(x->w->path));
		break;
	case 'P':
		again_put_path(x, to, len);
		break;
	case 'q':
		again_put_path(x, to, len > last ? len - last - 1 : 0);
		break;
	case 'r':
		again_put_path(x, again_last(to), last);
		break;
	default: /* x */
		again_pad(x);
		wbuf_u16(&x->b, (uint16_t)len);
		wbuf_bytes(&x->b, to, len);
	}
}

/* ---- what is set, and searched for ---- */

/* Values are made up; but for permission bits. */
static void again_put_set(struct again_walk *x)
{
	const struct afp_again *w = x->w;
	const bool is_dir = w->command == AFP_SetDirParms;

	again_pad(x);
	if (w->bitmap & AFP_BIT_ATTRIBUTES)
		wbuf_u16(&x->b, w->flags & (uint16_t)~INHIBITS);
	for (unsigned int bit = AFP_BIT_CREATED; bit <= AFP_BIT_BACKUP; bit <<= 1)
		if (w->bitmap & bit)
			wbuf_u32(&x->b, DATE);
	if (w->bitmap & AFP_BIT_FINDER)
		for (unsigned int i = 0; i < AFP_FINDER_LEN; i++)
			wbuf_u8(&x->b, w->which && i < 8 ? 'x' : 0);
	if (is_dir && w->bitmap & AFP_BIT_RSRC_LEN)
		wbuf_u32(&x->b, UINT32_MAX);
	if (is_dir && w->bitmap & AFP_BIT_DATA_EXT)
		wbuf_u32(&x->b, UINT32_MAX);
	if (is_dir && w->bitmap & AFP_BIT_ACCESS)
		wbuf_u32(&x->b, ALL_RIGHTS);
	if (w->bitmap & AFP_BIT_NAME)
		wbuf_zero(&x->b, 6);
	if (!(w->bitmap & AFP_BIT_UNIX))
		return;
	wbuf_u32(&x->b, UINT32_MAX);
	wbuf_u32(&x->b, UINT32_MAX);
	wbuf_u32(&x->b, (uint32_t)w->length);
	wbuf_u32(&x->b, 0);
}

/* A name that nothing has, in lower and upper limit alike: the whole volume is searched. */
static void again_put_criteria(struct again_walk *x)
{
	static const char name[] = "zqzqzq";
	const struct afp_again *w = x->w;
	const bool wide = w->command == AFP_CatSearchExt, utf8 = w->flags == AFP_BIT_NAME;
	const size_t len = 2 + (utf8 ? 6 : 1) + sizeof(name) - 1;

	wbuf_u32(&x->b, (w->which ? SEARCH_PART : 0) | w->flags);
	x->b.bad |= !afp_again_can_search(w->flags);
	for (unsigned int i = 0; i < 2; i++) {
		wbuf_uint(&x->b, len + len % 2, wide ? 2 : 1);
		if (!wide)
			wbuf_u8(&x->b, 0);
		wbuf_u16(&x->b, 2); /* where the name is, behind this number */
		afp_name_put(&x->b, utf8 ? 3 : 2, name);
		wbuf_zero(&x->b, len % 2);
	}
}

static void again_put_more(struct again_walk *x, char field)
{
	const struct afp_again *w = x->w;

	switch (field) {
	case 'e':
		again_put_set(x);
		break;
	case 'h': /* a comment, of made-up letters */
		again_pad(x);
		wbuf_u8(&x->b, (uint8_t)w->length);
		for (uint64_t i = 0; i < (uint8_t)w->length; i++)
			wbuf_u8(&x->b, 'x');
		break;
	case 'y':
		wbuf_bytes(&x->b, w->place, AFP_PLACE_LEN);
		break;
	case 'u':
		again_put_criteria(x);
		break;
	default:
		again_put_name(x, field);
	}
}

/* ---- numbers ---- */

static size_t again_length_len(uint16_t bitmap)
{
	return bitmap & (AFP_BIT_DATA_EXT | AFP_BIT_RSRC_EXT) ? 8 : 4;
}

static void again_put_range(struct again_walk *x, char field)
{
	const struct afp_again *w = x->w;

	switch (field) {
	case 'o':
	case 'S':
		wbuf_u32(&x->b, (uint32_t)w->offset);
		break;
	case 'O':
		wbuf_u64(&x->b, w->offset);
		break;
	case 's':
		wbuf_u16(&x->b, (uint16_t)w->offset);
		break;
	case 'l':
	case 'N':
		wbuf_u32(&x->b, (uint32_t)w->length);
		break;
	case 'L':
		wbuf_u64(&x->b, w->length);
		break;
	case 'n':
		wbuf_u16(&x->b, (uint16_t)w->length);
		break;
	case 'z':
		wbuf_uint(&x->b, w->length, again_length_len(w->bitmap));
		break;
	case 'm':
		wbuf_u16(&x->b, (uint16_t)w->room);
		break;
	case 'M':
		wbuf_u32(&x->b, w->room);
		break;
	default:
		again_put_more(x, field);
	}
}

static void again_put(struct again_walk *x, char field)
{
	const struct afp_again *w = x->w;

	switch (field) {
	case '.':
		wbuf_u8(&x->b, 0);
		break;
	case '_': /* of FPGetExtAttr: as many bytes as there are */
		wbuf_u32(&x->b, w->command == AFP_GetExtAttr ? UINT32_MAX : 0);
		break;
	case 'F':
		wbuf_u8(&x->b, (uint8_t)w->flags);
		break;
	case 'a':
		wbuf_u16(&x->b, w->flags);
		break;
	case 'w':
		wbuf_u8(&x->b, w->which ? RESOURCE_FORK : 0);
		break;
	case 'v':
	case 'V':
		wbuf_u16(&x->b, x->a->volume);
		break;
	case 'd':
		wbuf_u32(&x->b, w->dir);
		break;
	case 'D':
		wbuf_u32(&x->b, w->to_dir);
		break;
	case 'i':
		wbuf_u32(&x->b, w->id);
		break;
	case 'b':
		wbuf_u16(&x->b, w->bitmap);
		break;
	case 'B':
		wbuf_u16(&x->b, w->dir_bitmap);
		break;
	case 'k':
		wbuf_u16(&x->b, w->fork);
		break;
	default:
		again_put_range(x, field);
	}
}

bool afp_prep_again(struct afp_op *op, const struct afp *a, const struct afp_again *what, void *buf,
		    size_t cap)
{
	uint8_t *begin = op->dsi.wire + DSI_HEADER_LEN;
	struct again_walk x = {
		.b = wbuf_of(begin, DSI_COMMAND_MAX), .begin = begin, .a = a, .w = what
	};
	const bool writes = what->command == AFP_Write || what->command == AFP_WriteExt;
	const bool carries = writes || what->command == AFP_SetExtAttr;

	op->code = what->command;
	op->dsi.command = writes ? DSI_WRITE : DSI_COMMAND;
	op->dsi.data = carries ? what->data : NULL;
	op->dsi.data_len = carries ? what->length : 0;
	op->dsi.reply = buf ? buf : op->reply;
	op->dsi.reply_cap = buf ? cap : sizeof(op->reply);
	op->dsi.discard = false;
	wbuf_u8(&x.b, what->command);
	for (const char *field = what->layout; *field; field++)
		again_put(&x, *field);
	if (what->command == AFP_Read)
		wbuf_u16(&x.b, 0); /* no newline mask */
	op->dsi.len = (size_t)(x.b.at - begin);
	return !x.b.bad;
}
