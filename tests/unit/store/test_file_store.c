/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls a store of files makes of its kind, and what it makes of their answers. */
#include "store/file_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define TAIL 2 /* of file 1 */

/* Notes what is called, and answers as a test says. */
struct noted {
	struct file_store f;
	char log[1024];
	ssize_t answer[8]; /* of reads and writes, in turn; a negative errno */
	unsigned int n;
	int ended;
	const char *const *entries; /* of the directories: "d/" is one */
};

static struct noted *noted_of(struct file_store *f)
{
	return (struct noted *)f;
}

__attribute__((format(printf, 2, 3))) static void note(struct file_store *f, const char *form, ...)
{
	char *log = noted_of(f)->log;
	size_t len = strlen(log);
	va_list args;

	va_start(args, form);
	vsnprintf(log + len, sizeof(noted_of(f)->log) - len, form, args);
	va_end(args);
}

static ssize_t answer(struct file_store *f)
{
	ssize_t n = noted_of(f)->answer[noted_of(f)->n++];

	errno = n < 0 ? (int)-n : 0;
	return n < 0 ? -1 : n;
}

static ssize_t noted_pread(struct file_store *f, uint64_t file, void *buf, size_t len, off_t at)
{
	(void)buf;
	note(f, "read %d %zu at %lld, ", (int)file, len, (long long)at);
	return answer(f);
}

static ssize_t noted_pwrite(struct file_store *f, uint64_t file, const void *data, size_t len,
			    off_t at)
{
	(void)data;
	note(f, "write %d %zu at %lld, ", (int)file, len, (long long)at);
	return answer(f);
}

static int noted_begin_tail(struct file_store *f, uint64_t file, uint64_t *tail)
{
	note(f, "tail of %d, ", (int)file);
	*tail = TAIL;
	return 0;
}

static int noted_end_tail(struct file_store *f, uint64_t tail)
{
	note(f, "end of %d, ", (int)tail);
	return noted_of(f)->ended;
}

static int noted_open_dir(struct file_store *f, uint64_t dir, const char *name, bool is_new,
			  int *fd)
{
	note(f, "find %d/%s%s, ", (int)dir, name, is_new ? " made" : "");
	*fd = -1;
	return 0;
}

static int noted_remove(struct file_store *f, uint64_t dir, const char *name, bool is_dir)
{
	note(f, "%s %d/%s, ", is_dir ? "rmdir" : "unlink", (int)dir, name);
	if (!strcmp(name, "gone"))
		return ENOENT;
	return !is_dir && *name == 'd' ? EISDIR : 0;
}

static int noted_on_name(struct file_store *f, struct store_op *op)
{
	note(f, "%s %d/%s, ", store_verb_name(op->verb), (int)op->dir.id, op->name);
	return 0;
}

/* Directory 1 has the entries; what is in it has none. */
static void *noted_open_list(struct file_store *f, uint64_t dir)
{
	static const char *const none[] = { NULL };
	const char *const **list = malloc(sizeof(*list));

	assert_non_null(list);
	note(f, "list %d, ", (int)dir);
	*list = dir == 1 ? noted_of(f)->entries : none;
	return list;
}

static int noted_next(struct file_store *f, void *list, uint64_t dir, bool with_attrs,
		      struct file_store_entry *out)
{
	const char *const **at = list;

	(void)f, (void)dir, (void)with_attrs;
	*out = (struct file_store_entry) { .name = **at, .len = 1 };
	*at += **at != NULL;
	return 0;
}

static void noted_close_list(struct file_store *f, void *list)
{
	(void)f;
	free(list);
}

static const char *const noted_what[N_STORE_VERBS] = {
#define X(name, word) [STORE_##name] = word,
	STORE_VERBS(X)
#undef X
};

static const struct file_store_calls noted_calls = {
	.what = noted_what,
	.no_copy = "no copies",
	.pread = noted_pread,
	.pwrite = noted_pwrite,
	.begin_tail = noted_begin_tail,
	.end_tail = noted_end_tail,
	.open_dir = noted_open_dir,
	.remove = noted_remove,
	.on_name = noted_on_name,
	.open_list = noted_open_list,
	.next = noted_next,
	.close_list = noted_close_list,
};

static void close_noted(struct store *s)
{
	file_store_fini((struct file_store *)s);
	free(s);
}

static const struct store_type noted_type = BLOCKING_TYPE("noted", close_noted);

static int setup(void **state)
{
	struct noted *n = calloc(1, sizeof(*n));

	assert_non_null(n);
	file_store_init(&n->f, &noted_type, &noted_calls, false);
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	store_close(*state);
	return 0;
}

static struct store_op call(struct noted *n, struct store_op op)
{
	struct err e;

	*n->log = '\0';
	assert_int_equal(store_call(&n->f.b.s, &op, &e), 0);
	return op;
}

/* 10 bytes from 8 on of file 1, in blocks of 4 where align says so. */
static struct store_op moved(struct noted *n, enum store_verb verb, const ssize_t answers[4])
{
	static char bytes[16];
	struct store_op op = { .verb = verb, .file.id = 1, .offset = 8, .len = 10 };

	memcpy(n->answer, answers, 4 * sizeof(answers[0]));
	n->n = 0;
	op.buf = bytes;
	op.data = bytes;
	return call(n, op);
}

static void a_read_goes_on_until_it_has_all_or_the_file_ends(void **state)
{
	struct noted *n = *state;
	struct store_op op = moved(n, STORE_READ, (const ssize_t[4]) { 7, 3 });

	assert_int_equal(op.result, STORE_OK);
	assert_string_equal(n->log, "read 1 10 at 8, read 1 3 at 15, ");
	op = moved(n, STORE_READ, (const ssize_t[4]) { 7, 0 });
	assert_int_equal(op.result, STORE_SHORT);
	assert_int_equal(op.done, 7);
	op = moved(n, STORE_READ, (const ssize_t[4]) { 7, -ENOSPC });
	assert_int_equal(op.result, STORE_FULL);
	assert_int_equal(op.code, ENOSPC);
}

/* A direct one could not go on from there. */
static void a_read_of_blocks_ends_with_the_first_that_is_not_whole(void **state)
{
	struct noted *n = *state;
	struct store_op op;

	n->f.b.s.align = 4;
	op = moved(n, STORE_READ, (const ssize_t[4]) { 8, 4 });
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 10); /* as was asked */
	assert_string_equal(n->log, "read 1 12 at 8, read 1 4 at 16, ");
	op = moved(n, STORE_READ, (const ssize_t[4]) { 7 });
	assert_int_equal(op.result, STORE_SHORT);
	assert_string_equal(n->log, "read 1 12 at 8, ");
}

static void the_tail_of_a_write_takes_the_tails_file(void **state)
{
	struct noted *n = *state;
	struct store_op op;

	assert_int_equal(moved(n, STORE_WRITE, (const ssize_t[4]) { 10 }).result, STORE_OK);
	assert_string_equal(n->log, "write 1 10 at 8, ");
	n->f.b.s.align = 4;
	assert_int_equal(moved(n, STORE_WRITE, (const ssize_t[4]) { 4, 4, 2 }).result, STORE_OK);
	assert_string_equal(n->log, "write 1 8 at 8, write 1 4 at 12, tail of 1, "
				    "write 2 2 at 16, end of 2, ");
	/* what has failed first is told; the tail ends in any case */
	n->ended = EIO;
	op = moved(n, STORE_WRITE, (const ssize_t[4]) { 8, -ENOSPC });
	assert_int_equal(op.code, ENOSPC);
	assert_non_null(strstr(n->log, "end of 2, "));
	assert_int_equal(moved(n, STORE_WRITE, (const ssize_t[4]) { 8, 2 }).code, EIO);
	/* no tail after less than the whole */
	op = moved(n, STORE_WRITE, (const ssize_t[4]) { 4, 0 });
	assert_int_equal(op.result, STORE_SHORT);
	assert_int_equal(op.done, 4);
	assert_null(strstr(n->log, "tail"));
	op = call(n,
		  (struct store_op) { .verb = STORE_WRITE, .file.id = 1, .offset = 2, .len = 4 });
	assert_int_equal(op.result, STORE_INVALID);
	assert_string_equal(n->log, "");
}

static void a_name_is_a_file_until_it_is_known_as_a_directory(void **state)
{
	struct noted *n = *state;
	struct store_op op = { .verb = STORE_DELETE, .name = "d" };

	call(n, op);
	assert_string_equal(n->log, "unlink 0/d, rmdir 0/d, ");
	call(n, (struct store_op) { .verb = STORE_MKDIR, .name = "d" });
	assert_string_equal(n->log, "mkdir 0/d, find 0/d made, ");
	call(n, op);
	assert_string_equal(n->log, "rmdir 0/d, ");
	call(n, op);
	assert_string_equal(n->log, "unlink 0/d, rmdir 0/d, ");
	op.name = "";
	assert_int_equal(call(n, op).result, STORE_DENIED); /* the store's own */
	assert_string_equal(n->log, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read_goes_on_until_it_has_all_or_the_file_ends),
		TEST(a_read_of_blocks_ends_with_the_first_that_is_not_whole),
		TEST(the_tail_of_a_write_takes_the_tails_file),
		TEST(a_name_is_a_file_until_it_is_known_as_a_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
