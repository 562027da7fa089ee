/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHX2: a Diffie-Hellman exchange gives a key, with which two nonces and then the password are
 * encrypted. It hides the password from eavesdroppers, but does not prove who the server is: a man
 * in the middle can still get it.
 *
 *	server	id(2) g(4) L(2) p(L) Ma(L)
 *	client	id Mb(L) E(client nonce)
 *	server	id E(client nonce + 1, server nonce)
 *	client	id E(server nonce + 1, password padded with zeros to 256)
 *
 * E is CAST5 in CBC mode, with one initial vector per direction, keyed by the MD5 of the shared
 * number as L bytes. Numbers are big-endian. The server chooses the ids; the client returns them.
 * The password is in Mac Roman: netatalk 3.1 to 4.5 convert it from that.
 */
#include "uam/exchange.h"
#include "uam/methods.h"

#include <errno.h>

#define METHOD       "DHX2"
#define LEN_MIN      64 /* of L, and of p without its zeros: 512 bits; netatalk has 1,024 */
#define LEN_MAX      512
#define NONCE_LEN    EXCHANGE_NONCE_LEN
#define PASSWORD_LEN 256

struct dhx2 {
	gcry_cipher_hd_t cipher; /* with the key; NULL before the first reply */
	uint8_t nonce[NONCE_LEN];
	unsigned int n_steps;
};

/* The server's numbers for the key exchange. */
struct dhx2_group {
	size_t len; /* L */
	gcry_mpi_t g, p, ma;
};

static int group_check(const struct dhx2_group *d, struct err *e)
{
	/* p is used as a modulus: 0 would be a division by zero. Leading zeros do not count. */
	if (gcry_mpi_get_nbits(d->p) <= 8 * (LEN_MIN - 1) || !gcry_mpi_test_bit(d->p, 0))
		return err_set(e, -EPROTO,
			       "DHX2: server's modulus is not a prime of %d bytes or more",
			       LEN_MIN);
	if (!exchange_in_group(d->g, d->p) || !exchange_in_group(d->ma, d->p))
		return err_set(e, -EPROTO, "DHX2: server's numbers make no secret key");
	return 0;
}

static int group_read(struct dhx2_group *d, struct rbuf *reply, struct err *e)
{
	const uint8_t *g = rbuf_bytes(reply, 4), *p, *ma;
	gcry_error_t err;
	int r;

	d->len = rbuf_u16(reply);
	if (reply->bad)
		return exchange_too_short(METHOD, e);
	if (d->len < LEN_MIN || d->len > LEN_MAX)
		return err_set(e, -EPROTO, "DHX2: server's numbers have %zu bytes, not %d to %d",
			       d->len, LEN_MIN, LEN_MAX);
	p = rbuf_bytes(reply, d->len);
	ma = rbuf_bytes(reply, d->len);
	if (reply->bad)
		return exchange_too_short(METHOD, e);
	err = gcry_mpi_scan(&d->g, GCRYMPI_FMT_USG, g, 4, NULL);
	if (!err)
		err = gcry_mpi_scan(&d->p, GCRYMPI_FMT_USG, p, d->len, NULL);
	if (!err)
		err = gcry_mpi_scan(&d->ma, GCRYMPI_FMT_USG, ma, d->len, NULL);
	r = exchange_fail(err, METHOD, "reading the server's numbers", e);
	return r ? r : group_check(d, e);
}

static void group_fini(struct dhx2_group *d)
{
	gcry_mpi_release(d->g);
	gcry_mpi_release(d->p);
	gcry_mpi_release(d->ma);
}

static int key_set(struct dhx2 *d, const uint8_t *shared, size_t len, struct err *e)
{
	uint8_t key[EXCHANGE_KEY_LEN];
	int r;

	/* In FIPS mode it is forbidden, and hashing without this check is fatal. */
	if (gcry_md_test_algo(GCRY_MD_MD5))
		return err_set(e, -EOPNOTSUPP, "DHX2: libgcrypt refuses MD5 here (FIPS mode?)");
	gcry_md_hash_buffer(GCRY_MD_MD5, key, shared, len);
	r = exchange_key_set(&d->cipher, key, METHOD, e);
	explicit_bzero(key, sizeof(key));
	return r;
}

/* Writes g^b for a fresh b, and sets the key that Ma^b gives. */
static int key_agree(struct dhx2 *d, const struct dhx2_group *group, struct wbuf *next,
		     struct err *e)
{
	unsigned int bits = gcry_mpi_get_nbits(group->p);
	uint8_t *mb = wbuf_room(next, group->len), shared[LEN_MAX];
	gcry_mpi_t b, n;
	int r;

	if (!mb)
		return 0; /* the caller checks next->bad */
	b = gcry_mpi_snew(bits);
	n = gcry_mpi_snew(bits);
	gcry_mpi_randomize(b, bits, GCRY_STRONG_RANDOM);
	gcry_mpi_powm(n, group->g, b, group->p);
	r = exchange_put(mb, group->len, n, METHOD, e);
	if (r)
		goto out;
	gcry_mpi_powm(n, group->ma, b, group->p);
	r = exchange_put(shared, group->len, n, METHOD, e);
	if (!r)
		r = key_set(d, shared, group->len, e);
	explicit_bzero(shared, sizeof(shared));
out:
	gcry_mpi_release(b);
	gcry_mpi_release(n);
	return r;
}

static int on_numbers(struct dhx2 *d, struct rbuf *reply, struct wbuf *next, struct err *e)
{
	struct dhx2_group group = { 0 };
	int r;

	wbuf_u16(next, rbuf_u16(reply));
	r = group_read(&group, reply, e);
	if (!r)
		r = key_agree(d, &group, next, e);
	group_fini(&group);
	if (r || next->bad)
		return r;
	exchange_new_nonce(d->nonce);
	return exchange_seal(d->cipher, d->nonce, NONCE_LEN, next, e);
}

/* Of Mac Roman, the characters of 0x80 to 0xff. */
static const uint16_t mac_roman[128] = {
	0x00c4, 0x00c5, 0x00c7, 0x00c9, 0x00d1, 0x00d6, 0x00dc, 0x00e1, 0x00e0, 0x00e2, 0x00e4,
	0x00e3, 0x00e5, 0x00e7, 0x00e9, 0x00e8, 0x00ea, 0x00eb, 0x00ed, 0x00ec, 0x00ee, 0x00ef,
	0x00f1, 0x00f3, 0x00f2, 0x00f4, 0x00f6, 0x00f5, 0x00fa, 0x00f9, 0x00fb, 0x00fc, 0x2020,
	0x00b0, 0x00a2, 0x00a3, 0x00a7, 0x2022, 0x00b6, 0x00df, 0x00ae, 0x00a9, 0x2122, 0x00b4,
	0x00a8, 0x2260, 0x00c6, 0x00d8, 0x221e, 0x00b1, 0x2264, 0x2265, 0x00a5, 0x00b5, 0x2202,
	0x2211, 0x220f, 0x03c0, 0x222b, 0x00aa, 0x00ba, 0x03a9, 0x00e6, 0x00f8, 0x00bf, 0x00a1,
	0x00ac, 0x221a, 0x0192, 0x2248, 0x2206, 0x00ab, 0x00bb, 0x2026, 0x00a0, 0x00c0, 0x00c3,
	0x00d5, 0x0152, 0x0153, 0x2013, 0x2014, 0x201c, 0x201d, 0x2018, 0x2019, 0x00f7, 0x25ca,
	0x00ff, 0x0178, 0x2044, 0x20ac, 0x2039, 0x203a, 0xfb01, 0xfb02, 0x2021, 0x00b7, 0x201a,
	0x201e, 0x2030, 0x00c2, 0x00ca, 0x00c1, 0x00cb, 0x00c8, 0x00cd, 0x00ce, 0x00cf, 0x00cc,
	0x00d3, 0x00d4, 0xf8ff, 0x00d2, 0x00da, 0x00db, 0x00d9, 0x0131, 0x02c6, 0x02dc, 0x00af,
	0x02d8, 0x02d9, 0x02da, 0x00b8, 0x02dd, 0x02db, 0x02c7,
};

/* The next character of a text of UTF-8; 0: none, or it is not UTF-8 of at most three bytes. */
static uint32_t next_character(const uint8_t **text)
{
	const uint8_t *t = *text;
	size_t more = *t < 0x80 ? 0 : (*t & 0xe0) == 0xc0 ? 1 : (*t & 0xf0) == 0xe0 ? 2 : 3;
	uint32_t c = more ? *t & (0x3fu >> more) : *t;

	if (more > 2)
		return 0;
	for (size_t i = 1; i <= more; i++) {
		if ((t[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (t[i] & 0x3fu);
	}
	*text += 1 + more;
	return c;
}

/* Writes it as Mac Roman, which is never longer. */
static int put_password(uint8_t *out, const char *password, struct err *e)
{
	const uint8_t *at = (const uint8_t *)password;

	while (*at) {
		uint32_t c = next_character(&at);
		size_t i = 0;

		while (c >= 0x80 && i < 128 && mac_roman[i] != c)
			i++;
		if (!c || i == 128)
			return err_set(e, -EINVAL,
				       "DHX2: the password has a character that Mac Roman does not "
				       "have, in which servers expect it; composed letters (NFC) "
				       "may help, or another method (--uam)");
		*out++ = c < 0x80 ? (uint8_t)c : (uint8_t)(0x80 + i);
	}
	return 0;
}

static int on_nonces(struct dhx2 *d, const char *password, struct rbuf *reply, struct wbuf *next,
		     struct err *e)
{
	uint16_t id = rbuf_u16(reply);
	const uint8_t *sealed = rbuf_bytes(reply, 2 * NONCE_LEN);
	uint8_t nonces[2 * NONCE_LEN], plain[NONCE_LEN + PASSWORD_LEN] = { 0 };
	int r;

	if (!sealed)
		return exchange_too_short(METHOD, e);
	r = exchange_unseal(d->cipher, nonces, sealed, sizeof(nonces), e);
	if (r)
		return r;
	exchange_add_one(d->nonce);
	if (!exchange_same(nonces, d->nonce, NONCE_LEN))
		return err_set(e, -EPROTO,
			       "DHX2: server returned a wrong nonce: it does not hold the key");
	memcpy(plain, nonces + NONCE_LEN, NONCE_LEN);
	exchange_add_one(plain);
	r = put_password(plain + NONCE_LEN, password, e);
	wbuf_u16(next, id);
	r = r ? r : exchange_seal(d->cipher, plain, sizeof(plain), next, e);
	explicit_bzero(plain, sizeof(plain));
	return r;
}

static int dhx2_step(void *state, const struct uam_cred *cred, struct rbuf *reply,
		     struct wbuf *next, struct err *e)
{
	struct dhx2 *d = state;

	return d->n_steps++ ? on_nonces(d, cred->password, reply, next, e)
			    : on_numbers(d, reply, next, e);
}

static void dhx2_fini(void *state)
{
	struct dhx2 *d = state;

	gcry_cipher_close(d->cipher); /* wipes the key; takes NULL */
}

const struct uam uam_dhx2 = {
	.wire_name = "DHX2",
	.name = "dhx2",
	.strength = 8,
	.n_steps = 2,
	.password_max = PASSWORD_LEN - 1, /* the server reads it up to a NUL */
	.needs_user = true,
	.needs_password = true,
	.state_size = sizeof(struct dhx2),
	.step = dhx2_step,
	.fini = dhx2_fini,
};
