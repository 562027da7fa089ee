/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHCAST128, the older Diffie-Hellman exchange: modulus and generator are fixed, and of 128 bits,
 * which can be broken by who records the login. It does not prove who the server is.
 *
 *	client	user, pad, Ma(16)
 *	server	id(2) Mb(16) E(server nonce 16, 16 bytes of zeros or of a signature)
 *	client	id E(server nonce + 1, password padded with zeros to 64)
 *
 * E is CAST5 in CBC mode, as in DHX2, but keyed by the 16 bytes of the shared number.
 *
 * netatalk 3.1 leaves leading zeros out: of Mb, behind which other bytes then stand, and of the
 * shared number, which then stands at the begin of the key. One login in 128 has such a zero. Which
 * form it was is seen in the server's zeros: under another key they are none. A server that sends a
 * signature has the proper form.
 */
#include "uam/exchange.h"
#include "uam/methods.h"

#include <errno.h>

#define METHOD        "DHCAST128"
#define LEN           16 /* of each number */
#define SIGNATURE_LEN 16
#define SEALED_LEN    (EXCHANGE_NONCE_LEN + SIGNATURE_LEN)
#define PASSWORD_LEN  64
#define GENERATOR     7

static const uint8_t modulus[LEN] = { 0xba, 0x28, 0x73, 0xdf, 0xb0, 0x60, 0x57, 0xd4,
				      0x3f, 0x20, 0x24, 0x74, 0x4c, 0xee, 0xe7, 0x5b };

struct dhcast128 {
	gcry_mpi_t p, a; /* a: our secret exponent */
};

static int dhcast128_start(void *state, const struct uam_cred *cred, struct wbuf *first,
			   struct err *e)
{
	struct dhcast128 *d = state;
	uint8_t *ma = wbuf_room(first, LEN);
	gcry_mpi_t n;
	int r;

	(void)cred;
	if (!ma)
		return 0; /* the caller checks first->bad */
	r = exchange_fail(gcry_mpi_scan(&d->p, GCRYMPI_FMT_USG, modulus, LEN, NULL), METHOD,
			  "the modulus", e);
	if (r)
		return r;
	d->a = gcry_mpi_snew(8 * LEN);
	gcry_mpi_randomize(d->a, 8 * LEN, GCRY_STRONG_RANDOM);
	n = gcry_mpi_set_ui(NULL, GENERATOR);
	gcry_mpi_powm(n, n, d->a, d->p);
	r = exchange_put(ma, LEN, n, METHOD, e);
	gcry_mpi_release(n);
	return r;
}

/* What a server left out of its numbers. */
struct form {
	unsigned int n_short; /* leading zeros of Mb */
	bool key_left;        /* those of the key, which has them behind */
};

/* The proper form is the first; three zeros would come once in 8 million logins. */
static const struct form forms[] = {
	{ 0, false }, { 0, true }, { 1, false }, { 1, true }, { 2, false }, { 2, true },
};

/* The key that a number of this form gives. */
static int dhcast128_key(const struct dhcast128 *d, const uint8_t *mb, const struct form *form,
			 uint8_t key[static EXCHANGE_KEY_LEN], struct err *e)
{
	size_t n_zeros = 0;
	gcry_mpi_t n;
	int r;

	r = exchange_fail(gcry_mpi_scan(&n, GCRYMPI_FMT_USG, mb, LEN - form->n_short, NULL), METHOD,
			  "reading the server's number", e);
	if (r)
		return r;
	if (exchange_in_group(n, d->p)) {
		gcry_mpi_powm(n, n, d->a, d->p);
		r = exchange_put(key, LEN, n, METHOD, e);
	} else {
		r = err_set(e, -EPROTO, METHOD ": server's number makes no secret key");
	}
	gcry_mpi_release(n);
	if (r || !form->key_left)
		return r;
	while (n_zeros < LEN && !key[n_zeros])
		n_zeros++;
	memmove(key, key + n_zeros, LEN - n_zeros);
	memset(key + LEN - n_zeros, 0, n_zeros);
	return 0;
}

/* Decrypts the server's message as one of this form; the caller closes the cipher. */
static int dhcast128_open(const struct dhcast128 *d, const uint8_t *mb, const struct form *form,
			  const uint8_t *sealed, uint8_t *opened, gcry_cipher_hd_t *cipher,
			  struct err *e)
{
	uint8_t key[EXCHANGE_KEY_LEN];
	int r = dhcast128_key(d, mb, form, key, e);

	if (!r)
		r = exchange_key_set(cipher, key, METHOD, e);
	if (!r)
		r = exchange_unseal(*cipher, opened, sealed, SEALED_LEN, e);
	explicit_bzero(key, sizeof(key));
	return r;
}

/* The same, as one of the form under which it ends with zeros, or else of the proper one. */
static int dhcast128_agree(const struct dhcast128 *d, const uint8_t *mb, const uint8_t *sealed,
			   uint8_t *opened, gcry_cipher_hd_t *cipher, struct err *e)
{
	static const uint8_t zeros[SIGNATURE_LEN];
	struct err ignored = { 0 };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!dhcast128_open(d, mb, &forms[i], sealed, opened, cipher, &ignored) &&
		    exchange_same(opened + EXCHANGE_NONCE_LEN, zeros, SIGNATURE_LEN))
			return 0;
		gcry_cipher_close(*cipher);
		*cipher = NULL;
	}
	return dhcast128_open(d, mb, &forms[0], sealed, opened, cipher, e);
}

static int dhcast128_step(void *state, const struct uam_cred *cred, struct rbuf *reply,
			  struct wbuf *next, struct err *e)
{
	uint16_t id = rbuf_u16(reply);
	const uint8_t *mb = rbuf_bytes(reply, LEN);
	const uint8_t *sealed = rbuf_bytes(reply, SEALED_LEN);
	uint8_t plain[EXCHANGE_NONCE_LEN + PASSWORD_LEN] = { 0 };
	uint8_t opened[SEALED_LEN];
	gcry_cipher_hd_t cipher = NULL;
	int r;

	if (!sealed)
		return exchange_too_short(METHOD, e);
	r = dhcast128_agree(state, mb, sealed, opened, &cipher, e);
	if (!r) {
		memcpy(plain, opened, EXCHANGE_NONCE_LEN);
		exchange_add_one(plain);
		memcpy(plain + EXCHANGE_NONCE_LEN, cred->password, strlen(cred->password));
		wbuf_u16(next, id);
		r = exchange_seal(cipher, plain, sizeof(plain), next, e);
	}
	explicit_bzero(plain, sizeof(plain));
	gcry_cipher_close(cipher);
	return r;
}

static void dhcast128_fini(void *state)
{
	struct dhcast128 *d = state;

	gcry_mpi_release(d->p);
	gcry_mpi_release(d->a);
}

const struct uam uam_dhcast128 = {
	.wire_name = METHOD,
	.name = "dhcast128",
	.strength = 2,
	.n_steps = 1,
	.password_max = PASSWORD_LEN,
	.needs_user = true,
	.needs_password = true,
	.state_size = sizeof(struct dhcast128),
	.start = dhcast128_start,
	.step = dhcast128_step,
	.fini = dhcast128_fini,
};
