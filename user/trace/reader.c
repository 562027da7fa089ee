/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/reader.h"

#include "base/file.h"
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define LAYOUT      ".layout.json"
#define LAYOUT_MOST (1u << 20)
#define SUM_KEY     "\"crc32\": \""
#define FORMAT      1

struct trace_reader {
	char uuid[33];
	uint64_t n_seq; /* packets that there were until now, by their numbers */
	json_t *layout; /* owned; names of fields are in it */
	unsigned int stream, record_len;
	int fd;
	_Alignas(struct trace_packet_head) uint8_t packet[TRACE_PACKET_LEN];
	size_t at, end; /* of the next record, of the packet's */
	uint64_t offset;
	struct trace_read found;
	size_t n_fields;
	struct reader_field {
		const char *name;
		unsigned int at, len;
		bool is_signed;
	} * field;
};

/* ---- the layout ---- */

/* Its last line is the sum of what is before it. */
static bool reader_sum_is_right(const char *text)
{
	const char *at = NULL, *next = text;
	unsigned long sum, want;

	while ((next = strstr(next, SUM_KEY)))
		at = next++;
	if (!at || sscanf(at + strlen(SUM_KEY), "%8lx", &want) != 1)
		return false;
	sum = crc32(0, (const uint8_t *)text, (unsigned int)(at - text));
	return sum == want;
}

static int reader_layout(struct trace_reader *t, int dir, const char *folder, struct err *e)
{
	const char *uuid;
	char *text = NULL;
	json_error_t why;
	uint64_t len;
	int r, fd = file_open(dir, LAYOUT, &len);

	if (fd < 0)
		return err_set(e, fd, "%s: no trace that can be read (" LAYOUT "): %s", folder,
			       strerror(-fd));
	r = file_read_from(&text, fd, LAYOUT, LAYOUT_MOST, e);
	if (r)
		return err_prefix(e, r, "%s", folder);
	t->layout = reader_sum_is_right(text) ? json_loads(text, 0, &why) : NULL;
	free(text);
	if (!t->layout)
		return err_set(e, -EINVAL, "%s: " LAYOUT " is damaged", folder);
	if (json_integer_value(json_object_get(t->layout, "format")) != FORMAT)
		return err_set(e, -EINVAL, "%s: of a version that this one does not read", folder);
	uuid = json_string_value(json_object_get(t->layout, "uuid"));
	if (!uuid || strlen(uuid) != sizeof(t->uuid) - 1 ||
	    strspn(uuid, "0123456789abcdef") != sizeof(t->uuid) - 1)
		return err_set(e, -EINVAL, "%s: " LAYOUT " is damaged", folder);
	snprintf(t->uuid, sizeof(t->uuid), "%s", uuid);
	return 0;
}

/* u16: 2; 0: no number. */
static unsigned int reader_len_of(const char *type)
{
	const int bits = type && (*type == 'u' || *type == 's') ? atoi(type + 1) : 0;

	return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (unsigned int)bits / 8 : 0;
}

static bool reader_take_field(struct trace_reader *t, const json_t *of)
{
	const char *type = json_string_value(json_object_get(of, "type"));
	const json_int_t at = json_integer_value(json_object_get(of, "offset"));
	struct reader_field *f = &t->field[t->n_fields];

	*f = (struct reader_field) { json_string_value(json_object_get(of, "name")),
				     (unsigned int)at, reader_len_of(type), type && *type == 's' };
	if (json_object_get(of, "length"))
		f->len = 0;
	if (!f->name || at < 0 || (uint64_t)at + f->len > t->record_len)
		return false;
	t->n_fields++;
	return true;
}

static bool reader_take_stream(struct trace_reader *t, const json_t *of)
{
	const json_int_t len = json_integer_value(json_object_get(of, "bytes"));
	const json_t *fields = json_object_get(of, "fields");
	bool right = len > 0 && (size_t)len <= TRACE_PACKET_LEN - sizeof(struct trace_packet_head);

	t->stream = (unsigned int)json_integer_value(json_object_get(of, "id"));
	t->record_len = (unsigned int)len;
	t->field = calloc(json_array_size(fields) + 1, sizeof(*t->field));
	for (size_t i = 0; right && t->field && i < json_array_size(fields); i++)
		right = reader_take_field(t, json_array_get(fields, i));
	return right && t->field;
}

static int reader_find(struct trace_reader *t, const char *folder, const char *stream,
		       struct err *e)
{
	const json_t *all = json_object_get(t->layout, "streams"), *one;
	const char *name;

	for (size_t i = 0; i < json_array_size(all); i++) {
		one = json_array_get(all, i);
		name = json_string_value(json_object_get(one, "name"));
		if (!name || strcmp(name, stream))
			continue;
		return reader_take_stream(t, one)
			   ? 0
			   : err_set(e, -EINVAL, "%s: " LAYOUT " is damaged", folder);
	}
	return err_set(e, -ENOENT, "%s: the trace has no %s", folder, stream);
}

/* ---- the stream ---- */

/* Its first packet begins with the number that begins all, but from behind. */
static bool reader_is_swapped(const struct trace_reader *t)
{
	uint32_t magic;

	return pread(t->fd, &magic, sizeof(magic), 0) == sizeof(magic) &&
	       magic == __builtin_bswap32(TRACE_MAGIC);
}

static int reader_open_stream(struct trace_reader *t, int dir, const char *folder,
			      const char *stream, struct err *e)
{
	uint64_t len;

	t->fd = file_open(dir, stream, &len);
	if (t->fd >= 0 && reader_is_swapped(t))
		return err_set(e, -EINVAL,
			       "%s: the trace is of a machine of the other byte order, which is "
			       "not read",
			       folder);
	if (t->fd >= 0)
		return 0;
	return t->fd == -ENOENT ? err_set(e, -ENOENT, "%s: the trace has no %s", folder, stream)
				: err_set(e, t->fd, "%s: %s: %s", folder, stream, strerror(-t->fd));
}

/* The trace itself, or that of a run. */
static int reader_open_folder(const char *folder, struct err *e)
{
	int below, dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return err_set(e, -errno, "%s: %s", folder, strerror(errno));
	below = openat(dir, "trace", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (below < 0)
		return dir;
	close(dir);
	return below;
}

int trace_reader_open(struct trace_reader **out, const char *folder, const char *stream,
		      struct err *e)
{
	struct trace_reader *t = calloc(1, sizeof(*t));
	int r, dir;

	*out = NULL;
	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	t->fd = -1;
	dir = reader_open_folder(folder, e);
	r = dir < 0 ? dir : reader_layout(t, dir, folder, e);
	r = r ? r : reader_find(t, folder, stream, e);
	r = r ? r : reader_open_stream(t, dir, folder, stream, e);
	if (dir >= 0)
		close(dir);
	if (r)
		trace_reader_close(t);
	else
		*out = t;
	return r;
}

void trace_reader_close(struct trace_reader *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	json_decref(t->layout);
	free(t->field);
	free(t);
}

const char *trace_reader_uuid(const struct trace_reader *t)
{
	return t->uuid;
}

int trace_reader_field(const struct trace_reader *t, const char *name)
{
	for (size_t i = 0; i < t->n_fields; i++)
		if (!strcmp(t->field[i].name, name))
			return t->field[i].len ? (int)i : -ENOENT;
	return -ENOENT;
}

/* ---- packets ---- */

/* Whether it is of this trace, as head and layout say. */
static bool reader_is_ours(const struct trace_reader *t, const struct trace_packet_head *head)
{
	char uuid[sizeof(t->uuid)];

	for (size_t i = 0; i < sizeof(head->uuid); i++)
		snprintf(uuid + 2 * i, 3, "%02x", head->uuid[i]);
	return head->magic == TRACE_MAGIC && head->stream == t->stream && !strcmp(uuid, t->uuid);
}

static bool reader_packet_is_right(struct trace_reader *t)
{
	struct trace_packet_head *head = (struct trace_packet_head *)t->packet;
	const uint32_t sum = head->crc32;
	uint64_t content;

	head->crc32 = 0;
	if (!reader_is_ours(t, head) || crc32(0, t->packet, TRACE_PACKET_LEN) != sum)
		return false;
	content = head->content_size / 8;
	if (content < sizeof(*head) || content > TRACE_PACKET_LEN || head->seq < t->n_seq ||
	    head->seq == UINT64_MAX)
		return false;
	t->n_seq = head->seq + 1;
	t->at = sizeof(*head);
	t->end = content;
	t->found.discarded = head->discarded;
	return true;
}

/* All of a packet, or less at the end of the file; a negative errno. */
static ssize_t reader_fill(struct trace_reader *t)
{
	size_t have = 0;
	ssize_t n;

	do {
		n = pread(t->fd, t->packet + have, TRACE_PACKET_LEN - have,
			  (off_t)(t->offset + have));
		have += n > 0 ? (size_t)n : 0;
	} while (n > 0 && have < TRACE_PACKET_LEN);
	return n < 0 ? -errno : (ssize_t)have;
}

/* 1; 0: that was the last one; negative errno. */
static int reader_next_packet(struct trace_reader *t)
{
	ssize_t n;

	for (;;) {
		n = reader_fill(t);
		if (n < 0)
			return (int)n;
		if (n < (ssize_t)TRACE_PACKET_LEN) {
			t->found.torn_b = (uint64_t)n;
			return 0;
		}
		t->offset += TRACE_PACKET_LEN;
		t->found.packets++;
		if (reader_packet_is_right(t))
			return 1;
		t->found.damaged++;
	}
}

int trace_reader_next(struct trace_reader *t, struct err *e)
{
	int r;

	t->at += t->at ? t->record_len : 0;
	while (!t->at || t->at + t->record_len > t->end) {
		r = reader_next_packet(t);
		if (r <= 0) {
			t->at = t->end = 0;
			return r ? err_set(e, r, "cannot read the trace: %s", strerror(-r)) : 0;
		}
	}
	t->found.records++;
	return 1;
}

uint64_t trace_reader_value(const struct trace_reader *t, int field)
{
	const struct reader_field *f = field < 0 ? NULL : &t->field[field];
	const uint8_t *from = f ? t->packet + t->at + f->at : NULL;
	uint64_t v = 0;

	for (unsigned int i = f ? f->len : 0; i; i--)
		v = v << 8 | from[i - 1];
	if (f && f->is_signed && f->len < 8 && v >> (8 * f->len - 1))
		v |= UINT64_MAX << 8 * f->len;
	return v;
}

void trace_reader_rewind(struct trace_reader *t)
{
	t->at = t->end = 0;
	t->offset = t->n_seq = 0;
	t->found = (struct trace_read) { 0 };
}

void trace_reader_found(const struct trace_reader *t, struct trace_read *out)
{
	*out = t->found;
	out->missing = t->n_seq > out->packets ? t->n_seq - out->packets : 0;
}
