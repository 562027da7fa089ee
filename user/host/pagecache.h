/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PAGECACHE_H
#define HOST_PAGECACHE_H

/* Which part of a file this machine has in memory (mincore(2)). */

#include <stdint.h>

/*
 * Adds the file's length to *looked, and to *cached the bytes of it that a read would take from
 * memory. 0 or a negative errno. Reads nothing of the file.
 */
int pagecache_look(const char *path, uint64_t *looked, uint64_t *cached);

#endif
