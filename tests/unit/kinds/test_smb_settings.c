/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What testparm printed, as notes and warnings of a run. Tests user/kinds/smb_settings.c. */
#include "kinds/smb_settings.h"

#include "kinds/conf.h"

#include "unit/began.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As `testparm -s -v` prints them: all of [global], of shares what differs. */
#define HEAD                                                                                       \
	"# Global parameters\n[global]\n\tlog level = 1\n\tcase sensitive = Auto\n"                \
	"\tstrict sync = Yes\n\tsync always = No\n\taio read size = 1\n\taio write size = 1\n"     \
	"\tserver smb encrypt = default\n\tprintable = No\n\tvfs objects = \n\n"
#define PRINTERS "\n[printers]\n\tpath = /var/tmp\n\tprintable = Yes\n\tstrict sync = No\n"

static void take(struct smb_settings *s, struct run *r, const char *level, const char *shares)
{
	const struct servers_entry none = { 0 };
	char *text;

	assert_true(asprintf(&text, HEAD "%s" PRINTERS, shares) > 0);
	*s = (struct smb_settings) { .file = "/etc/samba/smb.conf" };
	assert_int_equal(smb_settings_take(s, text), 0);
	smb_settings_take_log(s, level);
	assert_int_equal(run_init(r, "record", "record"), 0);
	assert_int_equal(smb_settings_note(s, &none, r), 0);
}

static void drop(struct smb_settings *s, struct run *r)
{
	smb_settings_fini(s);
	run_fini(r);
}

static void of_a_usual_server_nothing_is_said(void **state)
{
	struct smb_settings s;
	struct run r;

	(void)state;
	take(&s, &r, "PID 1: all:1", "[one]\n\tpath = /a\n");
	assert_int_equal(r.warnings.n, 0);
	assert_non_null(strstr(run_note_find(&r.server, "smb.conf"), "case sensitive = Auto; "));
	assert_string_equal(run_note_find(&r.server, "settings"), "/etc/samba/smb.conf");
	assert_null(run_note_find(&r.server, "machine"));
	drop(&s, &r);
}

/* Printers have no files. */
static void of_shares_it_is_said_how_many(void **state)
{
	struct smb_settings s;
	struct run r;

	(void)state;
	take(&s, &r, "PID 1: all:1",
	     "[one]\n\tpath = /a\n\tstrict sync = No\n[two]\n\tpath = /b\n\tvfs objects = catia "
	     "full_audit:x fruit\n[three]\n\tpath = /c\n\tstrict sync = No\n");
	assert_int_equal(r.warnings.n, 2);
	assert_non_null(
	    strstr(run_note_find(&r.warnings, "strict-sync"), "strict sync = No: a client"));
	assert_non_null(strstr(run_note_find(&r.warnings, "strict-sync"), "2 of 3 shares"));
	assert_non_null(strstr(run_note_find(&r.warnings, "audit"), "1 of 3 shares"));
	assert_non_null(strstr(run_note_find(&r.server, "smb.conf"),
			       "strict sync = No (2 of 3 shares), Yes (1 of 3 shares)"));
	drop(&s, &r);
}

static void each_value_that_spoils_figures_is_warned_of(void **state)
{
	static const struct {
		const char *level, *line, *key; /* NULL: none */
	} some[] = {
		{ "PID 4711: all:2 tdb:2", "", NULL },
		{ "", "", NULL },
		{ "PID 4711: all:3 tdb:3", "", "log-level" },
		{ "PID 4711: all:1 auth:10 tdb:1\n", "", "log-level" },
		{ "PID 1: all:1", "sync always = Yes", "sync-always" },
		{ "PID 1: all:1", "aio read size = 0", "aio" },
		{ "PID 1: all:1", "aio write size = 0", "aio" },
		{ "PID 1: all:1", "aio write size = 4096", NULL },
		{ "PID 1: all:1", "server smb encrypt = required", "sealed" },
		{ "PID 1: all:1", "server smb encrypt = if_required", NULL },
		{ "PID 1: all:1", "server smb encrypt = off", NULL },
		{ "PID 1: all:1", "vfs objects = streams_xattr acl_xattr", "acl-module" },
		{ "PID 1: all:1", "vfs objects = acl_xattr_like", NULL },
		{ "PID 1: all:1", "vfs objects = io_uring", "io-uring" },
		{ "PID 1: all:1", "vfs objects = virusfilter", "scan-module" },
		{ "PID 1: all:1", "vfs objects = recycle:bin", "scan-module" },
		{ "PID 1: all:1", "vfs objects = catia fruit streams_xattr", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct smb_settings s;
		char share[128];
		struct run r;

		snprintf(share, sizeof(share), "[one]\n\tpath = /a\n\t%s\n", some[i].line);
		take(&s, &r, some[i].level, share);
		assert_int_equal(r.warnings.n, some[i].key != NULL);
		if (some[i].key)
			assert_non_null(run_note_find(&r.warnings, some[i].key));
		drop(&s, &r);
	}
}

/* Half a value would be another one. */
static void settings_for_which_there_is_no_room_are_left_out(void **state)
{
	struct conf_values v = { 0 };
	char text[ERR_TEXT_MAX] = "", value[81];

	(void)state;
	memset(value, 'x', 80);
	value[80] = '\0';
	conf_values_add(&v, value);
	conf_values_add(&v, NULL);
	conf_values_add(&v, "");
	conf_values_add(&v, "None");
	assert_true(conf_values_put(&v, "key", "shares", text));
	assert_non_null(
	    strstr(text, "(1 of 4 shares), not set (1 of 4 shares), none (2 of 4 shares)"));
	for (size_t len = strlen(text);; len = strlen(text)) {
		if (!conf_values_put(&v, "key", "shares", text)) {
			assert_int_equal(strlen(text), len);
			break;
		}
		assert_true(strlen(text) > len);
		assert_string_equal(text + strlen(text) - strlen("4 shares)"), "4 shares)");
	}
}

static void what_cannot_be_read_is_said(void **state)
{
	const struct servers_entry none = { 0 };
	struct smb_settings s;
	struct run r;

	(void)state;
	s = (struct smb_settings) { 0 };
	assert_int_equal(smb_settings_take(&s, strdup("Load smb config files failed\n")), 0);
	assert_false(s.known);
	assert_int_equal(run_init(&r, "record", "record"), 0);
	assert_int_equal(smb_settings_note(&s, &none, &r), 0);
	assert_string_equal(run_note_find(&r.server, "smb.conf"),
			    "not visible: testparm printed no settings");
	drop(&s, &r);
}

/* One that is older than the last change of the file may have read something else. */
static void what_a_session_has_read_is_known_if_it_is_younger_than_the_file(void **state)
{
	struct servers_session session[] = { { .pid = 1 }, { .pid = 1 } };
	struct servers_entry e = { .n_sessions = 2, .session = session };

	(void)state;
	for (int older = 0; older < 2; older++) {
		struct smb_settings s = { .changed_s = time(NULL) };
		struct run r;

		session[0].started = began_now();
		session[1].started = older ? 0 : began_now();
		assert_int_equal(
		    smb_settings_take(
			&s, strdup("[global]\n\tcase sensitive = Auto\n\tstrict sync = Yes\n"
				   "[one]\n\tpath = /a\n")),
		    0);
		assert_int_equal(run_init(&r, "record", "record"), 0);
		assert_int_equal(smb_settings_note(&s, &e, &r), 0);
		assert_int_equal(r.shares.known, !older);
		assert_int_equal(r.shares.folded, 1);
		drop(&s, &r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_usual_server_nothing_is_said),
		cmocka_unit_test(of_shares_it_is_said_how_many),
		cmocka_unit_test(each_value_that_spoils_figures_is_warned_of),
		cmocka_unit_test(settings_for_which_there_is_no_room_are_left_out),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(what_a_session_has_read_is_known_if_it_is_younger_than_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
