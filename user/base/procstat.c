/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/procstat.h"

#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD */
#define ENDING        0x00000004u /* PF_EXITING */

int procstat_read(struct procstat *out, pid_t pid)
{
	char text[1024], path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	n = file_text(text, sizeof(text), path);
	return n < 0 ? (int)n : procstat_parse(out, text);
}

int procstat_parse(struct procstat *out, const char *text)
{
	/* The name may hold anything, parentheses included. */
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t user, system, child_user, child_system;
	unsigned int flags;
	int n;

	if (!name || !end || end < name)
		return -EPROTO;
	name++;
	snprintf(out->comm, sizeof(out->comm), "%.*s", (int)(end - name), name);
	/* Fields 3, 4, 9, 10, 12, 14 to 17, 20, 22, 39 and 42. */
	n = sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %*d %*d %u %*d %" SCNu64
		   " %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d"
		   " %*u %*u %" SCNu64,
		   &out->state, &out->ppid, &flags, &out->minflt, &out->majflt, &user, &system,
		   &child_user, &child_system, &out->n_threads, &out->started, &out->cpu,
		   &out->blkio_ticks);
	if (n != 13)
		return -EPROTO;
	out->cpu_ticks = user + system;
	out->child_ticks = child_user + child_system;
	out->is_kernel = flags & KERNEL_THREAD;
	out->is_ending = flags & ENDING;
	return 0;
}

int procstat_by_pid(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}
