/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/post.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int post_put(int fd, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The sender is at it: the rest comes at once. */
static int post_get(int fd, void *data, size_t len)
{
	char *at = data;
	ssize_t n;

	while (len) {
		n = recv(fd, at, len, 0);
		if (!n || (n < 0 && errno != EINTR))
			return n ? -errno : -ECONNRESET;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int post_send(int fd, enum post_type type, uint32_t arg, const void *data, size_t len)
{
	const struct post_head head = { type, arg, len };
	int r = post_put(fd, &head, sizeof(head));

	return r ? r : post_put(fd, data, len);
}

int post_take(struct post *out, int fd, uint64_t wait_ns)
{
	const struct timespec wait = { (time_t)(wait_ns / 1000000000u),
				       (long)(wait_ns % 1000000000u) };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	post_fini(out);
	if (ppoll(&p, 1, &wait, NULL) != 1)
		return 0;
	r = post_get(fd, &out->head, sizeof(out->head));
	if (!r && out->head.len) {
		out->data = malloc(out->head.len);
		r = out->data ? post_get(fd, out->data, out->head.len) : -ENOMEM;
	}
	return r ? r : 1;
}

int post_read(const struct post *p, void *out, size_t len)
{
	if (p->head.len != len)
		return -EPROTO;
	if (len)
		memcpy(out, p->data, len);
	return 0;
}

void post_fini(struct post *p)
{
	free(p->data);
	*p = (struct post) { 0 };
}
