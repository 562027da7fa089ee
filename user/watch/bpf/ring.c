/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring buffer's reader. The programs never wait: records that do not fit are lost. */

#include "watch/bpf/ring.h"

#include "watch/watch_priv.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WAKE_LEN (1u << 20)

struct ring {
	struct watch_sink sink;
	struct ring_buffer *ring;
	int epoll;
};

size_t ring_len_for(size_t wish)
{
	size_t len = (size_t)sysconf(_SC_PAGESIZE);

	while (len < wish && len < (1u << 30))
		len *= 2;
	return len;
}

size_t ring_wake_len(size_t ring_len, unsigned int n_cpus)
{
	size_t len = WAKE_LEN;

	while (len > 1 && len * n_cpus > ring_len / 4)
		len /= 2;
	return len;
}

bool ring_wanted(const struct watch_sink *sink)
{
	return sink->what & ~(unsigned int)(AFS_TRACE_LIVE | AFS_TRACE_ASKED);
}

/* One record, or a batch of them. */
static int hand_on(void *context, void *data, size_t len)
{
	const struct afs_record_head *head;
	const struct ring *r = context;

	for (size_t at = 0; at + sizeof(*head) <= len; at += head->len) {
		head = (const void *)((const char *)data + at);
		if (head->len < sizeof(*head) || head->len > len - at)
			break;
		if (head->stream < AFS_N_STREAMS)
			r->sink.put(r->sink.user, head->stream, head + 1);
	}
	return 0;
}

int ring_open(struct ring **out, const struct bpf_object *object, const struct watch_sink *sink,
	      struct err *e)
{
	int fd = bpf_object__find_map_fd_by_name(object, "records"), r;
	/* Edge-triggered: level-triggered it would fire as long as anything is in the buffer. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct ring *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	x->sink = *sink;
	x->epoll = epoll_create1(EPOLL_CLOEXEC);
	x->ring = x->epoll < 0 ? NULL : ring_buffer__new(fd, hand_on, x, NULL);
	if (!x->ring || epoll_ctl(x->epoll, EPOLL_CTL_ADD, fd, &event)) {
		r = err_set(e, -errno, "cannot read the records of the BPF programs: %s",
			    strerror(errno));
		ring_close(x);
		return r;
	}
	*out = x;
	return 0;
}

int watch_pull(struct watch *w, int timeout_ms)
{
	struct ring *r = w->bpf ? w->bpf->records : NULL;
	struct epoll_event event;
	int n;

	if (!r)
		return -ENOTSUP;
	if (timeout_ms && epoll_wait(r->epoll, &event, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	n = ring_buffer__consume(r->ring);
	return n < 0 ? n : 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->ring);
	if (r->epoll >= 0)
		close(r->epoll);
	free(r);
}
