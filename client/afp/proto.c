/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the protocol's numbers. */
#include "afp/proto.h"

static const char *const command_names[256] = {
#define X(name, number) [number] = "FP" #name,
	AFP_COMMANDS(X)
#undef X
};

const char *afp_command_name(uint8_t code)
{
	return command_names[code];
}

const char *afp_result_text(int32_t result)
{
	const char *text = result_text(result);

	if (result == AFP_ERR_OK)
		return "success";
	if (result == AFP_ERR_BAD_REPLY)
		return "the reply does not fit the request";
	return text ? text : "unknown result";
}
