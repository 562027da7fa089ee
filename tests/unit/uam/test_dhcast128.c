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

/* Which numbers begin with zeros, and whether the server leaves these out, as netatalk 3.1 does. */
struct zeros {
	unsigned int n_key, n_number;
	bool left_out, signature;
};

static const struct zeros none;

static bool has_zeros(const uint8_t number[LEN], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (number[i])
			return false;
	return number[n];
}

/* The digits to the left; behind them what was in memory. */
static void leave_out(uint8_t number[LEN], unsigned int n, int behind)
{
	memmove(number, number + n, LEN - n);
	memset(number + LEN - n, behind, n);
}

/* Answers the client's number, with a secret that makes zeros as many as wanted. */
static void server_answer(struct server *s, const uint8_t ma[LEN], struct zeros zeros)
{
	gcry_mpi_t p, base, g = gcry_mpi_set_ui(NULL, 7);
	gcry_mpi_t b = gcry_mpi_new(0), n = gcry_mpi_new(0), shared = gcry_mpi_new(0);
	uint8_t key[LEN];

	assert_int_equal(gcry_mpi_scan(&p, GCRYMPI_FMT_HEX, prime_hex, 0, NULL), 0);
	assert_int_equal(gcry_mpi_scan(&base, GCRYMPI_FMT_USG, ma, LEN, NULL), 0);
	gcry_mpi_randomize(b, 120, GCRY_WEAK_RANDOM);
	gcry_mpi_powm(n, g, b, p);
	gcry_mpi_powm(shared, base, b, p);
	for (;;) { /* the next secret: faster than another one */
		number_put(key, shared);
		number_put(s->reply + 2, n);
		if (has_zeros(key, zeros.n_key) && has_zeros(s->reply + 2, zeros.n_number))
			break;
		gcry_mpi_mulm(n, n, g, p);
		gcry_mpi_mulm(shared, shared, base, p);
	}
	if (zeros.left_out) {
		leave_out(key, zeros.n_key, 0);
		leave_out(s->reply + 2, zeros.n_number, 0xc3);
	}
	s->reply[0] = 0xab;
	s->reply[1] = 0xcd;
	memset(s->nonce, 0xff, LEN); /* plus one: all zeros */
	memcpy(s->reply + 2 + LEN, s->nonce, LEN);
	memset(s->reply + 2 + 2 * LEN, zeros.signature ? 0x5a : 0, LEN);
	assert_int_equal(gcry_cipher_open(&s->cipher, GCRY_CIPHER_CAST5, GCRY_CIPHER_MODE_CBC, 0),
			 0);
	assert_int_equal(gcry_cipher_setkey(s->cipher, key, LEN), 0);
	assert_int_equal(gcry_cipher_setiv(s->cipher, "CJalbert", 8), 0);
	assert_int_equal(gcry_cipher_encrypt(s->cipher, s->reply + 2 + LEN, 2 * LEN, NULL, 0), 0);
	gcry_mpi_release(p);
	gcry_mpi_release(base);
	gcry_mpi_release(g);
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

static bool logs_in(const char *given, const char *known, struct zeros zeros)
{
	const struct uam_cred c = { .user = USER, .password = given };
	uint8_t cont[UAM_STEP_MAX];
	struct wbuf next = wbuf_of(cont, sizeof(cont));
	struct server s;
	struct login l;
	bool ok;

	server_answer(&s, begin(&l, &c), zeros);
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
		assert_true(logs_in(PASSWORD, PASSWORD, none));
	assert_true(logs_in(longest, longest, none));
	assert_true(logs_in("", "", none));
}

static void dhcast128_finds_numbers_whose_zeros_a_server_left_out(void **state)
{
	static const struct zeros all[] = {
		{ .n_key = 1 },    { .n_key = 2 }, { .n_number = 1 }, { .n_key = 1, .n_number = 1 },
		{ .n_number = 2 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(all); i++) {
		struct zeros zeros = all[i];

		assert_true(logs_in(PASSWORD, PASSWORD, zeros));
		assert_false(logs_in("another", PASSWORD, zeros));
		zeros.signature = true;
		assert_true(logs_in(PASSWORD, PASSWORD, zeros));
		zeros.signature = false;
		zeros.left_out = true;
		assert_true(logs_in(PASSWORD, PASSWORD, zeros));
		assert_false(logs_in("another", PASSWORD, zeros));
	}
}

static void dhcast128_keeps_the_wrong_password_out(void **state)
{
	(void)state;
	assert_false(logs_in("correct hors", PASSWORD, none));
	assert_false(logs_in("", PASSWORD, none));
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

		server_answer(&s, begin(&l, &cred), none);
		memcpy(cut, s.reply, len);
		assert_int_equal(uam_step(l.s, cut, len, &next, &l.e), -EPROTO);
		assert_string_equal(l.e.text, "DHCAST128: server's reply ends too early");
		uam_end(l.s);
		gcry_cipher_close(s.cipher);
		free(cut);
	}
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct wbuf next = wbuf_of(cont, sizeof(cont));

		server_answer(&s, begin(&l, &cred), none);
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
	server_answer(&s, begin(&l, &cred), none);
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
		cmocka_unit_test(dhcast128_finds_numbers_whose_zeros_a_server_left_out),
		cmocka_unit_test(dhcast128_keeps_the_wrong_password_out),
		cmocka_unit_test(dhcast128_refuses_cut_replies_and_numbers_that_make_no_key),
		cmocka_unit_test(dhcast128_is_over_after_its_one_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
