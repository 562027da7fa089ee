/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each verb is on an SMB share: the calls of libsmb2, one after the other. */
#include "store/smb_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_DIRECTORY 1

/* MS-SMB2, MS-FSCC */
#define FILE_WRITE_ATTRIBUTES 0x100u
/* data, extended attributes, attributes */
#define ACCESS_READ              0x89u
#define ACCESS_WRITE             0x112u
#define ACCESS_DELETE            0x10000u
#define SHARE_ALL                0x7u /* read, write, delete */
#define IMPERSONATION            2u
#define DISPOSITION_OPEN         1u
#define DISPOSITION_CREATE       2u
#define DISPOSITION_OVERWRITE_IF 5u
#define NON_DIRECTORY_FILE       0x40u
#define INFO_FILE                1
#define BASIC_INFORMATION        4
#define DISPOSITION_INFORMATION  13

/* Of those that fit SMB's, which count 100 ns from 1601 on. */
#define SMB_TIME_MAX ((uint64_t)INT64_MAX / 10000000 - 11644473600)

/* What a compound calls the file that its first request has opened. */
static const uint8_t smb_compound_id[SMB_ID_LEN] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
};

const char *const smb_what[N_STORE_VERBS] = {
	[STORE_PROBE] = "smb2_stat",
	[STORE_MKDIR] = "smb2_mkdir",
	[STORE_CREATE] = "smb2_open",
	[STORE_DELETE] = "smb2_set_info(delete)",
	[STORE_OPEN] = "smb2_open",
	[STORE_CLOSE] = "smb2_close",
	[STORE_LENGTH] = "smb2_fstat",
	[STORE_SET_LEN] = "smb2_ftruncate",
	[STORE_READ] = "smb2_pread",
	[STORE_WRITE] = "smb2_pwrite",
	[STORE_FLUSH] = "smb2_fsync",
	[STORE_ROOM] = "smb2_statvfs",
	[STORE_LOOKUP] = "smb2_stat",
	[STORE_LIST] = "smb2_opendir",
	[STORE_RENAME] = "smb2_rename",
	[STORE_SET_TIME] = "smb2_set_info(time)",
	[STORE_GET_XATTR] = "smb2_pread(stream)",
	[STORE_SET_XATTR] = "smb2_pwrite(stream)",
};

const char *const smb_lacks[N_STORE_VERBS] = {
	[STORE_COPY] = "libsmb2 has no copy by the server",
	[STORE_SET_MODE] = "SMB has no permission bits",
	[STORE_SYMLINK] = "SMB servers do not let clients make symbolic links",
	[STORE_LINK] = "libsmb2 has no request for hard links",
	[STORE_LOCK] = "libsmb2 does not export its locks",
	[STORE_UNLOCK] = "libsmb2 does not export its locks",
	[STORE_DEL_XATTR] = "streams are not removed and listed here",
	[STORE_LIST_XATTRS] = "streams are not removed and listed here",
	REMOTE_LACKS,
};

static struct smb *smb_of(const struct remote_job *j)
{
	return (struct smb *)j->r;
}

/* What a call returned that begins a request. */
static int smb_begun(int r)
{
	return r < 0 ? -r : 0;
}

static struct smb2fh *smb_file(const struct remote_job *j)
{
	return (struct smb2fh *)(uintptr_t)j->op->file.id;
}

/* ---- data ---- */

static void smb_data_done(struct smb2_context *context, int status, void *data, void *user);

int smb_move(struct remote_job *j)
{
	const struct smb_calls *call = smb_of(j)->call;
	struct smb2_context *c = smb_of(j)->context;
	struct store_op *op = j->op;
	uint32_t len = (uint32_t)(op->len - op->done);
	uint64_t at = op->offset + op->done;

	if (op->len > UINT32_MAX)
		return EINVAL;
	if (op->verb == STORE_READ)
		return smb_begun(call->pread_async(c, smb_file(j), (uint8_t *)op->buf + op->done,
						   len, at, smb_data_done, j));
	return smb_begun(call->pwrite_async(c, smb_file(j), (const uint8_t *)op->data + op->done,
					    len, at, smb_data_done, j));
}

/*
 * libsmb2 asks for less than it was told where it has few credits, then for a multiple of 64 KiB.
 * Any other short answer is the file's end.
 */
static void smb_data_done(struct smb2_context *context, int status, void *data, void *user)
{
	struct remote_job *j = user;
	int code = status < 0 ? -status : 0;

	(void)context, (void)data;
	if (!remote_heard(j))
		return;
	j->op->done += status > 0 ? (uint64_t)status : 0;
	if (status > 0 && j->op->done < j->op->len && status % 65536 == 0) {
		code = smb_move(j);
		if (!code)
			return;
	}
	remote_end(j, code);
}

/* ---- one call each ---- */

static void smb_done(struct smb2_context *context, int status, void *data, void *user)
{
	struct remote_job *j = user;
	const struct smb_stat *st = (const void *)j->room;
	const struct smb_statvfs *fs = (const void *)j->room;
	int code = status < 0 ? -status : status;

	(void)context;
	if (!remote_heard(j))
		return;
	switch (code ? N_STORE_VERBS : j->op->verb) {
	case STORE_LENGTH:
		j->op->done = st->size;
		break;
	case STORE_LOOKUP:
		code = st->type == TYPE_DIRECTORY ? 0 : ENOTDIR;
		break;
	case STORE_ROOM:
		j->op->done = fs->bavail * fs->frsize;
		break;
	case STORE_LIST:
		remote_take_list(j, data);
		return;
	default:
		break;
	}
	remote_end(j, code);
}

/* ---- files ---- */

/*
 * Opens, or makes and opens. Not by smb2_open(), which lets nobody delete or rename the file
 * meanwhile, as programs on a Mac or on Linux do.
 */
static int smb_open_file(struct remote_job *j, const char *path, uint32_t access,
			 uint32_t disposition, smb_callback opened)
{
	const struct smb_calls *call = smb_of(j)->call;
	struct smb_create create = { .impersonation_level = IMPERSONATION,
				     .desired_access = access,
				     .share_access = SHARE_ALL,
				     .disposition = disposition,
				     .options = NON_DIRECTORY_FILE,
				     .name = path };
	struct smb2_pdu *pdu = call->cmd_create_async(smb_of(j)->context, &create, opened, j);

	if (!pdu)
		return ENOMEM;
	call->queue_pdu(smb_of(j)->context, pdu);
	return 0;
}

/* An errno. */
static int smb_take_file(const struct remote_job *j, int status, const void *data, void **file)
{
	const struct smb_create_reply *reply = data;

	if (status)
		return smb_of(j)->call->errno_of((uint32_t)status);
	*file = smb_of(j)->call->fh_from_file_id(smb_of(j)->context, reply->file_id);
	return *file ? 0 : ENOMEM;
}

static uint32_t smb_access(unsigned int how)
{
	return (how & STORE_FOR_WRITE ? ACCESS_WRITE : 0) |
	       (how & STORE_FOR_READ || !(how & STORE_FOR_WRITE) ? ACCESS_READ : 0);
}

static void smb_opened(struct smb2_context *context, int status, void *data, void *user)
{
	struct remote_job *j = user;
	void *file = NULL;
	int code;

	if (!remote_heard(j))
		return;
	code = smb_take_file(j, status, data, &file);
	if (!code && j->op->verb == STORE_CREATE && !j->op->how) {
		code = smb_begun(smb_of(j)->call->close_async(context, file, smb_done, j));
		if (!code)
			return;
	}
	j->op->opened.id = (uintptr_t)file;
	remote_end(j, code);
}

/* ---- named streams ---- */

static void smb_stream_closed(struct smb2_context *context, int status, void *data, void *user)
{
	struct remote_job *j = user;

	(void)context, (void)data;
	if (remote_heard(j))
		remote_end(j, j->code ? j->code : status < 0 ? -status : 0);
}

static void smb_stream_moved(struct smb2_context *context, int status, void *data, void *user)
{
	struct remote_job *j = user;
	int code;

	(void)data;
	if (!remote_heard(j))
		return;
	j->code = status < 0 ? -status : 0;
	j->op->done = status > 0 ? (uint64_t)status : 0;
	if (j->op->verb == STORE_GET_XATTR && j->op->done > j->op->len)
		j->code = ERANGE;
	if (j->code)
		j->op->done = 0;
	code = smb_begun(smb_of(j)->call->close_async(context, j->handle, smb_stream_closed, j));
	if (code)
		remote_end(j, j->code ? j->code : code);
}

/* One byte more than there is room for tells that the value is longer. */
static void smb_stream_opened(struct smb2_context *context, int status, void *data, void *user)
{
	const struct smb_calls *call;
	struct remote_job *j = user;
	struct store_op *op = j->op;
	int code;

	if (!remote_heard(j))
		return;
	call = smb_of(j)->call;
	code = smb_take_file(j, status, data, &j->handle);
	if (code == EIO) /* the name with its colon is not valid there */
		code = EOPNOTSUPP;
	if (!code && op->verb == STORE_GET_XATTR)
		code = smb_begun(call->pread_async(context, j->handle, op->buf,
						   (uint32_t)op->len + 1, 0, smb_stream_moved, j));
	else if (!code && op->len)
		code = smb_begun(call->pwrite_async(context, j->handle, op->data, (uint32_t)op->len,
						    0, smb_stream_moved, j));
	else if (!code)
		code = smb_begun(call->close_async(context, j->handle, smb_stream_closed, j));
	if (code)
		remote_end(j, code);
}

static int smb_stream(struct remote_job *j, const char *path)
{
	const bool sets = j->op->verb == STORE_SET_XATTR;
	char stream[PATH_MAX + 256];

	if (snprintf(stream, sizeof(stream), "%s:%s", path, j->op->to_name) >= (int)sizeof(stream))
		return ENAMETOOLONG;
	return smb_open_file(j, stream, sets ? ACCESS_WRITE : ACCESS_READ,
			     sets ? DISPOSITION_OVERWRITE_IF : DISPOSITION_OPEN, smb_stream_opened);
}

/* ---- CREATE, SET_INFO and CLOSE in one message ---- */

static void smb_note_part(struct remote_job *j, int status)
{
	if (status && !j->code)
		j->code = smb_of(j)->call->errno_of((uint32_t)status);
}

static void smb_part_done(struct smb2_context *context, int status, void *data, void *user)
{
	(void)context, (void)data;
	if (remote_heard(user))
		smb_note_part(user, status);
}

static void smb_last_done(struct smb2_context *context, int status, void *data, void *user)
{
	struct remote_job *j = user;

	(void)context, (void)data;
	if (!remote_heard(j))
		return;
	smb_note_part(j, status);
	remote_end(j, j->code);
}

static void smb_free_pdus(const struct remote_job *j, struct smb2_pdu *pdu[static 3])
{
	for (int i = 0; i < 3; i++)
		if (pdu[i])
			smb_of(j)->call->free_pdu(smb_of(j)->context, pdu[i]);
}

static int smb_set_info(struct remote_job *j, const char *path, uint32_t access, uint8_t class,
			void *data)
{
	const struct smb_calls *call = smb_of(j)->call;
	struct smb2_context *c = smb_of(j)->context;
	struct smb_create create = { .impersonation_level = IMPERSONATION,
				     .desired_access = access,
				     .share_access = SHARE_ALL,
				     .disposition = DISPOSITION_OPEN,
				     .name = path };
	struct smb_set_info set = { .type = INFO_FILE, .class = class, .data = data };
	struct smb_close done = { 0 };
	struct smb2_pdu *first, *second, *third;

	memcpy(set.file_id, smb_compound_id, SMB_ID_LEN);
	memcpy(done.file_id, smb_compound_id, SMB_ID_LEN);
	first = call->cmd_create_async(c, &create, smb_part_done, j);
	second = call->cmd_set_info_async(c, &set, smb_part_done, j);
	third = call->cmd_close_async(c, &done, smb_last_done, j);
	if (!first || !second || !third) {
		smb_free_pdus(j, (struct smb2_pdu *[]) { first, second, third });
		return ENOMEM;
	}
	call->add_compound_pdu(c, first, second);
	call->add_compound_pdu(c, first, third);
	call->queue_pdu(c, first);
	return 0;
}

/* Times that are all 0 stay as they are. */
static int smb_set_time(struct remote_job *j, const char *path)
{
	struct smb_basic basic = { .written = { (time_t)j->op->offset, !j->op->offset } };

	if (j->op->offset > SMB_TIME_MAX)
		return EINVAL;
	return smb_set_info(j, path, FILE_WRITE_ATTRIBUTES, BASIC_INFORMATION, &basic);
}

/*
 * Not as smb2_unlink() and smb2_rmdir(), which ask for it when they open: where that cannot be done
 * at the close, as with a directory that has entries, Samba says that it was.
 */
static int smb_delete(struct remote_job *j, const char *path)
{
	uint8_t is_pending = 1;

	return smb_set_info(j, path, ACCESS_DELETE, DISPOSITION_INFORMATION, &is_pending);
}

/* ---- verbs ---- */

static int smb_rename(struct remote_job *j, const char *path)
{
	const struct store_op *op = j->op;
	char to[PATH_MAX];
	int code = remote_path(j->r, op->to_dir, op->to_name, to);

	if (code)
		return code;
	return smb_begun(smb_of(j)->call->rename_async(smb_of(j)->context, path, to + (*to == '/'),
						       smb_done, j));
}

int smb_on_file(struct remote_job *j)
{
	const struct smb_calls *call = smb_of(j)->call;
	struct smb2_context *c = smb_of(j)->context;

	switch (j->op->verb) {
	case STORE_CLOSE:
		return smb_begun(call->close_async(c, smb_file(j), smb_done, j));
	case STORE_LENGTH:
		return smb_begun(
		    call->fstat_async(c, smb_file(j), (struct smb_stat *)j->room, smb_done, j));
	case STORE_SET_LEN:
		return smb_begun(call->ftruncate_async(c, smb_file(j), j->op->len, smb_done, j));
	default: /* STORE_FLUSH */
		return smb_begun(call->fsync_async(c, smb_file(j), smb_done, j));
	}
}

int smb_on_name(struct remote_job *j, const char *path)
{
	const struct smb_calls *call = smb_of(j)->call;
	struct smb2_context *c = smb_of(j)->context;

	_Static_assert(sizeof(struct smb_stat) <= sizeof(j->room), "attributes have room");
	path += *path == '/'; /* libsmb2 has none in front */
	switch (j->op->verb) {
	case STORE_RENAME:
		return smb_rename(j, path);
	case STORE_DELETE:
		return smb_delete(j, path);
	case STORE_SET_TIME:
		return smb_set_time(j, path);
	case STORE_GET_XATTR:
	case STORE_SET_XATTR:
		return smb_stream(j, path);
	case STORE_PROBE:
	case STORE_LOOKUP:
		return smb_begun(
		    call->stat_async(c, path, (struct smb_stat *)j->room, smb_done, j));
	case STORE_MKDIR:
		return smb_begun(call->mkdir_async(c, path, smb_done, j));
	case STORE_OPEN:
		return smb_open_file(j, path, smb_access(j->op->how), DISPOSITION_OPEN, smb_opened);
	case STORE_CREATE:
		return smb_open_file(j, path,
				     j->op->how ? smb_access(j->op->how) : FILE_WRITE_ATTRIBUTES,
				     DISPOSITION_CREATE, smb_opened);
	case STORE_ROOM:
		return smb_begun(
		    call->statvfs_async(c, path, (struct smb_statvfs *)j->room, smb_done, j));
	default: /* STORE_LIST */
		return smb_begun(call->opendir_async(c, path, smb_done, j));
	}
}
