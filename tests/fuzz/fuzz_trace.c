/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a trace: the reader ends, stays within its packets, and its totals add up. The
 * input is a script of packets, most of which are almost right, so that the checks behind the
 * checksum are reached; or the bytes of the metadata, or of a stream, as they are.
 */
#include "trace/fields.h"
#include "trace/metadata.h"
#include "trace/reader.h"
#include "trace/stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define HEAD_LEN sizeof(struct trace_packet_head)
#define ROOM     (9 * TRACE_PACKET_LEN)

static const struct trace_about about = {
	.uuid = "fuzzfuzzfuzzfuz", .run = "", .command = "", .host = ""
};

struct input {
	const uint8_t *at, *end;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static unsigned int byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint64_t number(struct input *in)
{
	uint64_t v = 0;

	for (unsigned int n = byte(in) % 9; n; n--)
		v = v << 8 | byte(in);
	return v;
}

static void put_file(int folder, const char *name, const uint8_t *bytes, size_t len)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !close(fd), "write");
}

/* One packet, right but for what the script says. */
static void make_packet(struct input *in, uint8_t *packet, unsigned int stream, uint64_t seq)
{
	size_t len = trace_streams[stream].len;
	uint64_t n = byte(in) % 8, at_ns = seq * 1000, value;
	struct trace_packet_head head = { .magic = TRACE_MAGIC,
					  .stream = stream,
					  .begin_ns = at_ns,
					  .end_ns = at_ns + 255 * 8,
					  .content_size = (HEAD_LEN + n * len) * 8,
					  .packet_size = TRACE_PACKET_LEN * 8,
					  .seq = seq };

	memset(packet, 0, TRACE_PACKET_LEN);
	memcpy(head.uuid, about.uuid, sizeof(head.uuid));
	memcpy(packet, &head, HEAD_LEN);
	for (uint64_t i = 0; i < n; i++) {
		at_ns += byte(in);
		memcpy(packet + HEAD_LEN + i * len, &at_ns, sizeof(at_ns));
	}
	for (unsigned int edits = byte(in) % 4; edits; edits--) {
		size_t at = (byte(in) * 8u) % (HEAD_LEN + 8 * len);

		value = number(in);
		memcpy(packet + at, &value, byte(in) % 9);
	}
	memset(packet + offsetof(struct trace_packet_head, crc32), 0, 4);
	head.crc32 = (uint32_t)crc32(0, packet, TRACE_PACKET_LEN);
	memcpy(packet + offsetof(struct trace_packet_head, crc32), &head.crc32, 4);
	/* Damaged on the disk. */
	if (byte(in) % 4 == 1)
		packet[number(in) % TRACE_PACKET_LEN] ^= (uint8_t)byte(in);
}

static size_t make_stream(struct input *in, uint8_t *bytes, unsigned int stream)
{
	size_t len = 0;

	for (uint64_t seq = byte(in) % 2; len + TRACE_PACKET_LEN <= ROOM && in->at < in->end;
	     seq += byte(in) % 8 != 1) {
		make_packet(in, bytes + len, stream, seq);
		len += TRACE_PACKET_LEN;
		if (byte(in) % 4)
			break;
	}
	return len > HEAD_LEN && byte(in) % 8 == 1 ? len - number(in) % HEAD_LEN : len;
}

static size_t make_metadata(struct input *in, char **text)
{
	size_t len;
	FILE *out = open_memstream(text, &len);

	must(out && !metadata_write(out, &about), "metadata");
	fclose(out);
	if (byte(in) % 4)
		return len;
	for (unsigned int edits = byte(in) % 8; edits; edits--)
		(*text)[number(in) % len] = (char)byte(in);
	if (byte(in) % 4)
		snprintf(*text + len - 21, 22, "/* crc32 %08x */\n",
			 (unsigned int)crc32(0, (uint8_t *)*text, (uInt)len - 21));
	return len;
}

static void count(void *user, const char *text)
{
	must(text[0] && !strchr(text, '\n'), "a notice");
	must(++*(unsigned int *)user < 20 * AFS_N_STREAMS, "too many notices");
}

static void read_all(const char *folder, const size_t len[AFS_N_STREAMS])
{
	unsigned int said = 0, stream;
	static uint8_t copy[AFS_RECORD_MAX];
	const struct trace_listener l = { &said, count };
	uint64_t before = 0, at_ns, n[AFS_N_STREAMS] = { 0 };
	const struct trace_read *read;
	struct trace_reader *r;
	const uint8_t *record;
	struct err e = { 0 };

	if (trace_reader_open(&r, folder, &l, &e)) {
		must(e.code < 0 && e.text[0], "refused without a word");
		return;
	}
	while ((record = trace_reader_next(r, &stream))) {
		must(stream < AFS_N_STREAMS && (uintptr_t)record % 8 == 0, "record");
		memcpy(&at_ns, record, sizeof(at_ns));
		must(at_ns >= before, "time goes back");
		before = at_ns;
		memcpy(copy, record, trace_streams[stream].len); /* all of it can be read */
		n[stream]++;
	}
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		read = trace_reader_read(r, i);
		must(n[i] == read->records, "records");
		must(n[i] * trace_streams[i].len <= read->packets * TRACE_PACKET_LEN, "too many");
		must((read->packets + read->damaged) * TRACE_PACKET_LEN + read->torn_len ==
			 (read->there ? len[i] : 0),
		     "bytes that nothing was said of");
		must(said || !(read->damaged || read->missing || read->torn_len), "untold");
	}
	trace_reader_close(r);
}

static void name_folder(char folder[64])
{
	snprintf(folder, 64, "/dev/shm/fuzz-trace-%d", getpid());
}

static void clean_up(void)
{
	char command[128], folder[64];

	name_folder(folder);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	must(!system(command), "clean-up");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	size_t len[AFS_N_STREAMS] = { 0 };
	char folder[64], *text = NULL;
	unsigned int what = byte(&in);
	static uint8_t bytes[ROOM];
	size_t text_len;
	int fd;

	name_folder(folder);
	if (!mkdir(folder, 0700))
		atexit(clean_up);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	must(fd >= 0, "folder");
	if (what % 16 == 1) {
		put_file(fd, "metadata", in.at, (size_t)(in.end - in.at));
	} else {
		text_len = make_metadata(&in, &text);
		put_file(fd, "metadata", (uint8_t *)text, text_len);
		free(text);
	}
	for (unsigned int i = 0; i < AFS_N_STREAMS; i++) {
		if (what % 16 == 2 && i == what / 16 % AFS_N_STREAMS) {
			/* As it is; the rest of its packet is zeros. */
			memset(bytes, 0, ROOM);
			len[i] = (size_t)(in.end - in.at) < ROOM ? (size_t)(in.end - in.at) : ROOM;
			memcpy(bytes, in.at, len[i]);
			len[i] += what & 128 ? TRACE_PACKET_LEN - len[i] % TRACE_PACKET_LEN : 0;
			len[i] = len[i] < ROOM ? len[i] : ROOM;
		} else {
			len[i] = make_stream(&in, bytes, i);
		}
		put_file(fd, trace_streams[i].name, bytes, len[i]);
	}
	close(fd);
	read_all(folder, len);
	return 0;
}
