/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes packets. */

#include "trace/stream.h"

#include "base/clock.h"
#include "base/file.h"
#include "trace/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define HEAD_LEN sizeof(struct trace_packet_head)

_Static_assert(HEAD_LEN == 80, "as the metadata say");

int trace_stream_open(struct trace_stream *s, unsigned int number, int folder)
{
	*s = (struct trace_stream) { .number = number,
				     .record_len = trace_streams[number].len,
				     .fd = -1,
				     .used = HEAD_LEN };
	s->packet = calloc(1, TRACE_PACKET_LEN);
	if (!s->packet)
		return -ENOMEM;
	s->fd = file_create(folder, trace_streams[number].name, 0600);
	return s->fd < 0 ? s->fd : 0;
}

void trace_stream_close(struct trace_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	free(s->packet);
	s->packet = NULL;
}

/* All or nothing. */
static int write_whole(int fd, const uint8_t *at, size_t len)
{
	off_t begin = lseek(fd, 0, SEEK_CUR);
	size_t done = 0;
	ssize_t n;
	int r;

	while (done < len) {
		n = write(fd, at + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done == len)
		return 0;
	r = n < 0 ? -errno : -EIO;
	/* If that fails, readers report a torn packet. */
	if (done && begin >= 0 && !ftruncate(fd, begin))
		lseek(fd, begin, SEEK_SET);
	return r;
}

int trace_stream_flush(struct trace_stream *s, struct trace_shared *all, uint64_t discarded)
{
	struct trace_packet_head head = { .magic = TRACE_MAGIC,
					  .stream = s->number,
					  .content_size = s->used * 8,
					  .packet_size = TRACE_PACKET_LEN * 8,
					  .discarded = discarded,
					  .seq = s->seq };
	int r;

	if (all->room < TRACE_PACKET_LEN)
		return -E2BIG;
	memcpy(head.uuid, all->uuid, sizeof(head.uuid));
	if (!s->n_open && s->last_ns < clock_now_ns())
		s->last_ns = clock_now_ns();
	head.begin_ns = head.end_ns = s->last_ns;
	if (s->n_open)
		memcpy(&head.begin_ns, s->packet + HEAD_LEN, sizeof(head.begin_ns));
	memcpy(s->packet, &head, sizeof(head));
	memset(s->packet + s->used, 0, TRACE_PACKET_LEN - s->used);
	head.crc32 = (uint32_t)crc32(0, s->packet, TRACE_PACKET_LEN);
	memcpy(s->packet, &head, sizeof(head));
	r = write_whole(s->fd, s->packet, TRACE_PACKET_LEN);
	if (r)
		return r;
	all->room -= TRACE_PACKET_LEN;
	all->written += TRACE_PACKET_LEN;
	s->n_written += s->n_open;
	s->n_open = 0;
	s->used = HEAD_LEN;
	s->discarded = discarded;
	s->seq++;
	return 0;
}

int trace_stream_put(struct trace_stream *s, struct trace_shared *all, const void *record,
		     uint64_t discarded)
{
	uint64_t at_ns;

	memcpy(s->packet + s->used, record, s->record_len);
	/* Two CPUs may have made records at the same time, and submitted them in another order. */
	memcpy(&at_ns, record, sizeof(at_ns));
	if (at_ns < s->last_ns)
		memcpy(s->packet + s->used, &s->last_ns, sizeof(s->last_ns));
	else
		s->last_ns = at_ns;
	if (!s->n_open++)
		s->since_ns = clock_now_ns();
	s->used += s->record_len;
	if (s->used + s->record_len <= TRACE_PACKET_LEN)
		return 0;
	return trace_stream_flush(s, all, discarded);
}
