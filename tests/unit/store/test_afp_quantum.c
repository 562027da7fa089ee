/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes that are as long as the server's quantum allows. Tests client/store/afp.c,
 * client/afp/quantum.c.
 */
#include "unit/store_rig.h"

#include <sys/mman.h>
#include <unistd.h>

/* netatalk 4.6's tool: reads and writes as long as the server takes writes, and no byte longer. */
static void requests_that_fill_the_quantum_are_taken(void **state)
{
	static const struct {
		const char *machine;
		bool data; /* the quantum bounds the data of a write alone */
	} rule[] = { { "Netatalk4.2.3", true },
		     { "Netatalk4.5.1", false },
		     { "Netatalk4.6.0", true } };
	static const uint32_t quanta[] = { 1047552, 262140, 65537,   1u << 31, UINT32_MAX,
					   65535,   511,    1048577, 64 };
	struct rig *g = *state;
	enum { N = sizeof(quanta) / sizeof(quanta[0]), MOST = 1048577 };
	uint8_t *data = calloc(1, MOST);

	for (unsigned int i = 0; i < 3 * N * 2; i++) {
		const bool narrow = i % 2, bounds_data = rule[i / (2 * N)].data;
		const uint32_t quantum = quanta[i / 2 % N];
		size_t want = narrow && quantum > INT32_MAX ? INT32_MAX : quantum;
		struct store_op op = { .verb = STORE_WRITE, .data = data };

		want -= bounds_data ? 0 : narrow ? 12 : 20;
		if (want > UINT32_MAX - 20) /* a frame's length has 32 bits */
			want = UINT32_MAX - 20;
		peer_free(g->peer);
		new_peer(g);
		g->peer->quantum = quantum;
		g->peer->bounds_data = bounds_data;
		g->how.machine = rule[i / (2 * N)].machine;
		g->how.fills = true;
		g->how.narrow = narrow;
		open_it(g);
		assert_int_equal(g->s->chunk_read, want);
		assert_int_equal(g->s->chunk_write, want);
		if (want <= MOST) {
			op.file = open_file(g, "File");
			op.len = want;
			call(g, &op);
			assert_int_equal(op.result, STORE_OK);
			assert_int_equal(op.done, want);
			assert_int_equal(g->peer->count[narrow ? AFP_Write : AFP_WriteExt], 1);
		}
		store_close(g->s);
		g->s = NULL;
		afp_close(&g->a);
		assert_string_equal(g->peer->complaint, "");
	}
	free(data);
}

#define GIB2       (1ull << 31)
#define ALIAS_STEP (2u << 20)

/* So many bytes of addresses with 2 MiB of memory behind them. */
static void *aliased(size_t len)
{
	int fd = memfd_create("aliased", 0);
	uint8_t *at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);

	assert_true(fd >= 0 && at != MAP_FAILED && !ftruncate(fd, ALIAS_STEP));
	for (size_t n = 0; n < len; n += ALIAS_STEP)
		assert_ptr_not_equal(
		    mmap(at + n, ALIAS_STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
		    MAP_FAILED);
	close(fd);
	return at;
}

/* No length on the way is one of 31 bits with a sign: a write by one rule, a read by the other. */
static void a_quantum_of_2_gib_is_filled_too(void **state)
{
	uint8_t *data = aliased(GIB2);
	struct rig *g = *state;

	for (unsigned int whole = 0; whole < 2; whole++) {
		const size_t want = GIB2 - (whole ? 20 : 0);
		struct store_op op = { .verb = whole ? STORE_READ : STORE_WRITE,
				       .data = data,
				       .buf = data,
				       .len = want };
		struct store_op grow = { .verb = STORE_SET_LEN, .len = GIB2 };

		peer_free(g->peer);
		new_peer(g);
		g->peer->quantum = GIB2;
		g->peer->bounds_data = !whole;
		g->how.machine = whole ? "Netatalk4.5.1" : "Netatalk4.6.0";
		g->how.fills = true;
		open_it(g);
		assert_int_equal(g->s->chunk_read, want);
		assert_int_equal(g->s->chunk_write, want);
		op.file = grow.file = open_file(g, "File");
		call(g, &grow);
		call(g, &op);
		assert_int_equal(op.result, STORE_OK);
		assert_int_equal(op.done, want);
		assert_int_equal(g->peer->data_most, whole ? 0 : want);
		store_close(g->s);
		g->s = NULL;
		afp_close(&g->a);
		assert_string_equal(g->peer->complaint, "");
	}
	munmap(data, GIB2);
}

/* The fake server does end a session for one byte more: by the rule of 4.6 it is 20 too many here.
 */
static void a_request_by_another_servers_rule_is_refused(void **state)
{
	struct rig *g = *state;
	uint8_t *data = calloc(1, 65537);
	struct store_op op = { .verb = STORE_WRITE, .data = data, .len = 65537 };

	g->peer->quantum = 65537;
	g->how.machine = "Netatalk4.6.0";
	g->how.fills = true;
	open_it(g);
	op.file = open_file(g, "File");
	assert_int_not_equal(store_call(g->s, &op, &g->e), 0);
	peer_stop(g->peer);
	assert_non_null(strstr(g->peer->complaint, "quantum 65537"));
	g->peer->complaint[0] = '\0';
	free(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_that_fill_the_quantum_are_taken),
		TEST(a_quantum_of_2_gib_is_filled_too),
		TEST(a_request_by_another_servers_rule_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
