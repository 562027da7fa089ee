/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

/*
 * Calls of Linux for which not every C library has a function (musl, that of Alpine, has none of
 * these): by their numbers; and what this kernel is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct epoll_event;

/* renameat() that does not replace: EEXIST, and EINVAL where the file system cannot refuse to. */
int kernel_rename_new(int from_dir, const char *from, int to_dir, const char *to);

/*
 * epoll_wait() for less than a second, exact to what the kernel can; before Linux 5.11 to the next
 * millisecond.
 */
int kernel_epoll_wait(int epoll, struct epoll_event *event, int n, uint64_t wait_ns);

/* Whether this kernel is older than a version; false also where that cannot be told. */
bool kernel_before(int major, int minor);

/* Whether something is mounted on the file or folder; false also where that cannot be told. */
bool kernel_is_mount(int fd);

/* The alignment of O_DIRECT that its file system reports (0: no O_DIRECT); false: it does not. */
bool kernel_direct_align(int fd, size_t *out);

/* Bytes that the quota of a user, or of a group, leaves on fd's file system; UINT64_MAX: it has
 * none, or that cannot be told. */
enum kernel_quota { KERNEL_QUOTA_USER, KERNEL_QUOTA_GROUP };
uint64_t kernel_quota_left(int fd, enum kernel_quota of, uint32_t id);

/* Closes all descriptors from that one on. */
void kernel_close_from(int fd);

/* What an errno means: static, in English. */
const char *kernel_why(int code);

#endif
