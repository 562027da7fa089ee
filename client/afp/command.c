/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AFP commands on names, directories, forks: encode into an op, decode its reply. session.c sends
 * them. Layouts: AFP 3.x reference, one function per command.
 */
#include "afp/afp.h"

#define FLAG_UNLOCK    0x01
#define DATA_FORK      0
#define SOFT_CREATE    0
#define ENUM_PATH_TYPE 2           /* like the reference workloads: a long name, empty */
#define LEVEL_3_1      4           /* brought FPEnumerateExt2 */
#define SEARCH_PART    0x80000000u /* of a search: the name has this part */
/* Bytes of a search's reply before its results, and of the longest one: head, parent, name. */
#define FOUND_HEAD 24
#define FOUND_MAX  (4 + 4 + 12 + AFP_NAME_MAX + 1)

/* What a list shows of files and directories alike. */
#define SHOWN                                                                                      \
	(AFP_BIT_ATTRIBUTES | AFP_BIT_CREATED | AFP_BIT_MODIFIED | AFP_BIT_FINDER | AFP_BIT_ID)

/* Begins a command; its reply goes into the op itself unless the caller says otherwise. */
static struct wbuf command_begin(struct afp_op *op, enum afp_command code)
{
	struct wbuf b = wbuf_of(op->dsi.wire + DSI_HEADER_LEN, DSI_COMMAND_MAX);

	op->code = (uint8_t)code;
	op->dsi.command = DSI_COMMAND;
	op->dsi.data = NULL;
	op->dsi.data_len = 0;
	op->dsi.reply = op->reply;
	op->dsi.reply_cap = sizeof(op->reply);
	op->dsi.discard = false;
	wbuf_u8(&b, op->code);
	return b;
}

/* DSI_COMMAND_MAX holds the longest command that fits the documented name length. */
static void command_end(struct afp_op *op, const struct wbuf *b)
{
	op->dsi.len = (size_t)(b->at - (op->dsi.wire + DSI_HEADER_LEN));
}

static void put_object(struct wbuf *b, const struct afp *a, uint32_t dir)
{
	wbuf_u16(b, a->volume);
	wbuf_u32(b, dir);
}

static void prep_named(struct afp_op *op, enum afp_command code, const struct afp *a, uint32_t dir,
		       const char *name)
{
	struct wbuf b = command_begin(op, code);

	wbuf_u8(&b, 0);
	put_object(&b, a, dir);
	afp_path_put(&b, a->path_type, name);
	command_end(op, &b);
}

/* A command with only a fork reference or a volume id. */
static void prep_with_ref(struct afp_op *op, enum afp_command code, uint16_t ref)
{
	struct wbuf b = command_begin(op, code);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, ref);
	command_end(op, &b);
}

void afp_prep_create_file(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name)
{
	_Static_assert(SOFT_CREATE == 0, "the flag byte of prep_named");
	prep_named(op, AFP_CreateFile, a, dir, name);
}

void afp_prep_create_dir(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name)
{
	prep_named(op, AFP_CreateDir, a, dir, name);
}

void afp_prep_delete(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name)
{
	prep_named(op, AFP_Delete, a, dir, name);
}

void afp_prep_get_params(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			 uint16_t file_bitmap, uint16_t dir_bitmap)
{
	struct wbuf b = command_begin(op, AFP_GetFileDirParms);

	wbuf_u8(&b, 0);
	put_object(&b, a, dir);
	wbuf_u16(&b, file_bitmap);
	wbuf_u16(&b, dir_bitmap);
	afp_path_put(&b, a->path_type, name);
	command_end(op, &b);
}

void afp_prep_get_volume(struct afp_op *op, const struct afp *a, uint16_t bitmap)
{
	struct wbuf b = command_begin(op, AFP_GetVolParms);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, a->volume);
	wbuf_u16(&b, bitmap);
	command_end(op, &b);
}

void afp_prep_close_volume(struct afp_op *op, uint16_t id)
{
	prep_with_ref(op, AFP_CloseVol, id);
}

void afp_prep_copy_file(struct afp_op *op, const struct afp *a, const struct afp_copy *what)
{
	struct wbuf b = command_begin(op, AFP_CopyFile);

	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	wbuf_u16(&b, what->to_volume);
	wbuf_u32(&b, what->to_dir);
	afp_path_put(&b, a->path_type, what->name);
	afp_path_put(&b, a->path_type, ""); /* to_dir itself */
	afp_path_put(&b, a->path_type, what->to_name);
	command_end(op, &b);
}

static bool lists_wide(const struct afp *a)
{
	return a->level >= LEVEL_3_1;
}

void afp_prep_enumerate(struct afp_op *op, const struct afp *a, const struct afp_enumerate *what,
			uint8_t buf[static AFP_ENUMERATE_MAX])
{
	const bool wide = what->newest && lists_wide(a);
	struct wbuf b = command_begin(op, wide ? AFP_EnumerateExt2 : AFP_Enumerate);

	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	wbuf_u16(&b, what->file_bitmap);
	wbuf_u16(&b, what->dir_bitmap);
	wbuf_u16(&b, what->count);
	wbuf_uint(&b, what->start, wide ? 4 : 2);
	wbuf_uint(&b, AFP_ENUMERATE_MAX, wide ? 4 : 2);
	afp_path_put(&b, wide ? a->path_type : ENUM_PATH_TYPE, "");
	command_end(op, &b);
	op->dsi.reply = buf;
	op->dsi.reply_cap = AFP_ENUMERATE_MAX;
}

void afp_prep_rename(struct afp_op *op, const struct afp *a, const struct afp_copy *what)
{
	bool moves = what->dir != what->to_dir;
	struct wbuf b = command_begin(op, moves ? AFP_MoveAndRename : AFP_Rename);

	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	if (moves)
		wbuf_u32(&b, what->to_dir);
	afp_path_put(&b, a->path_type, what->name);
	if (moves)
		afp_path_put(&b, a->path_type, ""); /* to_dir itself */
	afp_path_put(&b, a->path_type, what->to_name);
	command_end(op, &b);
}

/* What follows a path begins at an even offset of the command. */
static void pad(struct wbuf *b, const struct afp_op *op)
{
	if ((b->at - (op->dsi.wire + DSI_HEADER_LEN)) % 2)
		wbuf_u8(b, 0);
}

void afp_prep_set_modified(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			   uint64_t when_s)
{
	struct wbuf b = command_begin(op, AFP_SetFileDirParms);

	wbuf_u8(&b, 0);
	put_object(&b, a, dir);
	wbuf_u16(&b, AFP_BIT_MODIFIED);
	afp_path_put(&b, a->path_type, name);
	pad(&b, op);
	wbuf_u32(&b, (uint32_t)(when_s - AFP_EPOCH_S));
	command_end(op, &b);
}

/* UNIX privileges are uid, gid, mode and the caller's own rights, which the server ignores. */
void afp_prep_set_mode(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
		       unsigned int mode)
{
	struct wbuf b = command_begin(op, AFP_SetFileDirParms);

	wbuf_u8(&b, 0);
	put_object(&b, a, dir);
	wbuf_u16(&b, AFP_BIT_UNIX);
	afp_path_put(&b, a->path_type, name);
	pad(&b, op);
	wbuf_u32(&b, UINT32_MAX);
	wbuf_u32(&b, UINT32_MAX);
	wbuf_u32(&b, mode);
	wbuf_u32(&b, 0);
	command_end(op, &b);
}

static void put_attr_name(struct wbuf *b, const struct afp_op *op, const struct afp *a,
			  const struct afp_xattr *what)
{
	size_t len = strlen(what->attr);

	afp_path_put(b, a->path_type, what->name);
	pad(b, op);
	wbuf_u16(b, (uint16_t)len);
	wbuf_bytes(b, what->attr, len);
}

/* Offset and count are ignored by netatalk, the length of the reply is not. */
void afp_prep_get_xattr(struct afp_op *op, const struct afp *a, const struct afp_xattr *what,
			void *buf, uint32_t len)
{
	struct wbuf b = command_begin(op, AFP_GetExtAttr);

	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	wbuf_u16(&b, 0); /* bitmap */
	wbuf_u64(&b, 0); /* offset */
	wbuf_u64(&b, UINT64_MAX);
	wbuf_u32(&b, AFP_XATTR_HEAD + len);
	put_attr_name(&b, op, a, what);
	command_end(op, &b);
	op->dsi.reply = buf;
	op->dsi.reply_cap = AFP_XATTR_HEAD + len;
}

void afp_prep_set_xattr(struct afp_op *op, const struct afp *a, const struct afp_xattr *what,
			const void *data, uint32_t len)
{
	struct wbuf b = command_begin(op, AFP_SetExtAttr);

	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	wbuf_u16(&b, 0); /* bitmap */
	wbuf_u64(&b, 0); /* offset */
	put_attr_name(&b, op, a, what);
	wbuf_u32(&b, len);
	command_end(op, &b);
	/* the value is the end of the command, not data of DSIWrite */
	op->dsi.data = data;
	op->dsi.data_len = len;
}

uint32_t afp_list_max(const struct afp *a)
{
	return lists_wide(a) ? INT32_MAX : UINT16_MAX;
}

void afp_prep_list(struct afp_op *op, const struct afp *a, const struct afp_list *what)
{
	const bool utf8 = a->path_type == 3, wide = lists_wide(a);
	const uint32_t len = wide || what->len < INT16_MAX ? what->len : INT16_MAX;
	uint16_t file = utf8 ? AFP_BIT_NAME : AFP_BIT_LONG_NAME, dirs = file;
	struct wbuf b = command_begin(op, wide   ? AFP_EnumerateExt2
					  : utf8 ? AFP_EnumerateExt
						 : AFP_Enumerate);

	if (what->with_attrs) {
		file |= SHOWN | (utf8 ? AFP_BIT_DATA_EXT | AFP_BIT_RSRC_EXT | AFP_BIT_UNIX
				      : AFP_BIT_DATA_LEN | AFP_BIT_RSRC_LEN);
		dirs |= SHOWN | AFP_BIT_DATA_LEN | AFP_BIT_ACCESS | (utf8 ? AFP_BIT_UNIX : 0);
	}
	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	wbuf_u16(&b, file);
	wbuf_u16(&b, dirs);
	wbuf_u16(&b, INT16_MAX); /* entries: as many as fit */
	wbuf_uint(&b, what->start, wide ? 4 : 2);
	wbuf_uint(&b, len, wide ? 4 : 2);
	afp_path_put(&b, a->path_type, "");
	command_end(op, &b);
	op->dsi.reply = what->buf;
	op->dsi.reply_cap = len;
}

/* What a name is to have: where it is, and then itself. Of the upper limits it is empty. */
static void put_criterion(struct wbuf *b, const struct afp *a, const char *name)
{
	const bool utf8 = a->path_type == 3;
	const size_t len = 2 + (utf8 ? 6 : 1) + strlen(name);

	wbuf_uint(b, (uint32_t)(len + len % 2), utf8 ? 2 : 1);
	if (!utf8)
		wbuf_u8(b, 0);
	wbuf_u16(b, 2); /* behind this number */
	afp_name_put(b, a->path_type, name);
	if (len % 2)
		wbuf_u8(b, 0);
}

void afp_prep_search(struct afp_op *op, const struct afp *a, const struct afp_search *what)
{
	const bool utf8 = a->path_type == 3;
	const uint16_t name = utf8 ? AFP_BIT_NAME : AFP_BIT_LONG_NAME;
	struct wbuf b = command_begin(op, utf8 ? AFP_CatSearchExt : AFP_CatSearch);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, a->volume);
	wbuf_u32(&b, (what->len - FOUND_HEAD) / FOUND_MAX);
	wbuf_u32(&b, 0);
	wbuf_bytes(&b, what->place, AFP_PLACE_LEN);
	wbuf_u16(&b, AFP_BIT_PARENT | name);
	wbuf_u16(&b, AFP_BIT_PARENT | name);
	wbuf_u32(&b, SEARCH_PART | name);
	put_criterion(&b, a, what->name);
	put_criterion(&b, a, "");
	command_end(op, &b);
	op->dsi.reply = what->buf;
	op->dsi.reply_cap = what->len;
}

void afp_prep_open_fork(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			uint16_t bitmap, uint16_t access)
{
	struct wbuf b = command_begin(op, AFP_OpenFork);

	wbuf_u8(&b, DATA_FORK);
	put_object(&b, a, dir);
	wbuf_u16(&b, bitmap);
	wbuf_u16(&b, access);
	afp_path_put(&b, a->path_type, name);
	command_end(op, &b);
}

void afp_prep_open_resource(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			    uint16_t bitmap, uint16_t access)
{
	afp_prep_open_fork(op, a, dir, name, bitmap, access);
	op->dsi.wire[DSI_HEADER_LEN + 1] = AFP_RESOURCE_FORK;
}

void afp_prep_exchange_files(struct afp_op *op, const struct afp *a, const struct afp_copy *what)
{
	struct wbuf b = command_begin(op, AFP_ExchangeFiles);

	wbuf_u8(&b, 0);
	put_object(&b, a, what->dir);
	wbuf_u32(&b, what->to_dir);
	afp_path_put(&b, a->path_type, what->name);
	afp_path_put(&b, a->path_type, what->to_name);
	command_end(op, &b);
}

void afp_prep_set_finder(struct afp_op *op, const struct afp *a, uint32_t dir, const char *name,
			 const void *finder)
{
	struct wbuf b = command_begin(op, AFP_SetFileDirParms);

	wbuf_u8(&b, 0);
	put_object(&b, a, dir);
	wbuf_u16(&b, AFP_BIT_FINDER);
	afp_path_put(&b, a->path_type, name);
	pad(&b, op);
	wbuf_bytes(&b, finder, AFP_FINDER_LEN);
	command_end(op, &b);
}

void afp_prep_get_fork(struct afp_op *op, uint16_t fork, uint16_t bitmap)
{
	struct wbuf b = command_begin(op, AFP_GetForkParms);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, fork);
	wbuf_u16(&b, bitmap);
	command_end(op, &b);
}

void afp_prep_set_fork(struct afp_op *op, uint16_t fork, uint16_t bitmap, uint64_t len)
{
	struct wbuf b = command_begin(op, AFP_SetForkParms);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, fork);
	wbuf_u16(&b, bitmap);
	wbuf_uint(&b, len, bitmap == AFP_BIT_DATA_EXT ? 8 : 4);
	command_end(op, &b);
}

void afp_prep_flush_fork(struct afp_op *op, uint16_t fork)
{
	prep_with_ref(op, AFP_FlushFork, fork);
}

void afp_prep_close_fork(struct afp_op *op, uint16_t fork)
{
	prep_with_ref(op, AFP_CloseFork, fork);
}

void afp_prep_lock(struct afp_op *op, uint16_t fork, bool unlock, uint32_t offset, uint32_t len)
{
	struct wbuf b = command_begin(op, AFP_ByteRangeLock);

	wbuf_u8(&b, unlock ? FLAG_UNLOCK : 0);
	wbuf_u16(&b, fork);
	wbuf_u32(&b, offset);
	wbuf_u32(&b, len);
	command_end(op, &b);
}

void afp_prep_lock_ext(struct afp_op *op, uint16_t fork, bool unlock, uint64_t offset, uint64_t len)
{
	struct wbuf b = command_begin(op, AFP_ByteRangeLockExt);

	wbuf_u8(&b, unlock ? FLAG_UNLOCK : 0);
	wbuf_u16(&b, fork);
	wbuf_u64(&b, offset);
	wbuf_u64(&b, len);
	command_end(op, &b);
}

void afp_prep_write(struct afp_op *op, uint16_t fork, uint32_t offset, const void *data,
		    uint32_t len)
{
	struct wbuf b = command_begin(op, AFP_Write);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, fork);
	wbuf_u32(&b, offset);
	wbuf_u32(&b, len);
	command_end(op, &b);
	op->dsi.command = DSI_WRITE;
	op->dsi.data = data;
	op->dsi.data_len = len;
}

void afp_prep_read(struct afp_op *op, uint16_t fork, uint32_t offset, void *buf, uint32_t len)
{
	struct wbuf b = command_begin(op, AFP_Read);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, fork);
	wbuf_u32(&b, offset);
	wbuf_u32(&b, len);
	wbuf_u16(&b, 0); /* no newline mask */
	command_end(op, &b);
	op->dsi.reply = buf;
	op->dsi.reply_cap = len;
}

void afp_prep_write_ext(struct afp_op *op, uint16_t fork, uint64_t offset, const void *data,
			size_t len)
{
	struct wbuf b = command_begin(op, AFP_WriteExt);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, fork);
	wbuf_u64(&b, offset);
	wbuf_u64(&b, len);
	command_end(op, &b);
	op->dsi.command = DSI_WRITE;
	op->dsi.data = data;
	op->dsi.data_len = len;
}

void afp_prep_read_ext(struct afp_op *op, uint16_t fork, uint64_t offset, void *buf, size_t len)
{
	struct wbuf b = command_begin(op, AFP_ReadExt);

	wbuf_u8(&b, 0);
	wbuf_u16(&b, fork);
	wbuf_u64(&b, offset);
	wbuf_u64(&b, len);
	command_end(op, &b);
	op->dsi.reply = buf;
	op->dsi.reply_cap = len;
}

static struct rbuf reply_of(const struct afp_op *op)
{
	return rbuf_of(op->dsi.reply, op->dsi.reply_len);
}

bool afp_get_created_dir(const struct afp_op *op, uint32_t *dir)
{
	struct rbuf b = reply_of(op);

	*dir = rbuf_u32(&b);
	return !b.bad;
}

bool afp_get_opened_fork(const struct afp_op *op, uint16_t *fork, struct afp_params *params)
{
	struct rbuf b = reply_of(op);
	uint16_t bitmap = rbuf_u16(&b);

	*fork = rbuf_u16(&b);
	return !b.bad && afp_params_parse(params, &b, bitmap, false);
}

bool afp_get_fork_params(const struct afp_op *op, struct afp_params *out)
{
	struct rbuf b = reply_of(op);
	uint16_t bitmap = rbuf_u16(&b);

	return !b.bad && afp_params_parse(out, &b, bitmap, false);
}

bool afp_get_file_params(const struct afp_op *op, struct afp_params *out)
{
	struct rbuf b = reply_of(op);
	uint16_t file_bitmap = rbuf_u16(&b), dir_bitmap = rbuf_u16(&b);
	bool is_dir = rbuf_u8(&b) & 0x80;

	rbuf_u8(&b);
	return !b.bad && afp_params_parse(out, &b, is_dir ? dir_bitmap : file_bitmap, is_dir);
}

bool afp_get_room(const struct afp_op *op, uint64_t *free_bytes, bool *keeps_backups)
{
	struct rbuf b = reply_of(op);
	uint16_t bitmap = rbuf_u16(&b);

	*keeps_backups = rbuf_u16(&b) & AFP_ATTRIBUTE_BACKUPS;
	*free_bytes = rbuf_u64(&b);
	return !b.bad && bitmap == AFP_VOLUME_ROOM;
}

bool afp_get_written(const struct afp_op *op, uint64_t *end_offset)
{
	struct rbuf b = reply_of(op);

	*end_offset = op->code == AFP_WriteExt ? rbuf_u64(&b) : rbuf_u32(&b);
	return !b.bad;
}

bool afp_get_xattr(const struct afp_op *op, uint32_t *len)
{
	struct rbuf b = reply_of(op);

	rbuf_u16(&b); /* bitmap */
	*len = rbuf_u32(&b);
	return !b.bad && *len <= rbuf_left(&b);
}

bool afp_entries_begin(struct afp_entries *it, const struct afp_op *op)
{
	it->at = reply_of(op);
	it->wide = op->code == AFP_EnumerateExt || op->code == AFP_EnumerateExt2;
	it->file_bitmap = rbuf_u16(&it->at);
	it->dir_bitmap = rbuf_u16(&it->at);
	it->left = rbuf_u16(&it->at);
	it->bare = false;
	return !it->at.bad;
}

bool afp_found_begin(struct afp_entries *it, const struct afp_op *op,
		     uint8_t place[static AFP_PLACE_LEN])
{
	const uint8_t *at;

	it->at = reply_of(op);
	it->wide = op->code == AFP_CatSearchExt;
	it->bare = true;
	at = rbuf_bytes(&it->at, AFP_PLACE_LEN);
	if (at)
		memcpy(place, at, AFP_PLACE_LEN);
	it->file_bitmap = rbuf_u16(&it->at);
	it->dir_bitmap = rbuf_u16(&it->at);
	it->left = rbuf_u32(&it->at);
	return !it->at.bad;
}

bool afp_entries_next(struct afp_entries *it, struct afp_params *out)
{
	const size_t head = it->wide ? 4 : 2;
	size_t len;
	struct rbuf entry;
	const uint8_t *p;
	bool is_dir;

	if (!it->left || it->at.bad)
		return false;
	len = it->wide ? rbuf_u16(&it->at) : rbuf_u8(&it->at);
	len += it->bare ? head : 0;
	is_dir = rbuf_u8(&it->at) & 0x80;
	if (it->wide)
		rbuf_u8(&it->at);
	p = rbuf_bytes(&it->at, len >= head ? len - head : SIZE_MAX);
	if (!p)
		return false;
	entry = rbuf_of(p, len - head);
	it->left--;
	if (afp_params_parse(out, &entry, is_dir ? it->dir_bitmap : it->file_bitmap, is_dir))
		return true;
	it->at.bad = true;
	return false;
}
