/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of login methods, the choice, and the two that need no arithmetic. */
#include "unit/uam_login.h"

/* ---- guest and clear text ---- */

static void guest_login_has_no_data(void **state)
{
	const struct uam_cred none = { .user = NULL, .password = NULL };
	struct wbuf next = { 0 };
	struct login l;

	(void)state;
	assert_int_equal(login_begin(&l, "AFP3.4", "guest", &none), 0);
	assert_data(&l, "", 0);
	assert_int_equal(uam_step(l.s, NULL, 0, &next, &l.e), -EPROTO);
	assert_string_equal(l.e.text, "login by guest: server asks for more than the method has");
	uam_end(l.s);
	/* who asks for guest has no use for what else was given */
	assert_int_equal(login_begin(&l, "AFP3.4", "guest", &cred), 0);
	assert_data(&l, "", 0);
	uam_end(l.s);
}

static void cleartext_data_begin_on_an_even_offset(void **state)
{
	static const struct {
		const char *version, *user, *password, *data;
		size_t len;
	} t[] = {
		/* the head has 1 + 7 + 17 bytes */
		{ "AFP3.4", "a", "secret1", "\1a\0secret1\0", 11 },
		{ "AFP3.4", "ab", "secret1", "\2absecret1\0", 11 },
		{ "AFP3.4", "bench1", "", "\6bench1\0\0\0\0\0\0\0\0", 15 },
		{ "AFP3.4", "b\303\274cher", "12345678", "\7b\303\274cher\00012345678", 17 },
		/* and 1 + 8 + 17 here */
		{ "AFP3.40", "a", "secret1", "\1asecret1\0", 10 },
		{ "AFP3.40", "ab", "secret1", "\2ab\0secret1\0", 12 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(t); i++) {
		const struct uam_cred c = { .user = t[i].user, .password = t[i].password };
		struct wbuf next = { 0 };
		struct login l;

		assert_int_equal(login_begin(&l, t[i].version, "cleartext", &c), 0);
		assert_data(&l, t[i].data, t[i].len);
		assert_int_equal(uam_step(l.s, NULL, 0, &next, NULL), -EPROTO);
		uam_end(l.s);
	}
}

static void even_means_within_the_command_not_in_memory(void **state)
{
	uint8_t raw[64];
	const struct uam_cred c = { .user = "a", .password = "secret1" };

	(void)state;
	for (size_t shift = 0; shift < 2; shift++) {
		struct wbuf b = wbuf_of(raw + shift, sizeof(raw) - shift);
		struct uam_command command = { raw + shift, &b, false };
		struct uam_session *s;

		wbuf_zero(&b, 25);
		assert_int_equal(uam_start(&s, uam_find("cleartext"), &c, &command, NULL), 0);
		assert_int_equal(b.at - raw, 25 + 11 + shift);
		assert_memory_equal(raw + shift + 25, "\1a\0secret1\0", 11);
		uam_end(s);
	}
}

/* All of them, strongest first: the short name, and that on the wire. */
static const char *const methods[][2] = {
	{ "kerberos", "Client Krb v2" },
	{ "srp", "SRP" },
	{ "dhx2", "DHX2" },
	{ "2-way-randnum", "2-Way Randnum exchange" },
	{ "randnum", "Randnum exchange" },
	{ "dhcast128", "DHCAST128" },
	{ "cleartext", "Cleartxt Passwrd" },
	{ "guest", "No User Authent" },
};

static void start_writes_no_further_than_there_is_room(void **state)
{
	(void)state;
	for (size_t i = 1; i < N_ELEMENTS(methods); i++) { /* the first, Kerberos, writes nothing */
		const struct uam *u = uam_find(methods[i][0]);
		const struct uam_cred c = { .user = "bench12", .password = "secret1" };
		size_t need = !u->needs_user                ? 0
			      : !u->step                    ? 16
			      : *u->name == 'd' && u->start ? 24
							    : 8;

		for (size_t cap = 0; cap <= need; cap++) {
			uint8_t *room = malloc(cap);
			struct wbuf b = wbuf_of(room, cap);
			struct uam_command command = { room, &b, false };
			struct uam_session *s = NULL;
			struct err e;
			int r = uam_start(&s, u, &c, &command, &e);

			assert_int_equal(r, cap < need ? -ENOBUFS : 0);
			assert_true(r ? !s : !!s);
			uam_end(s);
			free(room);
		}
	}
}

static void start_checks_what_choose_would(void **state)
{
	const struct uam_cred no_user = { .user = NULL, .password = "x" },
			      no_password = { .user = "u", .password = NULL },
			      long_password = { .user = "u", .password = "123456789" };
	struct login l;

	(void)state;
	assert_int_equal(login_begin(&l, "AFP3.4", "cleartext", &no_user), -EINVAL);
	assert_null(l.s);
	assert_int_equal(login_begin(&l, "AFP3.4", "dhx2", &no_password), -EINVAL);
	assert_null(l.s);
	assert_int_equal(login_begin(&l, "AFP3.4", "cleartext", &long_password), -EINVAL);
	assert_null(l.s);
	assert_data(&l, "", 0);
	assert_string_equal(l.e.text, "password is longer than the 8 bytes that cleartext takes");
}

static void the_longest_login_fits_the_promised_room(void **state)
{
	char user[256];
	const struct uam_cred c = { .user = user, .password = "12345678" };
	struct login l;

	(void)state;
	memset(user, 'u', 255);
	user[255] = 0;
	assert_int_equal(login_begin(&l, "AFP3.40", "cleartext", &c), 0);
	assert_int_equal(l.b.at - l.raw - l.head_len, 264);
	uam_end(l.s);
	assert_int_equal(login_begin(&l, "AFP3.4", "cleartext", &c), 0);
	assert_int_equal(l.b.at - l.raw - l.head_len, 265);
	uam_end(l.s);
	assert_int_equal(login_begin(&l, "AFP3.40", "dhcast128", &c), 0);
	assert_int_equal(l.b.at - l.raw - l.head_len, UAM_START_MAX);
	uam_end(l.s);
}

static void an_extended_login_has_the_name_as_utf8(void **state)
{
	static const struct {
		const char *method, *user, *data;
		size_t len;
	} t[] = {
		/* behind a head of an even and of an odd number of bytes */
		{ "cleartext", "m\303\274ller", "\3\0\7m\303\274ller\3\0\0\0secret1\0\0", 23 },
		{ "dhx2", "m\303\274ller", "\3\0\7m\303\274ller\3\0\0", 13 },
		{ "dhx2", "m\303\274llers", "\3\0\010m\303\274llers\3\0\0\0", 15 },
		{ "guest", "", "\3\0\0\3\0\0", 6 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(t); i++) {
		const struct uam_cred c = { .user = t[i].user, .password = "secret1" };
		uint8_t raw[100] = { 0 };
		struct wbuf b = wbuf_of(raw, sizeof(raw));
		struct uam_command command = { raw, &b, true };
		struct uam_session *s;

		wbuf_zero(&b, 10 + (t[i].method[0] == 'd'));
		assert_int_equal(uam_start(&s, uam_find(t[i].method), &c, &command, NULL), 0);
		assert_int_equal(b.at - raw - 10 - (t[i].method[0] == 'd'), t[i].len);
		assert_memory_equal(raw + 10 + (t[i].method[0] == 'd'), t[i].data, t[i].len);
		uam_end(s);
	}
}

/* ---- the table and the choice ---- */

static void methods_are_found_by_both_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
		const struct uam *u = uam_find(methods[i][0]);

		assert_ptr_equal(u, uam_find(methods[i][1]));
		assert_string_equal(u->name, methods[i][0]);
		assert_string_equal(u->wire_name, methods[i][1]);
		assert_true(i == 0 || u->strength < uam_find(methods[i - 1][0])->strength);
	}
	assert_null(uam_find("dhx"));
	assert_null(uam_find(""));
	uam_end(NULL);
}

#define SPEAKS   "this program has " UAM_NAMES
#define GUEST    "No User Authent"
#define CLEAR    "Cleartxt Passwrd"
#define LONG_8   "12345678"
#define LONG_9   "123456789"
#define LONG_64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LONG_256 LONG_64 LONG_64 LONG_64 LONG_64

static const char *const all[] = { GUEST, CLEAR, "DHX2", NULL };
static const char *const clear_dhx2[] = { CLEAR, "DHX2", NULL };
static const char *const guest_clear[] = { GUEST, CLEAR, NULL };
static const char *const guest_dhx2[] = { GUEST, "DHX2", NULL };
static const char *const guest_recon[] = { GUEST, "Recon1", NULL };
static const char *const recon[] = { "Recon1", NULL };
static const char *const recon_krb[] = { "Recon1", "Client Krb v2", NULL };
static const char *const not_exact[] = { "dhx2", "DHX2 ", NULL };
static const char *const every[] = { GUEST, "DHCAST128", CLEAR, "DHX2", "SRP", NULL };
static const char *const no_dhx2[] = { "Randnum exchange", "DHCAST128", "2-Way Randnum exchange",
				       CLEAR, NULL };
static const char *const rude[] = { "S\nR\033[1m\377", "", NULL };
static const char *const nothing[] = { NULL };

static const struct {
	const char *name; /* to be chosen */
	const char *const *offered;
	const char *user, *password, *wanted;
} accepted[] = {
	/* the strongest that does */
	{ "dhx2", all, "u", "p", NULL },
	{ "dhx2", clear_dhx2, "u", LONG_9, NULL },
	{ "cleartext", guest_clear, "u", LONG_8, "clrtxt" },
	{ "cleartext", guest_clear, "u", "", "cleartext" },
	{ "srp", every, "u", "p", NULL },
	{ "2-way-randnum", no_dhx2, "u", LONG_8, NULL },
	{ "dhcast128", no_dhx2, "u", LONG_9, NULL },
	/* guest: asked for, or nobody named */
	{ "guest", all, NULL, NULL, NULL },
	{ "guest", all, "", "p", NULL },
	{ "guest", all, "u", "p", "guest" },
	/* asked for, by either name */
	{ "kerberos", recon_krb, "u", NULL, "kerberos" },
	{ "kerberos", recon_krb, "u", "p", "Client Krb v2" },
	{ "cleartext", all, "u", "p", "cleartext" },
	{ "cleartext", all, "u", "p", CLEAR },
	{ "dhx2", all, "u", "p", "DHX2" },
};

/* clang-format off */
static const struct {
	int code;
	const char *const *offered;
	const char *user, *password, *wanted, *text;
} refused[] = {
	/* nothing in common */
	{ -EOPNOTSUPP, recon, "u", "p", NULL, "server offers only: Recon1; " SPEAKS },
	{ -EOPNOTSUPP, recon, NULL, NULL, NULL, "server offers only: Recon1; " SPEAKS },
	/* Kerberos is never chosen by itself */
	{ -EOPNOTSUPP, recon_krb, "u", "p", NULL,
	  "server offers only: Recon1, Client Krb v2; --uam kerberos logs in by the user's ticket "
	  "(kinit gets one)" },
	{ -EINVAL, recon_krb, NULL, NULL, NULL,
	  "server offers no guest login, only: Recon1, Client Krb v2; give a user name" },
	{ -EOPNOTSUPP, nothing, "u", "p", NULL,
	  "server offers only: nothing; " SPEAKS },
	{ -EOPNOTSUPP, not_exact, "u", "p", NULL,
	  "server offers only: dhx2, DHX2 ; " SPEAKS },
	{ -EOPNOTSUPP, guest_recon, "u", "p", NULL,
	  "server offers only: No User Authent, Recon1; " SPEAKS " (--uam guest needs no user)" },
	/* clear text is never chosen by itself */
	{ -EOPNOTSUPP, guest_clear, "u", "p", NULL,
	  "server takes a user's password in clear text only, which everybody on the way can read "
	  "(it offers No User Authent, Cleartxt Passwrd): --uam cleartext sends it nevertheless" },
	{ -EOPNOTSUPP, guest_clear, "u", LONG_9, NULL,
	  "server takes a user's password in clear text only, which everybody on the way can read "
	  "(it offers No User Authent, Cleartxt Passwrd): --uam cleartext sends it nevertheless" },
	{ -EINVAL, clear_dhx2, NULL, NULL, NULL,
	  "server offers no guest login, only: Cleartxt Passwrd, DHX2; give a user name" },
	/* asked for in vain */
	{ -EOPNOTSUPP, guest_dhx2, "u", "p", "cleartext",
	  "server does not offer cleartext (Cleartxt Passwrd), only: No User Authent, DHX2" },
	{ -EOPNOTSUPP, nothing, "u", "p", "guest",
	  "server does not offer guest (No User Authent), only: nothing" },
	{ -EINVAL, guest_recon, "u", "p", "Recon1",
	  "unknown login method: Recon1; " SPEAKS },
	/* what was given does not do */
	{ -EINVAL, all, "u", NULL, NULL, "login by dhx2 needs a password" },
	{ -EINVAL, guest_clear, "u", NULL, "cleartext", "login by cleartext needs a password" },
	{ -EINVAL, all, NULL, "p", "dhx2", "login by dhx2 needs a user name" },
	{ -EINVAL, all, "u", LONG_9, "cleartext",
	  "password is longer than the 8 bytes that cleartext takes" },
	{ -EINVAL, clear_dhx2, "u", LONG_256, NULL,
	  "password is longer than the 255 bytes that dhx2 takes; "
	  "server offers only: Cleartxt Passwrd, DHX2" },
	{ -EINVAL, all, LONG_256, "p", NULL,
	  "user name is longer than the 255 bytes that AFP takes" },
	/* bytes of the server in a message */
	{ -EOPNOTSUPP, rude, "u", "p", NULL,
	  "server offers only: S?R?[1m?, ; " SPEAKS },
};
/* clang-format on */

static void choice_is_the_strongest_that_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(accepted); i++) {
		const struct uam_cred given = { .user = accepted[i].user,
						.password = accepted[i].password };
		const struct uam *u = NULL;

		assert_int_equal(
		    uam_choose(&u, accepted[i].offered, &given, accepted[i].wanted, NULL), 0);
		assert_string_equal(u->name, accepted[i].name);
	}
}

static void refusal_says_what_there_is_and_what_to_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		const struct uam_cred given = { .user = refused[i].user,
						.password = refused[i].password };
		const struct uam *u = uam_find("kerberos");
		struct err e = { 0 };
		int r = uam_choose(&u, refused[i].offered, &given, refused[i].wanted, &e);

		assert_int_equal(r, refused[i].code);
		assert_int_equal(e.code, r);
		assert_string_equal(e.text, refused[i].text);
		assert_null(u);
	}
}

static void a_long_offer_leaves_room_for_the_rest(void **state)
{
	const char *tail = "...; " SPEAKS;
	const char *offered[256] = { 0 };
	const struct uam *u;
	struct err e;

	(void)state;
	for (size_t len = 0; len < 255; len++) {
		char name[256] = "";

		memset(name, 'n', len);
		for (size_t i = 0; i < 255; i++)
			offered[i] = name;
		assert_int_equal(uam_choose(&u, offered, &cred, NULL, &e), -EOPNOTSUPP);
		assert_true(strlen(e.text) < 360);
		assert_string_equal(e.text + strlen(e.text) - strlen(tail), tail);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guest_login_has_no_data),
		cmocka_unit_test(cleartext_data_begin_on_an_even_offset),
		cmocka_unit_test(even_means_within_the_command_not_in_memory),
		cmocka_unit_test(start_writes_no_further_than_there_is_room),
		cmocka_unit_test(start_checks_what_choose_would),
		cmocka_unit_test(the_longest_login_fits_the_promised_room),
		cmocka_unit_test(an_extended_login_has_the_name_as_utf8),
		cmocka_unit_test(methods_are_found_by_both_names),
		cmocka_unit_test(choice_is_the_strongest_that_does),
		cmocka_unit_test(refusal_says_what_there_is_and_what_to_do),
		cmocka_unit_test(a_long_offer_leaves_room_for_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
