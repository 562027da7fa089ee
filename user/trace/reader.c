/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads packets and returns their records. Checks everything; does not interpret records. */

#include "trace/reader.h"

#include "base/file.h"
#include "trace/fields.h"
#include "trace/metadata.h"
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define HEAD_LEN     sizeof(struct trace_packet_head)
#define METADATA_MAX (1u << 20)
#define NOTICES_MAX  5

/* No file can have more. */
#define SEQ_MAX (UINT64_MAX / TRACE_PACKET_LEN)

struct stream {
	unsigned int number; /* enum afs_stream_number */
	int fd;
	bool chosen, told;   /* told: its end was reached and reported */
	uint64_t len, at;    /* of the file when it was opened; how much was read */
	uint8_t *packet;     /* owned; TRACE_PACKET_LEN */
	size_t used, end;    /* of the packet: returned, content */
	uint64_t seq;        /* of the next packet */
	uint64_t end_ns;     /* of the last one */
	uint64_t since_good; /* packets left out since it */
	struct trace_read read;
};

struct trace_reader {
	struct trace_listener listener;
	struct trace_about about;
	struct stream stream[AFS_N_STREAMS];
	bool flawed;
};

static void __attribute__((format(printf, 3, 4)))
say(struct trace_reader *r, const struct stream *s, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	if (s->told)
		return;
	r->flawed = true;
	n = snprintf(text, sizeof(text), "%s: ", trace_streams[s->number].name);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	if (r->listener.say)
		r->listener.say(r->listener.user, text);
}

/* Opening */

/* Bytes read, fewer at the end of the file; or a negative errno. */
static ssize_t read_at(int fd, uint8_t *to, size_t len, uint64_t at)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(fd, to + done, len - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int load_metadata(struct trace_reader *r, int folder, struct err *e)
{
	uint64_t len;
	int fd = file_open(folder, "metadata", &len), rc;
	char *text = NULL;
	ssize_t n;

	if (fd < 0)
		return err_set(e, fd,
			       fd == -ENOENT ? "it does not exist (--trace makes one)"
					     : "its metadata cannot be opened: %s",
			       fd == -EINVAL ? "not a regular file" : strerror(-fd));
	if (len > METADATA_MAX)
		rc = err_set(e, -EBADMSG,
			     "its metadata has %" PRIu64 " bytes: it is not afpscope's", len);
	else if (!(text = calloc(1, len + 1)))
		rc = err_set(e, -ENOMEM, "out of memory");
	else if ((n = read_at(fd, (uint8_t *)text, len, 0)) < 0)
		rc = err_set(e, (int)n, "its metadata cannot be read: %s", strerror((int)-n));
	else
		rc = metadata_read(text, (size_t)n, &r->about, e);
	free(text);
	close(fd);
	return rc;
}

/* The writer makes all streams, but calls, waits and texts only if they are wanted. */
static bool must_be(const struct trace_reader *r, unsigned int number)
{
	if (number == AFS_STREAM_TEXTS)
		return false;
	return (number != AFS_STREAM_CALLS && number != AFS_STREAM_WAITS) ||
	       r->stream[AFS_STREAM_CALLS].read.there || r->stream[AFS_STREAM_WAITS].read.there;
}

static int open_streams(struct trace_reader *r, int folder, struct err *e)
{
	int why[AFS_N_STREAMS], rc = -ENODATA;
	struct stream *s;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &r->stream[i];
		s->packet = malloc(TRACE_PACKET_LEN);
		if (!s->packet)
			return err_set(e, -ENOMEM, "out of memory");
		why[i] = s->fd = file_open(folder, trace_streams[i].name, &s->len);
		s->read.there = s->fd >= 0;
		if (s->read.there)
			rc = 0;
	}
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++)
		if (why[i] < 0 && (why[i] != -ENOENT || must_be(r, i)))
			say(r, &r->stream[i], "cannot be opened: %s",
			    why[i] == -EINVAL ? "not a regular file" : strerror(-why[i]));
	return rc ? err_set(e, rc, "none of its streams can be read") : 0;
}

int trace_reader_open(struct trace_reader **out, const char *folder, const struct trace_listener *l,
		      struct err *e)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	int dir, rc;

	*out = NULL;
	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->listener = *l;
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		r->stream[i].number = i;
		r->stream[i].fd = -1;
	}
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = dir < 0 ? err_set(e, -errno, "%s", strerror(errno)) : load_metadata(r, dir, e);
	rc = rc ? rc : open_streams(r, dir, e);
	if (dir >= 0)
		close(dir);
	if (rc) {
		trace_reader_close(r);
		return err_prefix(e, rc, "cannot read the trace %s", folder);
	}
	trace_reader_choose(r, ~0u);
	*out = r;
	return 0;
}

/* Packets */

static const char *check_times(const struct stream *s, const struct trace_packet_head *head)
{
	size_t len = trace_streams[s->number].len, end = head->content_size / 8;
	uint64_t before = head->begin_ns, at_ns;

	if (head->begin_ns < s->end_ns || head->end_ns < head->begin_ns)
		return "its time goes back";
	for (size_t at = HEAD_LEN; at < end; at += len) {
		memcpy(&at_ns, s->packet + at, sizeof(at_ns));
		if (at_ns < before)
			return "the time of its records goes back";
		before = at_ns;
	}
	return before > head->end_ns ? "a record's time is not within its own" : NULL;
}

/* NULL, or why it is left out. The packet's crc32 is 0 afterwards. */
static const char *reader_check(const struct trace_reader *r, struct stream *s)
{
	size_t len = trace_streams[s->number].len;
	struct trace_packet_head head;

	memcpy(&head, s->packet, HEAD_LEN);
	if (head.magic != TRACE_MAGIC)
		return "no packet begins there";
	if (memcmp(head.uuid, r->about.uuid, sizeof(head.uuid)))
		return "it is of another trace";
	if (head.stream != s->number)
		return "it is of another stream";
	memset(s->packet + offsetof(struct trace_packet_head, crc32), 0, sizeof(head.crc32));
	if (crc32(0, s->packet, TRACE_PACKET_LEN) != head.crc32)
		return "its checksum is wrong";
	if (head.packet_size != TRACE_PACKET_LEN * 8 || head.content_size > head.packet_size ||
	    head.content_size % 8 || head.content_size / 8 < HEAD_LEN ||
	    (head.content_size / 8 - HEAD_LEN) % len)
		return "its size is impossible";
	if (head.seq < s->seq || head.seq > SEQ_MAX)
		return "it is a duplicate, or in the wrong place";
	if (head.discarded < s->read.discarded)
		return "fewer records were lost than before it";
	return check_times(s, &head);
}

static void accept(struct trace_reader *r, struct stream *s)
{
	struct trace_packet_head head;
	uint64_t gap, missing;

	memcpy(&head, s->packet, HEAD_LEN);
	gap = head.seq - s->seq;
	missing = gap > s->since_good ? gap - s->since_good : 0;
	if (missing && s->read.missing < NOTICES_MAX)
		say(r, s, "%" PRIu64 " packets are missing before packet %" PRIu64, missing,
		    s->at / TRACE_PACKET_LEN);
	s->read.missing += missing;
	s->read.discarded = head.discarded;
	s->read.packets++;
	s->since_good = 0;
	s->seq = head.seq + 1;
	s->end_ns = head.end_ns;
	s->used = HEAD_LEN;
	s->end = head.content_size / 8;
}

static void reader_leave_out(struct trace_reader *r, struct stream *s, uint64_t n, const char *why)
{
	if (s->read.damaged < NOTICES_MAX)
		say(r, s, "packet %" PRIu64 " is left out: %s", s->at / TRACE_PACKET_LEN, why);
	s->read.damaged += n;
	s->since_good += n;
}

/* If the present packet is in a hole of the file: how many packets are, without reading them. */
static uint64_t in_hole(const struct stream *s)
{
	off_t data = lseek(s->fd, (off_t)s->at, SEEK_DATA);
	uint64_t end = data < 0 ? s->len : (uint64_t)data, n;

	if (data < 0 && errno != ENXIO)
		return 1;
	if (end > s->len)
		end = s->len;
	n = end > s->at ? (end - s->at) / TRACE_PACKET_LEN : 0;
	return n ? n : 1;
}

/* Ends the file and reports what was wrong with it. */
static void reader_finish(struct trace_reader *r, struct stream *s, uint64_t torn_len)
{
	s->at = s->len;
	s->read.torn_len = torn_len;
	if (torn_len)
		say(r, s, "its last packet is torn: %" PRIu64 " bytes are left out", torn_len);
	if (s->read.damaged > NOTICES_MAX)
		say(r, s, "%" PRIu64 " packets are left out in all", s->read.damaged);
	if (s->read.missing > NOTICES_MAX)
		say(r, s, "%" PRIu64 " packets are missing in all", s->read.missing);
	if (s->read.discarded)
		say(r, s, "%" PRIu64 " records were lost when they were made", s->read.discarded);
	s->told = true;
}

/* Loads the next valid packet. False: no more. */
static bool reader_load(struct trace_reader *r, struct stream *s)
{
	const char *why;
	uint64_t n;
	ssize_t got;

	s->used = s->end = 0;
	while (s->at < s->len) {
		got = read_at(s->fd, s->packet, TRACE_PACKET_LEN, s->at);
		if (got < (ssize_t)TRACE_PACKET_LEN) {
			if (got < 0)
				say(r, s, "cannot be read at byte %" PRIu64 ": %s", s->at,
				    strerror((int)-got));
			reader_finish(r, s, s->len - s->at);
			return false;
		}
		why = reader_check(r, s);
		if (!why)
			accept(r, s);
		n = 1;
		if (why) {
			memcpy(&n, s->packet, 4);
			n = (uint32_t)n ? 1 : in_hole(s);
			reader_leave_out(r, s, n, why);
		}
		s->at += n * TRACE_PACKET_LEN;
		if (s->used < s->end)
			return true;
	}
	if (!s->told)
		reader_finish(r, s, 0);
	return false;
}

/* Records */

void trace_reader_choose(struct trace_reader *r, unsigned int mask)
{
	struct stream *s;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &r->stream[i];
		s->chosen = s->read.there && (mask >> i & 1);
		s->read = (struct trace_read) { .there = s->read.there };
		s->at = s->used = s->end = 0;
		s->seq = s->end_ns = s->since_good = 0;
	}
}

const void *trace_reader_next(struct trace_reader *r, unsigned int *stream)
{
	uint64_t at_ns, least_ns = 0;
	struct stream *s, *first = NULL;
	const void *record;

	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		s = &r->stream[i];
		if (!s->chosen)
			continue;
		if (s->used == s->end && !reader_load(r, s)) {
			s->chosen = false;
			continue;
		}
		memcpy(&at_ns, s->packet + s->used, sizeof(at_ns));
		if (first && at_ns >= least_ns)
			continue;
		first = s;
		least_ns = at_ns;
	}
	if (!first)
		return NULL;
	record = first->packet + first->used;
	first->used += trace_streams[first->number].len;
	first->read.records++;
	*stream = first->number;
	return record;
}

const struct trace_read *trace_reader_read(const struct trace_reader *r, unsigned int stream)
{
	return &r->stream[stream].read;
}

bool trace_reader_flawed(const struct trace_reader *r)
{
	return r->flawed;
}

int64_t trace_reader_offset_ns(const struct trace_reader *r)
{
	return r->about.offset_ns;
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		if (r->stream[i].fd >= 0)
			close(r->stream[i].fd);
		free(r->stream[i].packet);
	}
	free(r);
}
