/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AFP result codes in words (AFP reference 3.x; netatalk's include/atalk/afp.h). */
#include "run/result.h"

#include "base/vec.h"

const struct result_name result_afp[] = {
	{ -1068, "too many logins" },
	{ -1071, "server busy" },
	{ -5000, "access denied" },
	{ -5001, "continue the login" },
	{ -5002, "unknown login method" },
	{ -5003, "AFP version not supported" },
	{ -5004, "bad bitmap" },
	{ -5005, "cannot move" },
	{ -5006, "open elsewhere with a deny mode" },
	{ -5007, "directory not empty" },
	{ -5008, "disk full" },
	{ -5009, "end of file" },
	{ -5010, "file is open" },
	{ -5011, "flat volume" },
	{ -5012, "item not found" },
	{ -5013, "range is locked by another" },
	{ -5014, "server error" },
	{ -5015, "no more locks" },
	{ -5016, "no server" },
	{ -5017, "exists already" },
	{ -5018, "no such object" },
	{ -5019, "bad parameter" },
	{ -5020, "range is not locked" },
	{ -5021, "ranges overlap" },
	{ -5022, "session closed" },
	{ -5023, "wrong user or password" },
	{ -5024, "not supported by the server" },
	{ -5025, "wrong type of object" },
	{ -5026, "too many open files" },
	{ -5027, "server is going down" },
	{ -5028, "cannot rename" },
	{ -5029, "no such directory" },
	{ -5030, "wrong type of icon" },
	{ -5031, "volume is read-only" },
	{ -5032, "object is locked" },
	{ -5034, "no file ID" },
	{ -5035, "has a file ID already" },
	{ -5036, "different volumes" },
	{ -5037, "catalog has changed" },
	{ -5038, "same object" },
	{ -5039, "bad file ID" },
	{ -5040, "password is the old one" },
	{ -5041, "password is too short" },
	{ -5042, "password expired" },
	{ -5045, "password must be changed first" },
	{ -5046, "password breaks the server's rules" },
	{ -5047, "over quota" },
	{ -6754, "wrong user or password" },
};

const size_t result_n_afp = sizeof(result_afp) / sizeof(result_afp[0]);

const char *result_text(int32_t code)
{
	const struct result_name *is = VEC_FIND(r, result_afp, result_n_afp, r->code == code);

	return is ? is->text : NULL;
}
