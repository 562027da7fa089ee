/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cryptography that several methods share, over libgcrypt. */
#include "uam/exchange.h"

#include <errno.h>

#define IV_LEN 8

static const uint8_t iv_client[IV_LEN] = { 'L', 'W', 'a', 'l', 'l', 'a', 'c', 'e' };
static const uint8_t iv_server[IV_LEN] = { 'C', 'J', 'a', 'l', 'b', 'e', 'r', 't' };

int exchange_init(struct err *e)
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

int exchange_fail(gcry_error_t err, const char *method, const char *what, struct err *e)
{
	if (!err)
		return 0;
	return err_set(e, gcry_err_code(err) == GPG_ERR_ENOMEM ? -ENOMEM : -EIO, "%s: %s: %s",
		       method, what, gcry_strerror(err));
}

int exchange_too_short(const char *method, struct err *e)
{
	return err_set(e, -EPROTO, "%s: server's reply ends too early", method);
}

bool exchange_in_group(gcry_mpi_t n, gcry_mpi_t p)
{
	gcry_mpi_t top = gcry_mpi_new(0);
	bool ok;

	gcry_mpi_sub_ui(top, p, 1);
	ok = gcry_mpi_cmp_ui(n, 1) > 0 && gcry_mpi_cmp(n, top) < 0;
	gcry_mpi_release(top);
	return ok;
}

int exchange_put(uint8_t *out, size_t len, gcry_mpi_t m, const char *method, struct err *e)
{
	size_t n = 0;
	int r;

	r = exchange_fail(gcry_mpi_print(GCRYMPI_FMT_USG, out, len, &n, m), method,
			  "writing a number", e);
	if (r)
		return r;
	memmove(out + len - n, out, n);
	memset(out, 0, len - n);
	return 0;
}

int exchange_key_set(gcry_cipher_hd_t *out, const uint8_t key[static EXCHANGE_KEY_LEN],
		     const char *method, struct err *e)
{
	int r;

	if (gcry_cipher_test_algo(GCRY_CIPHER_CAST5))
		return err_set(e, -EOPNOTSUPP, "%s: libgcrypt refuses CAST5 here (FIPS mode?)",
			       method);
	r = exchange_fail(gcry_cipher_open(out, GCRY_CIPHER_CAST5, GCRY_CIPHER_MODE_CBC, 0), method,
			  "CAST5", e);
	return r ? r
		 : exchange_fail(gcry_cipher_setkey(*out, key, EXCHANGE_KEY_LEN), method,
				 "setting the key", e);
}

int exchange_seal(gcry_cipher_hd_t cipher, const uint8_t *plain, size_t len, struct wbuf *next,
		  struct err *e)
{
	uint8_t *out = wbuf_room(next, len);
	gcry_error_t err;

	if (!out)
		return 0;
	err = gcry_cipher_setiv(cipher, iv_client, IV_LEN);
	if (!err)
		err = gcry_cipher_encrypt(cipher, out, len, plain, len);
	return exchange_fail(err, "CAST5", "encrypting", e);
}

int exchange_unseal(gcry_cipher_hd_t cipher, uint8_t *out, const uint8_t *sealed, size_t len,
		    struct err *e)
{
	gcry_error_t err = gcry_cipher_setiv(cipher, iv_server, IV_LEN);

	if (!err)
		err = gcry_cipher_decrypt(cipher, out, len, sealed, len);
	return exchange_fail(err, "CAST5", "decrypting", e);
}

void exchange_new_nonce(uint8_t out[static EXCHANGE_NONCE_LEN])
{
	do
		gcry_create_nonce(out, EXCHANGE_NONCE_LEN);
	while (!out[0]);
}

void exchange_add_one(uint8_t nonce[static EXCHANGE_NONCE_LEN])
{
	for (size_t i = EXCHANGE_NONCE_LEN; i-- && !++nonce[i];)
		;
}

bool exchange_same(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint8_t differ = 0;

	for (size_t i = 0; i < len; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}
