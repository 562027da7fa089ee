/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Randnum and 2-Way Randnum: the password is the key of DES, with which each side encrypts the
 * other's random number. The password is never sent, but who records a login can try passwords on
 * it. Only the second method proves that the server knows the password. Servers keep passwords of
 * their own for both (netatalk: afppasswd).
 *
 *	server	id(2), random number(8)
 *	client	id, E(its number); 2-Way: and a random number(8)
 *	server	success; 2-Way: E(the client's number)
 *
 * The key is the password, padded with zeros to 8 bytes. DES ignores the lowest bit of each, which
 * is why 2-Way shifts them by one to the left.
 */
#include "uam/exchange.h"
#include "uam/methods.h"

#include <errno.h>

#define NUMBER_LEN   8
#define PASSWORD_LEN 8

struct randnum {
	uint8_t proof[NUMBER_LEN]; /* 2-Way: what the server has to answer */
};

static int randnum_key(gcry_cipher_hd_t *out, const char *password, bool two_way, struct err *e)
{
	const char *method = two_way ? "2-Way Randnum" : "Randnum";
	uint8_t key[PASSWORD_LEN] = { 0 };
	gcry_error_t err;
	int r;

	if (gcry_cipher_test_algo(GCRY_CIPHER_DES))
		return err_set(e, -EOPNOTSUPP, "%s: libgcrypt refuses DES here (FIPS mode?)",
			       method);
	r = exchange_fail(gcry_cipher_open(out, GCRY_CIPHER_DES, GCRY_CIPHER_MODE_ECB, 0), method,
			  "DES", e);
	if (r)
		return r;
	memcpy(key, password, strlen(password));
	for (size_t i = 0; two_way && i < sizeof(key); i++)
		key[i] = (uint8_t)(key[i] << 1);
#if GCRYPT_VERSION_NUMBER >= 0x010a00
	gcry_cipher_ctl(*out, GCRYCTL_SET_ALLOW_WEAK_KEY, NULL, 1);
#endif
	err = gcry_cipher_setkey(*out, key, sizeof(key));
	explicit_bzero(key, sizeof(key));
#if GCRYPT_VERSION_NUMBER >= 0x010a00
	if (gcry_err_code(err) == GPG_ERR_WEAK_KEY) /* set all the same: an empty password */
		err = 0;
#endif
	return exchange_fail(err, method, "setting the key", e);
}

static int randnum_answer(struct randnum *s, const struct uam_cred *cred, bool two_way,
			  struct rbuf *reply, struct wbuf *next, struct err *e)
{
	uint16_t id = rbuf_u16(reply);
	const uint8_t *theirs = rbuf_bytes(reply, NUMBER_LEN);
	gcry_cipher_hd_t cipher = NULL;
	uint8_t ours[NUMBER_LEN], sealed[NUMBER_LEN];
	gcry_error_t err;
	int r;

	if (!theirs)
		return exchange_too_short(two_way ? "2-Way Randnum" : "Randnum", e);
	r = randnum_key(&cipher, cred->password, two_way, e);
	if (r)
		goto out;
	gcry_create_nonce(ours, sizeof(ours));
	err = gcry_cipher_encrypt(cipher, sealed, NUMBER_LEN, theirs, NUMBER_LEN);
	if (!err)
		err = gcry_cipher_encrypt(cipher, s->proof, NUMBER_LEN, ours, NUMBER_LEN);
	r = exchange_fail(err, "DES", "encrypting", e);
	wbuf_u16(next, id);
	wbuf_bytes(next, sealed, NUMBER_LEN);
	if (two_way)
		wbuf_bytes(next, ours, NUMBER_LEN);
out:
	gcry_cipher_close(cipher);
	return r;
}

static int randnum_step(void *state, const struct uam_cred *cred, struct rbuf *reply,
			struct wbuf *next, struct err *e)
{
	return randnum_answer(state, cred, false, reply, next, e);
}

static int randnum2_step(void *state, const struct uam_cred *cred, struct rbuf *reply,
			 struct wbuf *next, struct err *e)
{
	return randnum_answer(state, cred, true, reply, next, e);
}

static int randnum2_finish(void *state, const struct uam_cred *cred, struct rbuf *reply,
			   struct err *e)
{
	const struct randnum *s = state;
	const uint8_t *proof = rbuf_bytes(reply, NUMBER_LEN);

	(void)cred;
	if (!proof || !exchange_same(proof, s->proof, NUMBER_LEN))
		return uam_no_proof("2-Way Randnum", proof, e);
	return 0;
}

const struct uam uam_randnum = {
	.wire_name = "Randnum exchange",
	.name = "randnum",
	.strength = 3,
	.n_steps = 1,
	.password_max = PASSWORD_LEN,
	.needs_user = true,
	.needs_password = true,
	.own_passwords = true,
	.state_size = sizeof(struct randnum),
	.step = randnum_step,
};

const struct uam uam_randnum2 = {
	.wire_name = "2-Way Randnum exchange",
	.name = "2-way-randnum",
	.strength = 4,
	.n_steps = 1,
	.password_max = PASSWORD_LEN,
	.needs_user = true,
	.needs_password = true,
	.own_passwords = true,
	.state_size = sizeof(struct randnum),
	.step = randnum2_step,
	.finish = randnum2_finish,
};
