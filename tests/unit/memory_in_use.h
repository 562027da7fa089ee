/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_MEMORY_IN_USE_H
#define UNIT_MEMORY_IN_USE_H

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * First in main(). Starts the program again without malloc's store of free chunks for each thread
 * (glibc), which mallinfo2() counts as in use: how full it is depends on how busy the machine is.
 */
static inline void count_memory_exactly(char **argv)
{
	static const char name[] = "GLIBC_TUNABLES", value[] = "glibc.malloc.tcache_count=0";

	if ((!getenv(name) || strcmp(getenv(name), value)) && !setenv(name, value, 1))
		execv(argv[0], argv);
}

static inline size_t memory_in_use(void)
{
	return mallinfo2().uordblks;
}

#endif
