/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_DEVICES_H
#define HOST_DEVICES_H

/*
 * Block devices: what each has done since boot, and of which others one consists. root: "", or
 * where another /proc and /sys are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICES_NAME_MAX 32

struct devices_entry {
	unsigned int major, minor;
	char name[DEVICES_NAME_MAX];
	uint64_t n, ms;    /* accesses that have ended, flushes included; their time */
	uint64_t b;        /* read and written */
	uint64_t busy_ms;  /* with at least one access under way */
	uint64_t queue_ms; /* the same, times their number */
	/* What it moved is in the figures of no other: it is no part of a disk, made of no other
	 * ones, of a file or of memory, as far as /sys says. */
	bool lowest;
};

struct devices {
	size_t n;
	struct devices_entry *entry; /* owned, in the kernel's order */
};

/* 0 or -ENOMEM; devices_fini in both cases. Without /proc/diskstats there are none. */
int devices_read(struct devices *out, const char *root);
void devices_fini(struct devices *d);

/* NULL: there is none. */
const struct devices_entry *devices_find(const struct devices *d, const char *name);

/* What lies below a file system: disks, and those that are made of others with their parts. */
#define DEVICES_BELOW_MAX 16

struct devices_below {
	size_t n;
	char name[DEVICES_BELOW_MAX][DEVICES_NAME_MAX];
};

/* Adds the device of a number, its disk in place of a partition, and all of which it is made. */
void devices_below(struct devices_below *out, const char *root, unsigned int major,
		   unsigned int minor);
/* The other devices of a btrfs file system of which one is known. */
void devices_below_btrfs(struct devices_below *out, const char *root, const char *name);

/* The file that a loop device shows, as far as this process can see it. false: it is none. */
bool devices_backing(char *out, size_t len, const char *root, const char *name);

/*
 * What a RAID of this name does besides serving, in the text of /proc/mdstat: "recovery 12.6%".
 * false: nothing.
 */
bool devices_rebuild(char *out, size_t len, const char *mdstat, const char *name);

#endif
