/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is captured of requests and replies, however they are read and written: the bytes that
 * records of operations need, and never others. Tests bpf/operations.h, bpf/decode/dsi.h.
 */
#include "watched.h"

#include "bpf/operations.h"

#include <sys/uio.h>

#define HEAD    16
#define MOST    64
#define BIG     70000
#define SECRETS "secret" /* stands in all bytes that are not to be captured */

/* Of the test and, copied, its child. */
static struct watched_ends ends;

struct kept {
	unsigned int n, requests, names;
	struct afs_captured captured[MOST];
};

static void put(void *user, unsigned int stream, const void *record)
{
	const struct afs_captured *h = record;
	struct kept *k = user;

	k->requests += stream == AFS_STREAM_REQUESTS;
	k->names += stream == AFS_STREAM_NAMES;
	if (stream != AFS_STREAM_OPERATIONS)
		return;
	assert_true(k->n < MOST && h->head.n <= AFS_COMMAND_LEN);
	memcpy(&k->captured[k->n++], h, offsetof(struct afs_captured, bytes) + h->head.n);
}

static void start(struct watched *x, struct kept *k, void (*fn)(struct watched_shared *s),
		  unsigned int what)
{
	const struct watch_sink sink = { .what = what, .user = k, .put = put };

	memset(k, 0, sizeof(*k));
	watched_serve(x, &ends, fn, &sink);
}

/* One step of the child, until all that it answered has its record. */
static void go(struct watched *x, struct kept *k, unsigned int requests)
{
	watched_go(x);
	assert_true(watch_settle(x->w));
	for (int i = 0; i < 500 && k->requests < requests; i++) {
		usleep(i ? 2000 : 0);
		assert_int_equal(watch_pull(x->w, 0), 0);
	}
	assert_int_equal(k->requests, requests);
}

static void stop(struct watched *x)
{
	watched_end(x);
	watched_close(&ends);
}

/* ---- in the child ---- */

static void must(bool ok)
{
	if (!ok)
		_exit(1);
}

/* A frame with "len" bytes of secrets behind the command's first ones. */
static size_t frame(uint8_t *out, uint8_t dsi, uint16_t id, const void *command, size_t n,
		    size_t len)
{
	const size_t all = n + len;

	memset(out, 0, HEAD);
	out[1] = dsi;
	out[2] = (uint8_t)(id >> 8);
	out[3] = (uint8_t)id;
	out[8] = (uint8_t)(all >> 24);
	out[9] = (uint8_t)(all >> 16);
	out[10] = (uint8_t)(all >> 8);
	out[11] = (uint8_t)all;
	memcpy(out + HEAD, command, n);
	for (size_t i = 0; i < len; i++)
		out[HEAD + n + i] = (uint8_t)SECRETS[i % 6];
	return HEAD + all;
}

/* The client sends it, the server reads it in pieces: first some bytes, then so many at a time. */
static void take(const uint8_t *bytes, size_t len, size_t first, size_t piece)
{
	static uint8_t into[HEAD + BIG + 1000];
	size_t sent = 0, got = 0, want = first;
	ssize_t n;

	while (got < len) {
		while (sent < len) {
			n = send(ends.client, bytes + sent, len - sent, MSG_DONTWAIT);
			if (n <= 0)
				break;
			sent += (size_t)n;
		}
		want = want < len - got ? want : len - got;
		n = recv(ends.server, into + got, want, 0);
		must(n > 0);
		got += (size_t)n;
		want = piece;
	}
	must(!memcmp(into, bytes, len));
}

/* The server writes head and payload at once, or each by itself. */
static void give(uint16_t id, const void *payload, size_t len, bool apart)
{
	uint8_t head[HEAD] = { 1, 2, (uint8_t)(id >> 8), (uint8_t)id }, back[64];
	struct iovec iov[2] = { { head, HEAD }, { (void *)(uintptr_t)payload, len } };

	head[11] = (uint8_t)len;
	if (apart)
		must(write(ends.server, head, HEAD) == HEAD &&
		     (!len || write(ends.server, payload, len) == (ssize_t)len));
	else
		must(writev(ends.server, iov, 2) == (ssize_t)(HEAD + len));
	must(recv(ends.client, back, HEAD + len, MSG_WAITALL) == (ssize_t)(HEAD + len));
}

/* ---- what is asked ---- */

/* FPCreateDir of "a name". */
static const uint8_t create[] = { 6, 0, 0, 1, 0, 0, 0, 2, 2, 6, 'a', ' ', 'n', 'a', 'm', 'e' };

static void create_in_pieces(struct watched_shared *s)
{
	static const size_t way[][2] = { { 99, 99 }, { HEAD, 99 }, { HEAD + 1, 99 }, { 3, 5 } };
	uint8_t bytes[64];

	(void)s;
	for (uint16_t i = 0; i < 4; i++) {
		take(bytes, frame(bytes, 2, i + 1, create, sizeof(create), 0), way[i][0],
		     way[i][1]);
		give(i + 1, "\0\0\0\x17", 4, i % 2);
	}
}

/* Bytes of a request, whose parts begin at *i. */
static size_t join(const struct kept *k, unsigned int *i, uint8_t out[AFS_COMMAND_LEN])
{
	const struct afs_captured_head *h = &k->captured[*i].head;
	const uint16_t id = h->dsi_id;
	size_t len = 0;

	assert_int_equal(h->part, AFS_CAPTURED_BEGIN);
	do {
		h = &k->captured[*i].head;
		assert_int_equal(h->at, len);
		memcpy(out + len, k->captured[*i].bytes, h->n);
		len += h->n;
	} while (++*i < k->n && h[0].dsi_id == id &&
		 k->captured[*i].head.part == AFS_CAPTURED_MORE);
	return len;
}

static void requests_are_captured_in_any_pieces(void **state)
{
	uint8_t bytes[AFS_COMMAND_LEN];
	unsigned int at = 0;
	struct watched x;
	struct kept k;

	(void)state;
	start(&x, &k, create_in_pieces, AFS_TRACE_SMALL | AFS_TRACE_NAMES | AFS_TRACE_REPLAYABLE);
	go(&x, &k, 4);
	for (uint16_t i = 0; i < 4; i++) {
		const struct afs_captured_head *h = &k.captured[at].head;

		assert_int_equal(h->dsi_id, i + 1);
		assert_int_equal(h->command, 6);
		assert_int_equal(h->seq, i);
		assert_int_equal(h->len, sizeof(create));
		assert_int_equal(h->session, x.pid);
		assert_true(h->found); /* its process is */
		assert_int_equal(join(&k, &at, bytes), sizeof(create) - 1);
		assert_memory_equal(bytes, create + 1, sizeof(create) - 1);
		h = &k.captured[at].head;
		assert_int_equal(h->part, AFS_CAPTURED_REPLY);
		assert_int_equal(h->dsi_id, i + 1);
		assert_true(h->len == 4 && h->n == 4 && !h->at);
		assert_memory_equal(k.captured[at++].bytes, "\0\0\0\x17", 4);
	}
	assert_int_equal(at, k.n);
	assert_int_equal(k.names, 0); /* they are made of the same bytes */
	stop(&x);
}

/* Requests with what must not be captured, and in which reads it comes. */
static void ask_with_secrets(struct watched_shared *s)
{
	static const uint8_t write[20] = { 61, 0, 0, 7 }, login[] = { 18 },
			     volume[] = { 24, 0, 0, 0x20 }, read[12] = { 27, 0, 0, 7 };
	static uint8_t bytes[HEAD + BIG + 1000];

	(void)s;
	take(bytes, frame(bytes, 6, 1, write, sizeof(write), BIG), HEAD, 3000);
	give(1, "\0\0\0\0\0\1\0\0", 8, false);
	take(bytes, frame(bytes, 2, 2, login, sizeof(login), 60), 99, 99);
	give(2, NULL, 0, true);
	take(bytes, frame(bytes, 2, 3, volume, sizeof(volume), 60), HEAD, 7);
	give(3, "\0\x20\0\1" SECRETS, 10, false);
	take(bytes, frame(bytes, 2, 4, read, sizeof(read), 1), HEAD, 99);
	give(4, SECRETS SECRETS, 12, false);
	/* an unknown one, a write of which the first read has data, an answer without an error */
	take(bytes, frame(bytes, 2, 5, "\xc8" SECRETS, 7, 60), 99, 99);
	give(5, SECRETS, 6, false);
	take(bytes, frame(bytes, 6, 6, write, sizeof(write), 3000), 9999, 99);
	give(6, "\0\0\0\0\0\1\0\0", 8, true);
}

static void data_and_passwords_are_not_captured(void **state)
{
	static const struct {
		uint16_t command, bytes, reply;
	} want[] = { { 61, 19, 8 }, { 18, 0, 0 },  { 24, 3, 10 },
		     { 27, 11, 0 }, { 200, 0, 0 }, { 61, 19, 8 } };
	uint8_t bytes[AFS_COMMAND_LEN];
	unsigned int at = 0;
	struct watched x;
	struct kept k;

	(void)state;
	start(&x, &k, ask_with_secrets, AFS_TRACE_SMALL | AFS_TRACE_NAMES | AFS_TRACE_REPLAYABLE);
	go(&x, &k, 6);
	for (uint16_t i = 0; i < 6; i++) {
		assert_int_equal(k.captured[at].head.dsi_id, i + 1);
		assert_int_equal(k.captured[at].head.command, want[i].command);
		assert_int_equal(join(&k, &at, bytes), want[i].bytes);
		assert_null(memmem(bytes, want[i].bytes, "se", 2));
		if (!want[i].reply)
			continue;
		assert_int_equal(k.captured[at].head.part, AFS_CAPTURED_REPLY);
		assert_int_equal(k.captured[at++].head.n, want[i].reply);
	}
	assert_int_equal(at, k.n);
	stop(&x);
}

/* FPMoveAndRename with three of the longest names, then two requests in one read. */
static void ask_much(struct watched_shared *s)
{
	uint8_t bytes[1024], command[AFS_COMMAND_LEN] = { 23 };
	size_t len = 12, n;

	(void)s;
	for (int i = 0; i < 3; i++) {
		command[len] = 3;
		command[len + 6] = 255;
		memset(command + len + 7, 'a' + i, 255);
		len += 7 + 255;
	}
	take(bytes, frame(bytes, 2, 1, command, len, 0), HEAD, 9999);
	give(1, NULL, 0, true);
	n = frame(bytes, 2, 2, create, sizeof(create), 0);
	n += frame(bytes + n, 2, 3, create, sizeof(create), 0);
	take(bytes, n, n, n);
	give(2, NULL, 0, true);
	give(3, NULL, 0, true);
}

static void the_longest_and_several_at_once(void **state)
{
	uint8_t bytes[AFS_COMMAND_LEN];
	unsigned int at = 0;
	struct watched x;
	struct kept k;

	(void)state;
	start(&x, &k, ask_much, AFS_TRACE_SMALL | AFS_TRACE_NAMES | AFS_TRACE_REPLAYABLE);
	go(&x, &k, 3);
	assert_int_equal(join(&k, &at, bytes), 12 + 3 * (7 + 255) - 1);
	assert_int_equal(bytes[11 + 3 * 262 - 1], 'c');
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(k.captured[at].head.seq, i);
		assert_int_equal(join(&k, &at, bytes), sizeof(create) - 1);
	}
	assert_int_equal(at, k.n);
	stop(&x);
}

static void nothing_is_captured_unless_it_is_wanted(void **state)
{
	struct watched x;
	struct kept k;

	(void)state;
	start(&x, &k, create_in_pieces, AFS_TRACE_SMALL | AFS_TRACE_NAMES);
	go(&x, &k, 4);
	assert_int_equal(k.n, 0);
	assert_int_equal(k.names, 4);
	stop(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_captured_in_any_pieces),
		cmocka_unit_test(data_and_passwords_are_not_captured),
		cmocka_unit_test(the_longest_and_several_at_once),
		cmocka_unit_test(nothing_is_captured_unless_it_is_wanted),
	};

	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
