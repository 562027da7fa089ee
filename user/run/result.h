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

/*
 * Those of AFP (AFP reference 3.x; netatalk's include/atalk/afp.h): X(name, code, what it means).
 */
/* clang-format off */
#define AFP_RESULTS(X) \
	X(TOO_MANY_LOGINS, -1068, "too many logins") \
	X(SERVER_BUSY, -1071, "server busy") \
	X(ACCESS_DENIED, -5000, "access denied") \
	X(CONTINUE, -5001, "continue the login") \
	X(BAD_UAM, -5002, "unknown login method") \
	X(BAD_VERSION, -5003, "AFP version not supported") \
	X(BAD_BITMAP, -5004, "bad bitmap") \
	X(CANNOT_MOVE, -5005, "cannot move") \
	X(DENY_CONFLICT, -5006, "open elsewhere with a deny mode") \
	X(DIR_NOT_EMPTY, -5007, "directory not empty") \
	X(DISK_FULL, -5008, "disk full") \
	X(END_OF_FILE, -5009, "end of file") \
	X(FILE_BUSY, -5010, "file is open") \
	X(FLAT_VOLUME, -5011, "flat volume") \
	X(ITEM_NOT_FOUND, -5012, "item not found") \
	X(LOCK_CONFLICT, -5013, "range is locked by another") \
	X(MISC, -5014, "server error") \
	X(NO_MORE_LOCKS, -5015, "no more locks") \
	X(NO_SERVER, -5016, "no server") \
	X(EXISTS, -5017, "exists already") \
	X(NO_OBJECT, -5018, "no such object") \
	X(BAD_PARAMETER, -5019, "bad parameter") \
	X(RANGE_NOT_LOCKED, -5020, "range is not locked") \
	X(RANGE_OVERLAP, -5021, "ranges overlap") \
	X(SESSION_CLOSED, -5022, "session closed") \
	X(NOT_AUTHENTICATED, -5023, "wrong user or password") \
	X(NOT_SUPPORTED, -5024, "not supported by the server") \
	X(WRONG_TYPE, -5025, "wrong type of object") \
	X(TOO_MANY_OPEN, -5026, "too many open files") \
	X(GOING_DOWN, -5027, "server is going down") \
	X(CANNOT_RENAME, -5028, "cannot rename") \
	X(NO_DIRECTORY, -5029, "no such directory") \
	X(ICON_TYPE, -5030, "wrong type of icon") \
	X(VOLUME_LOCKED, -5031, "volume is read-only") \
	X(OBJECT_LOCKED, -5032, "object is locked") \
	X(NO_FILE_ID, -5034, "no file ID") \
	X(HAS_FILE_ID, -5035, "has a file ID already") \
	X(OTHER_VOLUME, -5036, "different volumes") \
	X(CATALOG_CHANGED, -5037, "catalog has changed") \
	X(SAME_OBJECT, -5038, "same object") \
	X(BAD_FILE_ID, -5039, "bad file ID") \
	X(SAME_PASSWORD, -5040, "password is the old one") \
	X(PASSWORD_SHORT, -5041, "password is too short") \
	X(PASSWORD_EXPIRED, -5042, "password expired") \
	X(PASSWORD_CHANGE, -5045, "password must be changed first") \
	X(PASSWORD_POLICY, -5046, "password breaks the server's rules") \
	X(OVER_QUOTA, -5047, "over quota") \
	X(WRONG_PROOF, -6754, "wrong user or password")
/* clang-format on */

enum afp_result {
	AFP_ERR_OK = 0,
#define X(name, code, ...) AFP_ERR_##name = (code),
	AFP_RESULTS(X)
#undef X
};

/* All that have a name. */
extern const struct result_name result_afp[];
extern const size_t result_n_afp;

/* Of AFP; NULL for a code that has no name. */
const char *result_text(int32_t code);

#endif
