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
 */
#include "uam/dhx2.h"

#include <errno.h>
#include <gcrypt.h>

#define LEN_MIN      16 /* of L */
#define LEN_MAX      512
#define NONCE_LEN    16
#define KEY_LEN      16
#define IV_LEN       8
#define PASSWORD_LEN 256

static const uint8_t iv_client[IV_LEN] = { 'L', 'W', 'a', 'l', 'l', 'a', 'c', 'e' };
static const uint8_t iv_server[IV_LEN] = { 'C', 'J', 'a', 'l', 'b', 'e', 'r', 't' };

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

int dhx2_init(struct err *e)
{
	if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
		return 0;
	if (!gcry_check_version("1.8.0"))
		return err_set(e, -EOPNOTSUPP, "libgcrypt %s is too old: 1.8.0 is needed",
			       gcry_check_version(NULL));
	/* A thousand logins would need too much locked memory; numbers are wiped when released. */
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	return 0;
}

static int gcry_fail(gcry_error_t err, const char *what, struct err *e)
{
	if (!err)
		return 0;
	return err_set(e, gcry_err_code(err) == GPG_ERR_ENOMEM ? -ENOMEM : -EIO, "DHX2: %s: %s",
		       what, gcry_strerror(err));
}

static int too_short(struct err *e)
{
	return err_set(e, -EPROTO, "DHX2: server's reply ends too early");
}

/* 1 < n < p - 1: anything else gives a shared number that can be guessed. */
static bool in_group(gcry_mpi_t n, gcry_mpi_t p)
{
	gcry_mpi_t top = gcry_mpi_new(0);
	bool ok;

	gcry_mpi_sub_ui(top, p, 1);
	ok = gcry_mpi_cmp_ui(n, 1) > 0 && gcry_mpi_cmp(n, top) < 0;
	gcry_mpi_release(top);
	return ok;
}

static int group_check(const struct dhx2_group *d, struct err *e)
{
	/* p is used as a modulus: 0 would be a division by zero. Leading zeros do not count. */
	if (gcry_mpi_get_nbits(d->p) <= 8 * (LEN_MIN - 1) || !gcry_mpi_test_bit(d->p, 0))
		return err_set(e, -EPROTO,
			       "DHX2: server's modulus is not a prime of %d bytes or more",
			       LEN_MIN);
	if (!in_group(d->g, d->p) || !in_group(d->ma, d->p))
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
		return too_short(e);
	if (d->len < LEN_MIN || d->len > LEN_MAX)
		return err_set(e, -EPROTO, "DHX2: server's numbers have %zu bytes, not %d to %d",
			       d->len, LEN_MIN, LEN_MAX);
	p = rbuf_bytes(reply, d->len);
	ma = rbuf_bytes(reply, d->len);
	if (reply->bad)
		return too_short(e);
	err = gcry_mpi_scan(&d->g, GCRYMPI_FMT_USG, g, 4, NULL);
	if (!err)
		err = gcry_mpi_scan(&d->p, GCRYMPI_FMT_USG, p, d->len, NULL);
	if (!err)
		err = gcry_mpi_scan(&d->ma, GCRYMPI_FMT_USG, ma, d->len, NULL);
	r = gcry_fail(err, "reading the server's numbers", e);
	return r ? r : group_check(d, e);
}

static void group_fini(struct dhx2_group *d)
{
	gcry_mpi_release(d->g);
	gcry_mpi_release(d->p);
	gcry_mpi_release(d->ma);
}

/* The number as exactly len bytes; it must fit. */
static int mpi_put(uint8_t *out, size_t len, gcry_mpi_t m, struct err *e)
{
	size_t n = 0;
	int r;

	r = gcry_fail(gcry_mpi_print(GCRYMPI_FMT_USG, out, len, &n, m), "writing a number", e);
	if (r)
		return r;
	memmove(out + len - n, out, n);
	memset(out, 0, len - n);
	return 0;
}

static int key_set(struct dhx2 *d, const uint8_t *shared, size_t len, struct err *e)
{
	uint8_t key[KEY_LEN];
	gcry_error_t err;
	int r;

	/* In FIPS mode both are forbidden, and hashing without this check is fatal. */
	if (gcry_md_test_algo(GCRY_MD_MD5) || gcry_cipher_test_algo(GCRY_CIPHER_CAST5))
		return err_set(e, -EOPNOTSUPP,
			       "DHX2: libgcrypt refuses MD5 or CAST5 here (FIPS mode?)");
	r = gcry_fail(gcry_cipher_open(&d->cipher, GCRY_CIPHER_CAST5, GCRY_CIPHER_MODE_CBC, 0),
		      "CAST5", e);
	if (r)
		return r;
	gcry_md_hash_buffer(GCRY_MD_MD5, key, shared, len);
	err = gcry_cipher_setkey(d->cipher, key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	return gcry_fail(err, "setting the key", e);
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
	r = mpi_put(mb, group->len, n, e);
	if (r)
		goto out;
	gcry_mpi_powm(n, group->ma, b, group->p);
	r = mpi_put(shared, group->len, n, e);
	if (!r)
		r = key_set(d, shared, group->len, e);
	explicit_bzero(shared, sizeof(shared));
out:
	gcry_mpi_release(b);
	gcry_mpi_release(n);
	return r;
}

static int seal(struct dhx2 *d, const uint8_t *plain, size_t len, struct wbuf *next, struct err *e)
{
	uint8_t *out = wbuf_room(next, len);
	gcry_error_t err;

	if (!out)
		return 0;
	err = gcry_cipher_setiv(d->cipher, iv_client, IV_LEN);
	if (!err)
		err = gcry_cipher_encrypt(d->cipher, out, len, plain, len);
	return gcry_fail(err, "encrypting", e);
}

static void nonce_add_one(uint8_t nonce[NONCE_LEN])
{
	for (size_t i = NONCE_LEN; i-- && !++nonce[i];)
		;
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
	gcry_create_nonce(d->nonce, NONCE_LEN);
	return seal(d, d->nonce, NONCE_LEN, next, e);
}

static int on_nonces(struct dhx2 *d, const char *password, struct rbuf *reply, struct wbuf *next,
		     struct err *e)
{
	uint16_t id = rbuf_u16(reply);
	const uint8_t *sealed = rbuf_bytes(reply, 2 * NONCE_LEN);
	uint8_t nonces[2 * NONCE_LEN], plain[NONCE_LEN + PASSWORD_LEN] = { 0 };
	gcry_error_t err;
	int r;

	if (!sealed)
		return too_short(e);
	err = gcry_cipher_setiv(d->cipher, iv_server, IV_LEN);
	if (!err)
		err = gcry_cipher_decrypt(d->cipher, nonces, sizeof(nonces), sealed,
					  sizeof(nonces));
	if (err)
		return gcry_fail(err, "decrypting", e);
	nonce_add_one(d->nonce);
	if (memcmp(nonces, d->nonce, NONCE_LEN))
		return err_set(e, -EPROTO,
			       "DHX2: server returned a wrong nonce: it does not hold the key");
	memcpy(plain, nonces + NONCE_LEN, NONCE_LEN);
	nonce_add_one(plain);
	memcpy(plain + NONCE_LEN, password, strlen(password));
	wbuf_u16(next, id);
	r = seal(d, plain, sizeof(plain), next, e);
	explicit_bzero(plain, sizeof(plain));
	return r;
}

static int dhx2_step(void *state, const struct uam_cred *cred, struct rbuf *reply,
		     struct wbuf *next, struct err *e)
{
	struct dhx2 *d = state;
	int r;

	switch (d->n_steps++) {
	case 0:
		r = on_numbers(d, reply, next, e);
		break;
	case 1:
		r = on_nonces(d, cred->password, reply, next, e);
		break;
	default:
		r = err_set(e, -EPROTO, "DHX2: server asks for more after the password");
	}
	return r ? r : 1;
}

static void dhx2_fini(void *state)
{
	struct dhx2 *d = state;

	gcry_cipher_close(d->cipher); /* wipes the key; takes NULL */
}

const struct uam uam_dhx2 = {
	.wire_name = "DHX2",
	.name = "dhx2",
	.strength = 2,
	.password_max = PASSWORD_LEN - 1, /* the server reads it up to a NUL */
	.needs_user = true,
	.needs_password = true,
	.state_size = sizeof(struct dhx2),
	.step = dhx2_step,
	.fini = dhx2_fini,
};
