/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SunRPC: known calls and replies in, exactly these counted, however they are split, whichever is
 * answered first. Tests bpf/decode/sunrpc.h, bpf/programs.h.
 */
#include "rpc_records.h"

#include "bpf/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>

#define LOOKUP 27
#define READ   12
#define WRITE  13
#define FSYNC  16
#define FOP    1298437

/* A call with "more" bytes of arguments: 44 + more bytes with the mark. */
static void call(struct bytes *b, uint32_t xid, uint32_t program, uint32_t procedure, size_t more)
{
	const uint32_t words[] = { 0, xid, 0, 2, program, 400, procedure, 0, 0, 0, 0 };
	size_t begin = b->n;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put(b, words[i]);
	memset(b->at + b->n, 'c', more);
	b->n += more;
	close_record(b, begin);
}

/* With a value and an errno, and more bytes: 36 + more. */
static void answer_with(struct bytes *b, uint32_t xid, int32_t value, uint32_t code, size_t more)
{
	size_t begin = b->n;

	reply(b, xid, 0, 0);
	put(b, (uint32_t)value);
	put(b, code);
	memset(b->at + b->n, 'r', more);
	b->n += more;
	close_record(b, begin);
}

static void watch_listener(struct rung_rig *g, void (*fn)(struct watched_shared *s), struct run *r)
{
	struct bpf_load_wish wish = {};

	wish.any_order = true;
	wish.decoder = AFS_DECODER_SUNRPC;
	wish.files = AFS_FILES_GLUSTER;
	rig_open(g, &wish, whole_server(), fn);
	rig_step(g);
	rig_read(g, r);
}

static void watch_server(struct rung_rig *g, void (*fn)(struct watched_shared *s), struct run *r)
{
	listen_here();
	watch_listener(g, fn, r);
}

/* A client connects and calls, xid 1 and 2, and the server has read it, before the watch begins. */
static void call_before(void)
{
	struct bytes in = { 0 };

	listen_here();
	connect_one(0);
	call(&in, 1, FOP, READ, 0);
	call(&in, 2, FOP, READ, 0);
	move(client[0], server[0], &in, sizeof(in.at));
}

static unsigned long begun_before(const struct run *r)
{
	const char *text = run_note_find(&r->rungs, "requests.before");

	return text ? strtoul(text, NULL, 10) : 0;
}

static void hang_up(struct rung_rig *g, struct run *r)
{
	close(client[0]);
	close(server[0]);
	done(g, r);
}

static void only_answer(struct watched_shared *s)
{
	struct bytes out = { 0 };

	(void)s;
	answer_with(&out, 1, 0, 0, 0);
	tell(0, &out, sizeof(out.at));
}

static void a_client_that_is_only_answered_is_one(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	call_before();
	watch_listener(&g, only_answer, &r);
	assert_int_equal(r.n_sessions, 1);
	assert_int_equal(r.session[0].requests, 0);
	assert_int_equal(begun_before(&r), 1);
	assert_int_equal(run_losses(&r), 0);
	hang_up(&g, &r);
}

static void answer_later(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	call(&in, 3, FOP, LOOKUP, 0);
	move(client[0], server[0], &in, sizeof(in.at));
	answer_with(&out, 3, 0, 0, 0);
	answer_with(&out, 2, 0, 0, 0);
	answer_with(&out, 1, 0, 0, 0);
	tell(0, &out, sizeof(out.at));
}

static void an_answer_to_what_was_asked_before_is_no_loss_in_any_order(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	call_before();
	watch_listener(&g, answer_later, &r);
	check(&g, LOOKUP, 1, 44, 36);
	assert_int_equal(begun_before(&r), 2);
	assert_int_equal(run_losses(&r), 0);
	hang_up(&g, &r);
}

/* Each length of a piece from a byte to more than all. */
#define PIECES 200

static void all_pieces(void)
{
	connect_one(0);
	for (uint32_t piece = 1; piece <= PIECES; piece++) {
		struct bytes in = { 0 }, out = { 0 };

		call(&in, piece * 3, FOP, LOOKUP, 60);
		call(&in, piece * 3 + 1, FOP, READ, 0);
		call(&in, piece * 3 + 2, FOP, WRITE, 8);
		move(client[0], server[0], &in, piece);
		answer_with(&out, piece * 3 + 2, 8, 0, 20);
		answer_with(&out, piece * 3, -1, ENOENT, 0);
		answer_with(&out, piece * 3 + 1, 0, ENOENT, 5);
		tell(0, &out, piece);
	}
}

#define SHREDS 60

static void split_and_shred(struct watched_shared *s)
{
	all_pieces();
	connect_one(1);
	for (uint32_t n = 1; n <= SHREDS; n++) {
		struct bytes a = { 0 }, b = { 0 }, in = { 0 }, out = { 0 };

		call(&a, n, FOP, FSYNC, 11);
		shred(&in, &a, n);
		answer_with(&b, n, -1, EIO, 13);
		shred(&out, &b, n);
		move(client[1], server[1], &in, 1 + n % 7);
		tell(1, &out, 1 + n % 5);
		s->value[0] += in.n;
		s->value[1] += out.n;
	}
}

static void any_split_and_any_fragments_are_counted(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, split_and_shred, &r);
	check(&g, LOOKUP, PIECES, PIECES * 104ull, PIECES * 36ull);
	check(&g, READ, PIECES, PIECES * 44ull, PIECES * 41ull);
	check(&g, WRITE, PIECES, PIECES * 52ull, PIECES * 56ull);
	check(&g, FSYNC, SHREDS, g.x.shared->value[0], g.x.shared->value[1]);
	assert_int_equal(counted(&g, LOOKUP)->errors, PIECES);
	assert_int_equal(results(&g, LOOKUP, ENOENT), PIECES);
	assert_int_equal(counted(&g, READ)->errors, 0);
	assert_int_equal(counted(&g, WRITE)->errors, 0);
	assert_int_equal(results(&g, FSYNC, EIO), SHREDS);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Many in flight, whose numbers need all of their 32 bits, answered by several threads. */
#define FLIGHT  64
#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *answer_every_fourth(void *arg)
{
	uint32_t first = *(const uint32_t *)arg;

	for (uint32_t k = FLIGHT; k-- > 0;) {
		struct bytes out = { 0 };

		if (k % THREADS != first)
			continue;
		answer_with(&out, k << 16 | 7, k % 2 ? 0 : -1, k % 2 ? 0 : ESTALE, 0);
		pthread_mutex_lock(&lock);
		if (send(server[0], out.at, out.n, 0) != (ssize_t)out.n)
			_exit(1);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void overlapping(struct watched_shared *s)
{
	uint32_t number[THREADS];
	pthread_t thread[THREADS];
	struct bytes in = { 0 };
	uint8_t at[FLIGHT * 36];

	(void)s;
	connect_one(0);
	for (uint32_t k = 0; k < FLIGHT; k++)
		call(&in, k << 16 | 7, FOP, k % 2 ? READ : LOOKUP, 0);
	move(client[0], server[0], &in, 4);
	for (uint32_t i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, answer_every_fourth, &number[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (recv(client[0], at, sizeof(at), MSG_WAITALL) != sizeof(at))
		_exit(1);
}

static void replies_of_any_thread_find_their_request(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, overlapping, &r);
	check(&g, READ, FLIGHT / 2, FLIGHT / 2 * 44, FLIGHT / 2 * 36);
	check(&g, LOOKUP, FLIGHT / 2, FLIGHT / 2 * 44, FLIGHT / 2 * 36);
	assert_int_equal(results(&g, LOOKUP, ESTALE), FLIGHT / 2);
	assert_int_equal(counted(&g, READ)->errors, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Replies of all forms, programs of all kinds, a call of the server, and its answer. */
static void forms(struct watched_shared *s)
{
	static const uint32_t denied[] = { LAST | 20, 15, 1, 1, 1, 5 };
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	connect_one(0);
	call(&in, 10, FOP, LOOKUP, 0);  /* status 3, after a verifier */
	call(&in, 11, FOP, READ, 0);    /* with a verifier */
	call(&in, 12, 14398633, 1, 0);  /* handshake */
	call(&in, 13, 4711, 99, 0);     /* unknown */
	call(&in, 14, 123451501, 1, 0); /* no value in the results */
	call(&in, 15, FOP, WRITE, 0);   /* denied */
	call(&in, 16, FOP, 4000, 0);    /* a procedure that there is not */
	answer_with(&in, 1, 0, 0, 0);   /* a reply of the client to the server's call */
	move(client[0], server[0], &in, 100);
	call(&out, 1, 52743234, 5, 33); /* the server's own call */
	reply(&out, 10, 3, 5);
	reply(&out, 11, 0, 400);
	answer_with(&out, 12, -1, EACCES, 0);
	answer_with(&out, 13, -1, EACCES, 0);
	answer_with(&out, 14, -1, EACCES, 0);
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		put(&out, denied[i]);
	reply(&out, 16, 0, 0);
	tell(0, &out, 9);
}

static void every_form_of_reply_and_program_is_known(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, forms, &r);
	check(&g, LOOKUP, 1, 44, 36);
	assert_int_equal(results(&g, LOOKUP, AFS_RPC_ACCEPTED(3)), 1);
	check(&g, READ, 1, 44, 428);
	assert_int_equal(counted(&g, READ)->errors, 0);
	check(&g, AFS_RPC_HANDSHAKE + 1, 1, 44, 36);
	assert_int_equal(results(&g, AFS_RPC_HANDSHAKE + 1, EACCES), 1);
	check(&g, AFS_RPC_OTHER, 1, 44, 36);
	assert_int_equal(counted(&g, AFS_RPC_OTHER)->errors, 0);
	check(&g, AFS_RPC_DUMP + 1, 1, 44, 36);
	assert_int_equal(counted(&g, AFS_RPC_DUMP + 1)->errors, 0);
	check(&g, WRITE, 1, 44, 24);
	assert_int_equal(results(&g, WRITE, AFS_RPC_DENIED(1)), 1);
	check(&g, AFS_RPC_FOP + 63, 1, 44, 28);
	assert_int_equal(g.diff.n_accounts, 7);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Garbage to the server, by the server, and what is never answered. */
#define JUNK 100

static void garbage(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 }, junk = { .n = JUNK };

	(void)s;
	memset(junk.at, 'G', JUNK); /* a mark that cannot be */
	connect_one(0);
	call(&in, 1, FOP, LOOKUP, 0);
	move(client[0], server[0], &in, 50);
	move(client[0], server[0], &junk, JUNK);
	in.n = 0;
	call(&in, 2, FOP, LOOKUP, 0);
	call(&in, 2, FOP, LOOKUP, 0); /* the same number again: the first was not answered */
	call(&in, 3, FOP, READ, 0);   /* never answered */
	move(client[0], server[0], &in, sizeof(in.at));
	answer_with(&out, 1, 0, 0, 0);
	answer_with(&out, 77, 0, 0, 0); /* to none */
	tell(0, &out, sizeof(out.at));
	tell(0, &junk, JUNK);
	out.n = 0;
	answer_with(&out, 2, 0, 0, 0);
	tell(0, &out, sizeof(out.at));
}

static void garbage_is_a_loss_after_which_it_goes_on(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, garbage, &r);
	assert_int_equal(counted(&g, LOOKUP)->begun, 3);
	assert_int_equal(counted(&g, LOOKUP)->answered, 2);
	assert_int_equal(counted(&g, READ)->begun, 1);
	assert_int_equal(counted(&g, READ)->answered, 0);
	assert_int_equal(loss_of(&r, NONE), 2);
	/* A mark of 4 bytes was read of each before it was known to be none. */
	assert_in_range(loss_of(&r, LOST), 2 * (JUNK - 4), 2 * JUNK);
	done(&g, &r);
}

/* Reads "times" bytes of a new file below the working directory. */
static void read_file(const char *path, int times)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char c = 'x';

	if (fd < 0 || pwrite(fd, &c, 1, 0) != 1)
		_exit(1);
	for (int i = 0; i < times; i++)
		if (pread(fd, &c, 1, 0) != 1)
			_exit(1);
	close(fd);
}

#define HANDLES ".glusterfs"

/* Of the test and, copied, its child. */
static char brick[] = "/tmp/brick-XXXXXX";

/* Files of a brick: users', and what is below its .glusterfs. */
static void files(struct watched_shared *s)
{
	static const char *const folders[] = {
		"f4",
		HANDLES,
		HANDLES "/f4",
		HANDLES "/f4/60",
		HANDLES "/unlink",
		HANDLES "/indices",
		HANDLES "/indices/xattrop",
		HANDLES "/changelogs",
		HANDLES "/changelogs/2026",
		HANDLES "/changelogs/2026/11",
		HANDLES "/changelogs/2026/11/25",
		"._folder",
	};

	int proc = open("/proc/self/status", O_RDONLY);
	char c;

	(void)s;
	if (proc < 0 || chdir(brick))
		_exit(1);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (mkdir(folders[i], 0700))
			_exit(1);
	for (int i = 0; i < 33; i++)
		if (read(proc, &c, 1) != 1)
			_exit(1);
	close(proc);
	read_file("user", 1);
	read_file("f4/._user", 10);
	read_file("._folder/user", 100);
	read_file(HANDLES "/f4/60/f4600000-0000", 1000);
	read_file(HANDLES "/unlink/f4600000-0000", 10000);
	read_file(HANDLES "/health_check", 2);
	read_file(HANDLES "/indices/xattrop/xattrop-1", 20);
	read_file(HANDLES "/changelogs/CHANGELOG", 200);
	read_file(HANDLES "/changelogs/2026/11/25/CHANGELOG.1", 2000);
}

static void indexes_and_changelogs_are_metadata_and_links_are_data(void **state)
{
	char rm[sizeof(brick) + 8];
	struct rung_rig g;
	struct run r;

	(void)state;
	assert_non_null(mkdtemp(brick));
	watch_server(&g, files, &r);
	assert_int_equal(
	    ledger_sum(&g.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_DATA).calls, 11111);
	assert_int_equal(
	    ledger_sum(&g.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_META).calls, 2222);
	assert_int_equal(
	    ledger_sum(&g.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_OTHER).calls, 33);
	done(&g, &r);
	snprintf(rm, sizeof(rm), "rm -r %s", brick);
	assert_int_equal(system(rm), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_that_is_only_answered_is_one),
		cmocka_unit_test(an_answer_to_what_was_asked_before_is_no_loss_in_any_order),
		cmocka_unit_test(any_split_and_any_fragments_are_counted),
		cmocka_unit_test(replies_of_any_thread_find_their_request),
		cmocka_unit_test(every_form_of_reply_and_program_is_known),
		cmocka_unit_test(indexes_and_changelogs_are_metadata_and_links_are_data),
		cmocka_unit_test(garbage_is_a_loss_after_which_it_goes_on),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
