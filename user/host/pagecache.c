/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 1024 /* asked for at a time */

/* Of a mapping of len bytes. */
static int pagecache_count(void *map, uint64_t len, uint64_t *cached)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), left, n;
	unsigned char there[PAGES];

	for (uint64_t at = 0; at < len; at += PAGES * page) {
		left = len - at;
		n = left < PAGES * page ? left : PAGES * page;
		if (mincore((char *)map + at, n, there))
			return -errno;
		for (uint64_t i = 0; i * page < n; i++)
			if (there[i] & 1)
				*cached += n - i * page < page ? n - i * page : page;
	}
	return 0;
}

int pagecache_look(const char *path, uint64_t *looked, uint64_t *cached)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), r = 0;
	struct stat st;
	void *map;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		r = -errno;
	} else if (st.st_size) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		r = map == MAP_FAILED ? -errno : pagecache_count(map, (uint64_t)st.st_size, cached);
		if (map != MAP_FAILED)
			munmap(map, (size_t)st.st_size);
		*looked += r ? 0 : (uint64_t)st.st_size;
	}
	close(fd);
	return r;
}
