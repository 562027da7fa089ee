/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spellings of names; and a volume that is opened under the server's. */
#include "afp/afp.h"
#include "afp/spelling.h"
#include "fake/peer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

#define COMPOSED      "B\303\274cher"
#define DECOMPOSED    "Bu\314\210cher"
#define ENCODED       "B%C3%BCcher"

static void names_are_composed(void **state)
{
	static const char *const row[][2] = {
		{ "", "" },
		{ "Volume", "Volume" },
		{ DECOMPOSED, COMPOSED },
		{ COMPOSED, COMPOSED },
		{ "A\314\210rzte/2026", "\303\204rzte/2026" },
		{ "\343\201\213\343\202\231", "\343\201\214" }, /* ka and its mark: ga */
		{ "\350\263\207\346\226\231 \360\237\223\232",
		  "\350\263\207\346\226\231 \360\237\223\232" },
		{ "no UTF-8: \374", "no UTF-8: \374" },
		{ "cut: \303", "cut: \303" },
	};
	char out[SPELLING_MAX];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(row); i++) {
		spelling_compose(out, row[i][0]);
		assert_string_equal(out, row[i][1]);
	}
}

static void a_long_name_stays_in_its_room(void **state)
{
	char name[2 * SPELLING_MAX + 1], out[SPELLING_MAX + 1];

	(void)state;
	for (size_t len = SPELLING_MAX - 8; len < 2 * SPELLING_MAX; len++) {
		memset(name, 'u', len);
		memcpy(name + len - 3, "u\314\210", 4);
		memset(out, 'x', sizeof(out));
		spelling_compose(out, name);
		assert_true(strlen(out) < SPELLING_MAX && out[SPELLING_MAX] == 'x');
		spelling_other(out, name, "v");
		assert_true(strlen(out) < SPELLING_MAX && out[SPELLING_MAX] == 'x');
	}
}

static void other_spellings_are_found(void **state)
{
	static const struct {
		const char *asked, *name, *ask; /* NULL: not the same */
	} row[] = {
		{ DECOMPOSED, COMPOSED, COMPOSED },
		{ COMPOSED, DECOMPOSED, DECOMPOSED },
		{ ENCODED, COMPOSED, COMPOSED },
		{ ENCODED, DECOMPOSED, DECOMPOSED },
		/* signs that combine, in another order than the normal one */
		{ "e%CC%81%CC%A3", "e\xcc\x81\xcc\xa3", "e\xcc\x81\xcc\xa3" },
		{ "Bu%CC%88cher", COMPOSED, COMPOSED },
		{ ENCODED, "b\303\274cher", COMPOSED }, /* the server knows whether it is */
		{ "a%20b", "a b", "a b" },
		{ "%c3%84rzte%2F2026", "\303\204rzte/2026", "\303\204rzte/2026" },
		/* the same bytes were refused already */
		{ COMPOSED, COMPOSED, NULL },
		{ "100%", "100%", NULL },
		{ "Vol", "vol", NULL },
		{ "a%00b", "a", NULL },
		{ "%zz", "zz", NULL },
		{ "", "Vol", NULL },
	};
	char out[SPELLING_MAX];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(row); i++) {
		bool same = spelling_other(out, row[i].asked, row[i].name);

		if (same != (row[i].ask != NULL))
			fail_msg("%s and %s", row[i].asked, row[i].name);
		if (same)
			assert_string_equal(out, row[i].ask);
	}
}

static void what_differs_is_said(void **state)
{
	(void)state;
	assert_string_equal(spelling_differs("VOL1", "vol1"), "capitals");
	assert_string_equal(spelling_differs("my  vol", "my vol "), "blanks");
	assert_null(spelling_differs("vol1", "vol1"));
	assert_null(spelling_differs("vol1", "vol2"));
	assert_null(spelling_differs("vol", "vol2"));
}

/* A server with the volumes COMPOSED and "Vol", which knows no other spelling. */
static bool strict_server(void *user, struct peer *p, const struct peer_request *q,
			  struct peer_reply *out)
{
	static const char list[] = "\0\0\0\0\2\0\7" COMPOSED "\0\3Vol";
	struct rbuf in = rbuf_of(q->command, q->len);
	const char *opens = user;
	char name[256] = "";
	uint8_t len;

	(void)p;
	if (q->command[0] == AFP_GetSrvrParms) {
		peer_reply_set(out, 0, list, sizeof(list) - 1);
		return true;
	}
	if (q->command[0] != AFP_OpenVol)
		return false;
	rbuf_bytes(&in, 4);
	len = rbuf_u8(&in);
	memcpy(name, rbuf_bytes(&in, len), len);
	if (!strcmp(name, opens))
		peer_reply_set(out, 0, "\0\x21\0\0\1\2", 6);
	else
		peer_reply_set(out, AFP_ERR_NO_OBJECT, NULL, 0);
	return true;
}

static int open_volume(const char *volume, const char *opens, struct err *e, unsigned int *n_opens)
{
	struct peer *peer = peer_new();
	const struct dsi_opts opts = {
		.host = "127.0.0.1", .port = peer->serve.port, .window = 4, .timeout_ms = 5000
	};
	const struct afp_login login = { NULL, NULL, "guest", 7, NULL };
	struct afp_server server = { .n_uams = 1, .uam = { "No User Authent" } };
	enum afp_stage stage;
	struct afp a;
	int r;

	peer->answer = strict_server;
	peer->user = (void *)(uintptr_t)opens;
	peer_start(peer);
	r = afp_open(&a, &opts, &server, &login, volume, &stage, e);
	if (!r)
		afp_close(&a);
	peer_stop(peer);
	*n_opens = peer->count[AFP_OpenVol];
	peer_free(peer);
	return r;
}

static void a_volume_opens_under_the_servers_spelling(void **state)
{
	static const struct {
		const char *asked, *opens;
		unsigned int n_opens;
	} row[] = {
		{ COMPOSED, COMPOSED, 1 }, { DECOMPOSED, COMPOSED, 2 }, { ENCODED, COMPOSED, 2 },
		{ "%56ol", "Vol", 2 },     { "Vol", "Vol", 1 },
	};
	unsigned int n_opens;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(row); i++) {
		assert_int_equal(open_volume(row[i].asked, row[i].opens, &e, &n_opens), 0);
		assert_int_equal(n_opens, row[i].n_opens);
	}
}

static void a_volume_refused_twice_is_an_error_with_its_own_name(void **state)
{
	unsigned int n_opens;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(open_volume(ENCODED, "never", &e, &n_opens), -ENOENT);
	assert_int_equal(n_opens, 2);
	assert_string_equal(e.text, "cannot open volume \"" ENCODED
				    "\": no such object (AFP -5018); the server offers \"" COMPOSED
				    "\", \"Vol\"");
	assert_int_equal(open_volume("VOL", "Vol", &e, &n_opens), -ENOENT);
	assert_int_equal(n_opens, 1);
	assert_non_null(strstr(e.text, "; \"Vol\" differs in capitals only; the server offers"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_composed),
		cmocka_unit_test(a_long_name_stays_in_its_room),
		cmocka_unit_test(other_spellings_are_found),
		cmocka_unit_test(what_differs_is_said),
		cmocka_unit_test(a_volume_opens_under_the_servers_spelling),
		cmocka_unit_test(a_volume_refused_twice_is_an_error_with_its_own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
