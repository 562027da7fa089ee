/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the clients of a mix write, and whether they find it again: on a store in memory that fails,
 * changes, loses and exchanges bytes.
 */
#include "unit/mix_rig.h"

/* All that is in the store's files, block by block. */
static unsigned int equal_blocks(const struct rig *g)
{
	unsigned int same = 0;

	for (int i = 2; i < MEMORY_NODES; i++)
		for (int k = 2; k <= i; k++)
			for (size_t a = 0; g->m.node[i].data && a < g->m.node[i].len; a += 4096)
				for (size_t b = 0; g->m.node[k].data && b < g->m.node[k].len;
				     b += 4096)
					same += (k < i || b < a) &&
						!memcmp(g->m.node[i].data + a,
							g->m.node[k].data + b, 4096);
	return same;
}

static void no_two_blocks_are_equal(void **state)
{
	(void)state;
	for (unsigned int a = MIX_WRITE; a < N_MIX_ACTIONS; a++) {
		struct mix mix = one(a);
		struct rig g;

		rig_begin(&g, &mix);
		makes(&g, 0);
		makes(&g, 1);
		for (unsigned int n = 0; n < 20; n++) {
			assert_int_equal(equal_blocks(&g), 0);
			assert_int_equal(uses(&g), SCRIPT_DONE);
		}
		rig_end(&g);
	}
}

/* Reads all files: how many are not as they were written. */
static uint64_t verifies(struct rig *g, unsigned int client)
{
	struct mix_verified before = { 0 }, after = { 0 };
	struct script *s = mix_client_verify(g->client[client]);
	unsigned int failed = 0;
	enum script_state how;

	mix_client_add_verified(g->client[client], &before);
	while ((how = act(g, s)) != SCRIPT_GOES_ON)
		failed += how == SCRIPT_FAILED;
	mix_client_add_verified(g->client[client], &after);
	assert_int_equal(after.n_files - before.n_files, g->mix.files);
	assert_int_equal(after.n_wrong - before.n_wrong, failed);
	assert_true(nothing_is_open(g));
	return failed;
}

/* After each action, and after one whose n-th request fails, the files hold what they should. */
static void what_was_written_is_found_again(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < N_MIX_ACTIONS; a++) {
		for (unsigned int n = 0; n < 16; n++) {
			struct mix mix = one(a);
			struct rig g;

			mix.verify = true;
			mix.compressible = 0.3;
			mix.duplicate = n % 2 ? 0.5 : 0;
			mix.window = 1 + n % 3;
			rig_begin(&g, &mix);
			makes(&g, 0);
			for (unsigned int k = 0; k < 5; k++)
				assert_int_equal(uses(&g), SCRIPT_DONE);
			g.m.n_ops = 0;
			g.m.fail_at = n;
			g.m.fail_with = STORE_DENIED;
			uses(&g);
			g.m.fail_at = 0;
			assert_int_equal(verifies(&g, 0), 0);
			rig_end(&g);
		}
	}
}

static struct memory_node *file_of(struct rig *g, const char *name)
{
	return memory_find(&g->m, (struct store_dir) { 0, 3 }, name);
}

/* By the store, at any byte, or by a read whose answer is wrong. */
static void a_byte_that_changed_is_found(void **state)
{
	static const uint64_t at[] = { 0, 1, 3, 4, 4095, 4096, 9000, 20 * KIB - 1 };
	struct mix mix = one(MIX_SAVE);
	struct rig g;

	(void)state;
	mix.verify = true;
	for (unsigned int n = 0; n < sizeof(at) / sizeof(at[0]); n++) {
		rig_begin(&g, &mix);
		makes(&g, 0);
		for (unsigned int k = 0; k < 5; k++)
			assert_int_equal(uses(&g), SCRIPT_DONE);
		file_of(&g, "f00001")->data[at[n]] ^= 0x40;
		assert_int_equal(verifies(&g, 0), 1);
		rig_end(&g);
	}
	mix = one(MIX_READ);
	mix.verify = true;
	rig_begin(&g, &mix);
	makes(&g, 0);
	g.m.n_ops = 0;
	g.m.corrupt_at = 3; /* the second read, of 8 KiB, in its middle */
	assert_int_equal(uses(&g), SCRIPT_FAILED);
	assert_non_null(strstr(g.e.text, "d00000/f0000"));
	assert_non_null(strstr(g.e.text, ": byte 12288 is not what was written"));
	g.m.corrupt_at = 0;
	assert_int_equal(uses(&g), SCRIPT_DONE);
	rig_end(&g);
}

/* A block that is as it was before the last write, and one that is another's. */
static void a_write_that_was_lost_is_found(void **state)
{
	struct mix mix = one(MIX_WRITE);
	uint8_t before[4096];
	struct rig g;

	(void)state;
	mix.files = 1;
	mix.verify = true;
	rig_begin(&g, &mix);
	makes(&g, 0);
	memcpy(before, file_of(&g, "f00000")->data + 4096, 4096);
	assert_int_equal(uses(&g), SCRIPT_DONE);
	assert_memory_not_equal(before, file_of(&g, "f00000")->data + 4096, 4096);
	memcpy(file_of(&g, "f00000")->data + 4096, before, 4096);
	assert_int_equal(verifies(&g, 0), 1);
	rig_end(&g);
	rig_begin(&g, &mix);
	makes(&g, 0);
	memcpy(file_of(&g, "f00000")->data + 4096, file_of(&g, "f00000")->data, 4096);
	assert_int_equal(verifies(&g, 0), 1);
	rig_end(&g);
	rig_begin(&g, &mix);
	makes(&g, 0);
	memory_delete(&g.m, file_of(&g, "f00000"));
	assert_int_equal(verifies(&g, 0), 1);
	rig_end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_blocks_are_equal),
		cmocka_unit_test(what_was_written_is_found_again),
		cmocka_unit_test(a_byte_that_changed_is_found),
		cmocka_unit_test(a_write_that_was_lost_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
