/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_STORAGE_H
#define AFS_STORAGE_H

/*
 * What a watched thread's calls do below the system call: files, page cache, block devices. One
 * struct afs_storage for each role and account. Everything is counted in the thread that causes it;
 * what kernel threads do later (write-back, the journal's commit) is not counted.
 */

#include <linux/types.h>

/*
 * Items: each is observed in one way or not at all. X(name, key, text)
 * Reads and writes of files are those of regular files that reached the file system.
 */
#define AFS_STORAGE_ITEMS(X)                                                                       \
	X(FILE, "file", "reads and writes of files")                                               \
	X(SENDFILE, "sendfile", "files sent to a descriptor")                                      \
	X(SYNC, "sync", "fsync")                                                                   \
	X(CACHE, "cache", "page cache")                                                            \
	X(BLOCK, "block", "block I/O")                                                             \
	X(LATENCY, "latency", "time of block I/O")

/*
 * X(key, item, unit, text). Units: N a number, B bytes, NS nanoseconds. Times of calls contain
 * what is below them, and a write to a file opened with O_SYNC is also a sync. Block I/O is a
 * "bio" as the file system hands it over: read-ahead included, pieces that a stacked device (LVM,
 * RAID) makes of it not. bio_read_bytes is what /proc/PID/io calls read_bytes.
 */
#define AFS_STORAGE(X)                                                                             \
	X(file_reads, FILE, N, "reads of files")                                                   \
	X(file_read_bytes, FILE, B, "read from files")                                             \
	X(file_read_ns, FILE, NS, "in reads of files")                                             \
	X(file_writes, FILE, N, "writes to files")                                                 \
	X(file_write_bytes, FILE, B, "written to files")                                           \
	X(file_write_ns, FILE, NS, "in writes to files")                                           \
	X(sendfiles, SENDFILE, N, "sendfile calls")                                                \
	X(sendfile_bytes, SENDFILE, B, "sent from files")                                          \
	X(sendfile_ns, SENDFILE, NS, "in sendfile, sending included")                              \
	X(syncs, SYNC, N, "files synced")                                                          \
	X(sync_ns, SYNC, NS, "in syncs of files")                                                  \
	X(cache_pages, CACHE, N, "pages of files added to the page cache")                         \
	X(cache_meta_pages, CACHE, N, "pages of block devices (metadata) added to it")             \
	X(bio_reads, BLOCK, N, "block reads")                                                      \
	X(bio_read_bytes, BLOCK, B, "in block reads")                                              \
	X(bio_writes, BLOCK, N, "block writes")                                                    \
	X(bio_write_bytes, BLOCK, B, "in block writes")                                            \
	X(bio_flushes, BLOCK, N, "cache flushes asked of a device")                                \
	X(bio_others, BLOCK, N, "discards and the like")                                           \
	X(bio_read_ns, LATENCY, NS, "from queuing a block read to its end, summed")                \
	X(bio_write_ns, LATENCY, NS, "from queuing a block write to its end, summed")              \
	X(bio_flush_ns, LATENCY, NS, "from queuing a flush to its end, summed")                    \
	X(bio_done, LATENCY, N, "block I/O seen ending")                                           \
	X(bio_untimed, LATENCY, N, "block I/O that found no room to be timed")

enum afs_storage_item {
#define X(name, key, text) AFS_STORAGE_##name,
	AFS_STORAGE_ITEMS(X)
#undef X
	    AFS_N_STORAGE_ITEMS
};

enum afs_storage_field {
#define X(key, item, unit, text) AFS_STORAGE_##key,
	AFS_STORAGE(X)
#undef X
	    AFS_N_STORAGE
};

enum afs_unit { AFS_UNIT_N, AFS_UNIT_B, AFS_UNIT_NS };

struct afs_storage {
#define X(key, item, unit, text) __u64 key;
	AFS_STORAGE(X)
#undef X
};

/* Block I/O on its way. */
#define AFS_N_BIOS         4096
#define AFS_N_REQUEST_BIOS 256 /* in one request; any further ones are not timed */

#ifndef __bpf__
_Static_assert(sizeof(struct afs_storage) == AFS_N_STORAGE * sizeof(__u64), "totals only");
#endif

#endif
