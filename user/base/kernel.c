/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int kernel_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, RENAME_NOREPLACE);
}

int kernel_epoll_wait(int epoll, struct epoll_event *event, int n, uint64_t wait_ns)
{
	struct timespec t = { 0, (long)wait_ns };
	int got = (int)syscall(SYS_epoll_pwait2, epoll, event, n, &t, NULL, (size_t)0);

	if (got < 0 && errno == ENOSYS)
		got = epoll_wait(epoll, event, n, (int)((wait_ns + 999999) / 1000000));
	return got;
}

void kernel_close_from(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, (unsigned int)fd, ~0u, 0u))
		return;
#endif
	for (; fd < most; fd++) /* before Linux 5.9 */
		close(fd);
}

const char *kernel_why(int code)
{
	return code > 0 && code <= EHWPOISON ? strerror(code) : "unknown error";
}

bool kernel_before(int major, int minor)
{
	struct utsname name;
	int its_major, its_minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &its_major, &its_minor) == 2 &&
	       (its_major < major || (its_major == major && its_minor < minor));
}

static bool asked(int fd, unsigned int mask, struct statx *out)
{
	return !syscall(SYS_statx, fd, "", AT_EMPTY_PATH, mask, out);
}

bool kernel_is_mount(int fd)
{
	struct statx sx;

	return asked(fd, 0, &sx) && sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443 /* on every processor */
#endif
#define QUOTA_BLOCK 1024u

uint64_t kernel_quota_left(int fd, enum kernel_quota of, uint32_t id)
{
	const unsigned int what = QCMD((unsigned int)Q_GETQUOTA,
				       of == KERNEL_QUOTA_USER ? USRQUOTA : GRPQUOTA);
	struct if_dqblk q = { 0 };
	uint64_t most;

	if (syscall(SYS_quotactl_fd, fd, what, id, &q) || !(q.dqb_valid & QIF_BLIMITS))
		return UINT64_MAX;
	most = q.dqb_bsoftlimit ? q.dqb_bsoftlimit : q.dqb_bhardlimit;
	if (!most || !(q.dqb_valid & QIF_SPACE))
		return UINT64_MAX;
	most = most > UINT64_MAX / QUOTA_BLOCK ? UINT64_MAX : most * QUOTA_BLOCK;
	return most > q.dqb_curspace ? most - q.dqb_curspace : 0;
}

bool kernel_direct_align(int fd, size_t *out)
{
#ifdef STATX_DIOALIGN
	struct statx sx;

	if (asked(fd, STATX_DIOALIGN, &sx) && sx.stx_mask & STATX_DIOALIGN) {
		*out = sx.stx_dio_offset_align;
		return true;
	}
#else
	(void)fd;
	(void)out;
#endif
	return false;
}
