/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_UAM_LOGIN_H
#define UNIT_UAM_LOGIN_H

/* For the tests of login methods: an FPLogin command in the making. */

#include "uam/uam.h"

#include <errno.h>
#include <gcrypt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define USER          "bench1"
#define PASSWORD      "correct horse"
#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

struct login {
	uint8_t raw[1 + 256 + 256 + UAM_START_MAX];
	struct wbuf b;
	size_t head_len; /* code, version, name of the method */
	struct uam_session *s;
	struct err e;
};

static inline int login_begin(struct login *l, const char *version, const char *method,
			      const struct uam_cred *cred)
{
	const struct uam *u = uam_find(method);
	struct uam_command command = { l->raw, &l->b, false };

	memset(l, 0, sizeof(*l));
	memset(l->raw, 0xee, sizeof(l->raw));
	l->b = wbuf_of(l->raw, sizeof(l->raw));
	wbuf_u8(&l->b, 18);
	wbuf_pascal(&l->b, version);
	wbuf_pascal(&l->b, u->wire_name);
	l->head_len = (size_t)(l->b.at - l->raw);
	return uam_start(&l->s, u, cred, &command, &l->e);
}

static inline void assert_data(const struct login *l, const void *want, size_t len)
{
	assert_int_equal(l->b.at - l->raw, l->head_len + len);
	assert_memory_equal(l->raw + l->head_len, want, len);
}

static const struct uam_cred cred = { .user = USER, .password = PASSWORD };

#endif
