/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Randnum and 2-Way Randnum. The expected bytes are of `openssl enc -des-ecb`. */
#include "unit/uam_login.h"

static const uint8_t challenge[10] = { 0x12, 0x34, 1, 2, 3, 4, 5, 6, 7, 8 };

struct exchange {
	struct login l;
	uint8_t cont[UAM_STEP_MAX];
	struct wbuf next;
};

static int step(struct exchange *x, const char *method, const char *password, size_t len)
{
	const struct uam_cred c = { .user = USER, .password = password };

	assert_int_equal(login_begin(&x->l, "AFP3.4", method, &c), 0);
	x->next = wbuf_of(x->cont, sizeof(x->cont));
	return uam_step(x->l.s, challenge, len, &x->next, &x->l.e);
}

static void numbers_are_encrypted_with_the_password(void **state)
{
	static const struct {
		const char *method, *password;
		uint8_t sealed[8];
	} row[] = {
		/* keys 72616e642d707700, e4c2dcc85ae0ee00, 3132333435363738, 626466686a6c6e70, 0 */
		{ "randnum", "rand-pw", { 0xf5, 0xa4, 0x68, 0x4c, 0x87, 0x70, 0xbe, 0xdb } },
		{ "2-way-randnum", "rand-pw", { 0xe7, 0x75, 0xc2, 0x9d, 0x2c, 0xd5, 0x3f, 0x06 } },
		{ "randnum", "12345678", { 0xba, 0x9f, 0xef, 0xa8, 0xc7, 0x75, 0x12, 0xae } },
		{ "2-way-randnum", "12345678", { 0xd9, 0x89, 0x6f, 0xd8, 0x90, 0xe0, 0xb7, 0x2e } },
		{ "randnum", "", { 0xce, 0xad, 0x37, 0x3d, 0xb8, 0x0e, 0xab, 0xf8 } },
		{ "2-way-randnum", "", { 0xce, 0xad, 0x37, 0x3d, 0xb8, 0x0e, 0xab, 0xf8 } },
	};
	struct exchange x;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(row); i++) {
		bool two_way = row[i].method[0] == '2';

		assert_int_equal(step(&x, row[i].method, row[i].password, sizeof(challenge)), 1);
		assert_int_equal(x.next.at - x.cont, two_way ? 18 : 10);
		assert_memory_equal(x.cont, "\x12\x34", 2);
		assert_memory_equal(x.cont + 2, row[i].sealed, 8);
		uam_end(x.l.s);
	}
}

/* What a server that knows the password answers to the client's number, behind id and proof. */
static void answer(const uint8_t *theirs, const uint8_t key[8], uint8_t out[8])
{
	gcry_cipher_hd_t cipher;

	assert_int_equal(gcry_cipher_open(&cipher, GCRY_CIPHER_DES, GCRY_CIPHER_MODE_ECB, 0), 0);
	assert_int_equal(gcry_cipher_setkey(cipher, key, 8), 0);
	assert_int_equal(gcry_cipher_encrypt(cipher, out, 8, theirs, 8), 0);
	gcry_cipher_close(cipher);
}

static void two_way_takes_only_the_right_proof(void **state)
{
	static const uint8_t key[8] = { 'r' << 1, 'a' << 1, 'n' << 1, 'd' << 1,
					'-' << 1, 'p' << 1, 'w' << 1 };
	struct exchange x;
	uint8_t proof[9] = { 0 };

	(void)state;
	for (size_t bit = 0; bit <= 64; bit++) {
		assert_int_equal(step(&x, "2-way-randnum", "rand-pw", sizeof(challenge)), 1);
		answer(x.cont + 10, key, proof);
		proof[bit / 8] ^= (uint8_t)(1u << bit % 8); /* the last changes nothing */
		assert_int_equal(uam_finish(x.l.s, proof, 8, &x.l.e), bit < 64 ? -EPROTO : 0);
		if (bit < 64)
			assert_non_null(strstr(x.l.e.text, "proves wrongly"));
		uam_end(x.l.s);
	}
	for (size_t len = 0; len < 8; len++) {
		assert_int_equal(step(&x, "2-way-randnum", "rand-pw", sizeof(challenge)), 1);
		answer(x.cont + 10, key, proof);
		assert_int_equal(uam_finish(x.l.s, proof, len, &x.l.e), -EPROTO);
		assert_string_equal(
		    x.l.e.text, "2-Way Randnum: server accepts the login, but does not prove "
				"that it knows the password: it, or somebody on the way, is not "
				"who it seems to be");
		uam_end(x.l.s);
	}
}

static void success_before_the_answer_is_refused(void **state)
{
	static const char *const methods[] = { "randnum", "2-way-randnum", "srp", "dhx2" };
	struct login l;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
		const struct uam_cred c = { .user = USER, .password = "x" };

		assert_int_equal(login_begin(&l, "AFP3.4", methods[i], &c), 0);
		assert_int_equal(uam_finish(l.s, challenge, 10, &l.e), -EPROTO);
		assert_non_null(strstr(l.e.text, "before it has seen a proof of the password"));
		uam_end(l.s);
	}
}

static void own_numbers_are_fresh(void **state)
{
	struct exchange x, y;

	(void)state;
	assert_int_equal(step(&x, "2-way-randnum", "p", sizeof(challenge)), 1);
	assert_int_equal(step(&y, "2-way-randnum", "p", sizeof(challenge)), 1);
	assert_memory_equal(x.cont, y.cont, 10);
	assert_memory_not_equal(x.cont + 10, y.cont + 10, 8);
	uam_end(x.l.s);
	uam_end(y.l.s);
}

static void a_cut_number_is_an_error(void **state)
{
	struct exchange x;

	(void)state;
	for (size_t len = 0; len < sizeof(challenge); len++) {
		assert_int_equal(step(&x, "randnum", "p", len), -EPROTO);
		assert_string_equal(x.l.e.text, "Randnum: server's reply ends too early");
		uam_end(x.l.s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_encrypted_with_the_password),
		cmocka_unit_test(two_way_takes_only_the_right_proof),
		cmocka_unit_test(success_before_the_answer_is_refused),
		cmocka_unit_test(own_numbers_are_fresh),
		cmocka_unit_test(a_cut_number_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
