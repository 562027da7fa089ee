/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AFP result codes in words. */
#include "run/result.h"

#include "base/vec.h"

const struct result_name result_afp[] = {
#define X(name, code, text) { code, text },
	AFP_RESULTS(X)
#undef X
};

const size_t result_n_afp = sizeof(result_afp) / sizeof(result_afp[0]);

const char *result_text(int32_t code)
{
	const struct result_name *is = VEC_FIND(r, result_afp, result_n_afp, r->code == code);

	return is ? is->text : NULL;
}
