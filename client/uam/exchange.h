/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UAM_EXCHANGE_H
#define UAM_EXCHANGE_H

/*
 * What methods that agree on a key share: numbers, nonces, and CAST5 as DHCAST128 and DHX2 use it,
 * with one initial vector for each direction. "method" is the name for messages. Functions return
 * 0 or a negative errno with a text.
 */

#include "base/buf.h"
#include "base/err.h"

#include <gcrypt.h>

#define EXCHANGE_NONCE_LEN 16
#define EXCHANGE_KEY_LEN   16

/* See uam_init. */
int exchange_init(struct err *e);

/* A failure of the library; 0 for none. */
int exchange_fail(gcry_error_t err, const char *method, const char *what, struct err *e);
int exchange_too_short(const char *method, struct err *e);

/* 1 < n < p - 1: anything else gives a shared number that can be guessed. */
bool exchange_in_group(gcry_mpi_t n, gcry_mpi_t p);

/* The number as exactly len bytes; it must fit. */
int exchange_put(uint8_t *out, size_t len, gcry_mpi_t m, const char *method, struct err *e);

/* A cipher with this key; the caller closes it, which wipes the key. */
int exchange_key_set(gcry_cipher_hd_t *out, const uint8_t key[static EXCHANGE_KEY_LEN],
		     const char *method, struct err *e);

/* Writes len bytes, encrypted as the client does; nothing if next has no room. */
int exchange_seal(gcry_cipher_hd_t cipher, const uint8_t *plain, size_t len, struct wbuf *next,
		  struct err *e);
/* Decrypts len bytes as the server has encrypted them. */
int exchange_unseal(gcry_cipher_hd_t cipher, uint8_t *out, const uint8_t *sealed, size_t len,
		    struct err *e);

/*
 * At random, without a zero as its first byte: netatalk 3.1.12's answer by DHX2 leaves leading
 * zeros out, so that it is shorter and looks like the one of a wrong key.
 */
void exchange_new_nonce(uint8_t out[static EXCHANGE_NONCE_LEN]);
/* Plus one, as a big-endian number that wraps. */
void exchange_add_one(uint8_t nonce[static EXCHANGE_NONCE_LEN]);

/* Whether two proofs are the same, in a time that does not say how much of them is. */
bool exchange_same(const uint8_t *a, const uint8_t *b, size_t len);

#endif
