/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_FACADE_H
#define FAKE_FACADE_H

/*
 * AFP answers without a volume behind them: all that is asked for is there, all that is done
 * succeeds, and all directories are empty. The answer does not depend on what was done before, so
 * that any number of sessions costs nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACADE_REPLY 128

struct facade_reply {
	int32_t result;
	bool is_look;   /* FPGetFileDirParms of a file: the command that can be delayed */
	size_t len;     /* of payload */
	uint64_t zeros; /* bytes that follow it */
	uint8_t payload[FACADE_REPLY];
};

/* An AFP command without the data of a DSIWrite. */
void facade_answer(struct facade_reply *out, const uint8_t *command, size_t len);

/* The answer to DSIGetStatus: guests log in, to AFP 3.1 to 3.4. */
void facade_status(struct facade_reply *out);

/* The answer to DSIOpenSession. */
void facade_welcome(struct facade_reply *out);

#endif
