/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring buffer's reader. The programs never wait: records that do not fit are lost. */

#include "watch/watch_priv.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WAKE_LEN (1u << 20)

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
	const struct watch_sink *sink = context;

	for (size_t at = 0; at + sizeof(*head) <= len; at += head->len) {
		head = (const void *)((const char *)data + at);
		if (head->len < sizeof(*head) || head->len > len - at)
			break;
		if (head->stream < AFS_N_STREAMS)
			sink->put(sink->user, head->stream, head + 1);
	}
	return 0;
}

int ring_open(struct bpf_rung *b, struct err *e)
{
	int fd = bpf_object__find_map_fd_by_name(b->load.object, "records");
	/* Edge-triggered: level-triggered it would fire as long as anything is in the buffer. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	b->records = b->epoll < 0 ? NULL : ring_buffer__new(fd, hand_on, &b->sink, NULL);
	if (!b->records || epoll_ctl(b->epoll, EPOLL_CTL_ADD, fd, &event))
		return err_set(e, -errno, "cannot read the records of the BPF programs: %s",
			       strerror(errno));
	return 0;
}

int watch_pull(struct watch *w, int timeout_ms)
{
	struct epoll_event event;
	int n;

	if (!w->bpf || !w->bpf->records)
		return -ENOTSUP;
	if (timeout_ms && epoll_wait(w->bpf->epoll, &event, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	n = ring_buffer__consume(w->bpf->records);
	return n < 0 ? n : 0;
}

void ring_close(struct bpf_rung *b)
{
	ring_buffer__free(b->records);
	if (b->epoll >= 0)
		close(b->epoll);
}
