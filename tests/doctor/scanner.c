/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scanner PATH US: a virus scanner for the mount of PATH. Whoever opens a file there waits until
 * it has looked at it, for US microseconds, one file after the other. Until it is killed. Needs
 * root and a kernel with CONFIG_FANOTIFY_ACCESS_PERMISSIONS.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <time.h>
#include <unistd.h>

static void answer(int group, const struct fanotify_event_metadata *m, long us)
{
	struct fanotify_response ok = { .fd = m->fd, .response = FAN_ALLOW };
	struct timespec look = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	if (m->fd < 0)
		return;
	if (us)
		nanosleep(&look, NULL);
	if (m->mask & FAN_ALL_PERM_EVENTS && write(group, &ok, sizeof(ok)) < 0)
		perror("scanner: answer");
	close(m->fd);
}

int main(int argc, char **argv)
{
	int group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_LARGEFILE);
	struct fanotify_event_metadata m[64], *at;
	ssize_t n;

	if (argc != 3 || group < 0 ||
	    fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_PERM, AT_FDCWD, argv[1])) {
		perror("scanner PATH US");
		return 1;
	}
	while ((n = read(group, m, sizeof(m))) > 0)
		for (at = m; FAN_EVENT_OK(at, n); at = FAN_EVENT_NEXT(at, n))
			answer(group, at, strtol(argv[2], NULL, 10));
	return 0;
}
