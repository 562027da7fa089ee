/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from the AFP reference (3.x) and netatalk's include/atalk/afp.h. */
#include "run/account.h"

#include "run/result.h"

#include <stdio.h>
#include <string.h>

const struct account_column_def account_columns[ACCOUNT_N_COLUMNS] = {
#define X(name, key, text) { key, text },
	ACCOUNT_COLUMNS(X)
#undef X
};

#define GO_ON     AFP_ERR_CONTINUE
#define THE_END   AFP_ERR_END_OF_FILE
#define NO_ITEM   AFP_ERR_ITEM_NOT_FOUND
#define NO_OBJECT AFP_ERR_NO_OBJECT

static void unnamed(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	if (number < AFS_ACCOUNT_DSI)
		snprintf(buf, ACCOUNT_NAME_MAX, "AFP command %u", number);
	else
		snprintf(buf, ACCOUNT_NAME_MAX, "DSI command %u", number - AFS_ACCOUNT_DSI);
}

/*
 * Of the AFP reference and of netatalk: the end of what is asked for in pieces (a folder, a search,
 * a file), the steps of a login, and what a client asks for to see whether it is there: an
 * attribute, a comment, an icon, and a name, before it makes the file.
 */
static const struct account_normal normal_afp[] = {
	{ 9, NO_OBJECT },  { 66, NO_OBJECT }, { 68, NO_OBJECT }, /* FPEnumerate ... */
	{ 43, THE_END },   { 67, THE_END },                      /* FPCatSearch ... */
	{ 27, THE_END },   { 60, THE_END },                      /* FPRead ... */
	{ 18, GO_ON },     { 19, GO_ON },     { 63, GO_ON },     /* FPLogin ... */
	{ 12, NO_OBJECT }, { 13, NO_OBJECT }, { 34, NO_OBJECT }, /* FPGetFileDirParms ... */
	{ 51, NO_ITEM },   { 52, NO_ITEM },   { 55, NO_ITEM },   /* FPGetIcon ..., FPGetAPPL */
	{ 58, NO_ITEM },   { 69, NO_ITEM },                      /* FPGetComment, FPGetExtAttr */
};

/* clang-format off */
static const struct account_names account_afp = {
	.unnamed = unnamed,
	.normal = normal_afp,
	.n_normal = sizeof(normal_afp) / sizeof(normal_afp[0]),
	.name = {
		[1] = "FPByteRangeLock", [2] = "FPCloseVol", [3] = "FPCloseDir", [4] = "FPCloseFork",
		[5] = "FPCopyFile", [6] = "FPCreateDir", [7] = "FPCreateFile", [8] = "FPDelete",
		[9] = "FPEnumerate", [10] = "FPFlush", [11] = "FPFlushFork", [12] = "FPGetDirParms",
		[13] = "FPGetFileParms", [14] = "FPGetForkParms", [15] = "FPGetSrvrInfo",
		[16] = "FPGetSrvrParms", [17] = "FPGetVolParms", [18] = "FPLogin", [19] = "FPLoginCont",
		[20] = "FPLogout", [21] = "FPMapID", [22] = "FPMapName", [23] = "FPMoveAndRename",
		[24] = "FPOpenVol", [25] = "FPOpenDir", [26] = "FPOpenFork", [27] = "FPRead",
		[28] = "FPRename", [29] = "FPSetDirParms", [30] = "FPSetFileParms",
		[31] = "FPSetForkParms", [32] = "FPSetVolParms", [33] = "FPWrite",
		[34] = "FPGetFileDirParms", [35] = "FPSetFileDirParms", [36] = "FPChangePassword",
		[37] = "FPGetUserInfo", [38] = "FPGetSrvrMsg", [39] = "FPCreateID", [40] = "FPDeleteID",
		[41] = "FPResolveID", [42] = "FPExchangeFiles", [43] = "FPCatSearch", [48] = "FPOpenDT",
		[49] = "FPCloseDT", [51] = "FPGetIcon", [52] = "FPGetIconInfo", [53] = "FPAddAPPL",
		[54] = "FPRemoveAPPL", [55] = "FPGetAPPL", [56] = "FPAddComment",
		[57] = "FPRemoveComment", [58] = "FPGetComment", [59] = "FPByteRangeLockExt",
		[60] = "FPReadExt", [61] = "FPWriteExt", [62] = "FPGetAuthMethods", [63] = "FPLoginExt",
		[64] = "FPGetSessionToken", [65] = "FPDisconnectOldSession", [66] = "FPEnumerateExt",
		[67] = "FPCatSearchExt", [68] = "FPEnumerateExt2", [69] = "FPGetExtAttr",
		[70] = "FPSetExtAttr", [71] = "FPRemoveExtAttr", [72] = "FPListExtAttrs",
		[73] = "FPGetACL", [74] = "FPSetACL", [75] = "FPAccess", [76] = "FPSpotlightRPC",
		[78] = "FPSyncDir", [79] = "FPSyncFork", [122] = "FPZzzzz", [192] = "FPAddIcon",
		[AFS_ACCOUNT_UNNAMED] = "other AFP commands",
		[AFS_ACCOUNT_DSI + 2] = "DSICommand without a command",
		[AFS_ACCOUNT_DSI + 3] = "DSIGetStatus", [AFS_ACCOUNT_DSI + 4] = "DSIOpenSession",
		[AFS_ACCOUNT_DSI + 6] = "DSIWrite without a command",
		[AFS_ACCOUNT_DSI + 8] = "DSIAttention",
		[AFS_ACCOUNT_BETWEEN] = "between requests", [AFS_ACCOUNT_THREADS] = "other threads",
		[AFS_ACCOUNT_NONE] = "outside sessions", [AFS_ACCOUNT_MORE] = "unassigned",
	},
};
/* clang-format on */

int32_t account_normal_result(const struct account_names *n, unsigned int number)
{
	n = n ? n : &account_afp;
	for (size_t i = 0; i < n->n_normal; i++)
		if (n->normal[i].account == number)
			return n->normal[i].code;
	return 0;
}

const char *account_name_of(const struct account_names *n, unsigned int number,
			    char buf[ACCOUNT_NAME_MAX])
{
	const char *name;

	n = n ? n : &account_afp;
	name = number < AFS_N_ACCOUNTS ? n->name[number] : NULL;
	if (name)
		return name;
	n->unnamed(number, buf);
	return buf;
}

const char *account_known_name_of(const struct account_names *n, unsigned int number)
{
	n = n ? n : &account_afp;
	return number < AFS_N_ACCOUNTS ? n->name[number] : NULL;
}

const char *account_known_name(unsigned int number)
{
	return account_known_name_of(&account_afp, number);
}

const char *account_name(unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	return account_name_of(&account_afp, number, buf);
}

unsigned int account_number_named(const struct account_names *n,
				  uint8_t number[AFS_ACCOUNT_BETWEEN])
{
	unsigned int count = 0;

	n = n ? n : &account_afp;
	for (unsigned int i = 0; i < AFS_ACCOUNT_BETWEEN; i++)
		number[i] = n->name[i] ? (uint8_t)++count : 0;
	return count;
}

bool account_is_idle(const struct account_names *n, unsigned int number)
{
	for (int i = 0; n && i < AFS_N_IDLE; i++)
		if (number && number == n->idle[i])
			return true;
	return false;
}

bool account_is_request(unsigned int number)
{
	return number < AFS_ACCOUNT_BETWEEN;
}

bool account_changes_nothing(unsigned int number)
{
	static const char *const commands[] = {
		"FPEnumerate",    "FPEnumerateExt", "FPEnumerateExt2", "FPGetFileDirParms",
		"FPGetDirParms",  "FPGetFileParms", "FPOpenDir",       "FPOpenFork",
		"FPResolveID",    "FPCatSearch",    "FPCatSearchExt",  "FPGetExtAttr",
		"FPListExtAttrs", "FPGetACL",       "FPAccess"
	};
	const char *name = account_known_name(number);

	for (size_t i = 0; name && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i]))
			return true;
	return false;
}

enum account_column account_blocked_column(unsigned int class, unsigned int object)
{
	/* sendfile to the client: afpd's socket does not block, the file's pages do. */
	if (class == AFS_CLASS_SENDFILE && object == AFS_OBJECT_CLIENT)
		return ACCOUNT_DISK;
	switch (object) {
	case AFS_OBJECT_BACKEND:
	case AFS_OBJECT_CNIDDB:
		return ACCOUNT_CNID;
	case AFS_OBJECT_LOG:
		return ACCOUNT_LOG;
	case AFS_OBJECT_CLIENT:
		return ACCOUNT_NET;
	case AFS_OBJECT_DATA:
	case AFS_OBJECT_META:
	case AFS_OBJECT_DIR:
		return class == AFS_CLASS_LOCK ? ACCOUNT_LOCK : ACCOUNT_DISK;
	default:
		break;
	}
	switch (class) {
	case AFS_CLASS_LOCK:
		return ACCOUNT_LOCK;
	case AFS_CLASS_OPEN:
	case AFS_CLASS_CLOSE:
	case AFS_CLASS_STAT:
	case AFS_CLASS_XATTR:
	case AFS_CLASS_SYNC:
	case AFS_CLASS_DIR:
	case AFS_CLASS_UNLINK:
	case AFS_CLASS_RENAME:
	case AFS_CLASS_SETATTR:
	case AFS_CLASS_COPY:
		return ACCOUNT_DISK;
	default:
		/* Page faults are disk, too: the class cannot distinguish them from other code. */
		return class == AFS_CLASS_USER ? ACCOUNT_DISK : ACCOUNT_OTHER;
	}
}

void account_add_part(uint64_t out[ACCOUNT_N_COLUMNS], const struct ledger_part *part)
{
	out[part->class == AFS_CLASS_USER ? ACCOUNT_USER : ACCOUNT_CALLS] += part->part.cpu_ns;
	out[ACCOUNT_RUNQ] += part->part.runq_ns;
	out[ACCOUNT_STOPPED] += part->part.stopped_ns;
	out[account_blocked_column(part->class, part->object)] += part->part.blocked_ns;
}

void account_times(const struct ledger *l, unsigned int role, unsigned int number,
		   uint64_t out[ACCOUNT_N_COLUMNS])
{
	memset(out, 0, ACCOUNT_N_COLUMNS * sizeof(*out));
	for (size_t i = 0; i < l->n_parts; i++)
		if (l->part[i].role == role && l->part[i].account == number)
			account_add_part(out, &l->part[i]);
}
