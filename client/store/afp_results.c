/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What result codes of AFP are to a store. */
#include "afp/proto.h"
#include "store/store.h"

#include <stddef.h>

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
	{ AFP_ERR_LOCK_CONFLICT, STORE_LOCKED },
	{ AFP_ERR_OBJECT_LOCKED, STORE_DENIED },
	{ AFP_ERR_DISK_FULL, STORE_FULL },
	{ AFP_ERR_OVER_QUOTA, STORE_QUOTA },
	{ AFP_ERR_DIR_NOT_EMPTY, STORE_NOT_EMPTY },
	{ AFP_ERR_BAD_PARAMETER, STORE_INVALID },
	{ AFP_ERR_NOT_SUPPORTED, STORE_UNKNOWN },
};

enum store_result store_afp_result(int32_t code)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].code == code)
			return results[i].result;
	}
	return STORE_FAILED;
}
