/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <stdio.h>

void clock_wall_text(char out[CLOCK_WALL_MAX], int64_t wall_ns)
{
	const time_t s = (time_t)(wall_ns / 1000000000);
	struct tm tm;
	size_t n;

	*out = '\0';
	if (!gmtime_r(&s, &tm))
		return;
	n = strftime(out, CLOCK_WALL_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, CLOCK_WALL_MAX - n, ".%09dZ", (int)(wall_ns % 1000000000));
}
