/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a URL and options to a server, and to an open volume.
 * Also tests user/app/cmd.c, cmd_rights.c.
 */
#include "drive/connect.h"
#include "fake/peer.h"
#include "run/run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

static const struct connect_cfg defaults = CONNECT_DEFAULTS;

static void assert_text(const char *got, const char *want)
{
	if (want && got)
		assert_string_equal(got, want);
	else
		assert_true(!got == !want);
}

static void urls_are_taken_apart(void **state)
{
	static const struct {
		const char *url, *host;
		unsigned int port;
		const char *user, *password, *volume;
	} row[] = {
		{ "afp://server", "server", 548, NULL, NULL, NULL },
		{ "afp://server/", "server", 548, NULL, NULL, NULL },
		{ "afp://server/Vol", "server", 548, NULL, NULL, "Vol" },
		{ "AFP://server/Vol", "server", 548, NULL, NULL, "Vol" },
		{ "afp://server:10548/Vol", "server", 10548, NULL, NULL, "Vol" },
		{ "afp://server:1", "server", 1, NULL, NULL, NULL },
		{ "afp://server:65535", "server", 65535, NULL, NULL, NULL },
		{ "afp://me@server/Vol", "server", 548, "me", NULL, "Vol" },
		{ "afp://me:pw@server:549/Vol", "server", 549, "me", "pw", "Vol" },
		{ "afp://me:p:w@server/Vol", "server", 548, "me", "p:w", "Vol" },
		{ "afp://me:@server/Vol", "server", 548, "me", "", "Vol" },
		{ "afp://me%40home:p%3aw%2F@server/Vol", "server", 548, "me@home", "p:w/", "Vol" },
		{ "afp://me@home@server/Vol", "server", 548, "me@home", NULL, "Vol" },
		{ "afp://server/My%20Volume", "server", 548, NULL, NULL, "My Volume" },
		{ "afp://server/%41%e4%BA%9c", "server", 548, NULL, NULL, "A\xe4\xba\x9c" },
		{ "afp://server/100%25", "server", 548, NULL, NULL, "100%" },
		{ "afp://server/a@b:c", "server", 548, NULL, NULL, "a@b:c" },
		{ "afp://192.0.2.1:1548/V", "192.0.2.1", 1548, NULL, NULL, "V" },
		{ "afp://[::1]", "::1", 548, NULL, NULL, NULL },
		{ "afp://[::1]/V", "::1", 548, NULL, NULL, "V" },
		{ "afp://[::1]:1548/V", "::1", 1548, NULL, NULL, "V" },
		{ "afp://me:pw@[fe80::1%lo]:1548/V", "fe80::1%lo", 1548, "me", "pw", "V" },
		{ "afp://[fe80::1%25lo]/V", "fe80::1%lo", 548, NULL, NULL, "V" },
		{ "afp://[fe80::1%25]/V", "fe80::1%25", 548, NULL, NULL, "V" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct connect_cfg c = defaults;
		struct err e = { 0 };

		if (connect_url(&c, row[i].url, &e))
			fail_msg("%s: %s", row[i].url, e.text);
		assert_text(c.host, row[i].host);
		assert_int_equal(c.port, row[i].port);
		assert_text(c.user, row[i].user);
		assert_text(c.password, row[i].password);
		assert_text(c.volume, row[i].volume);
	}
}

/* Place: an IPv6 address without brackets in a URL | refused, with the form */
static void malformed_urls_are_refused_with_a_text(void **state)
{
	static const struct {
		const char *url, *text;
	} row[] = {
		{ "", "afp://" },
		{ "server", "'server' is not a server" },
		{ "smb://server/Vol", "afp://user@host" },
		{ "afp:/server", "afp://user@host" },
		{ "afp://", "no host" },
		{ "afp:///Vol", "no host" },
		{ "afp://me@/Vol", "no host" },
		{ "afp://:548/Vol", "no host" },
		{ "afp://[]/Vol", "no host" },
		{ "afp://server:/Vol", "1..65535" },
		{ "afp://server:0/Vol", "1..65535" },
		{ "afp://server:65536/Vol", "1..65535" },
		{ "afp://server:afp/Vol", "1..65535" },
		{ "afp://server:548x/Vol", "1..65535" },
		{ "afp://server:-1/Vol", "1..65535" },
		{ "afp://server:+548/Vol", "1..65535" },
		{ "afp://server: 548/Vol", "1..65535" },
		{ "afp://server:99999999999999999999/Vol", "1..65535" },
		{ "afp://server:18446744073709552164/Vol", "1..65535" },
		{ "afp://::1/Vol", "in brackets" },
		{ "afp://u@::1:20130/v", "afp://user@[::1]:548/Volume" },
		{ "afp://2001:db8::7:548", "in brackets" },
		{ "afp://[::1/Vol", "']'" },
		{ "afp://[::1]x/Vol", "']'" },
		{ "afp://[::1]x:548/Vol", "']'" },
		{ "afp://server/100%", "two hex digits" },
		{ "afp://server/a%20b%zz", "%zz" },
		{ "afp://server/%4", "two hex digits" },
		{ "afp://m%xx@server/Vol", "%xx" },
		{ "afp://me:p%q@server/Vol", "two hex digits" },
		{ "afp://server/Vol%00ume", "%00" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct connect_cfg c = defaults;
		struct err e = { 0 };

		if (connect_url(&c, row[i].url, &e) != -EINVAL)
			fail_msg("%s is taken", row[i].url);
		if (!*e.text || !strstr(e.text, row[i].text))
			fail_msg("%s: \"%s\" does not say \"%s\"", row[i].url, e.text, row[i].text);
	}
}

static void a_password_is_not_told_in_an_error(void **state)
{
	struct connect_cfg c = defaults;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(connect_url(&c, "afp://me:secret%q@server/Vol", &e), -EINVAL);
	assert_null(strstr(e.text, "secret"));
}

static void what_the_url_leaves_out_stays_as_it_was(void **state)
{
	struct connect_cfg c = defaults;
	struct err e;

	(void)state;
	c.port = 1548;
	c.user = "me";
	c.password = "100%";
	c.volume = "50%";
	assert_int_equal(connect_url(&c, "afp://server", &e), 0);
	assert_string_equal(c.host, "server");
	assert_int_equal(c.port, 1548);
	assert_string_equal(c.user, "me");
	assert_string_equal(c.password, "100%");
	assert_string_equal(c.volume, "50%");
}

static void the_longest_url_fits_and_a_longer_one_is_refused(void **state)
{
	struct connect_cfg c = defaults;
	char url[sizeof(c.url) + 2] = "afp://server/";
	size_t head = strlen(url);
	struct err e;

	(void)state;
	memset(url + head, 'v', sizeof(c.url) - 1 - head);
	url[sizeof(c.url) - 1] = '\0';
	assert_int_equal(connect_url(&c, url, &e), 0);
	assert_int_equal(strlen(c.volume), sizeof(c.url) - 1 - head);
	url[sizeof(c.url) - 1] = 'v';
	url[sizeof(c.url)] = '\0';
	assert_int_equal(connect_url(&c, url, &e), -EINVAL);
	assert_non_null(strstr(e.text, "longer than 599 bytes"));
}

/* ---- completing ---- */

static void a_volume_is_needed(void **state)
{
	struct connect_cfg c = defaults;
	struct err e;

	(void)state;
	c.uam = "guest";
	assert_int_equal(connect_complete(&c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "which volume?"));
	c.volume = "";
	assert_int_equal(connect_complete(&c, &e), -EINVAL);
	c.volume = "V";
	assert_int_equal(connect_complete(&c, &e), 0);
}

static void a_volume_name_may_have_255_bytes(void **state)
{
	struct connect_cfg c = defaults;
	char name[257] = "";
	struct err e;

	(void)state;
	c.uam = "guest";
	c.volume = name;
	memset(name, 'v', 255);
	assert_int_equal(connect_complete(&c, &e), 0);
	name[255] = 'v';
	assert_int_equal(connect_complete(&c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "256 bytes"));
}

/* As often as it is asked for, and not in this program's memory meanwhile. */
static void password_is(const struct connect_cfg *c, const char *expected)
{
	char out[CONNECT_PASSWORD_MAX];

	assert_null(c->password);
	assert_null(memmem(c, sizeof(*c), expected, strlen(expected)));
	for (unsigned int i = 0; i < 3; i++)
		assert_string_equal(connect_password(c, out), expected);
}

static void the_password_comes_from_option_file_or_environment(void **state)
{
	char path[] = "/tmp/afpscope-test-XXXXXX";
	char option[] = "from option";
	int fd = mkstemp(path);
	struct connect_cfg c;
	struct err e;

	(void)state;
	assert_int_equal(write(fd, "from file\r\nnot this\n", 20), 20);
	close(fd);
	setenv("AFPSCOPE_PASSWORD", "from environment", 1);

	c = (struct connect_cfg) { .volume = "V", .user = "me" };
	assert_int_equal(connect_complete(&c, &e), 0);
	password_is(&c, "from environment");
	assert_string_equal(getenv("AFPSCOPE_PASSWORD"), "");
	c = (struct connect_cfg) { .volume = "V", .user = "me", .password = option };
	assert_int_equal(connect_complete(&c, &e), 0);
	password_is(&c, "from option");
	assert_string_not_equal(option, "from option"); /* ps shows it no more */
	c = (struct connect_cfg) { .volume = "V", .user = "me", .password_file = path };
	assert_int_equal(connect_complete(&c, &e), 0);
	password_is(&c, "from file");

	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(connect_complete(&c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "is empty"));
	unlink(path);
	assert_int_equal(connect_complete(&c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "No such file"));
	unsetenv("AFPSCOPE_PASSWORD");
}

static void an_empty_user_is_refused(void **state)
{
	struct connect_cfg c = { .volume = "V", .user = "" };
	struct err e;

	(void)state;
	assert_int_equal(connect_complete(&c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "which user?"));
}

/* ---- opening ---- */

static enum outcome open_fake(struct peer *p, const char *volume, enum afp_stage *stage,
			      struct err *e)
{
	struct connect_cfg c = defaults;
	struct afp_server server;
	struct afp a;
	char url[64];
	enum outcome o;

	if (!p->serve.running)
		peer_start(p);
	snprintf(url, sizeof(url), "afp://127.0.0.1:%s/%s", p->serve.port, volume);
	assert_int_equal(connect_url(&c, url, e), 0);
	c.uam = "guest";
	assert_int_equal(connect_complete(&c, e), 0);
	o = connect_open(&a, &server, &c, 4, stage, e);
	if (!o)
		assert_string_equal(server.name, "Server");
	afp_close(&a);
	peer_stop(p);
	return o;
}

static void a_url_leads_to_an_open_volume(void **state)
{
	struct peer *p = peer_new();
	enum afp_stage stage;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(open_fake(p, "Fake", &stage, &e), OUTCOME_OK);
	assert_int_equal(stage, AFP_STAGE_OPEN);
	peer_free(p);
}

static void a_wrong_volume_is_no_session(void **state)
{
	struct peer *p = peer_new();
	enum afp_stage stage;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(open_fake(p, "Nothing", &stage, &e), OUTCOME_NO_SESSION);
	assert_int_equal(stage, AFP_STAGE_VOLUME);
	assert_non_null(strstr(e.text, "\"Fake\""));
	peer_free(p);
}

static void a_busy_server_is_no_session(void **state)
{
	struct peer *p = peer_new();
	enum afp_stage stage;
	struct err e = { 0 };

	(void)state;
	p->busy = true;
	assert_int_equal(open_fake(p, "Fake", &stage, &e), OUTCOME_NO_SESSION);
	assert_int_equal(stage, AFP_STAGE_CONNECT);
	assert_non_null(strstr(e.text, "busy"));
	peer_free(p);
}

static void a_stop_while_opening_is_an_interruption(void **state)
{
	struct peer *p = peer_new();
	enum afp_stage stage;
	struct err e = { 0 };

	(void)state;
	cmd_stop = 1;
	assert_int_equal(open_fake(p, "Fake", &stage, &e), OUTCOME_INTERRUPTED);
	cmd_stop = 0;
	peer_free(p);
}

/* ---- users ---- */

/* Knows one user, and notes who asked. */
struct users {
	const char *known;
	int32_t refusal;
	unsigned int n;
	char asked[4][1024];
};

static bool users_login(void *user, struct peer *p, const struct peer_request *q,
			struct peer_reply *out)
{
	struct rbuf b = rbuf_of(q->command, q->len);
	struct users *u = user;
	uint8_t code = q->len ? rbuf_u8(&b) : 0;
	bool ext = code == AFP_LoginExt;
	size_t len;

	(void)p;
	if (code != AFP_Login && !ext)
		return false;
	rbuf_bytes(&b, ext ? 3 : 0); /* pad byte, flags */
	rbuf_bytes(&b, rbuf_u8(&b)); /* version */
	rbuf_bytes(&b, rbuf_u8(&b)); /* method */
	if (ext)
		rbuf_u8(&b); /* UTF-8 */
	len = ext ? rbuf_u16(&b) : rbuf_u8(&b);
	assert_true(u->n < 4);
	snprintf(u->asked[u->n], sizeof(u->asked[0]), "%.*s", (int)len,
		 (const char *)rbuf_bytes(&b, len));
	peer_reply_set(out, strcmp(u->asked[u->n++], u->known) ? u->refusal : 0, NULL, 0);
	return true;
}

static enum outcome open_as(struct users *u, const char *name, struct err *e)
{
	static const char status[] = "\x00\x12\x00\x17\x00\x1f\x00\x00\x83\x7b"
				     "\x06Server\x00\x04"
				     "Fake\x01\x06"
				     "AFP3.4\x01\x10"
				     "Cleartxt Passwrd";
	struct connect_cfg c = defaults;
	struct peer *p = peer_new();
	struct afp_server server;
	char secret[] = "secret1";
	enum afp_stage stage;
	struct afp a;
	enum outcome o;

	p->status = status;
	p->status_len = sizeof(status) - 1;
	p->answer = users_login;
	p->user = u;
	peer_start(p);
	c.host = "127.0.0.1";
	c.port = (unsigned int)strtoul(p->serve.port, NULL, 10);
	c.volume = "Fake";
	c.user = name;
	c.password = secret;
	c.uam = "cleartext";
	assert_int_equal(connect_complete(&c, e), 0);
	o = connect_open(&a, &server, &c, 4, &stage, e);
	assert_int_equal(stage, o ? AFP_STAGE_LOGIN : AFP_STAGE_OPEN);
	assert_int_equal(server.decodes, u->n == 2);
	afp_close(&a);
	peer_stop(p);
	assert_string_equal(p->complaint, "");
	peer_free(p);
	return o;
}

#define ENCODED "m%C3%BCller"
#define MULLER  "m\303\274ller"

static void a_user_with_percent_signs_is_tried_as_it_is_then_decoded(void **state)
{
	static const struct {
		const char *user, *known;
		unsigned int n;
	} row[] = {
		{ ENCODED, MULLER, 2 },
		{ ENCODED, ENCODED, 1 },
		{ "mu%CC%88ller", MULLER, 2 },
		{ MULLER, MULLER, 1 },
		{ "anna%20maria", "anna maria", 2 },
		{ "100%", "100%", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct users u = { row[i].known, AFP_ERR_NOT_AUTHENTICATED, 0, { "" } };
		struct err e = { 0 };

		if (open_as(&u, row[i].user, &e))
			fail_msg("%s: %s", row[i].user, e.text);
		assert_int_equal(u.n, row[i].n);
		assert_string_equal(u.asked[u.n - 1], row[i].known);
	}
}

static void a_refusal_in_both_spellings_says_so(void **state)
{
	struct users u = { "nobody", AFP_ERR_NOT_AUTHENTICATED, 0, { "" } };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(open_as(&u, ENCODED, &e), OUTCOME_NO_SESSION);
	assert_int_equal(u.n, 2);
	assert_non_null(strstr(e.text, "login of " MULLER " by cleartext"));
	assert_non_null(strstr(e.text, "so was the name as it was given, with %XX"));
	u.n = 0;
	assert_int_equal(open_as(&u, MULLER, &e), OUTCOME_NO_SESSION);
	assert_int_equal(u.n, 1);
	assert_null(strstr(e.text, "%XX"));
}

static void a_user_that_the_server_knows_is_not_tried_in_another_spelling(void **state)
{
	struct users u = { "nobody", AFP_ERR_PASSWORD_EXPIRED, 0, { "" } };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(open_as(&u, ENCODED, &e), OUTCOME_NO_SESSION);
	assert_int_equal(u.n, 1);
	assert_non_null(strstr(e.text, "login of " ENCODED " by cleartext"));
}

static void a_user_too_long_with_percent_signs_is_decoded(void **state)
{
	struct users u = { "", AFP_ERR_NOT_AUTHENTICATED, 0, { "" } };
	char name[6 * 100 + 1], known[2 * 100 + 1];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		memcpy(name + 6 * i, "%C3%BC", 7);
		memcpy(known + 2 * i, "\303\274", 3);
	}
	u.known = known;
	u.n = 1; /* the first is not sent */
	assert_int_equal(open_as(&u, name, &e), OUTCOME_OK);
	assert_int_equal(u.n, 2);
}

static void rights_that_stay_are_a_warning(void **state)
{
	struct run_notes warnings = { 0 };

	(void)state;
	cmd_note_rights(0, &warnings);
	assert_int_equal(warnings.n, 0);
	cmd_note_rights(-EPERM, &warnings);
	assert_int_equal(warnings.n, 1);
	assert_string_equal(warnings.note->key, "rights");
	run_notes_fini(&warnings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_taken_apart),
		cmocka_unit_test(malformed_urls_are_refused_with_a_text),
		cmocka_unit_test(a_password_is_not_told_in_an_error),
		cmocka_unit_test(what_the_url_leaves_out_stays_as_it_was),
		cmocka_unit_test(the_longest_url_fits_and_a_longer_one_is_refused),
		cmocka_unit_test(a_volume_is_needed),
		cmocka_unit_test(a_volume_name_may_have_255_bytes),
		cmocka_unit_test(the_password_comes_from_option_file_or_environment),
		cmocka_unit_test(an_empty_user_is_refused),
		cmocka_unit_test(a_url_leads_to_an_open_volume),
		cmocka_unit_test(a_wrong_volume_is_no_session),
		cmocka_unit_test(a_busy_server_is_no_session),
		cmocka_unit_test(a_stop_while_opening_is_an_interruption),
		cmocka_unit_test(a_user_with_percent_signs_is_tried_as_it_is_then_decoded),
		cmocka_unit_test(a_refusal_in_both_spellings_says_so),
		cmocka_unit_test(a_user_that_the_server_knows_is_not_tried_in_another_spelling),
		cmocka_unit_test(a_user_too_long_with_percent_signs_is_decoded),
		cmocka_unit_test(rights_that_stay_are_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
