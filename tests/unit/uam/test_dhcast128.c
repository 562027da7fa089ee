/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHCAST128 against a server made here, which is written from the message layout. Tests
 * client/uam/dhcast128.c, exchange.c.
 */
#include "unit/uam_login.h"

#define LEN          16
#define PASSWORD_LEN 64

static const char prime_hex[] = "BA2873DFB06057D43F2024744CEEE75B";

struct server {
	gcry_cipher_hd_t cipher;
	uint8_t nonce[LEN], reply[2 + 3 * LEN];
};

static void number_put(uint8_t out[LEN], gcry_mpi_t m)
{
	size_t n;

	memset(out, 0, LEN);
	assert_int_equal(gcry_mpi_print(GCRYMPI_FMT_USG, NULL, 0, &n, m), 0);
	assert_true(n <= LEN);
	assert_int_equal(gcry_mpi_print(GCRYMPI_FMT_USG, out + LEN - n, n, NULL, m), 0);
}

/* Answers the client's number; small: with a secret that makes the shared number a short one. */
static void server_answer(struct server *s, const uint8_t ma[LEN], bool small)
{
	gcry_mpi_t p, b = gcry_mpi_new(0), n = gcry_mpi_set_ui(NULL, 7), shared;
	uint8_t key[LEN];

	assert_int_equal(gcry_mpi_scan(&p, GCRYMPI_FMT_HEX, prime_hex, 0, NULL), 0);
	assert_int_equal(gcry_mpi_scan(&shared, GCRYMPI_FMT_USG, ma, LEN, NULL), 0);
	do {
		gcry_mpi_t all = gcry_mpi_new(0);

		gcry_mpi_randomize(b, 120, GCRY_WEAK_RANDOM);
		gcry_mpi_powm(all, shared, b, p);
		number_put(key, all);
		gcry_mpi_release(all);
	} while (small && key[0]);
	gcry_mpi_powm(n, n, b, p);
	s->reply[0] = 0xab;
	s->reply[1] = 0xcd;
	number_put(s->reply + 2, n);
	memset(s->nonce, 0xff, LEN); /* plus one: all zeros */
	memcpy(s->reply + 2 + LEN, s->nonce, LEN);
	memset(s->reply + 2 + 2 * LEN, 0, LEN);
	assert_int_equal(gcry_cipher_open(&s->cipher, GCRY_CIPHER_CAST5, GCRY_CIPHER_MODE_CBC, 0),
			 0);
	assert_int_equal(gcry_cipher_setkey(s->cipher, key, LEN), 0);
	assert_int_equal(gcry_cipher_setiv(s->cipher, "CJalbert", 8), 0);
	assert_int_equal(gcry_cipher_encrypt(s->cipher, s->reply + 2 + LEN, 2 * LEN, NULL, 0), 0);
	gcry_mpi_release(p);
	gcry_mpi_release(b);
	gcry_mpi_release(n);
	gcry_mpi_release(shared);
}

/* Whether the client's last message has the nonce and this password. */
static bool server_accepts(struct server *s, const uint8_t *cont, size_t len, const char *password)
{
	uint8_t plain[LEN + PASSWORD_LEN], want[LEN + PASSWORD_LEN] = { 0 };

	assert_int_equal(len, 2 + sizeof(plain));
	assert_memory_equal(cont, s->reply, 2);
	assert_int_equal(gcry_cipher_setiv(s->cipher, "LWallace", 8), 0);
	assert_int_equal(
	    gcry_cipher_decrypt(s->cipher, plain, sizeof(plain), cont + 2, sizeof(plain)), 0);
	memcpy(want + LEN, password, strlen(password));
	return !memcmp(plain, want, sizeof(plain));
}

static const uint8_t *begin(struct login *l, const struct uam_cred *c)
{
	assert_int_equal(login_begin(l, "AFP3.4", "dhcast128", c), 0);
	/* the head has 1 + 7 + 10 bytes, the user 7 and a pad byte */
	assert_int_equal(l->b.at - l->raw, l->head_len + 8 + LEN);
	return l->b.at - LEN;
}

static bool logs_in(const char *given, const char *known, bool small)
{
	const struct uam_cred c = { .user = USER, .password = given };
	uint8_t cont[UAM_STEP_MAX];
	struct wbuf next = wbuf_of(cont, sizeof(cont));
	struct server s;
	struct login l;
	bool ok;

	server_answer(&s, begin(&l, &c), small);
	assert_int_equal(uam_step(l.s, s.reply, sizeof(s.reply), &next, &l.e), 1);
	ok = server_accepts(&s, cont, (size_t)(next.at - cont), known);
	assert_int_equal(uam_finish(l.s, NULL, 0, &l.e), 0);
	uam_end(l.s);
	gcry_cipher_close(s.cipher);
	return ok;
}

static void dhcast128_lets_the_right_password_in(void **state)
{
	char longest[PASSWORD_LEN + 1];

	(void)state;
	memset(longest, 'x', PASSWORD_LEN);
	longest[PASSWORD_LEN] = '\0';
	for (int i = 0; i < 20; i++)
		assert_true(logs_in(PASSWORD, PASSWORD, false));
	assert_true(logs_in(PASSWORD, PASSWORD, true)); /* a shared number with leading zeros */
	assert_true(logs_in(longest, longest, false));
	assert_true(logs_in("", "", false));
}

static void dhcast128_keeps_the_wrong_password_out(void **state)
{
	(void)state;
	assert_false(logs_in("correct hors", PASSWORD, false));
	assert_false(logs_in("", PASSWORD, false));
}

static void dhcast128_refuses_cut_replies_and_numbers_that_make_no_key(void **state)
{
	static const uint8_t bad[][LEN] = {
		{ 0 },
		{ [LEN - 1] = 1 },
		/* p - 1, p, and above */
		{ 0xba, 0x28, 0x73, 0xdf, 0xb0, 0x60, 0x57, 0xd4, 0x3f, 0x20, 0x24, 0x74, 0x4c,
		  0xee, 0xe7, 0x5a },
		{ 0xba, 0x28, 0x73, 0xdf, 0xb0, 0x60, 0x57, 0xd4, 0x3f, 0x20, 0x24, 0x74, 0x4c,
		  0xee, 0xe7, 0x5b },
		{ 0xff },
	};
	uint8_t cont[UAM_STEP_MAX];
	struct server s;
	struct login l;

	(void)state;
	for (size_t len = 0; len < sizeof(s.reply); len++) {
		struct wbuf next = wbuf_of(cont, sizeof(cont));
		uint8_t *cut = malloc(len);

		server_answer(&s, begin(&l, &cred), false);
		memcpy(cut, s.reply, len);
		assert_int_equal(uam_step(l.s, cut, len, &next, &l.e), -EPROTO);
		assert_string_equal(l.e.text, "DHCAST128: server's reply ends too early");
		uam_end(l.s);
		gcry_cipher_close(s.cipher);
		free(cut);
	}
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct wbuf next = wbuf_of(cont, sizeof(cont));

		server_answer(&s, begin(&l, &cred), false);
		memcpy(s.reply + 2, bad[i], LEN);
		assert_int_equal(uam_step(l.s, s.reply, sizeof(s.reply), &next, &l.e), -EPROTO);
		assert_string_equal(l.e.text, "DHCAST128: server's number makes no secret key");
		uam_end(l.s);
		gcry_cipher_close(s.cipher);
	}
}

static void dhcast128_is_over_after_its_one_step(void **state)
{
	uint8_t cont[UAM_STEP_MAX];
	struct wbuf next = wbuf_of(cont, sizeof(cont));
	struct server s;
	struct login l;

	(void)state;
	server_answer(&s, begin(&l, &cred), false);
	assert_int_equal(uam_finish(l.s, NULL, 0, &l.e), -EPROTO);
	assert_string_equal(l.e.text, "login by dhcast128: server accepts it before it has seen a "
				      "proof of the password");
	assert_int_equal(uam_step(l.s, s.reply, sizeof(s.reply), &next, &l.e), 1);
	assert_int_equal(uam_step(l.s, s.reply, sizeof(s.reply), &next, &l.e), -EPROTO);
	assert_string_equal(l.e.text,
			    "login by dhcast128: server asks for more than the method has");
	uam_end(l.s);
	gcry_cipher_close(s.cipher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dhcast128_lets_the_right_password_in),
		cmocka_unit_test(dhcast128_keeps_the_wrong_password_out),
		cmocka_unit_test(dhcast128_refuses_cut_replies_and_numbers_that_make_no_key),
		cmocka_unit_test(dhcast128_is_over_after_its_one_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
