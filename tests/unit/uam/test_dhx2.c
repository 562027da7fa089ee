/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHX2 against a server made here: its side is written from the message layout, and shares no
 * code with the client's but the library's primitives.
 */
#include "uam/exchange.h"
#include "unit/uam_login.h"

#define PASSWORD_LEN 256
#define NONCE_LEN    16
#define LEN          66 /* of the shortest number that is taken, and its bits */
#define BITS         521
#define LEN_MAX      512

/* ---- the server's side of DHX2 ---- */

struct server {
	size_t len; /* L */
	gcry_mpi_t p, a;
	gcry_cipher_hd_t cipher;
	uint8_t nonce[NONCE_LEN];
	uint16_t id;
	bool wrong_nonce; /* return the client's nonce + 2 */
	uint8_t reply[8 + 2 * LEN_MAX];
	size_t reply_len;
};

/* p = 2^bits - 1, for bits that make it prime: 127, 521, 1279, 3217. */
static void server_init(struct server *s, size_t len, unsigned int bits)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(uam_init(NULL), 0);
	s->len = len;
	s->id = 0xfffe;
	s->p = gcry_mpi_set_ui(NULL, 0);
	gcry_mpi_set_bit(s->p, bits);
	gcry_mpi_sub_ui(s->p, s->p, 1);
	s->a = gcry_mpi_new(bits);
	gcry_mpi_randomize(s->a, bits - 2, GCRY_WEAK_RANDOM);
	gcry_mpi_set_bit(s->a, bits - 3);
	memset(s->nonce, 0xff, sizeof(s->nonce)); /* plus one: all zeros */
	assert_int_equal(gcry_cipher_open(&s->cipher, GCRY_CIPHER_CAST5, GCRY_CIPHER_MODE_CBC, 0),
			 0);
}

static void server_fini(struct server *s)
{
	gcry_mpi_release(s->p);
	gcry_mpi_release(s->a);
	gcry_cipher_close(s->cipher);
}

/* Byte by byte from the end: always the whole width, no counting of leading zeros. */
static void mpi_to_bytes(uint8_t *out, size_t len, gcry_mpi_t m)
{
	gcry_mpi_t byte = gcry_mpi_new(8), rest = gcry_mpi_copy(m);
	unsigned int v;

	while (len--) {
		gcry_mpi_set(byte, rest);
		gcry_mpi_clear_highbit(byte, 8);
		assert_int_equal(gcry_mpi_get_ui(&v, byte), 0);
		out[len] = (uint8_t)v;
		gcry_mpi_rshift(rest, rest, 8);
	}
	assert_int_equal(gcry_mpi_cmp_ui(rest, 0), 0);
	gcry_mpi_release(byte);
	gcry_mpi_release(rest);
}

static gcry_mpi_t mpi_of_bytes(const uint8_t *data, size_t len)
{
	gcry_mpi_t m = gcry_mpi_set_ui(NULL, 0);

	for (size_t i = 0; i < len; i++) {
		gcry_mpi_mul_2exp(m, m, 8);
		gcry_mpi_add_ui(m, m, data[i]);
	}
	return m;
}

/* The 16 byte number plus n, without a carry out. */
static void nonce_plus(uint8_t out[NONCE_LEN], const uint8_t in[NONCE_LEN], unsigned int n)
{
	gcry_mpi_t m = mpi_of_bytes(in, NONCE_LEN);

	gcry_mpi_add_ui(m, m, n);
	gcry_mpi_clear_highbit(m, 8 * NONCE_LEN);
	mpi_to_bytes(out, NONCE_LEN, m);
	gcry_mpi_release(m);
}

static void server_offer(struct server *s)
{
	struct wbuf b = wbuf_of(s->reply, sizeof(s->reply));
	gcry_mpi_t g = gcry_mpi_set_ui(NULL, 3), ma = gcry_mpi_new(0);

	gcry_mpi_powm(ma, g, s->a, s->p);
	wbuf_u16(&b, s->id);
	wbuf_u32(&b, 3);
	wbuf_u16(&b, (uint16_t)s->len);
	mpi_to_bytes(wbuf_room(&b, s->len), s->len, s->p);
	mpi_to_bytes(wbuf_room(&b, s->len), s->len, ma);
	assert_false(b.bad);
	s->reply_len = (size_t)(b.at - s->reply);
	gcry_mpi_release(g);
	gcry_mpi_release(ma);
}

/* Reads the client's public number and nonce; answers with the two nonces. */
static void server_answer(struct server *s, const uint8_t *cont, size_t len)
{
	struct rbuf b = rbuf_of(cont, len);
	struct wbuf w = wbuf_of(s->reply, sizeof(s->reply));
	uint8_t shared[LEN_MAX], key[16], nonce[NONCE_LEN], *plain;
	const uint8_t *mb, *sealed;
	gcry_mpi_t m;

	assert_int_equal(len, 2 + s->len + NONCE_LEN);
	assert_int_equal(rbuf_u16(&b), s->id);
	mb = rbuf_bytes(&b, s->len);
	sealed = rbuf_bytes(&b, NONCE_LEN);
	m = mpi_of_bytes(mb, s->len);
	assert_true(gcry_mpi_cmp(m, s->p) < 0);
	gcry_mpi_powm(m, m, s->a, s->p);
	mpi_to_bytes(shared, s->len, m);
	gcry_mpi_release(m);
	gcry_md_hash_buffer(GCRY_MD_MD5, key, shared, s->len);
	assert_int_equal(gcry_cipher_setkey(s->cipher, key, sizeof(key)), 0);
	assert_int_equal(gcry_cipher_setiv(s->cipher, "LWallace", 8), 0);
	assert_int_equal(gcry_cipher_decrypt(s->cipher, nonce, NONCE_LEN, sealed, NONCE_LEN), 0);

	wbuf_u16(&w, ++s->id);
	plain = wbuf_room(&w, NONCE_LEN);
	nonce_plus(plain, nonce, s->wrong_nonce ? 2 : 1);
	wbuf_bytes(&w, s->nonce, NONCE_LEN);
	assert_int_equal(gcry_cipher_setiv(s->cipher, "CJalbert", 8), 0);
	assert_int_equal(gcry_cipher_encrypt(s->cipher, plain, 2 * NONCE_LEN, NULL, 0), 0);
	s->reply_len = (size_t)(w.at - s->reply);
}

static bool server_accepts(struct server *s, uint8_t *cont, size_t len, const char *password)
{
	uint8_t want[PASSWORD_LEN] = { 0 }, nonce[NONCE_LEN], *plain = cont + 2;

	assert_int_equal(len, 2 + NONCE_LEN + PASSWORD_LEN);
	assert_int_equal(cont[0] << 8 | cont[1], s->id);
	assert_int_equal(gcry_cipher_setiv(s->cipher, "LWallace", 8), 0);
	assert_int_equal(gcry_cipher_decrypt(s->cipher, plain, len - 2, NULL, 0), 0);
	nonce_plus(nonce, s->nonce, 1);
	assert_memory_equal(plain, nonce, NONCE_LEN);
	memcpy(want, password, strlen(password));
	return !memcmp(plain + NONCE_LEN, want, PASSWORD_LEN);
}

/* ---- DHX2 ---- */

struct dhx2_pair {
	struct server server;
	struct login login;
	uint8_t cont[UAM_STEP_MAX];
	struct wbuf next;
};

static void pair_init(struct dhx2_pair *t, size_t len, unsigned int bits, const struct uam_cred *c)
{
	server_init(&t->server, len, bits);
	assert_int_equal(login_begin(&t->login, "AFP3.4", "dhx2", c), 0);
	server_offer(&t->server);
}

static void pair_fini(struct dhx2_pair *t)
{
	uam_end(t->login.s);
	server_fini(&t->server);
}

/*
 * One step with the first len bytes of the server's reply and cap bytes of room, both at the
 * very end of their memory, so that the sanitizer sees one byte too far.
 */
static int pair_step_cut(struct dhx2_pair *t, size_t len, size_t cap)
{
	uint8_t *reply = malloc(len), *room = malloc(cap);
	size_t n;
	int r;

	memcpy(reply, t->server.reply, len);
	memset(&t->login.e, 0, sizeof(t->login.e));
	t->next = wbuf_of(room, cap);
	r = uam_step(t->login.s, reply, len, &t->next, &t->login.e);
	n = (size_t)(t->next.at - room);
	assert_true(n <= cap && cap <= sizeof(t->cont));
	memcpy(t->cont, room, n);
	t->next = (struct wbuf) { t->cont + n, t->cont + sizeof(t->cont), t->next.bad };
	free(reply);
	free(room);
	return r;
}

static int pair_step(struct dhx2_pair *t)
{
	return pair_step_cut(t, t->server.reply_len, sizeof(t->cont));
}

static size_t pair_len(const struct dhx2_pair *t)
{
	return (size_t)(t->next.at - t->cont);
}

/* The whole exchange; whether a server that knows this password lets the client in. */
static bool logs_in(size_t len, unsigned int bits, const char *given, const char *known)
{
	const struct uam_cred c = { .user = USER, .password = given };
	struct dhx2_pair t;
	bool ok;

	pair_init(&t, len, bits, &c);
	assert_int_equal(pair_step(&t), 1);
	server_answer(&t.server, t.cont, pair_len(&t));
	assert_int_equal(pair_step(&t), 1);
	ok = server_accepts(&t.server, t.cont, pair_len(&t), known);
	pair_fini(&t);
	return ok;
}

static void dhx2_lets_the_right_password_in(void **state)
{
	(void)state;
	assert_true(logs_in(LEN, BITS, PASSWORD, PASSWORD));
	assert_true(logs_in(128, 521, PASSWORD, PASSWORD)); /* shared number with leading zeros */
	assert_true(logs_in(160, 1279, "", ""));
	assert_true(logs_in(512, 3217, PASSWORD, PASSWORD));
}

static void dhx2_takes_a_password_of_255_bytes(void **state)
{
	char password[256];

	(void)state;
	memset(password, 'x', 255);
	password[255] = 0;
	assert_true(logs_in(LEN, BITS, password, password));
}

static void dhx2_refuses_a_modulus_that_is_soon_broken(void **state)
{
	struct dhx2_pair t;

	(void)state;
	/* 127 bits, in as many bytes and in more */
	for (size_t len = 16; len <= 128; len *= 8) {
		pair_init(&t, len, 127, &cred);
		assert_int_equal(pair_step(&t), -EPROTO);
		assert_non_null(strstr(t.login.e.text, "64"));
		pair_fini(&t);
	}
}

static void dhx2_sends_the_password_in_mac_roman(void **state)
{
	static const struct {
		const char *given, *sent;
	} t[] = {
		{ "p\303\244sswort", "p\212sswort" },
		{ "\342\202\254\317\200", "\333\271" },
		{ "\313\207", "\377" },
	};
	static const char *const refused[] = {
		"\350\263\207", "a\314\210", "\360\237\223\232", "\344", "\303", "\342\202",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(t); i++)
		assert_true(logs_in(LEN, BITS, t[i].given, t[i].sent));
	for (size_t i = 0; i < N_ELEMENTS(refused); i++) {
		const struct uam_cred c = { .user = USER, .password = refused[i] };
		struct dhx2_pair pair;

		pair_init(&pair, LEN, BITS, &c);
		assert_int_equal(pair_step(&pair), 1);
		server_answer(&pair.server, pair.cont, pair_len(&pair));
		assert_int_equal(pair_step(&pair), -EINVAL);
		assert_non_null(strstr(pair.login.e.text, "Mac Roman"));
		pair_fini(&pair);
	}
}

static void dhx2_keeps_the_wrong_password_out(void **state)
{
	(void)state;
	assert_false(logs_in(LEN, BITS, "correct hors", PASSWORD));
	assert_false(logs_in(LEN, BITS, "", PASSWORD));
}

static void dhx2_login_has_user_and_pad_only(void **state)
{
	const struct uam_cred even = { .user = "ab", .password = "x" },
			      odd = { .user = "abc", .password = "x" };
	struct login l;

	(void)state;
	/* The head has 1 + 7 + 5 bytes. */
	assert_int_equal(login_begin(&l, "AFP3.4", "DHX2", &even), 0);
	assert_data(&l, "\2ab", 3);
	uam_end(l.s);
	assert_int_equal(login_begin(&l, "AFP3.4", "DHX2", &odd), 0);
	assert_data(&l, "\3abc\0", 5);
	uam_end(l.s);
}

static void dhx2_keys_and_nonces_are_fresh(void **state)
{
	struct dhx2_pair a, b;

	(void)state;
	pair_init(&a, LEN, BITS, &cred);
	pair_init(&b, LEN, BITS, &cred);
	memcpy(b.server.reply, a.server.reply, a.server.reply_len);
	assert_int_equal(pair_step(&a), 1);
	assert_int_equal(pair_step(&b), 1);
	assert_memory_not_equal(a.cont + 2, b.cont + 2, LEN);
	assert_memory_not_equal(a.cont + 2 + LEN, b.cont + 2 + LEN, NONCE_LEN);
	pair_fini(&a);
	pair_fini(&b);
}

static void dhx2_detects_a_wrong_nonce(void **state)
{
	struct dhx2_pair t;

	(void)state;
	pair_init(&t, LEN, BITS, &cred);
	t.server.wrong_nonce = true;
	assert_int_equal(pair_step(&t), 1);
	server_answer(&t.server, t.cont, pair_len(&t));
	assert_int_equal(pair_step(&t), -EPROTO);
	assert_string_equal(t.login.e.text,
			    "DHX2: server returned a wrong nonce: it does not hold the key");
	assert_int_equal(pair_len(&t), 0);
	/* and that was it, even with the right answer */
	assert_int_equal(pair_step(&t), -EPROTO);
	assert_int_equal(pair_len(&t), 0);
	pair_fini(&t);
}

static void dhx2_detects_any_changed_bit_of_the_nonce(void **state)
{
	(void)state;
	for (size_t bit = 0; bit < 8 * NONCE_LEN; bit++) {
		struct dhx2_pair t;

		pair_init(&t, LEN, BITS, &cred);
		assert_int_equal(pair_step(&t), 1);
		server_answer(&t.server, t.cont, pair_len(&t));
		t.server.reply[2 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pair_step(&t), -EPROTO);
		pair_fini(&t);
	}
}

static void dhx2_refuses_a_third_round(void **state)
{
	struct dhx2_pair t;

	(void)state;
	pair_init(&t, LEN, BITS, &cred);
	assert_int_equal(pair_step(&t), 1);
	server_answer(&t.server, t.cont, pair_len(&t));
	assert_int_equal(pair_step(&t), 1);
	assert_int_equal(pair_step(&t), -EPROTO);
	assert_string_equal(t.login.e.text,
			    "login by dhx2: server asks for more than the method has");
	pair_fini(&t);
}

static void dhx2_first_reply_cut_anywhere_is_an_error(void **state)
{
	const size_t lens[] = { LEN, 128 };
	const unsigned int bits[] = { BITS, 521 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lens); i++) {
		for (size_t len = 0; len < 8 + 2 * lens[i]; len++) {
			struct dhx2_pair t;

			pair_init(&t, lens[i], bits[i], &cred);
			assert_int_equal(pair_step_cut(&t, len, sizeof(t.cont)), -EPROTO);
			assert_string_equal(t.login.e.text, "DHX2: server's reply ends too early");
			pair_fini(&t);
		}
	}
}

static void dhx2_second_reply_cut_anywhere_is_an_error(void **state)
{
	(void)state;
	for (size_t len = 0; len < 2 + 2 * NONCE_LEN; len++) {
		struct dhx2_pair t;

		pair_init(&t, LEN, BITS, &cred);
		assert_int_equal(pair_step(&t), 1);
		server_answer(&t.server, t.cont, pair_len(&t));
		assert_int_equal(pair_step_cut(&t, len, sizeof(t.cont)), -EPROTO);
		assert_string_equal(t.login.e.text, "DHX2: server's reply ends too early");
		pair_fini(&t);
	}
}

static void dhx2_writes_no_further_than_there_is_room(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 2 + LEN + NONCE_LEN; cap++) {
		struct dhx2_pair t;

		pair_init(&t, LEN, BITS, &cred);
		assert_int_equal(pair_step_cut(&t, t.server.reply_len, cap), -ENOBUFS);
		pair_fini(&t);
	}
	for (size_t cap = 0; cap < 2 + NONCE_LEN + PASSWORD_LEN; cap += 13) {
		struct dhx2_pair t;

		pair_init(&t, LEN, BITS, &cred);
		assert_int_equal(pair_step(&t), 1);
		server_answer(&t.server, t.cont, pair_len(&t));
		assert_int_equal(pair_step_cut(&t, t.server.reply_len, cap), -ENOBUFS);
		pair_fini(&t);
	}
}

static void dhx2_refuses_lengths_out_of_bounds(void **state)
{
	const unsigned int lens[] = { 0, 1, 63, 513, 0x8000, 0xffff };
	char text[100];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(lens); i++) {
		struct dhx2_pair t;

		pair_init(&t, 128, 521, &cred);
		t.server.reply[6] = (uint8_t)(lens[i] >> 8);
		t.server.reply[7] = (uint8_t)lens[i];
		assert_int_equal(pair_step(&t), -EPROTO);
		snprintf(text, sizeof(text), "DHX2: server's numbers have %u bytes, not 64 to 512",
			 lens[i]);
		assert_string_equal(t.login.e.text, text);
		pair_fini(&t);
	}
}

/* The step's result when a number of the offer, at offset at, is that of the given bytes. */
static int step_with(size_t at, size_t len, const uint8_t *bytes, struct err *e)
{
	struct dhx2_pair t;
	int r;

	pair_init(&t, LEN, BITS, &cred);
	memcpy(t.server.reply + at, bytes, len);
	r = pair_step(&t);
	*e = t.login.e;
	pair_fini(&t);
	return r;
}

static void dhx2_refuses_numbers_that_make_no_key(void **state)
{
	const size_t at_g = 2, at_p = 8, at_ma = 8 + LEN;
	const char *no_prime = "DHX2: server's modulus is not a prime of 64 bytes or more";
	const char *no_key = "DHX2: server's numbers make no secret key";
	uint8_t n[LEN] = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(step_with(at_p, LEN, n, &e), -EPROTO); /* a modulus of 0 */
	assert_string_equal(e.text, no_prime);
	n[LEN - 1] = 7; /* a small one */
	assert_int_equal(step_with(at_p, LEN, n, &e), -EPROTO);
	assert_string_equal(e.text, no_prime);
	n[0] = 1; /* an even one */
	n[LEN - 1] = 0xfe;
	assert_int_equal(step_with(at_p, LEN, n, &e), -EPROTO);
	assert_string_equal(e.text, no_prime);

	memset(n, 0, sizeof(n));
	for (uint8_t i = 0; i < 2; i++) { /* 0 and 1 */
		n[3] = n[LEN - 1] = i;
		assert_int_equal(step_with(at_g, 4, n, &e), -EPROTO);
		assert_string_equal(e.text, no_key);
		n[3] = 0;
		assert_int_equal(step_with(at_ma, LEN, n, &e), -EPROTO);
		assert_string_equal(e.text, no_key);
	}
	memset(n, 0xff, sizeof(n));
	assert_int_equal(step_with(at_ma, LEN, n, &e), -EPROTO); /* above p */
	n[0] = 1;
	assert_int_equal(step_with(at_ma, LEN, n, &e), -EPROTO); /* p */
	n[LEN - 1] = 0xfe;
	assert_int_equal(step_with(at_ma, LEN, n, &e), -EPROTO); /* p - 1 */
	assert_string_equal(e.text, no_key);
	n[LEN - 1] = 0xfd;
	assert_int_equal(step_with(at_ma, LEN, n, &e), 1); /* p - 2 */
}

static void dhx2_survives_any_changed_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8 + 2 * LEN; i++) {
		for (unsigned int x = 1; x < 256; x *= 3) {
			struct dhx2_pair t;
			int r;

			pair_init(&t, LEN, BITS, &cred);
			t.server.reply[i] ^= (uint8_t)x;
			r = pair_step(&t);
			assert_true(r == 1 || r == -EPROTO);
			assert_true(r == 1 || *t.login.e.text);
			pair_fini(&t);
		}
	}
}

/* One in 256 at random would. */
static void dhx2_nonces_do_not_begin_with_zero(void **state)
{
	uint8_t nonce[EXCHANGE_NONCE_LEN];

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		exchange_new_nonce(nonce);
		assert_int_not_equal(nonce[0], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dhx2_lets_the_right_password_in),
		cmocka_unit_test(dhx2_takes_a_password_of_255_bytes),
		cmocka_unit_test(dhx2_refuses_a_modulus_that_is_soon_broken),
		cmocka_unit_test(dhx2_sends_the_password_in_mac_roman),
		cmocka_unit_test(dhx2_keeps_the_wrong_password_out),
		cmocka_unit_test(dhx2_login_has_user_and_pad_only),
		cmocka_unit_test(dhx2_keys_and_nonces_are_fresh),
		cmocka_unit_test(dhx2_nonces_do_not_begin_with_zero),
		cmocka_unit_test(dhx2_detects_a_wrong_nonce),
		cmocka_unit_test(dhx2_detects_any_changed_bit_of_the_nonce),
		cmocka_unit_test(dhx2_refuses_a_third_round),
		cmocka_unit_test(dhx2_first_reply_cut_anywhere_is_an_error),
		cmocka_unit_test(dhx2_second_reply_cut_anywhere_is_an_error),
		cmocka_unit_test(dhx2_writes_no_further_than_there_is_room),
		cmocka_unit_test(dhx2_refuses_lengths_out_of_bounds),
		cmocka_unit_test(dhx2_refuses_numbers_that_make_no_key),
		cmocka_unit_test(dhx2_survives_any_changed_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
