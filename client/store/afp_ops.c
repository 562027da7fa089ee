/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations as AFP commands: one verb is one command, and the server's answer is translated
 * to the results of store.h. Data goes between the socket and the caller's buffer; only the value
 * of an attribute is moved here. What the connection would not survive is refused before.
 */
#include "afp/again.h"
#include "store/store_priv.h"

#include <limits.h>
#include <string.h>

#define PROBE_BITMAP  (AFP_BIT_PARENT | AFP_BIT_LONG_NAME)
#define OPEN_BITMAP   AFP_BIT_ID
#define LOOKUP_BITMAP (AFP_BIT_PARENT | AFP_BIT_ID)
#define LEGACY_LIST   0x2140 /* long name, id, UTF-8 name */
#define LEGACY_COUNT  1024
#define LEVEL_3_4     7

/* A date is 32 bits, signed. */
#define LAST_DATE_S ((uint64_t)AFP_EPOCH_S + INT32_MAX)

_Static_assert(STORE_FINDER_LEN == AFP_FINDER_LEN, "a store has Finder's data as AFP has it");

static const struct {
	uint8_t wide, narrow;
} commands[N_STORE_VERBS] = {
	[STORE_PROBE] = { AFP_GetFileDirParms, AFP_GetFileDirParms },
	[STORE_MKDIR] = { AFP_CreateDir, AFP_CreateDir },
	[STORE_CREATE] = { AFP_CreateFile, AFP_CreateFile },
	[STORE_DELETE] = { AFP_Delete, AFP_Delete },
	[STORE_OPEN] = { AFP_OpenFork, AFP_OpenFork },
	[STORE_CLOSE] = { AFP_CloseFork, AFP_CloseFork },
	[STORE_LENGTH] = { AFP_GetForkParms, AFP_GetForkParms },
	[STORE_SET_LEN] = { AFP_SetForkParms, AFP_SetForkParms },
	[STORE_READ] = { AFP_ReadExt, AFP_Read },
	[STORE_WRITE] = { AFP_WriteExt, AFP_Write },
	[STORE_FLUSH] = { AFP_FlushFork, AFP_FlushFork },
	[STORE_COPY] = { AFP_CopyFile, AFP_CopyFile },
	[STORE_ROOM] = { AFP_GetVolParms, AFP_GetVolParms },
	[STORE_LOOKUP] = { AFP_GetFileDirParms, AFP_GetFileDirParms },
	[STORE_LIST] = { AFP_EnumerateExt2, AFP_Enumerate },
	[STORE_RENAME] = { AFP_Rename, AFP_Rename },
	[STORE_SET_TIME] = { AFP_SetFileDirParms, AFP_SetFileDirParms },
	[STORE_SET_MODE] = { AFP_SetFileDirParms, AFP_SetFileDirParms },
	[STORE_GET_XATTR] = { AFP_GetExtAttr, AFP_GetExtAttr },
	[STORE_SET_XATTR] = { AFP_SetExtAttr, AFP_SetExtAttr },
	[STORE_SWAP] = { AFP_ExchangeFiles, AFP_ExchangeFiles },
	[STORE_SET_FINDER] = { AFP_SetFileDirParms, AFP_SetFileDirParms },
	[STORE_SEARCH] = { AFP_CatSearchExt, AFP_CatSearch },
	[STORE_LOCK] = { AFP_ByteRangeLockExt, AFP_ByteRangeLock },
	[STORE_UNLOCK] = { AFP_ByteRangeLockExt, AFP_ByteRangeLock },
	[STORE_DEL_XATTR] = { AFP_RemoveExtAttr, AFP_RemoveExtAttr },
	[STORE_LIST_XATTRS] = { AFP_ListExtAttrs, AFP_ListExtAttrs },
};

/* ---- what is refused without asking the server ---- */

static bool too_long(const char *name)
{
	return name && strlen(name) > AFP_NAME_MAX;
}

/* Whether op names a file or a directory. */
static bool afp_ops_is_named(const struct store_op *op)
{
	return op->verb < STORE_CLOSE || op->verb == STORE_COPY || op->verb == STORE_SWAP ||
	       op->verb == STORE_SET_FINDER || op->verb == STORE_SEARCH ||
	       (op->verb >= STORE_LOOKUP && op->verb <= STORE_SYMLINK && op->verb != STORE_LIST);
}

static bool has_offset(const struct store_op *op)
{
	return op->verb == STORE_READ || op->verb == STORE_WRITE || op->verb == STORE_LOCK ||
	       op->verb == STORE_UNLOCK;
}

static const char *refusal_of_value(const struct store_afp *a, const struct store_op *op)
{
	const struct afp *session = a->session;
	uint64_t quantum = dsi_quantum(session->dsi);

	if ((op->verb == STORE_LIST || op->verb == STORE_SEARCH) && op->len < STORE_LIST_LEN)
		return "less room than one entry may need";
	if (op->verb == STORE_LIST && op->offset >= afp_list_max(session))
		return "beyond the last entry that this version of AFP can ask for";
	if (op->verb == STORE_SET_TIME && op->offset > LAST_DATE_S)
		return "later than the last date of AFP";
	if ((op->verb == STORE_RENAME || op->verb == STORE_SWAP) &&
	    op->dir.volume != op->to_dir.volume)
		return "AFP moves nothing to another volume";
	/* the value is a part of the command, which the quantum bounds */
	if (op->verb == STORE_SET_XATTR &&
	    (op->len > quantum || op->len + DSI_COMMAND_MAX > quantum))
		return "longer than the server's request quantum allows";
	return NULL;
}

/* As other clients sent it: what this server would end the session for. */
static const char *refusal_again(const struct store_afp *a, const struct store_op *op)
{
	const uint64_t quantum = dsi_quantum(a->session->dsi);

	if (op->verb == STORE_WRITE && op->len > a->s.write_most)
		return "longer than the server's request quantum allows";
	if (op->verb == STORE_SET_XATTR &&
	    (op->len > quantum || op->len + DSI_COMMAND_MAX > quantum))
		return "longer than the server's request quantum allows";
	return NULL;
}

/* Why op cannot be sent as it is; NULL: it can. */
static const char *afp_ops_refusal(const struct store_afp *a, const struct store_op *op)
{
	uint64_t offset = has_offset(op) ? op->offset : 0;
	uint64_t end = a->narrow ? STORE_AFP_NARROW_END : STORE_AFP_WIDE_END;

	if (op->again)
		return refusal_again(a, op);
	if (has_offset(op) || op->verb == STORE_SET_LEN) {
		if (offset > end || op->len > end - offset)
			return a->narrow ? "the 32-bit commands end at 2 GiB - 1"
					 : "beyond the largest length of a file";
		if (op->verb == STORE_READ && op->len > a->s.chunk_read)
			return "longer than one read may be";
		if (op->verb == STORE_WRITE && op->len > a->s.chunk_write)
			return "longer than the server's request quantum allows";
	} else if (afp_ops_is_named(op) && (too_long(op->name) || too_long(op->to_name))) {
		return "the name is longer than AFP allows";
	}
	return refusal_of_value(a, op);
}

/* Why a store has no such verb; NULL: it has. */
static const char *afp_ops_lacks(enum store_verb verb)
{
	switch (verb) {
	case STORE_LOGIN:
	case STORE_LOGOUT:
		return "this store has one session only";
	case STORE_DEL_XATTR:
	case STORE_LIST_XATTRS:
	case STORE_OTHER:
		return "it is sent only as another client has sent it";
	case STORE_LINK:
		return "AFP has no hard links";
	case STORE_SYMLINK:
		return "AFP has no symbolic links";
	case STORE_EXCHANGE:
		return STORE_NO_CALLS;
	default:
		return NULL;
	}
}

bool store_afp_refuse(const struct store_afp *a, struct store_op *op)
{
	const char *why = afp_ops_refusal(a, op);
	const char *lacks = op->again ? NULL : afp_ops_lacks(op->verb);

	op->command = op->again   ? op->again->command
		      : a->narrow ? commands[op->verb].narrow
				  : commands[op->verb].wide;
	op->what = store_verb_name(op->verb);
	if (why)
		store_answer(op, STORE_INVALID, AFP_ERR_BAD_PARAMETER, why);
	else if (lacks)
		store_answer(op, STORE_UNKNOWN, AFP_ERR_NOT_SUPPORTED, lacks);
	return why || lacks;
}

/* ---- to the server ---- */

/* Room for a reply as 32 bits, of which some servers take the highest as a sign. */
static uint32_t room_of(const struct store_op *op)
{
	const uint32_t most = INT32_MAX - AFP_XATTR_HEAD;

	return op->len < most ? (uint32_t)op->len : most;
}

static uint16_t access_of(unsigned int how)
{
	return (uint16_t)((how & STORE_FOR_READ ? AFP_READ : 0) |
			  (how & STORE_FOR_WRITE ? AFP_WRITE : 0) |
			  (how & STORE_ALONE ? AFP_DENY_READ | AFP_DENY_WRITE : 0));
}

static void encode_xattr(const struct afp *v, struct afp_op *out, const struct store_op *op)
{
	const struct afp_xattr what = { (uint32_t)op->dir.id, op->name, op->to_name };

	if (op->verb == STORE_GET_XATTR)
		afp_prep_get_xattr(out, v, &what, op->buf, room_of(op));
	else
		afp_prep_set_xattr(out, v, &what, op->data, (uint32_t)op->len);
}

static void encode_open(const struct afp *v, struct afp_op *out, const struct store_op *op)
{
	uint32_t dir = (uint32_t)op->dir.id;

	if (op->how & STORE_RSRC)
		afp_prep_open_resource(out, v, dir, op->name, OPEN_BITMAP, access_of(op->how));
	else
		afp_prep_open_fork(out, v, dir, op->name, OPEN_BITMAP, access_of(op->how));
}

/* legacy: as netatalk's tools list what they remove. */
static void encode_list(const struct store_afp *a, struct afp_op *out, const struct store_op *op)
{
	const struct afp *v = &a->volume[op->dir.volume];
	const uint32_t dir = (uint32_t)op->dir.id, start = (uint32_t)op->offset + 1;
	const struct afp_enumerate old = { dir,          LEGACY_LIST,     LEGACY_LIST,
					   LEGACY_COUNT, (uint16_t)start, false };

	_Static_assert(AFP_ENUMERATE_MAX <= STORE_LIST_LEN, "a list has room for such a reply");
	if (a->legacy)
		afp_prep_enumerate(out, v, &old, op->buf);
	else
		afp_prep_list(
		    out, v,
		    &(struct afp_list) { dir, start, op->with_attrs, op->buf, room_of(op) });
}

static void encode_search(const struct afp *v, struct afp_op *out, const struct store_op *op)
{
	_Static_assert(AFP_PLACE_LEN == STORE_PLACE_LEN, "a store has places as AFP has them");
	_Static_assert(AFP_SEARCH_MIN <= STORE_LIST_LEN, "a list has room for results");
	afp_prep_search(out, v, &(struct afp_search) { op->name, op->place, op->buf, room_of(op) });
}

static void encode_named(const struct store_afp *a, struct afp_op *out, const struct store_op *op)
{
	const struct afp *v = &a->volume[op->dir.volume];
	const struct afp_copy copy = { (uint32_t)op->dir.id, op->name,
				       a->volume[op->to_dir.volume].volume, (uint32_t)op->to_dir.id,
				       op->to_name };

	switch (op->verb) {
	case STORE_PROBE:
		afp_prep_get_params(out, v, copy.dir, op->name, PROBE_BITMAP, PROBE_BITMAP);
		break;
	case STORE_MKDIR:
		afp_prep_create_dir(out, v, copy.dir, op->name);
		break;
	case STORE_CREATE:
		afp_prep_create_file(out, v, copy.dir, op->name);
		break;
	case STORE_DELETE:
		afp_prep_delete(out, v, copy.dir, op->name);
		break;
	case STORE_OPEN:
		encode_open(v, out, op);
		break;
	case STORE_SWAP:
		afp_prep_exchange_files(out, v, &copy);
		break;
	case STORE_SET_FINDER:
		afp_prep_set_finder(out, v, copy.dir, op->name, op->data);
		break;
	case STORE_ROOM:
		afp_prep_get_volume(out, v, AFP_VOLUME_ROOM);
		break;
	case STORE_LOOKUP:
		afp_prep_get_params(out, v, copy.dir, op->name, LOOKUP_BITMAP, LOOKUP_BITMAP);
		break;
	case STORE_LIST:
		encode_list(a, out, op);
		break;
	case STORE_SEARCH:
		encode_search(v, out, op);
		break;
	case STORE_RENAME:
		afp_prep_rename(out, v, &copy);
		break;
	case STORE_SET_TIME:
		afp_prep_set_modified(out, v, copy.dir, op->name, op->offset);
		break;
	case STORE_SET_MODE:
		afp_prep_set_mode(out, v, copy.dir, op->name, op->how);
		break;
	case STORE_GET_XATTR:
	case STORE_SET_XATTR:
		encode_xattr(v, out, op);
		break;
	default:
		afp_prep_copy_file(out, v, &copy);
	}
}

static void encode_plain(const struct store_afp *a, struct afp_op *out, const struct store_op *op)
{
	uint16_t fork = (uint16_t)op->file.id;
	uint16_t len_bit = a->narrow ? AFP_BIT_DATA_LEN : AFP_BIT_DATA_EXT;

	switch (op->verb) {
	case STORE_CLOSE:
		afp_prep_close_fork(out, fork);
		break;
	case STORE_LENGTH:
		afp_prep_get_fork(out, fork, len_bit);
		break;
	case STORE_SET_LEN:
		afp_prep_set_fork(out, fork, len_bit, op->len);
		break;
	case STORE_FLUSH:
		afp_prep_flush_fork(out, fork);
		break;
	case STORE_LOCK:
	case STORE_UNLOCK:
		if (a->narrow)
			afp_prep_lock(out, fork, op->verb == STORE_UNLOCK, (uint32_t)op->offset,
				      (uint32_t)op->len);
		else
			afp_prep_lock_ext(out, fork, op->verb == STORE_UNLOCK, op->offset, op->len);
		break;
	case STORE_READ:
		if (a->narrow)
			afp_prep_read(out, fork, (uint32_t)op->offset, op->buf, (uint32_t)op->len);
		else
			afp_prep_read_ext(out, fork, op->offset, op->buf, op->len);
		break;
	case STORE_WRITE:
		if (a->narrow)
			afp_prep_write(out, fork, (uint32_t)op->offset, op->data,
				       (uint32_t)op->len);
		else
			afp_prep_write_ext(out, fork, op->offset, op->data, op->len);
		break;
	default:
		encode_named(a, out, op);
	}
}

bool store_afp_encode(const struct store_afp *a, struct afp_op *out, struct store_op *op)
{
	const bool gives = op->verb != STORE_WRITE && op->verb != STORE_SET_XATTR;

	if (!op->again) {
		encode_plain(a, out, op);
		return true;
	}
	if (afp_prep_again(out, &a->volume[op->dir.volume], op->again, gives ? op->buf : NULL,
			   op->len))
		return true;
	store_answer(op, STORE_INVALID, AFP_ERR_BAD_PARAMETER,
		     "it is longer than a command may be");
	return false;
}

/* ---- from the server ---- */

static void bad_reply(struct store_op *op)
{
	store_answer(op, STORE_FAILED, AFP_ERR_BAD_REPLY, afp_result_text(AFP_ERR_BAD_REPLY));
}

static void afp_ops_answer(struct store_op *op, int32_t code)
{
	store_answer(op, store_afp_result(code), code, afp_result_text(code));
}

/* A read may return "end of file" together with the data before it. */
static void decode_read(struct store_op *op, const struct afp_op *in)
{
	if (in->dsi.result && in->dsi.result != AFP_ERR_END_OF_FILE)
		return;
	op->done = in->dsi.reply_len;
	if (op->done == op->len)
		store_answer(op, STORE_OK, 0, NULL);
	else
		store_answer(op, STORE_SHORT, in->dsi.result,
			     in->dsi.result ? op->why : "fewer bytes than asked for");
}

static void decode_write(struct store_op *op, const struct afp_op *in)
{
	uint64_t end;

	if (op->again && op->again->flags & AFP_FROM_END) {
		op->done = op->len;
		return;
	}
	if (!afp_get_written(in, &end) || end < op->offset || end > op->offset + op->len) {
		bad_reply(op);
		return;
	}
	op->done = end - op->offset;
	if (op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "fewer bytes than sent were written: no room?");
}

static bool decode_length(struct store_op *op, const struct afp_op *in)
{
	struct afp_params p;

	if (!afp_get_fork_params(in, &p) || !(p.bitmap & (AFP_BIT_DATA_LEN | AFP_BIT_DATA_EXT)))
		return false;
	op->done = p.data_len;
	return true;
}

static bool decode_made(struct store_op *op, const struct afp_op *in)
{
	uint32_t dir;

	if (!afp_get_created_dir(in, &dir))
		return false;
	op->made = (struct store_dir) { op->dir.volume, dir };
	return true;
}

static bool decode_opened(struct store_op *op, const struct afp_op *in)
{
	struct afp_params p;
	uint16_t fork;

	if (!afp_get_opened_fork(in, &fork, &p))
		return false;
	op->opened.id = fork;
	return true;
}

static bool decode_found(struct store_op *op, const struct afp_op *in)
{
	struct afp_params p;

	if (!afp_get_file_params(in, &p))
		return false;
	if (!p.is_dir)
		store_answer(op, STORE_NONE, AFP_ERR_WRONG_TYPE, "a file, not a directory");
	else
		op->made = (struct store_dir) { op->dir.volume, p.id };
	return !p.is_dir || p.bitmap & AFP_BIT_ID;
}

/* Each entry is looked at, so that what is counted is there. */
static bool take_found(struct store_op *op, struct afp_entries *it)
{
	struct afp_params p;

	for (; afp_entries_next(it, &p); op->done++) {
		op->is_file = !p.is_dir;
		if (op->found)
			op->found(op, *p.name ? p.name : p.long_name);
	}
	return !it->at.bad;
}

static bool decode_list(struct store_op *op, const struct afp_op *in)
{
	struct afp_entries it;

	return afp_entries_begin(&it, in) && take_found(op, &it) && op->done;
}

/* What the reply of a command that another client sent begins with, after so many bytes. */
static bool decode_number(struct store_op *op, const struct afp_op *in, size_t after, size_t len)
{
	struct rbuf b = rbuf_of(in->dsi.reply, in->dsi.reply_len);

	rbuf_bytes(&b, after);
	op->done = rbuf_uint(&b, len);
	return !b.bad;
}

/* What it named may have any parameters, or none. */
static bool decode_again(struct store_op *op, const struct afp_op *in)
{
	struct afp_params p;

	switch (op->verb) {
	case STORE_PROBE:
	case STORE_LOOKUP:
		op->made = (struct store_dir) { op->dir.volume, 0 };
		if (op->again->command == AFP_OpenDir)
			return decode_made(op, in);
		if (op->again->command == AFP_GetFileDirParms && afp_get_file_params(in, &p) &&
		    p.bitmap & AFP_BIT_ID)
			op->made.id = p.id;
		return true;
	case STORE_MKDIR:
		return decode_made(op, in);
	case STORE_OPEN:
		return decode_opened(op, in);
	case STORE_LIST:
		return decode_number(op, in, 4, 2);
	case STORE_GET_XATTR:
	case STORE_LIST_XATTRS:
		return decode_number(op, in, 2, 4);
	default:
		return true;
	}
}

/* The last results come with "end of file". One that did not go on would be asked for ever. */
static void decode_search(struct store_op *op, const struct afp_op *in)
{
	const bool ends = in->dsi.result == AFP_ERR_END_OF_FILE;
	uint8_t from[STORE_PLACE_LEN];
	struct afp_entries it;

	if (in->dsi.result && !ends)
		return;
	memcpy(from, op->place, sizeof(from));
	if ((in->dsi.reply_len || !ends) &&
	    (!afp_found_begin(&it, in, op->place) || (!op->again && !take_found(op, &it))))
		bad_reply(op);
	else if (ends)
		store_answer(op, STORE_NONE, in->dsi.result, "no more is found");
	else if (!memcmp(from, op->place, sizeof(from)))
		bad_reply(op);
}

/* The value behind its head becomes the buffer's begin. */
static bool decode_xattr(struct store_op *op, const struct afp_op *in)
{
	uint32_t len;

	if (!afp_get_xattr(in, &len))
		return false;
	op->done = len;
	memmove(op->buf, (const uint8_t *)op->buf + AFP_XATTR_HEAD, len);
	return true;
}

/* Decodes a successful reply; false: malformed. */
static bool afp_ops_decode(struct store_op *op, const struct afp_op *in)
{
	struct afp_params p;

	if (op->again)
		return decode_again(op, in);
	switch (op->verb) {
	case STORE_PROBE:
		return afp_get_file_params(in, &p);
	case STORE_MKDIR:
		return decode_made(op, in);
	case STORE_OPEN:
		return decode_opened(op, in);
	case STORE_LENGTH:
		return decode_length(op, in);
	case STORE_ROOM:
		op->tells_backups = true;
		return afp_get_room(in, &op->done, &op->keeps_backups);
	case STORE_LOOKUP:
		return decode_found(op, in);
	case STORE_LIST:
		return decode_list(op, in);
	case STORE_GET_XATTR:
		return decode_xattr(op, in);
	default:
		return true;
	}
}

/* An attribute that is not there is "server error" before AFP 3.4. */
static bool lacks_attribute(const struct store_afp *a, const struct store_op *op)
{
	return op->verb == STORE_GET_XATTR && !op->again && op->code == AFP_ERR_MISC &&
	       a->session->level < LEVEL_3_4;
}

void store_afp_answer(const struct store_afp *a, struct store_op *op, const struct afp_op *in)
{
	afp_ops_answer(op, in->dsi.result);
	if (op->verb == STORE_READ)
		decode_read(op, in);
	else if (op->verb == STORE_SEARCH)
		decode_search(op, in);
	else if (!in->dsi.result && op->verb == STORE_WRITE)
		decode_write(op, in);
	else if (!in->dsi.result && !afp_ops_decode(op, in))
		bad_reply(op);
	else if (lacks_attribute(a, op))
		store_answer(op, STORE_NONE, op->code, "no such attribute, or a server error");
}
