/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the protocol's numbers. */
#include "afp/proto.h"

#include <stddef.h>

static const char *const command_names[256] = {
#define X(name, number) [number] = "FP" #name,
	AFP_COMMANDS(X)
#undef X
};

static const struct {
	int32_t result;
	const char *text;
} result_texts[] = {
#define X(name, number, text) { number, text },
	AFP_RESULTS(X)
#undef X
	    { AFP_ERR_BAD_REPLY, "the reply does not fit the request" },
};

const char *afp_command_name(uint8_t code)
{
	return command_names[code];
}

const char *afp_result_text(int32_t result)
{
	for (size_t i = 0; i < sizeof(result_texts) / sizeof(result_texts[0]); i++) {
		if (result_texts[i].result == result)
			return result_texts[i].text;
	}
	return "unknown result";
}
