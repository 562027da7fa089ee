/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stores that keep nothing: as their model in what they ask, and nothing left behind.
 * Also tests client/store/null_peer.c.
 */
#include "unit/store_rig.h"

#include "base/clock.h"
#include "unit/wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEEP 128

static struct store *null_of(struct rig *g)
{
	struct store *s = NULL;

	assert_int_equal(store_open_null(&s, g->s, &g->e), 0);
	assert_int_equal(s->chunk_read, g->s->chunk_read);
	assert_int_equal(s->chunk_write, g->s->chunk_write);
	assert_string_equal(s->type->name, "null");
	return s;
}

static struct store_op ask(struct store *s, struct store_op op)
{
	struct err e;

	assert_int_equal(store_call(s, &op, &e), 0);
	assert_non_null(op.what);
	assert_true(op.t.begun_ns && op.t.begun_ns <= op.t.last_ns);
	return op;
}

/* Every verb, and what a workload needs from it. */
static void use(struct store *s, enum store_result copied)
{
	uint8_t *buf = malloc(s->chunk_read);
	uint8_t *data = calloc(1, s->chunk_write);
	struct store_dir root = s->root[0];
	struct store_file f;
	struct store_op op;

	op = ask(s, (struct store_op) { .verb = STORE_PROBE, .dir = root, .name = "n" });
	assert_int_equal(op.result, STORE_NONE);
	op = ask(s, (struct store_op) { .verb = STORE_MKDIR, .dir = root, .name = "n" });
	assert_int_equal(op.result, STORE_OK);
	op = ask(s, (struct store_op) { .verb = STORE_CREATE, .dir = op.made, .name = "f" });
	assert_int_equal(op.result, STORE_OK);
	op = ask(s, (struct store_op) { .verb = STORE_OPEN, .dir = op.dir, .name = "f", .how = 7 });
	assert_int_equal(op.result, STORE_OK);
	f = op.opened;
	op = ask(s, (struct store_op) { .verb = STORE_SET_LEN, .file = f, .len = 1000 });
	assert_int_equal(op.result, STORE_OK);
	op = ask(s, (struct store_op) { .verb = STORE_ROOM, .dir = root });
	assert_int_equal(op.result, STORE_OK);
	assert_true(op.done > 1ull << 60);
	op = ask(s, (struct store_op) { .verb = STORE_LENGTH, .file = f });
	assert_int_equal(op.result, STORE_OK);
	assert_true(op.done >= INT32_MAX);
	for (unsigned int i = 0; i < 3; i++) {
		op = ask(s, (struct store_op) { .verb = STORE_WRITE,
						.file = f,
						.offset = i * s->chunk_write,
						.len = s->chunk_write,
						.data = data });
		assert_int_equal(op.result, STORE_OK);
		assert_int_equal(op.done, s->chunk_write);
		op = ask(s, (struct store_op) {
				.verb = STORE_READ, .file = f, .len = s->chunk_read, .buf = buf });
		assert_int_equal(op.result, STORE_OK);
		assert_int_equal(op.done, s->chunk_read);
	}
	op = ask(s, (struct store_op) { .verb = STORE_FLUSH, .file = f });
	assert_int_equal(op.result, STORE_OK);
	op = ask(
	    s, (struct store_op) {
		   .verb = STORE_COPY, .dir = root, .name = "f", .to_dir = root, .to_name = "g" });
	assert_int_equal(op.result, copied);
	op = ask(s, (struct store_op) { .verb = STORE_CLOSE, .file = f });
	assert_int_equal(op.result, STORE_OK);
	op = ask(s, (struct store_op) { .verb = STORE_DELETE, .dir = root, .name = "" });
	assert_int_equal(op.result, STORE_OK);
	free(buf);
	free(data);
}

/* The verbs of metadata work: in an AFP store there are no links, and attributes from AFP 3.2 on.
 */
static void use_metadata(struct store *s, enum store_result linked)
{
	static const enum store_verb done[] = { STORE_RENAME, STORE_SET_TIME, STORE_SET_XATTR,
						STORE_LOCK, STORE_UNLOCK };
	uint8_t *buf = calloc(1, 65536);
	struct store_dir root = s->root[0];
	struct store_op op;

	op = ask(s, (struct store_op) { .verb = STORE_LOOKUP, .dir = root, .name = "n" });
	assert_int_equal(op.result, STORE_OK);
	op = ask(s, (struct store_op) { .verb = STORE_CREATE, .dir = op.made, .name = "f" });
	assert_int_equal(op.result, STORE_OK);
	for (size_t i = 0; i < sizeof(done) / sizeof(done[0]); i++) {
		op = ask(s, (struct store_op) { .verb = done[i],
						.dir = root,
						.to_dir = root,
						.name = "n",
						.to_name = "m",
						.len = 9,
						.data = buf });
		assert_int_equal(op.result, STORE_OK);
	}
	/* longer than any other command, and the next is still understood */
	op = ask(s, (struct store_op) { .verb = STORE_SET_XATTR,
					.dir = root,
					.name = "n",
					.to_name = "m",
					.len = 65536,
					.data = buf });
	assert_int_equal(op.result, STORE_OK);
	for (unsigned int attrs = 0; attrs < 2; attrs++) {
		op = ask(s, (struct store_op) { .verb = STORE_LIST,
						.dir = root,
						.len = 65536,
						.buf = buf,
						.with_attrs = attrs });
		assert_int_equal(op.result, STORE_NONE);
	}
	op = ask(s, (struct store_op) { .verb = STORE_GET_XATTR,
					.dir = root,
					.name = "n",
					.to_name = "m",
					.len = 100,
					.buf = buf });
	assert_int_equal(op.result, STORE_NONE);
	op = ask(
	    s, (struct store_op) {
		   .verb = STORE_LINK, .dir = root, .name = "n", .to_dir = root, .to_name = "m" });
	assert_int_equal(op.result, linked);
	free(buf);
}

static void everything_succeeds_and_nothing_exists(void **state)
{
	struct rig *g = *state;

	open_it(g);
	for (unsigned int legacy = 0; legacy < 2; legacy++) {
		struct store *s;

		g->how.legacy = legacy;
		open_again(g);
		s = null_of(g);
		use(s, STORE_OK);
		use_metadata(s, STORE_UNKNOWN);
		store_close(s);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	}
}

/* Its lists are the commands of that. */
static void it_has_the_version_of_its_model(void **state)
{
	static const uint8_t codes[] = { [2] = AFP_Enumerate,
					 [3] = AFP_EnumerateExt,
					 [4] = AFP_EnumerateExt2,
					 [7] = AFP_EnumerateExt2 };
	static uint8_t buf[STORE_LIST_LEN];
	struct rig *g = *state;

	for (unsigned int version = 2; version < sizeof(codes); version++) {
		struct store *s;

		if (!codes[version])
			continue;
		peer_free(g->peer);
		new_peer(g);
		g->login.version = version;
		open_it(g);
		s = null_of(g);
		assert_int_equal(ask(s, (struct store_op) { .verb = STORE_LIST,
							    .dir = s->root[0],
							    .buf = buf,
							    .len = sizeof(buf) })
				     .command,
				 codes[version]);
		use_metadata(s, STORE_UNKNOWN);
		store_close(s);
		store_close(g->s);
		g->s = NULL;
		afp_close(&g->a);
	}
}

static void it_sends_the_commands_of_its_model(void **state)
{
	struct rig *g = *state;
	struct store *s;

	g->how.legacy = true;
	open_it(g);
	s = null_of(g);
	assert_int_equal(
	    ask(s, (struct store_op) { .verb = STORE_WRITE, .len = 4, .data = "abcd" }).command,
	    AFP_Write);
	assert_int_equal(
	    ask(s, (struct store_op) { .verb = STORE_WRITE, .offset = 0x80000000, .len = 4 })
		.result,
	    STORE_INVALID);
	store_close(s);
}

static void it_outlives_its_model(void **state)
{
	struct rig *g = *state;
	struct store *s;

	open_it(g);
	s = null_of(g);
	store_close(g->s);
	g->s = NULL;
	afp_close(&g->a);
	use(s, STORE_OK);
	store_close(s);
}

/* Its own connection is on this host, by a TCP of its own, whatever it stands for. */
static void it_is_as_near_as_its_model(void **state)
{
	struct rig *g = *state;
	struct store *s;

	open_it(g);
	assert_true(g->s->near);
	for (unsigned int near = 0; near < 2; near++) {
		g->s->near = near;
		s = null_of(g);
		assert_int_equal(s->near, near);
		assert_int_equal(s->discard_from, g->s->discard_from);
		store_close(s);
	}
}

/* Data both ways with many in flight: neither side may wait for the other for ever. */
static void a_deep_window_does_not_stall(void **state)
{
	struct rig *g = *state;
	struct store_op op[DEEP], *back;
	unsigned int done = 0, sent = 0, i;
	struct store *s;
	uint8_t *buf;

	g->opts.window = g->how.window = DEEP;
	open_it(g);
	s = null_of(g);
	buf = calloc(1, 1 << 20);
	while (done < 4 * DEEP) {
		while (sent < 4 * DEEP && sent - done < DEEP) {
			i = sent % DEEP; /* replies keep the order */
			op[i] = (struct store_op) { .verb = sent % 3 ? STORE_READ : STORE_WRITE,
						    .len = sent % 5 ? s->chunk_write : 100 + sent,
						    .buf = buf,
						    .data = buf };
			assert_int_equal(store_submit(s, &op[i], &g->e), 0);
			sent++;
		}
		assert_int_equal(store_reap(s, &back, &g->e), 0);
		assert_int_equal(back->result, STORE_OK);
		assert_int_equal(back->done, back->len);
		assert_ptr_equal(back, &op[done % DEEP]);
		done++;
	}
	store_close(s);
	free(buf);
}

static pid_t child(void)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return (pid_t)atoi(text);
}

static void its_process_holds_nothing_of_ours(void **state)
{
	struct rig *g = *state;
	struct dirent *entry;
	unsigned int n = 0;
	char path[64];
	struct store *s;
	DIR *d;

	open_it(g);
	s = null_of(g);
	ask(s, (struct store_op) { .verb = STORE_FLUSH });
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)child());
	d = opendir(path);
	assert_non_null(d);
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.' && atoi(entry->d_name) > 2;
	closedir(d);
	assert_int_equal(n, 2); /* its socket, its zeros */
	store_close(s);
}

static void a_peer_that_dies_is_an_error_and_no_wait(void **state)
{
	struct rig *g = *state;
	struct store_op op[WINDOW], flush = { .verb = STORE_FLUSH };
	struct store *s;
	uint8_t *data;
	int r = 0;

	open_it(g);
	s = null_of(g);
	data = calloc(1, s->chunk_write);
	for (unsigned int i = 0; i < WINDOW; i++) {
		op[i] = (struct store_op) { .verb = STORE_WRITE,
					    .len = s->chunk_write,
					    .data = data };
		assert_int_equal(store_submit(s, &op[i], &g->e), 0);
	}
	kill(child(), SIGKILL);
	store_drain(s);
	assert_int_equal(s->in_flight, 0);
	free(data);
	for (unsigned int i = 0; i < 1000 && !r; i++)
		r = store_call(s, &flush, &g->e);
	assert_true(r == -ECONNRESET || r == -EPIPE);
	store_close(s);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void its_process_ends_with_ours(void **state)
{
	struct rig *g = *state;
	struct procstat st;
	int ends[2], status;
	pid_t pid, peer = 0;

	open_it(g);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct store *s = NULL;

		if (store_open_null(&s, g->s, &g->e))
			_exit(1);
		peer = child();
		_exit(write(ends[1], &peer, sizeof(peer)) != sizeof(peer)); /* without a close */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &peer, sizeof(peer)), sizeof(peer));
	/* Its reaping is not our business. */
	wait_until(procstat_read(&st, peer) || st.state == 'Z');
	close(ends[0]);
	close(ends[1]);
}

static void of_a_local_directory_it_makes_no_system_call(void **state)
{
	struct rig *g = *state;
	struct store *local, *s;

	open_it(g);
	assert_int_equal(store_open_posix(&local, "/tmp", false, &g->e), 0);
	assert_int_equal(store_open_null(&s, local, &g->e), 0);
	assert_int_equal(s->chunk_write, local->chunk_write);
	store_close(local);
	use(s, STORE_UNKNOWN);
	use_metadata(s, STORE_OK);
	assert_int_equal(child(), 0);
	store_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_succeeds_and_nothing_exists),
		TEST(it_has_the_version_of_its_model),
		TEST(it_sends_the_commands_of_its_model),
		TEST(it_outlives_its_model),
		TEST(it_is_as_near_as_its_model),
		TEST(a_deep_window_does_not_stall),
		TEST(its_process_holds_nothing_of_ours),
		TEST(a_peer_that_dies_is_an_error_and_no_wait),
		TEST(its_process_ends_with_ours),
		TEST(of_a_local_directory_it_makes_no_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
