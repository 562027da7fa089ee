/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SRP-6a (RFC 2945, RFC 5054) with SHA-1: both sides prove that they know the password, or what
 * follows from it, without sending anything on which passwords can be tried. Servers keep a
 * verifier for each user (netatalk: afppasswd.srp). Layout: netatalk 4.5.
 *
 *	server	context(2) group(2), and each with its length(2): N g salt B
 *	client	context, 3(2), and each with its length(2): A M1
 *	server	success: 4(2), length(2) M2
 *
 *	k = H(N | PAD(g))  u = H(PAD(A) | PAD(B))  x = H(salt | H(user ":" password))
 *	S = (B - k g^x) ^ (a + u x)  K = MGF1(S), 40 bytes
 *	M1 = H(H(N) xor H(g) | H(user) | salt | A | B | K)  M2 = H(A | M1 | K)
 *
 * Numbers in hashes have no leading zeros, but where PAD says as many as N has bytes. Only the
 * group of RFC 5054 with 1,536 bits is taken: with numbers of its own choice, somebody between
 * the two could try passwords.
 */
#include "uam/exchange.h"
#include "uam/methods.h"

#include <errno.h>

#define METHOD     "SRP"
#define N_LEN      192
#define HASH_LEN   20
#define KEY_LEN    40
#define SALT_MAX   64
#define GENERATOR  2
#define STEP_PROOF 3
#define STEP_REPLY 4

/* RFC 5054, appendix A. */
static const char prime_hex[] =
    "9DEF3CAFB939277AB1F12A8617A47BBBDBA51DF499AC4C80BEEEA9614B19CC4D5F4F5F556E27CBDE51C6A94BE460"
    "7A291558903BA0D0F84380B655BB9A22E8DCDF028A7CEC67F0D08134B1C8B97989149B609E0BE3BAB63D47548381"
    "DBC5B1FC764E3F4B53DD9DA1158BFD3E2B9C8CF56EDF019539349627DB2FD53D24B7C48665772E437D6C7F8CE442"
    "734AF7CCB7AE837C264AE3A9BEB87F8A2FE9B8B5292E5A021FFF5E91479E8CE7A28C2442C6F315180F93499A234D"
    "CF76E3FED135F9BB";

struct srp {
	uint8_t proof[HASH_LEN]; /* M2 */
};

/* What goes into a hash: at most so many pieces. */
struct srp_piece {
	const void *at;
	size_t len;
};
#define PIECES_MAX 6

static void srp_hash(uint8_t out[static HASH_LEN], const struct srp_piece *piece, size_t n)
{
	gcry_buffer_t b[PIECES_MAX] = { 0 };

	for (size_t i = 0; i < n; i++)
		b[i] = (gcry_buffer_t) { .data = (void *)(uintptr_t)piece[i].at,
					 .len = piece[i].len };
	gcry_md_hash_buffers(GCRY_MD_SHA1, 0, out, b, (int)n);
}

/* A number as N_LEN bytes, and where it begins without its zeros. */
struct srp_number {
	uint8_t padded[N_LEN];
	struct srp_piece plain;
};

static int srp_number_set(struct srp_number *out, gcry_mpi_t m, struct err *e)
{
	int r = exchange_put(out->padded, N_LEN, m, METHOD, e);
	size_t zeros = 0;

	while (zeros < N_LEN - 1 && !out->padded[zeros])
		zeros++;
	out->plain = (struct srp_piece) { out->padded + zeros, N_LEN - zeros };
	return r;
}

/* What the server's first reply says, and what follows from it. */
struct srp_login {
	uint16_t context;
	const uint8_t *salt;
	size_t salt_len;
	gcry_mpi_t p, g, b_public, a, a_public;
	struct srp_number n, g_padded, big_a, big_b;
	uint8_t key[KEY_LEN];
};

static const uint8_t *srp_field(struct rbuf *reply, size_t *len)
{
	*len = rbuf_u16(reply);
	return rbuf_bytes(reply, *len);
}

/* p and g, which must be those of the server. */
static int srp_group(struct srp_login *l, const uint8_t *n, size_t n_len, bool g_fits,
		     struct err *e)
{
	int r = exchange_fail(gcry_mpi_scan(&l->p, GCRYMPI_FMT_HEX, prime_hex, 0, NULL), METHOD,
			      "the modulus", e);

	l->g = gcry_mpi_set_ui(NULL, GENERATOR);
	r = r ? r : srp_number_set(&l->n, l->p, e);
	r = r ? r : srp_number_set(&l->g_padded, l->g, e);
	if (!r && (n_len != N_LEN || memcmp(n, l->n.padded, N_LEN) || !g_fits))
		r = err_set(e, -EPROTO,
			    METHOD ": server's group is not that of RFC 5054 with 1,536 bits; "
				   "another could have been made to find the password out");
	return r;
}

static int srp_read(struct srp_login *l, struct rbuf *reply, struct err *e)
{
	size_t n_len, g_len, b_len;
	const uint8_t *n, *g, *b;
	int r;

	l->context = rbuf_u16(reply);
	rbuf_u16(reply); /* the group's number */
	n = srp_field(reply, &n_len);
	g = srp_field(reply, &g_len);
	l->salt = srp_field(reply, &l->salt_len);
	b = srp_field(reply, &b_len);
	if (reply->bad)
		return exchange_too_short(METHOD, e);
	r = srp_group(l, n, n_len, g_len == 1 && *g == GENERATOR, e);
	if (r)
		return r;
	if (!l->salt_len || l->salt_len > SALT_MAX || b_len > N_LEN)
		return err_set(e, -EPROTO,
			       METHOD ": server's salt has %zu bytes and its number %zu",
			       l->salt_len, b_len);
	r = exchange_fail(gcry_mpi_scan(&l->b_public, GCRYMPI_FMT_USG, b, b_len, NULL), METHOD,
			  "reading the server's number", e);
	if (!r && !exchange_in_group(l->b_public, l->p))
		r = err_set(e, -EPROTO, METHOD ": server's number makes no secret key");
	return r ? r : srp_number_set(&l->big_b, l->b_public, e);
}

static int srp_scan_hash(gcry_mpi_t *out, const struct srp_piece *piece, size_t n, struct err *e)
{
	uint8_t hash[HASH_LEN];
	gcry_error_t err;

	srp_hash(hash, piece, n);
	err = gcry_mpi_scan(out, GCRYMPI_FMT_USG, hash, sizeof(hash), NULL);
	explicit_bzero(hash, sizeof(hash));
	return exchange_fail(err, METHOD, "reading a hash", e);
}

/* x, from user and password. */
static int srp_secret(gcry_mpi_t *x, const struct srp_login *l, const struct uam_cred *cred,
		      struct err *e)
{
	const struct srp_piece words[] = { { cred->user, strlen(cred->user) },
					   { ":", 1 },
					   { cred->password, strlen(cred->password) } };
	uint8_t inner[HASH_LEN];
	const struct srp_piece salted[] = { { l->salt, l->salt_len }, { inner, HASH_LEN } };
	int r;

	srp_hash(inner, words, 3);
	r = srp_scan_hash(x, salted, 2, e);
	explicit_bzero(inner, sizeof(inner));
	return r;
}

/* K, from S: MGF1 of PKCS #1. */
static void srp_key(uint8_t key[static KEY_LEN], const struct srp_number *s)
{
	for (uint8_t i = 0; i < KEY_LEN / HASH_LEN; i++) {
		const uint8_t count[] = { 0, 0, 0, i };
		const struct srp_piece piece[] = { s->plain, { count, sizeof(count) } };

		srp_hash(key + i * HASH_LEN, piece, 2);
	}
}

/* a and A. A has no leading zero: whether hashes have it is not alike in all servers. */
static int srp_own(struct srp_login *l, struct err *e)
{
	int r;

	l->a = gcry_mpi_snew(8 * N_LEN);
	l->a_public = gcry_mpi_new(8 * N_LEN);
	do {
		gcry_mpi_randomize(l->a, 8 * N_LEN, GCRY_STRONG_RANDOM);
		gcry_mpi_powm(l->a_public, l->g, l->a, l->p);
		r = srp_number_set(&l->big_a, l->a_public, e);
	} while (!r && l->big_a.plain.len < N_LEN);
	return r;
}

static int srp_agree(struct srp_login *l, const struct uam_cred *cred, struct err *e)
{
	const struct srp_piece for_k[] = { { l->n.padded, N_LEN }, { l->g_padded.padded, N_LEN } };
	const struct srp_piece for_u[] = { { l->big_a.padded, N_LEN }, { l->big_b.padded, N_LEN } };
	gcry_mpi_t k = NULL, u = NULL, x = NULL, s = gcry_mpi_snew(8 * N_LEN),
		   t = gcry_mpi_snew(8 * N_LEN);
	struct srp_number secret;
	int r;

	r = srp_scan_hash(&k, for_k, 2, e);
	r = r ? r : srp_scan_hash(&u, for_u, 2, e);
	r = r ? r : srp_secret(&x, l, cred, e);
	if (!r && !gcry_mpi_cmp_ui(u, 0))
		r = err_set(e, -EPROTO, METHOD ": server's number makes no secret key");
	if (!r) {
		gcry_mpi_powm(t, l->g, x, l->p);
		gcry_mpi_mulm(t, k, t, l->p);
		gcry_mpi_subm(s, l->b_public, t, l->p);
		gcry_mpi_mul(t, u, x);
		gcry_mpi_add(t, t, l->a);
		gcry_mpi_powm(s, s, t, l->p);
		r = srp_number_set(&secret, s, e);
	}
	if (!r)
		srp_key(l->key, &secret);
	explicit_bzero(&secret, sizeof(secret));
	gcry_mpi_release(k);
	gcry_mpi_release(u);
	gcry_mpi_release(x);
	gcry_mpi_release(s);
	gcry_mpi_release(t);
	return r;
}

/* M1, and M2 as the server will have to send it. */
static void srp_proofs(const struct srp_login *l, const char *user, uint8_t m1[static HASH_LEN],
		       uint8_t m2[static HASH_LEN])
{
	const struct srp_piece who = { user, strlen(user) };
	uint8_t group[HASH_LEN], g[HASH_LEN], name[HASH_LEN];
	const struct srp_piece first[] = { { group, HASH_LEN },      { name, HASH_LEN },
					   { l->salt, l->salt_len }, l->big_a.plain,
					   l->big_b.plain,           { l->key, KEY_LEN } };
	const struct srp_piece second[] = { l->big_a.plain, { m1, HASH_LEN }, { l->key, KEY_LEN } };

	srp_hash(group, &l->n.plain, 1);
	srp_hash(g, &l->g_padded.plain, 1);
	for (size_t i = 0; i < HASH_LEN; i++)
		group[i] ^= g[i];
	srp_hash(name, &who, 1);
	srp_hash(m1, first, 6);
	srp_hash(m2, second, 3);
}

static int srp_step(void *state, const struct uam_cred *cred, struct rbuf *reply, struct wbuf *next,
		    struct err *e)
{
	struct srp_login l = { 0 };
	struct srp *s = state;
	uint8_t m1[HASH_LEN];
	int r;

	/* In FIPS mode it may be forbidden, and hashing without this check is fatal. */
	if (gcry_md_test_algo(GCRY_MD_SHA1))
		return err_set(e, -EOPNOTSUPP,
			       METHOD ": libgcrypt refuses SHA-1 here (FIPS mode?)");
	r = srp_read(&l, reply, e);
	r = r ? r : srp_own(&l, e);
	r = r ? r : srp_agree(&l, cred, e);
	if (!r) {
		srp_proofs(&l, cred->user, m1, s->proof);
		wbuf_u16(next, l.context);
		wbuf_u16(next, STEP_PROOF);
		wbuf_u16(next, N_LEN);
		wbuf_bytes(next, l.big_a.padded, N_LEN);
		wbuf_u16(next, HASH_LEN);
		wbuf_bytes(next, m1, HASH_LEN);
	}
	gcry_mpi_release(l.p);
	gcry_mpi_release(l.g);
	gcry_mpi_release(l.b_public);
	gcry_mpi_release(l.a);
	gcry_mpi_release(l.a_public);
	explicit_bzero(&l, sizeof(l));
	return r;
}

static int srp_finish(void *state, const struct uam_cred *cred, struct rbuf *reply, struct err *e)
{
	const struct srp *s = state;
	uint16_t step = rbuf_u16(reply);
	size_t len;
	const uint8_t *proof = srp_field(reply, &len);

	(void)cred;
	if (!proof || step != STEP_REPLY || len != HASH_LEN || !exchange_same(proof, s->proof, len))
		return uam_no_proof(METHOD, proof, e);
	return 0;
}

const struct uam uam_srp = {
	.wire_name = METHOD,
	.name = "srp",
	.strength = 9,
	.n_steps = 1,
	.password_max = 255,
	.needs_user = true,
	.needs_password = true,
	.own_passwords = true,
	.state_size = sizeof(struct srp),
	.step = srp_step,
	.finish = srp_finish,
};
