/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which volumes a session opened, by the bytes of FPOpenVol and of its reply. Tests bpf/volume.h,
 * user/watch/bpf/sessions.c.
 */
#include "watched.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define HEAD     16
#define OPEN_VOL 24
#define NO_VOL   (-5019)

/* A frame on its way to the server, and the reply. */
struct open {
	const char *name;
	const char *behind; /* the name: a password */
	int32_t result;
};

/* Of the test and, copied, its child. */
static int client, server;
static const struct open *opens;
static size_t n_opens;

static size_t put_frame(uint8_t *to, uint8_t command, uint16_t id, const struct open *o)
{
	size_t name = strlen(o->name), behind = o->behind ? strlen(o->behind) : 0;
	size_t len = 5 + name + behind;

	memset(to, 0, HEAD);
	to[1] = 2;
	to[2] = (uint8_t)(id >> 8);
	to[3] = (uint8_t)id;
	to[11] = (uint8_t)len;
	to += HEAD;
	*to++ = command;
	*to++ = 0;
	*to++ = 0;
	*to++ = (uint8_t)(id % 2 ? 0x20 : 0x21); /* bitmaps differ */
	*to++ = (uint8_t)name;
	memcpy(to, o->name, name);
	if (behind)
		memcpy(to + name, o->behind, behind);
	return HEAD + len;
}

static void reply(uint16_t id, int32_t result)
{
	uint32_t code = (uint32_t)result;
	uint8_t head[HEAD] = { 1, 2, (uint8_t)(id >> 8), (uint8_t)id };

	for (int i = 0; i < 4; i++)
		head[4 + i] = (uint8_t)(code >> (24 - 8 * i));
	if (send(server, head, HEAD, 0) != HEAD || recv(client, head, HEAD, 0) != HEAD)
		_exit(1);
}

/* The first bytes in one read, the others in the next. */
static void take(size_t first, size_t len)
{
	uint8_t in[1024];

	if (first && recv(server, in, first, 0) != (ssize_t)first)
		_exit(1);
	if (recv(server, in, len - first, 0) != (ssize_t)(len - first))
		_exit(1);
}

static void give(const uint8_t *frame, size_t len)
{
	if (send(client, frame, len, 0) != (ssize_t)len)
		_exit(1);
}

static uint16_t last_id;

/* One after the other. */
static void open_all(struct watched_shared *s)
{
	uint8_t frame[1024];
	size_t len;

	(void)s;
	for (size_t i = 0; i < n_opens; i++) {
		len = put_frame(frame, OPEN_VOL, ++last_id, &opens[i]);
		give(frame, len);
		take(0, len);
		reply(last_id, opens[i].result);
	}
}

/* All are read at once, then answered. */
static void open_together(struct watched_shared *s)
{
	uint16_t first = (uint16_t)(last_id + 1);
	uint8_t frame[1024];
	size_t len = 0;

	(void)s;
	for (size_t i = 0; i < n_opens; i++)
		len += put_frame(frame + len, OPEN_VOL, ++last_id, &opens[i]);
	give(frame, len);
	take(0, len);
	for (size_t i = 0; i < n_opens; i++)
		reply((uint16_t)(first + i), opens[i].result);
}

/* Every byte by a read of its own. */
static void open_bytes(void)
{
	uint8_t frame[1024];
	size_t len = put_frame(frame, OPEN_VOL, ++last_id, opens);

	give(frame, len);
	for (size_t i = 0; i < len; i++)
		take(0, 1);
	reply(last_id, 0);
}

/*
 * The same again and again, split at every byte: by two reads, by two pieces of memory, into
 * single bytes.
 */
static void open_split(struct watched_shared *s)
{
	uint8_t frame[1024], in[1024];
	size_t len;

	(void)s;
	for (size_t k = 1, end = 2; k < end; k++) {
		len = put_frame(frame, OPEN_VOL, ++last_id, opens);
		end = len;
		give(frame, len);
		take(k, len);
		reply(last_id, 0);
		len = put_frame(frame, OPEN_VOL, ++last_id, opens);
		struct iovec iov[2] = { { in, k }, { in + k, len - k } };

		give(frame, len);
		if (readv(server, iov, 2) != (ssize_t)len)
			_exit(1);
		reply(last_id, 0);
	}
	open_bytes();
}

/* Another command with the same bytes. */
static void remove_all(struct watched_shared *s)
{
	uint8_t frame[1024];
	size_t len;

	(void)s;
	len = put_frame(frame, 8, ++last_id, opens);
	give(frame, len);
	take(0, len);
	reply(last_id, 0);
}

static void run_opens(void (*fn)(struct watched_shared *s), const struct open *list, size_t n,
		      struct run *r)
{
	struct watched x;
	struct stat st;
	int end[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	client = end[0];
	server = end[1];
	opens = list;
	n_opens = n;
	watched_start(&x, fn);
	assert_int_equal(fstat(server, &st), 0);
	watched_open(&x, (struct target) { .client = st.st_ino });
	watched_step(&x);
	watched_finish(&x, r);
	assert_int_equal(r->n_sessions, 1);
	close(client);
	close(server);
}

#define N(list) (sizeof(list) / sizeof((list)[0]))

static void check(void (*fn)(struct watched_shared *s), const struct open *list, size_t n,
		  const char *want, uint64_t more)
{
	const struct run_session *s;
	char got[1024] = "";
	struct run r;

	run_opens(fn, list, n, &r);
	s = &r.session[0];
	for (size_t i = 0; i < s->n_volumes; i++) {
		strcat(got, i ? "|" : "");
		strcat(got, s->volume[i]);
	}
	assert_string_equal(got, want);
	assert_int_equal(s->more_volumes, more);
	assert_string_equal(s->volume_from, "FPOpenVol");
	run_fini(&r);
}

static void a_name_is_whole_however_it_is_split(void **state)
{
	static const struct open one[] = { { "Some volume", "password", 0 } };

	(void)state;
	check(open_split, one, 1, "Some volume", 0);
}

static void every_volume_is_named_once(void **state)
{
	static const struct open two[] = { { "vol1", "aaaaaaaa", 0 },
					   { "vol2", NULL, 0 },
					   { "vol1", "bbbbbbbb", 0 },
					   { "vol2", "cccc", 0 } };

	(void)state;
	check(open_all, two, N(two), "vol1|vol2", 0);
	check(open_together, two, N(two), "vol1|vol2", 0);
}

static void of_many_the_first_are_named_and_the_rest_counted(void **state)
{
	static const struct open five[] = { { "a", NULL, 0 }, { "ab", NULL, 0 }, { "abc", NULL, 0 },
					    { "", NULL, 0 },  { "d", NULL, 0 },  { "a", NULL, 0 } };

	(void)state;
	check(open_all, five, N(five), "a|ab|abc|", 1);
	/* More on their way than are remembered. */
	check(open_together, five, N(five), "abc||d|a", 2);
}

static void a_refused_volume_is_not_named(void **state)
{
	static const struct open some[] = { { "no", NULL, NO_VOL },
					    { "yes", NULL, 0 },
					    { "neither", NULL, NO_VOL } };

	(void)state;
	check(open_all, some, N(some), "yes", 0);
	check(open_together, some, N(some), "yes", 0);
}

static void a_long_name_is_cut_and_says_so(void **state)
{
	static const struct open some[] = {
		{ "0123456789012345678901234567890123456789012345678901234567X", "p", 0 },
		{ "0123456789012345678901234567890123456789012345678901234567Xyz", "p", 0 },
	};

	(void)state;
	check(open_all, some, N(some),
	      "0123456789012345678901234567890123456789012345678901234567X|"
	      "0123456789012345678901234567890123456789012345678901234567X…",
	      0);
}

/* It was there before: where it works is asked. */
static void without_fpopenvol_it_is_the_folder(void **state)
{
	static const struct open no[] = { { "no", NULL, NO_VOL } };
	static const struct open other[] = { { "other", NULL, 0 } };
	char cwd[512];
	struct run r;

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (int i = 0; i < 2; i++) {
		run_opens(i ? open_all : remove_all, i ? no : other, 1, &r);
		/* The root is none. */
		assert_int_equal(r.session[0].n_volumes, strcmp(cwd, "/") != 0);
		if (r.session[0].n_volumes) {
			assert_string_equal(r.session[0].volume[0], cwd);
			assert_string_equal(r.session[0].volume_from, "folder");
		}
		run_fini(&r);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_whole_however_it_is_split),
		cmocka_unit_test(every_volume_is_named_once),
		cmocka_unit_test(of_many_the_first_are_named_and_the_rest_counted),
		cmocka_unit_test(a_refused_volume_is_not_named),
		cmocka_unit_test(a_long_name_is_cut_and_says_so),
		cmocka_unit_test(without_fpopenvol_it_is_the_folder),
	};

	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
