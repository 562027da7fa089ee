/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What texts call the things of a server, by its kind. */
#include "run/kind.h"

#include "kinds/kind.h"
#include "run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "{server} asks the {backend}, {helper}, or its {database}: {asked}";

static const struct run_kind plain = {
	.name = "plain", .role = { [AFS_ROLE_SERVER] = "plaind", [AFS_ROLE_BACKEND] = "helperd" }
};

static const char *said_of(const struct run_kind *kind, const char *what, size_t len)
{
	static char out[200];
	const struct run r = { .kind = kind };

	assert_true(len <= sizeof(out));
	memset(out, '#', sizeof(out));
	assert_ptr_equal(run_text(&r, what, out, len), out);
	return out;
}

static void texts_have_the_words_of_the_kind(void **state)
{
	static const char afp[] = "afpd asks the CNID server, cnid_dbd, or its CNID database: CNID";

	(void)state;
	assert_string_equal(said_of(&kind_afp.is, text, 200), afp);
	/* A run that names no kind is one of AFP. */
	assert_string_equal(said_of(NULL, text, 200), afp);
	assert_string_equal(said_of(&kind_gluster.is, "{server} waits", 200), "brick waits");
	assert_string_equal(said_of(NULL, "{asked.lower} {server.upper} {asked.up}", 200),
			    "cnid AFPD {asked.up}");
}

static void words_that_a_kind_lacks_are_the_usual_ones(void **state)
{
	const struct run r = { .kind = &plain }, afp = { .kind = &kind_afp.is };

	(void)state;
	assert_string_equal(said_of(&plain, text, 200),
			    "plaind asks the backend, helperd, or its database: backend");
	assert_null(run_own_word(&r, RUN_WORD_BACKEND));
	assert_false(run_has_backend(&r));
	assert_true(run_has_backend(&afp));
	assert_string_equal(run_column_name(&r, ACCOUNT_CNID), "backend");
	assert_string_equal(run_column_name(&afp, ACCOUNT_CNID), "CNID");
	assert_string_equal(run_column_name(&r, ACCOUNT_DISK), "disk");
	/* Without a run: the same. */
	assert_string_equal(run_kind_word(&plain, RUN_WORD_ASKED), "backend");
	assert_string_equal(run_kind_word(NULL, RUN_WORD_ASKED), "CNID");
}

static void other_braces_stay(void **state)
{
	(void)state;
	assert_string_equal(said_of(NULL, "{}, {serve}, {servers}, {server", 200),
			    "{}, {serve}, {servers}, {server");
	assert_string_equal(said_of(NULL, "{{server}}", 200), "{afpd}");
}

static void a_text_that_is_too_long_is_cut_off(void **state)
{
	const size_t whole = strlen(said_of(NULL, text, 200));

	(void)state;
	for (size_t len = 1; len <= whole; len++) {
		const char *said = said_of(NULL, text, len);

		assert_int_equal(strlen(said), len - 1);
		assert_int_equal(said[len], '#');
	}
}

/* Each figure belongs to one kind of servers that a diagnosis can be made of, by that kind's word.
 */
static void kinds_that_are_judged_differ_in_their_figures(void **state)
{
	unsigned int seen = 0;

	(void)state;
	assert_int_equal(run_kind_judged(NULL), kind_afp.is.judged);
	for (int i = 1; kind_names[i]; i++)
		assert_true(!kind_at(i)->is.has_live == !kind_at(i)->program);
	for (size_t i = 0; kind_judged[i]; i++) {
		const struct run_kind *k = &kind_at(kind_place(kind_judged[i]))->is;

		assert_true(k->has_diagnosis);
		assert_false(seen & 1u << run_kind_judged(k));
		seen |= 1u << run_kind_judged(k);
	}
	for (unsigned int i = 0; i < N_RUN_FIGURES; i++)
		assert_true(seen & 1u << run_figure_of(i));
}

/* A figure is whose table it stands in, wherever in it. */
static void figures_are_whose_table_has_them(void **state)
{
	(void)state;
#define X(name, key, unit, meaning)                                                                \
	assert_int_equal(run_figure_of(RUN_FIGURE_##name), RUN_JUDGED_CALLS);
	RUN_FIGURES_RX(X)
#undef X
#define X(name, key, unit, meaning)                                                                \
	assert_int_equal(run_figure_of(RUN_FIGURE_##name), RUN_JUDGED_BRICKS);
	RUN_FIGURES_GLUSTER(X)
#undef X
#define X(name, key, unit, meaning)                                                                \
	assert_int_equal(run_figure_of(RUN_FIGURE_##name), RUN_JUDGED_SHARES);
	RUN_FIGURES_SMB(X)
#undef X
#define X(name, key, unit, meaning)                                                                \
	assert_int_equal(run_figure_of(RUN_FIGURE_##name), RUN_JUDGED_EXPORTS);
	RUN_FIGURES_NFS(X)
#undef X
#define X(name, key, unit, meaning)                                                                \
	assert_int_equal(run_figure_of(RUN_FIGURE_##name), RUN_JUDGED_SESSIONS);
	RUN_FIGURES_MACHINE(X)
	RUN_FIGURES_CLIENTS(X)
#undef X
}

/* Of the kinds that are: a sentence about the backend is only right with all of its words. */
static void a_kind_with_a_backend_has_all_its_words(void **state)
{
	(void)state;
	for (int i = 0; kind_names[i]; i++) {
		const struct run r = { .kind = &kind_at(i)->is };

		assert_string_equal(run_kind_name(&r), kind_names[i]);
		if (!run_has_backend(&r))
			continue;
		for (enum run_word w = 0; w < RUN_N_WORDS; w++) {
			assert_non_null(run_own_word(&r, w));
			assert_true(strlen(run_word(&r, w)) < RUN_WORD_MAX);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_have_the_words_of_the_kind),
		cmocka_unit_test(words_that_a_kind_lacks_are_the_usual_ones),
		cmocka_unit_test(other_braces_stay),
		cmocka_unit_test(a_text_that_is_too_long_is_cut_off),
		cmocka_unit_test(kinds_that_are_judged_differ_in_their_figures),
		cmocka_unit_test(figures_are_whose_table_has_them),
		cmocka_unit_test(a_kind_with_a_backend_has_all_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
