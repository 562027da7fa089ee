/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_BEGAN_H
#define UNIT_BEGAN_H

/* When an invented process has begun, as struct procstat has it. With the machine it is 0. */

#include <stdint.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t began_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK);
}

#endif
