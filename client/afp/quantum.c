/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "afp/quantum.h"

#include <stdbool.h>
#include <stdio.h>

/* Of netatalk: those from the first on, before the second, count the command as well. */
#define WHOLE_SINCE  40500
#define WHOLE_BEFORE 40502

unsigned int afp_quantum_version(const char *machine)
{
	unsigned int major, minor, patch = 0;

	if (!machine || sscanf(machine, "Netatalk%2u.%2u.%2u", &major, &minor, &patch) < 2)
		return 0;
	return major * 10000 + minor * 100 + patch;
}

size_t afp_quantum_data(uint32_t quantum, const char *machine, size_t command_len)
{
	unsigned int version = afp_quantum_version(machine);
	bool whole = !version || (version >= WHOLE_SINCE && version < WHOLE_BEFORE);

	/* a frame's length has 32 bits, and counts command and data */
	size_t most = UINT32_MAX - command_len;

	if (whole)
		return quantum - command_len;
	return quantum < most ? quantum : most;
}
