/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_POOL_H
#define AFS_POOL_H

/*
 * Free slots: lists in mapped memory, from which programs take slots and to which programs and user
 * space return them. The slot returned last is taken first, so that all slots in use are the first
 * ones. "head" is slot + 1 of the first free one, 0: none is left; its upper half changes with each
 * change, so that a list that was changed twice is not taken for the same.
 */

#include <linux/types.h>

/* Attempts while other CPUs change the list: each of theirs succeeds. */
#define AFS_POOL_TRIES 64

static inline __u64 afs_pool_head(__u64 before, __u32 first)
{
	return ((before >> 32) + 1) << 32 | first;
}

/* One attempt; next: that of the slot. 0: another one changed the list meanwhile. */
static inline int afs_pool_give(__u64 *head, __u32 *next, __u32 slot)
{
	__u64 before = *(volatile __u64 *)head;

	*next = (__u32)before;
	return __sync_val_compare_and_swap(head, before, afs_pool_head(before, slot + 1)) == before;
}

#endif
