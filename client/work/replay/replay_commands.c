/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an AFP command is on a store. */
#include "afp/again.h"
#include "bpf/operations.h"
#include "work/replay/replay_priv.h"

#define NO_VERB N_STORE_VERBS

/* Numbers of commands about sessions that no workload of ours sends. */
#define GET_SERVER_INFO  15
#define GET_AUTH_METHODS 62
#define DISCONNECT_OLD   65
#define ZZZZZ            122
#define N_AFP_COMMANDS   256

static const char *const layouts[N_AFP_COMMANDS] = {
#define X(number, request, reply, layout, reply_layout) [number] = (layout),
	AFS_OPERATIONS(X)
#undef X
};

static const struct {
	uint8_t there, verb, effect;
} commands[N_AFP_COMMANDS] = {
#define X(code, verb, effect) [code] = { 1, verb, REPLAY_##effect }
	X(AFP_ByteRangeLock, STORE_LOCK, USES),
	X(AFP_ByteRangeLockExt, STORE_LOCK, USES),
	X(AFP_CloseFork, STORE_CLOSE, CLOSES),
	X(AFP_CopyFile, STORE_COPY, COPIES),
	X(AFP_CreateDir, STORE_MKDIR, MAKES),
	X(AFP_CreateFile, STORE_CREATE, MAKES),
	X(AFP_Delete, STORE_DELETE, REMOVES),
	X(AFP_Enumerate, STORE_LIST, LOOKS),
	X(AFP_EnumerateExt, STORE_LIST, LOOKS),
	X(AFP_EnumerateExt2, STORE_LIST, LOOKS),
	X(AFP_FlushFork, STORE_FLUSH, USES),
	X(AFP_SyncFork, STORE_FLUSH, USES),
	X(AFP_GetForkParms, STORE_LENGTH, USES),
	X(AFP_SetForkParms, STORE_SET_LEN, USES),
	X(AFP_GetVolParms, STORE_ROOM, IS_VOLUME),
	X(AFP_MoveAndRename, STORE_RENAME, RENAMES),
	X(AFP_Rename, STORE_RENAME, RENAMES),
	X(AFP_OpenFork, STORE_OPEN, OPENS),
	X(AFP_Read, STORE_READ, USES),
	X(AFP_ReadExt, STORE_READ, USES),
	X(AFP_Write, STORE_WRITE, USES),
	X(AFP_WriteExt, STORE_WRITE, USES),
	X(AFP_GetFileDirParms, STORE_PROBE, LOOKS),
	X(AFP_OpenDir, STORE_LOOKUP, LOOKS),
	X(AFP_SetFileDirParms, NO_VERB, LOOKS),
	X(AFP_SetDirParms, NO_VERB, LOOKS),
	X(AFP_SetFileParms, NO_VERB, LOOKS),
	X(AFP_ExchangeFiles, STORE_SWAP, SWAPS),
	X(AFP_GetExtAttr, STORE_GET_XATTR, LOOKS),
	X(AFP_SetExtAttr, STORE_SET_XATTR, LOOKS),
	X(AFP_RemoveExtAttr, STORE_DEL_XATTR, LOOKS),
	X(AFP_ListExtAttrs, STORE_LIST_XATTRS, LOOKS),
	X(AFP_CatSearch, STORE_SEARCH, IS_VOLUME),
	X(AFP_CatSearchExt, STORE_SEARCH, IS_VOLUME),
	X(AFP_Flush, STORE_OTHER, IS_VOLUME),
	X(AFP_OpenDT, STORE_OTHER, IS_VOLUME),
	X(AFP_CloseDT, STORE_OTHER, IS_VOLUME),
	X(AFP_SyncDir, STORE_OTHER, LOOKS),
	X(AFP_CloseDir, STORE_OTHER, LOOKS),
	X(AFP_CreateID, STORE_OTHER, LOOKS),
	X(AFP_ResolveID, STORE_OTHER, BY_ID),
	X(AFP_DeleteID, STORE_OTHER, BY_ID),
	X(AFP_AddComment, STORE_OTHER, LOOKS),
	X(AFP_RemoveComment, STORE_OTHER, LOOKS),
	X(AFP_GetComment, STORE_OTHER, LOOKS),
	X(AFP_GetACL, STORE_OTHER, LOOKS),
	X(AFP_GetUserInfo, STORE_OTHER, ALONE),
	X(AFP_GetSrvrMsg, STORE_OTHER, ALONE),
	X(GET_SERVER_INFO, NO_VERB, IS_SESSION),
	X(GET_AUTH_METHODS, NO_VERB, IS_SESSION),
	X(DISCONNECT_OLD, NO_VERB, IS_SESSION),
	X(ZZZZZ, NO_VERB, IS_SESSION),
	X(AFP_CloseVol, NO_VERB, IS_SESSION),
	X(AFP_OpenVol, NO_VERB, IS_SESSION),
	X(AFP_GetSrvrParms, NO_VERB, IS_SESSION),
	X(AFP_Login, NO_VERB, IS_SESSION),
	X(AFP_LoginCont, NO_VERB, IS_SESSION),
	X(AFP_LoginExt, NO_VERB, IS_SESSION),
	X(AFP_Logout, NO_VERB, IS_SESSION),
	X(AFP_GetSessionToken, NO_VERB, IS_SESSION),
#undef X
};

static bool commands_sets(const struct replay_request *q)
{
	return q->command == AFP_SetFileDirParms || q->command == AFP_SetDirParms ||
	       q->command == AFP_SetFileParms;
}

/* What a store that is not of AFP sets of it: one of them. */
static enum store_verb commands_set_verb(const struct replay_request *q)
{
	const unsigned int bits = q->bitmap | q->dir_bitmap;

	if (bits & AFP_BIT_FINDER)
		return STORE_SET_FINDER;
	if (bits & AFP_BIT_UNIX)
		return STORE_SET_MODE;
	return bits & AFP_BIT_MODIFIED ? STORE_SET_TIME : STORE_OTHER;
}

enum store_verb replay_verb_of(const struct replay_request *q, enum replay_effect *effect)
{
	*effect = REPLAY_IS_UNKNOWN;
	if (q->command >= N_AFP_COMMANDS)
		*effect = REPLAY_IS_SESSION;
	if (q->command >= N_AFP_COMMANDS || !commands[q->command].there)
		return NO_VERB;
	*effect = commands[q->command].effect;
	if (commands_sets(q))
		return commands_set_verb(q);
	if (commands[q->command].verb == STORE_SEARCH && !afp_again_can_search(q->flags))
		return NO_VERB;
	if (commands[q->command].verb == STORE_LOCK && q->flags & REPLAY_FLAG_UNLOCK)
		return STORE_UNLOCK;
	return commands[q->command].verb;
}

const char *replay_layout(uint8_t command)
{
	return layouts[command];
}

enum store_result replay_result_of(const struct replay_request *q, enum store_verb verb)
{
	if (q->result == AFP_ERR_END_OF_FILE && verb == STORE_READ)
		return STORE_SHORT;
	if (q->result == AFP_ERR_OK && verb == STORE_READ && q->actual < q->length &&
	    !(q->marks & REPLAY_REPLY_MISSING))
		return STORE_SHORT;
	if (q->result == AFP_ERR_END_OF_FILE && verb == STORE_SEARCH)
		return STORE_NONE;
	return store_afp_result(q->result);
}

bool replay_is_missing(const struct replay_request *q)
{
	const bool in_file = (q->command >= AFP_GetExtAttr && q->command <= AFP_ListExtAttrs) ||
			     (q->command >= AFP_AddComment && q->command <= AFP_GetComment);

	if (q->result == AFP_ERR_ITEM_NOT_FOUND)
		return !in_file;
	return q->result == AFP_ERR_NO_OBJECT || q->result == AFP_ERR_NO_DIRECTORY;
}

bool replay_is_of_dir(const struct replay_request *q)
{
	return q->command == AFP_OpenDir || q->command == AFP_CloseDir ||
	       q->command == AFP_SyncDir || q->command == AFP_SetDirParms;
}

const char *replay_reason_text(enum replay_reason r)
{
	static const char *const text[REPLAY_N_REASONS] = {
#define X(name, text) text,
		REPLAY_REASONS(X)
#undef X
	};

	return text[r];
}
