/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kerberos, as far as it goes without a KDC (with one: integration/cli/test_kerberos.py): what is
 * refused before anything is sent.
 */
#include "unit/uam_login.h"

static const struct uam_cred for_host = { .user = USER, .service = "afpserver@localhost" };

static void no_ticket_ends_a_login_before_its_first_command(void **state)
{
	struct login l;

	(void)state;
	setenv("KRB5CCNAME", "FILE:/nonexistent/tickets", 1);
	setenv("KRB5_CONFIG", "/dev/null", 1);
	assert_int_equal(login_begin(&l, "AFP3.4", "kerberos", &for_host), -EACCES);
	assert_null(l.s);
	assert_non_null(
	    strstr(l.e.text, "Kerberos: no valid ticket of " USER " (kinit gets one): "));
	assert_data(&l, "\6" USER "\0", 8);
}

static void a_server_without_a_name_is_refused(void **state)
{
	const struct uam_cred nobody = { .user = USER };
	struct login l;

	(void)state;
	assert_int_equal(login_begin(&l, "AFP3.4", "kerberos", &nobody), -EINVAL);
	assert_null(l.s);
	assert_string_equal(l.e.text, "Kerberos: the server's name is not known");
}

static void a_user_is_needed_and_no_password(void **state)
{
	static const char *const offered[] = { "DHX2", "Client Krb v2", NULL };
	const struct uam_cred nobody = { .service = "afpserver@localhost" };
	const struct uam *u = NULL;
	struct err e;

	(void)state;
	assert_int_equal(uam_choose(&u, offered, &nobody, "kerberos", &e), -EINVAL);
	assert_string_equal(e.text, "login by kerberos needs a user name");
	assert_int_equal(uam_choose(&u, offered, &for_host, "kerberos", &e), 0);
	assert_ptr_equal(u, uam_find("kerberos"));
	/* of itself, never: who gave a password wants it to be used */
	assert_int_equal(uam_choose(&u, offered, &cred, NULL, &e), 0);
	assert_ptr_equal(u, uam_find("dhx2"));
}

static void methods_of_one_piece_have_no_tail(void **state)
{
	struct login l;
	size_t len = 1;

	(void)state;
	assert_int_equal(login_begin(&l, "AFP3.4", "dhx2", &cred), 0);
	assert_null(uam_tail(l.s, &len));
	assert_int_equal(len, 0);
	uam_end(l.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ticket_ends_a_login_before_its_first_command),
		cmocka_unit_test(a_server_without_a_name_is_refused),
		cmocka_unit_test(a_user_is_needed_and_no_password),
		cmocka_unit_test(methods_of_one_piece_have_no_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
