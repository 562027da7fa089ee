/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_RESULT_H
#define RUN_RESULT_H

#include <stddef.h>
#include <stdint.h>

/* What a result of a request means. */
struct result_name {
	int32_t code;
	const char *text; /* "no such object" */
};

/* Those of AFP: what this program sends, waits for or judges by. */
enum afp_result {
	AFP_ERR_OK = 0,
	AFP_ERR_TOO_MANY_LOGINS = -1068,
	AFP_ERR_SERVER_BUSY = -1071,
	AFP_ERR_ACCESS_DENIED = -5000,
	AFP_ERR_CONTINUE = -5001,
	AFP_ERR_BAD_UAM = -5002,
	AFP_ERR_BAD_VERSION = -5003,
	AFP_ERR_BAD_BITMAP = -5004,
	AFP_ERR_CANNOT_MOVE = -5005,
	AFP_ERR_DENY_CONFLICT = -5006,
	AFP_ERR_DIR_NOT_EMPTY = -5007,
	AFP_ERR_DISK_FULL = -5008,
	AFP_ERR_END_OF_FILE = -5009,
	AFP_ERR_FILE_BUSY = -5010,
	AFP_ERR_ITEM_NOT_FOUND = -5012,
	AFP_ERR_LOCK_CONFLICT = -5013,
	AFP_ERR_MISC = -5014,
	AFP_ERR_NO_MORE_LOCKS = -5015,
	AFP_ERR_EXISTS = -5017,
	AFP_ERR_NO_OBJECT = -5018,
	AFP_ERR_BAD_PARAMETER = -5019,
	AFP_ERR_RANGE_NOT_LOCKED = -5020,
	AFP_ERR_RANGE_OVERLAP = -5021,
	AFP_ERR_SESSION_CLOSED = -5022,
	AFP_ERR_NOT_AUTHENTICATED = -5023,
	AFP_ERR_NOT_SUPPORTED = -5024,
	AFP_ERR_WRONG_TYPE = -5025,
	AFP_ERR_TOO_MANY_OPEN = -5026,
	AFP_ERR_GOING_DOWN = -5027,
	AFP_ERR_NO_DIRECTORY = -5029,
	AFP_ERR_VOLUME_LOCKED = -5031,
	AFP_ERR_OBJECT_LOCKED = -5032,
	AFP_ERR_CATALOG_CHANGED = -5037,
	AFP_ERR_PASSWORD_EXPIRED = -5042,
	AFP_ERR_PASSWORD_CHANGE = -5045,
	AFP_ERR_PASSWORD_POLICY = -5046,
	AFP_ERR_OVER_QUOTA = -5047,
	AFP_ERR_WRONG_PROOF = -6754,
};

/* All that have a name. */
extern const struct result_name result_afp[];
extern const size_t result_n_afp;

/* Of AFP; NULL for a code that has no name. */
const char *result_text(int32_t code);

#endif
