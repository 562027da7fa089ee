/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations as AFP commands: one verb is one command, and the server's answer is translated
 * to the results of store.h. Data goes between the socket and the caller's buffer; nothing is
 * copied here. afp/session.c connects and logs in.
 */
#include "base/clock.h"
#include "store/store_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of command before the data. */
#define WRITE_LEN     12
#define WRITE_EXT_LEN 20
#define PAGE          4096u

#define PROBE_BITMAP  (AFP_BIT_PARENT | AFP_BIT_LONG_NAME)
#define OPEN_BITMAP   AFP_BIT_ID
#define LOOKUP_BITMAP (AFP_BIT_PARENT | AFP_BIT_ID)

/* Where offset + length of a command must end. afpd takes 32-bit offsets as signed. */
#define NARROW_END ((uint64_t)INT32_MAX)
#define WIDE_END   ((uint64_t)INT64_MAX)

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
	[STORE_GET_XATTR] = { AFP_GetExtAttr, AFP_GetExtAttr },
	[STORE_SET_XATTR] = { AFP_SetExtAttr, AFP_SetExtAttr },
	[STORE_LOCK] = { AFP_ByteRangeLockExt, AFP_ByteRangeLock },
	[STORE_UNLOCK] = { AFP_ByteRangeLockExt, AFP_ByteRangeLock },
};

static const struct {
	int32_t code;
	enum store_result result;
} results[] = {
	{ AFP_ERR_OK, STORE_OK },
	{ AFP_ERR_NO_OBJECT, STORE_NONE },
	{ AFP_ERR_NO_DIRECTORY, STORE_NONE },
	{ AFP_ERR_ITEM_NOT_FOUND, STORE_NONE },
	{ AFP_ERR_EXISTS, STORE_EXISTS },
	{ AFP_ERR_ACCESS_DENIED, STORE_DENIED },
	{ AFP_ERR_DENY_CONFLICT, STORE_DENIED },
	{ AFP_ERR_VOLUME_LOCKED, STORE_DENIED },
	{ AFP_ERR_LOCK_CONFLICT, STORE_DENIED },
	{ AFP_ERR_OBJECT_LOCKED, STORE_DENIED },
	{ AFP_ERR_DISK_FULL, STORE_FULL },
	{ AFP_ERR_BAD_PARAMETER, STORE_INVALID },
	{ AFP_ERR_NOT_SUPPORTED, STORE_UNKNOWN },
};

static struct store_afp *of(struct store *s)
{
	_Static_assert(offsetof(struct store_afp, s) == 0, "a store is the head of its kind");
	return (struct store_afp *)s;
}

/* ---- what is refused without asking the server ---- */

static bool too_long(const char *name)
{
	return name && strlen(name) > AFP_NAME_MAX;
}

/* Whether op names a file or a directory. */
static bool is_named(const struct store_op *op)
{
	return op->verb < STORE_CLOSE || op->verb == STORE_COPY ||
	       (op->verb >= STORE_LOOKUP && op->verb <= STORE_LINK && op->verb != STORE_LIST);
}

static bool has_offset(const struct store_op *op)
{
	return op->verb == STORE_READ || op->verb == STORE_WRITE || op->verb == STORE_LOCK ||
	       op->verb == STORE_UNLOCK;
}

/* Why op cannot be sent as it is; NULL: it can. */
static const char *refusal(const struct store_afp *a, const struct store_op *op)
{
	uint64_t offset = has_offset(op) ? op->offset : 0;
	uint64_t end = a->narrow ? NARROW_END : WIDE_END;

	if (has_offset(op) || op->verb == STORE_SET_LEN) {
		if (offset > end || op->len > end - offset)
			return a->narrow ? "the 32-bit commands end at 2 GiB - 1"
					 : "beyond the largest length of a file";
		if (op->verb == STORE_READ && op->len > a->s.chunk_read)
			return "longer than one read may be";
		if (op->verb == STORE_WRITE && op->len > a->s.chunk_write)
			return "longer than the server's request quantum allows";
	} else if (is_named(op)) {
		if (too_long(op->name) || too_long(op->to_name))
			return "the name is longer than AFP allows";
	} else if (op->verb == STORE_LIST && op->len < STORE_LIST_LEN) {
		return "less room than one entry may need";
	}
	return NULL;
}

/* ---- to the server ---- */

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
		afp_prep_get_xattr(out, v, &what, op->buf, (uint32_t)op->len);
	else
		afp_prep_set_xattr(out, v, &what, op->data, (uint32_t)op->len);
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
		afp_prep_open_fork(out, v, copy.dir, op->name, OPEN_BITMAP, access_of(op->how));
		break;
	case STORE_ROOM:
		afp_prep_get_volume(out, v, AFP_VOLUME_EXT_FREE);
		break;
	case STORE_LOOKUP:
		afp_prep_get_params(out, v, copy.dir, op->name, LOOKUP_BITMAP, LOOKUP_BITMAP);
		break;
	case STORE_LIST:
		afp_prep_list(out, v, copy.dir, (uint32_t)op->offset + 1, op->with_attrs, op->buf,
			      a->narrow && op->len > INT16_MAX ? INT16_MAX : (uint32_t)op->len);
		break;
	case STORE_RENAME:
		afp_prep_rename(out, v, copy.dir, op->name, copy.to_dir, op->to_name);
		break;
	case STORE_SET_TIME:
		afp_prep_set_modified(out, v, copy.dir, op->name, op->offset);
		break;
	case STORE_GET_XATTR:
	case STORE_SET_XATTR:
		encode_xattr(v, out, op);
		break;
	default:
		afp_prep_copy_file(out, v, &copy);
	}
}

static void encode(const struct store_afp *a, struct afp_op *out, const struct store_op *op)
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

int store_afp_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct store_afp *a = of(s);
	struct store_slot *slot = a->free;
	const char *why = refusal(a, op);
	int r;

	if (s->in_flight >= a->window)
		return -EAGAIN;
	op->command = a->narrow ? commands[op->verb].narrow : commands[op->verb].wide;
	op->what = afp_command_name(op->command);
	if (why || op->verb == STORE_LINK) {
		op->what = store_verb_name(op->verb);
		op->t.begun_ns = op->t.last_ns = clock_now_ns();
		if (why)
			store_answer(op, STORE_INVALID, AFP_ERR_BAD_PARAMETER, why);
		else
			store_answer(op, STORE_UNKNOWN, AFP_ERR_NOT_SUPPORTED,
				     "AFP has no hard links");
		store_queue_put(&a->answered, op);
		return 0;
	}
	encode(a, &slot->op, op);
	op->command = slot->op.code;
	op->what = afp_command_name(op->command);
	slot->op.dsi.discard = op->verb == STORE_READ && op->discard;
	slot->op.user = op;
	r = afp_submit(a->session, &slot->op, e);
	if (!r)
		a->free = slot->next;
	return r;
}

/* ---- from the server ---- */

static void bad_reply(struct store_op *op)
{
	store_answer(op, STORE_FAILED, AFP_ERR_BAD_REPLY, afp_result_text(AFP_ERR_BAD_REPLY));
}

static void answer(struct store_op *op, int32_t code)
{
	enum store_result result = STORE_FAILED;

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].code == code)
			result = results[i].result;
	}
	store_answer(op, result, code, afp_result_text(code));
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
	op->made = (struct store_dir) { op->dir.volume, p.id };
	if (!p.is_dir)
		store_answer(op, STORE_NONE, AFP_ERR_WRONG_TYPE, "a file, not a directory");
	return true;
}

/* Each entry is looked at, so that what is counted is there. */
static bool decode_list(struct store_op *op, const struct afp_op *in)
{
	struct afp_entries it;
	struct afp_params p;

	if (!afp_entries_begin(&it, in))
		return false;
	while (afp_entries_next(&it, &p))
		op->done++;
	return !it.at.bad && op->done;
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
static bool decode(struct store_op *op, const struct afp_op *in)
{
	struct afp_params p;

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
		return afp_get_room(in, &op->done);
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

/* An answer to a command that was sent, as one to its op; the slot is free again. */
static struct store_op *complete(struct store_afp *a, struct afp_op *in)
{
	struct store_slot *slot = (struct store_slot *)in;
	struct store_op *op = in->user;

	_Static_assert(offsetof(struct store_slot, op) == 0, "a command is the head of its slot");
	op->t.begun_ns = in->dsi.t.begun_ns;
	op->t.last_ns = in->dsi.t.last_ns;
	answer(op, in->dsi.result);
	if (op->verb == STORE_READ)
		decode_read(op, in);
	else if (!in->dsi.result && op->verb == STORE_WRITE)
		decode_write(op, in);
	else if (!in->dsi.result && !decode(op, in))
		bad_reply(op);
	slot->next = a->free;
	a->free = slot;
	return op;
}

struct store_op *store_afp_take(struct store *s)
{
	struct store_afp *a = of(s);
	struct store_op *op = store_queue_take(&a->answered);
	struct afp_op *in = op ? NULL : afp_take(a->session);

	return in ? complete(a, in) : op;
}

void store_afp_wait(struct store *s, struct io_wait *w)
{
	afp_wait(of(s)->session, w);
}

/* ---- opening and ending ---- */

/*
 * Whether the request quantum limits only a write's data. netatalk 4.2.3 accepted q bytes of data;
 * 4.5.0 and 4.5.1 end the connection if command and data together are longer. Unknown servers are
 * treated like the latter.
 */
static bool bounds_data_only(const char *machine)
{
	unsigned int major, minor;

	if (!machine || sscanf(machine, "Netatalk%u.%u", &major, &minor) != 2)
		return false;
	return major < 4 || (major == 4 && minor < 4);
}

static size_t whole_pages(size_t n)
{
	return n < PAGE ? n : n - n % PAGE;
}

static void set_chunks(struct store_afp *a, const struct store_afp_opts *opts)
{
	size_t q = dsi_quantum(a->session->dsi);
	size_t command = a->narrow ? WRITE_LEN : WRITE_EXT_LEN;

	if (a->narrow && q > INT32_MAX)
		q = INT32_MAX;
	a->s.chunk_read = whole_pages(q);
	a->s.chunk_write = whole_pages(bounds_data_only(opts->machine) ? q : q - command);
	a->s.len_max = a->narrow ? NARROW_END : WIDE_END;
	if (opts->legacy) /* as afp_speedtest: frame and command count for both */
		a->s.chunk_read = a->s.chunk_write = q - DSI_HEADER_LEN - WRITE_LEN;
}

/* The session is open: what follows from it. */
static void opened(struct store_afp *a, const struct store_afp_opts *opts)
{
	const struct afp *session = a->session;

	/* 64-bit commands came with UTF-8 names */
	a->narrow = opts->legacy || session->path_type == 2;
	a->s.near = dsi_is_near(session->dsi);
	for (unsigned int v = 0; v < 2; v++)
		a->volume[v] = *session;
	if (opts->other)
		a->volume[1].volume = opts->other;
	set_chunks(a, opts);
	a->s.state = STORE_IS_OPEN;
}

/* After an advance of the session, which returned r. */
static int after(struct store_afp *a, int r)
{
	const struct store_afp_opts opts = { .machine = a->machine };

	if (a->s.state == STORE_OPENING && a->session->stage == AFP_STAGE_OPEN)
		opened(a, &opts);
	else if (a->s.state == STORE_ENDING && afp_is_finished(a->session))
		a->s.state = STORE_ENDED;
	return r;
}

int store_afp_advance(struct store *s, short events, struct err *e)
{
	return after(of(s), afp_advance(of(s)->session, events, e));
}

int store_afp_work(struct store *s, uint64_t ns, struct err *e)
{
	return after(of(s), afp_work(of(s)->session, ns, e));
}

static void finish_afp(struct store *s)
{
	struct store_afp *a = of(s);

	if (a->session == &a->own)
		afp_finish(&a->own);
	if (a->session != &a->own || afp_is_finished(&a->own))
		s->state = STORE_ENDED;
}

static void close_afp(struct store *s)
{
	struct store_afp *a = of(s);

	if (a->session == &a->own)
		afp_close(&a->own);
	free(a);
}

const struct store_type store_afp_type = { "AFP",          store_afp_submit,  store_afp_take,
					   store_afp_wait, store_afp_advance, store_afp_work,
					   finish_afp,     close_afp };

_Static_assert(STORE_SCRATCH_LEN == DSI_SCRATCH_LEN, "stores have the scratch of their sessions");

static struct store_afp *new_store(unsigned int window, struct err *e)
{
	/* one more than can be lent, so that a dead session can still return its reason */
	unsigned int n_slots = window + 1;
	struct store_afp *n = calloc(1, sizeof(*n) + n_slots * sizeof(n->slot[0]));

	if (!n) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	n->s.type = &store_afp_type;
	n->s.align = 1;
	n->s.discard_from = DSI_DISCARD_LEN;
	n->window = window;
	for (unsigned int v = 0; v < 2; v++)
		n->s.root[v] = (struct store_dir) { v, AFP_ROOT_ID };
	store_queue_init(&n->answered);
	for (unsigned int i = n_slots; i-- > 0;) {
		n->slot[i].next = n->free;
		n->free = &n->slot[i];
	}
	return n;
}

int store_open_afp(struct store **out, struct afp *a, const struct store_afp_opts *opts,
		   struct err *e)
{
	struct store_afp *n = new_store(opts->window ? opts->window : 1, e);

	if (!n)
		return -ENOMEM;
	n->session = a;
	opened(n, opts);
	*out = &n->s;
	return 0;
}

int store_begin_afp(struct store **out, const struct store_afp_begin *how, struct err *e)
{
	struct store_afp *n = new_store(how->dsi->window, e);
	int r;

	if (!n)
		return -ENOMEM;
	n->session = &n->own;
	n->machine = how->server->machine;
	r = afp_begin(&n->own, how->dsi, how->server, how->login, how->volume, e);
	if (r)
		store_close(&n->s);
	else
		*out = &n->s;
	return r;
}

struct afp *store_afp_session(struct store *s)
{
	return s->type == &store_afp_type ? of(s)->session : NULL;
}
