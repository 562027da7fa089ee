/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SRP against a server made here, which is written from RFC 5054 and the message layout: it knows
 * a verifier, not the password.
 */
#include "unit/uam_login.h"

#define N_LEN    192
#define HASH_LEN 20
#define SALT_LEN 16
#define K_LEN    (2 * HASH_LEN)

struct server {
	gcry_mpi_t n, v, b, b_public;
	uint8_t salt[SALT_LEN], b_padded[N_LEN], k[K_LEN], m1[HASH_LEN];
	uint8_t reply[8 + 2 + N_LEN + 2 + 1 + 2 + SALT_LEN + 2 + N_LEN];
	size_t reply_len;
	uint8_t proof[4 + HASH_LEN];
};

/* Everything that a hash is made of, one after another. */
struct text {
	uint8_t bytes[2048];
	size_t len;
};

static void text_add(struct text *t, const void *bytes, size_t len)
{
	assert_true(t->len + len <= sizeof(t->bytes));
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static void text_hash(struct text *t, uint8_t out[HASH_LEN])
{
	gcry_md_hash_buffer(GCRY_MD_SHA1, out, t->bytes, t->len);
	t->len = 0;
}

static gcry_mpi_t mpi_of(const uint8_t *bytes, size_t len)
{
	gcry_mpi_t m;

	assert_int_equal(gcry_mpi_scan(&m, GCRYMPI_FMT_USG, bytes, len, NULL), 0);
	return m;
}

/* Without leading zeros; the number of bytes. */
static size_t mpi_bytes(uint8_t *out, gcry_mpi_t m)
{
	size_t n;

	assert_int_equal(gcry_mpi_print(GCRYMPI_FMT_USG, out, N_LEN, &n, m), 0);
	return n;
}

static void mpi_padded(uint8_t out[N_LEN], gcry_mpi_t m)
{
	uint8_t plain[N_LEN];
	size_t n = mpi_bytes(plain, m);

	memset(out, 0, N_LEN);
	memcpy(out + N_LEN - n, plain, n);
}

/* RFC 5054, appendix A, group 1536: other digits of it than in the program's text, by rows. */
static const char *const rows[] = {
	"9DEF3CAFB939277AB1F12A8617A47BBB", "DBA51DF499AC4C80BEEEA9614B19CC4D",
	"5F4F5F556E27CBDE51C6A94BE4607A29", "1558903BA0D0F84380B655BB9A22E8DC",
	"DF028A7CEC67F0D08134B1C8B9798914", "9B609E0BE3BAB63D47548381DBC5B1FC",
	"764E3F4B53DD9DA1158BFD3E2B9C8CF5", "6EDF019539349627DB2FD53D24B7C486",
	"65772E437D6C7F8CE442734AF7CCB7AE", "837C264AE3A9BEB87F8A2FE9B8B5292E",
	"5A021FFF5E91479E8CE7A28C2442C6F3", "15180F93499A234DCF76E3FED135F9BB",
};

static gcry_mpi_t prime(void)
{
	char hex[2 * N_LEN + 1] = "";
	gcry_mpi_t n;

	assert_int_equal(uam_init(NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		strcat(hex, rows[i]);
	assert_int_equal(gcry_mpi_scan(&n, GCRYMPI_FMT_HEX, hex, 0, NULL), 0);
	return n;
}

static void verifier(struct server *s, const char *user, const char *password)
{
	gcry_mpi_t x, g = gcry_mpi_set_ui(NULL, 2);
	struct text t = { .len = 0 };
	uint8_t hash[HASH_LEN];

	text_add(&t, user, strlen(user));
	text_add(&t, ":", 1);
	text_add(&t, password, strlen(password));
	text_hash(&t, hash);
	text_add(&t, s->salt, SALT_LEN);
	text_add(&t, hash, HASH_LEN);
	text_hash(&t, hash);
	x = mpi_of(hash, HASH_LEN);
	s->v = gcry_mpi_new(0);
	gcry_mpi_powm(s->v, g, x, s->n);
	gcry_mpi_release(x);
	gcry_mpi_release(g);
}

/* B = k v + g^b; short_b: with a leading zero. */
static void server_number(struct server *s, bool short_b)
{
	gcry_mpi_t k, g = gcry_mpi_set_ui(NULL, 2), gb = gcry_mpi_new(0);
	uint8_t padded[N_LEN], hash[HASH_LEN];
	struct text t = { .len = 0 };

	mpi_padded(padded, s->n);
	text_add(&t, padded, N_LEN);
	mpi_padded(padded, g);
	text_add(&t, padded, N_LEN);
	text_hash(&t, hash);
	k = mpi_of(hash, HASH_LEN);
	s->b = gcry_mpi_new(0);
	s->b_public = gcry_mpi_new(0);
	do {
		gcry_mpi_randomize(s->b, 256, GCRY_WEAK_RANDOM);
		gcry_mpi_powm(gb, g, s->b, s->n);
		gcry_mpi_mulm(s->b_public, k, s->v, s->n);
		gcry_mpi_addm(s->b_public, s->b_public, gb, s->n);
		mpi_padded(s->b_padded, s->b_public);
	} while (short_b && s->b_padded[0]);
	gcry_mpi_release(k);
	gcry_mpi_release(g);
	gcry_mpi_release(gb);
}

static void server_init(struct server *s, const char *password, bool short_b)
{
	struct wbuf w = wbuf_of(s->reply, sizeof(s->reply));

	memset(s, 0, sizeof(*s));
	assert_int_equal(uam_init(NULL), 0);
	s->n = prime();
	gcry_create_nonce(s->salt, SALT_LEN);
	verifier(s, USER, password);
	server_number(s, short_b);
	wbuf_u16(&w, 0x0102);
	wbuf_u16(&w, 2);
	wbuf_u16(&w, N_LEN);
	mpi_padded(wbuf_room(&w, N_LEN), s->n);
	wbuf_u16(&w, 1);
	wbuf_u8(&w, 2);
	wbuf_u16(&w, SALT_LEN);
	wbuf_bytes(&w, s->salt, SALT_LEN);
	wbuf_u16(&w, N_LEN);
	wbuf_bytes(&w, s->b_padded, N_LEN);
	assert_false(w.bad);
	s->reply_len = (size_t)(w.at - s->reply);
}

static void server_fini(struct server *s)
{
	gcry_mpi_release(s->n);
	gcry_mpi_release(s->v);
	gcry_mpi_release(s->b);
	gcry_mpi_release(s->b_public);
}

/* K = MGF1 of S = (A v^u)^b. */
static void server_key(struct server *s, const uint8_t a_padded[N_LEN])
{
	gcry_mpi_t a = mpi_of(a_padded, N_LEN), u, t = gcry_mpi_new(0);
	uint8_t hash[HASH_LEN], plain[N_LEN], count[4] = { 0 };
	struct text text = { .len = 0 };
	size_t n;

	text_add(&text, a_padded, N_LEN);
	text_add(&text, s->b_padded, N_LEN);
	text_hash(&text, hash);
	u = mpi_of(hash, HASH_LEN);
	gcry_mpi_powm(t, s->v, u, s->n);
	gcry_mpi_mulm(t, t, a, s->n);
	gcry_mpi_powm(t, t, s->b, s->n);
	n = mpi_bytes(plain, t);
	for (count[3] = 0; count[3] < 2; count[3]++) {
		text_add(&text, plain, n);
		text_add(&text, count, 4);
		text_hash(&text, s->k + count[3] * HASH_LEN);
	}
	gcry_mpi_release(a);
	gcry_mpi_release(u);
	gcry_mpi_release(t);
}

static void put_number(struct text *t, const uint8_t padded[N_LEN])
{
	size_t zeros = 0;

	while (!padded[zeros])
		zeros++;
	text_add(t, padded + zeros, N_LEN - zeros);
}

/* Whether M1 is right; the proof of the server is made in any case. */
static bool server_accepts(struct server *s, const uint8_t *cont, size_t len)
{
	uint8_t group[HASH_LEN], hash[HASH_LEN], padded[N_LEN], m1[HASH_LEN];
	const uint8_t *a = cont + 6, *theirs = cont + 6 + N_LEN + 2, g = 2;
	struct text t = { .len = 0 };

	assert_int_equal(len, 6 + N_LEN + 2 + HASH_LEN);
	assert_memory_equal(cont, "\1\2\0\3\0\xc0", 6);
	assert_memory_equal(theirs - 2, "\0\x14", 2);
	server_key(s, a);
	mpi_padded(padded, s->n);
	text_add(&t, padded, N_LEN);
	text_hash(&t, group);
	text_add(&t, &g, 1);
	text_hash(&t, hash);
	for (size_t i = 0; i < HASH_LEN; i++)
		group[i] ^= hash[i];
	text_add(&t, USER, strlen(USER));
	text_hash(&t, hash);
	text_add(&t, group, HASH_LEN);
	text_add(&t, hash, HASH_LEN);
	text_add(&t, s->salt, SALT_LEN);
	put_number(&t, a);
	put_number(&t, s->b_padded);
	text_add(&t, s->k, K_LEN);
	text_hash(&t, m1);
	memcpy(s->proof, "\0\4\0\x14", 4);
	put_number(&t, a);
	text_add(&t, theirs, HASH_LEN);
	text_add(&t, s->k, K_LEN);
	text_hash(&t, s->proof + 4);
	return !memcmp(m1, theirs, HASH_LEN);
}

struct exchange {
	struct server s;
	struct login l;
	uint8_t cont[UAM_STEP_MAX];
	struct wbuf next;
};

static void exchange_begin(struct exchange *x, const char *given, const char *known, bool short_b)
{
	static struct uam_cred c;

	c = (struct uam_cred) { .user = USER, .password = given };
	server_init(&x->s, known, short_b);
	assert_int_equal(login_begin(&x->l, "AFP3.4", "srp", &c), 0);
	x->next = wbuf_of(x->cont, sizeof(x->cont));
}

static int exchange_step(struct exchange *x, size_t len)
{
	uint8_t *cut = malloc(len);
	int r;

	memcpy(cut, x->s.reply, len);
	r = uam_step(x->l.s, cut, len, &x->next, &x->l.e);
	free(cut);
	return r;
}

static void exchange_end(struct exchange *x)
{
	uam_end(x->l.s);
	server_fini(&x->s);
}

static bool logs_in(const char *given, const char *known, bool short_b)
{
	struct exchange x;
	bool ok;

	exchange_begin(&x, given, known, short_b);
	assert_int_equal(exchange_step(&x, x.s.reply_len), 1);
	ok = server_accepts(&x.s, x.cont, (size_t)(x.next.at - x.cont));
	assert_int_equal(uam_finish(x.l.s, x.s.proof, sizeof(x.s.proof), &x.l.e), ok ? 0 : -EPROTO);
	exchange_end(&x);
	return ok;
}

static void srp_lets_the_right_password_in(void **state)
{
	char longest[256];

	(void)state;
	memset(longest, 'x', 255);
	longest[255] = '\0';
	for (int i = 0; i < 10; i++)
		assert_true(logs_in(PASSWORD, PASSWORD, false));
	assert_true(logs_in(longest, longest, false));
	assert_true(logs_in("", "", false));
	assert_true(logs_in(PASSWORD, PASSWORD, true)); /* B with a leading zero */
}

static void srp_keeps_the_wrong_password_out(void **state)
{
	(void)state;
	assert_false(logs_in("correct hors", PASSWORD, false));
	assert_false(logs_in("", PASSWORD, false));
}

static void the_group_is_one_of_a_safe_prime(void **state)
{
	gcry_mpi_t n = prime();

	(void)state;
	assert_int_equal(gcry_mpi_get_nbits(n), 1536);
	assert_int_equal(gcry_prime_check(n, 0), 0);
	gcry_mpi_rshift(n, n, 1);
	assert_int_equal(gcry_prime_check(n, 0), 0);
	gcry_mpi_release(n);
}

static void srp_refuses_a_server_without_the_right_proof(void **state)
{
	struct exchange x;

	(void)state;
	for (size_t bit = 0; bit < 8 * sizeof(x.s.proof); bit += 3) {
		exchange_begin(&x, PASSWORD, PASSWORD, false);
		assert_int_equal(exchange_step(&x, x.s.reply_len), 1);
		assert_true(server_accepts(&x.s, x.cont, (size_t)(x.next.at - x.cont)));
		x.s.proof[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(uam_finish(x.l.s, x.s.proof, sizeof(x.s.proof), &x.l.e), -EPROTO);
		exchange_end(&x);
	}
	for (size_t len = 0; len < sizeof(x.s.proof); len++) {
		exchange_begin(&x, PASSWORD, PASSWORD, false);
		assert_int_equal(exchange_step(&x, x.s.reply_len), 1);
		assert_true(server_accepts(&x.s, x.cont, (size_t)(x.next.at - x.cont)));
		assert_int_equal(uam_finish(x.l.s, x.s.proof, len, &x.l.e), -EPROTO);
		assert_non_null(strstr(x.l.e.text, "does not prove"));
		exchange_end(&x);
	}
}

static void a_cut_reply_is_an_error(void **state)
{
	struct exchange x;

	(void)state;
	exchange_begin(&x, PASSWORD, PASSWORD, false);
	for (size_t len = 0; len < x.s.reply_len; len++) {
		uam_end(x.l.s);
		assert_int_equal(login_begin(&x.l, "AFP3.4", "srp", &cred), 0);
		x.next = wbuf_of(x.cont, sizeof(x.cont));
		assert_int_equal(exchange_step(&x, len), -EPROTO);
		assert_string_equal(x.l.e.text, "SRP: server's reply ends too early");
	}
	exchange_end(&x);
}

static void numbers_of_the_servers_own_choice_are_refused(void **state)
{
	const size_t at_n = 6, at_g = at_n + N_LEN + 2, at_salt_len = at_g + 1,
		     at_b = at_salt_len + 2 + SALT_LEN + 2;
	static const char *const group = "SRP: server's group is not that of RFC 5054";
	struct exchange x;

	(void)state;
	for (size_t i = 0; i < N_LEN + 3; i += 5) {
		exchange_begin(&x, PASSWORD, PASSWORD, false);
		x.s.reply[i < N_LEN ? at_n + i : at_g] ^= 0x40;
		assert_int_equal(exchange_step(&x, x.s.reply_len), -EPROTO);
		assert_non_null(strstr(x.l.e.text, group));
		exchange_end(&x);
	}
	for (int which = 0; which < 4; which++) { /* B is 0, 1, N - 1, N */
		exchange_begin(&x, PASSWORD, PASSWORD, false);
		if (which < 2) {
			memset(x.s.reply + at_b, 0, N_LEN);
			x.s.reply[at_b + N_LEN - 1] = (uint8_t)which;
		} else {
			mpi_padded(x.s.reply + at_b, x.s.n);
			x.s.reply[at_b + N_LEN - 1] -= which == 2;
		}
		assert_int_equal(exchange_step(&x, x.s.reply_len), -EPROTO);
		assert_string_equal(x.l.e.text, "SRP: server's number makes no secret key");
		exchange_end(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_group_is_one_of_a_safe_prime),
		cmocka_unit_test(srp_lets_the_right_password_in),
		cmocka_unit_test(srp_keeps_the_wrong_password_out),
		cmocka_unit_test(srp_refuses_a_server_without_the_right_proof),
		cmocka_unit_test(a_cut_reply_is_an_error),
		cmocka_unit_test(numbers_of_the_servers_own_choice_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
