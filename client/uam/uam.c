/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of login methods, the choice among them, and the frame of a session. Guest and clear
 * text, which have one message only, are here as well; the others have a file each, and what they
 * share is in exchange.c.
 */
#include "uam/uam.h"

#include "uam/exchange.h"
#include "uam/methods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define USER_MAX      255 /* a Pascal string */
#define CLEARTEXT_LEN 8

struct uam_session {
	const struct uam *u;
	struct uam_cred cred;
	unsigned int n_steps; /* done */
	bool over;            /* a step failed: no further step is allowed */
	_Alignas(max_align_t) unsigned char state[];
};

static int cleartext_start(void *state, const struct uam_cred *cred, struct wbuf *first,
			   struct err *e)
{
	size_t len = strlen(cred->password);

	(void)state;
	(void)e;
	wbuf_bytes(first, cred->password, len);
	wbuf_zero(first, CLEARTEXT_LEN - len);
	return 0;
}

static const struct uam uam_cleartext = {
	.wire_name = "Cleartxt Passwrd",
	.name = "cleartext",
	.alias = "clrtxt",
	.only_wanted = true,
	.strength = 1,
	.password_max = CLEARTEXT_LEN,
	.needs_user = true,
	.needs_password = true,
	.start = cleartext_start,
};

static const struct uam uam_guest = {
	.wire_name = "No User Authent",
	.name = "guest",
	.strength = 0,
};

/*
 * Strongest first. Kerberos shows the server no password at all. Of a recorded login, SRP and DHX2
 * give nothing away; Randnum gives something on which passwords can be tried; DHCAST128 has numbers
 * so small that the password can be computed. Kerberos, SRP and 2-Way Randnum do not tell the
 * password to a false server either.
 */
static const struct uam *const table[] = {
	&uam_kerberos, &uam_srp,       &uam_dhx2,      &uam_randnum2,
	&uam_randnum,  &uam_dhcast128, &uam_cleartext, &uam_guest,
};

#define N_TABLE     (sizeof(table) / sizeof(table[0]))
#define THIS_SPEAKS "this program has " UAM_NAMES

int uam_init(struct err *e)
{
	return exchange_init(e);
}

const struct uam *uam_find(const char *name)
{
	for (size_t i = 0; i < N_TABLE; i++)
		if (!strcmp(name, table[i]->name) || !strcmp(name, table[i]->wire_name) ||
		    (table[i]->alias && !strcmp(name, table[i]->alias)))
			return table[i];
	return NULL;
}

static bool given(const char *text)
{
	return text && *text;
}

static bool is_offered(const struct uam *u, const char *const *offered)
{
	for (; *offered; offered++)
		if (!strcmp(*offered, u->wire_name))
			return true;
	return false;
}

static bool password_fits(const struct uam *u, const struct uam_cred *cred)
{
	return !u->needs_password || !cred->password || strlen(cred->password) <= u->password_max;
}

#define OFFER_TEXT_MAX 200

/*
 * What the server offers, for a message: one line of printable characters, whatever the server
 * sent, shortened with "...".
 */
static void offer_text(char out[static OFFER_TEXT_MAX], const char *const *offered)
{
	struct wbuf b = wbuf_of(out, OFFER_TEXT_MAX - sizeof("..."));

	for (const char *const *name = offered; *name; name++) {
		if (name != offered)
			wbuf_bytes(&b, ", ", 2);
		for (const char *c = *name; *c; c++)
			wbuf_u8(&b, *c >= ' ' && *c <= '~' ? (uint8_t)*c : '?');
	}
	if (b.at == (uint8_t *)out)
		wbuf_bytes(&b, "nothing", 7);
	strcpy((char *)b.at, b.bad ? "..." : "");
}

/* Whether the method accepts what the user gave. */
static int cred_check(const struct uam *u, const struct uam_cred *cred, struct err *e)
{
	if (!u->needs_user)
		return 0;
	if (!given(cred->user))
		return err_set(e, -EINVAL, "login by %s needs a user name", u->name);
	if (strlen(cred->user) > USER_MAX)
		return err_set(e, -EINVAL, "user name is longer than the %d bytes that AFP takes",
			       USER_MAX);
	if (u->needs_password && !cred->password)
		return err_set(e, -EINVAL, "login by %s needs a password", u->name);
	if (!password_fits(u, cred))
		return err_set(e, -EINVAL, "password is longer than the %zu bytes that %s takes",
			       u->password_max, u->name);
	return 0;
}

/* The strongest method on offer for a user, or for none; NULL: none. */
static const struct uam *strongest(const char *const *offered, const struct uam_cred *cred,
				   bool must_fit)
{
	const struct uam *best = NULL;

	for (size_t i = 0; i < N_TABLE; i++) {
		const struct uam *u = table[i];

		if (u->needs_user != given(cred->user) || u->only_wanted || !is_offered(u, offered))
			continue;
		if (must_fit && !password_fits(u, cred))
			continue;
		if (!best || u->strength > best->strength)
			best = u;
	}
	return best;
}

/* The error when no method was asked for and none on offer is usable. */
static int none_error(const char *const *offered, const struct uam_cred *cred, struct err *e)
{
	const struct uam *u = strongest(offered, cred, false);
	char text[OFFER_TEXT_MAX];
	bool any = false;

	offer_text(text, offered);
	for (size_t i = 0; i < N_TABLE; i++)
		any = any || is_offered(table[i], offered);
	if (u)
		return err_set(e, -EINVAL,
			       "password is longer than the %zu bytes that %s takes; "
			       "server offers only: %s",
			       u->password_max, u->name, text);
	if (!any)
		return err_set(e, -EOPNOTSUPP, "server offers only: %s; " THIS_SPEAKS, text);
	if (given(cred->user) && is_offered(&uam_kerberos, offered))
		return err_set(e, -EOPNOTSUPP,
			       "server offers only: %s; --uam kerberos logs in by the user's "
			       "ticket (kinit gets one)",
			       text);
	if (given(cred->user) && is_offered(&uam_cleartext, offered))
		return err_set(e, -EOPNOTSUPP,
			       "server takes a user's password in clear text only, which everybody "
			       "on the way can read (it offers %s): --uam cleartext sends it "
			       "nevertheless",
			       text);
	if (given(cred->user))
		return err_set(
		    e, -EOPNOTSUPP,
		    "server offers only: %s; " THIS_SPEAKS " (--uam guest needs no user)", text);
	return err_set(e, -EINVAL, "server offers no guest login, only: %s; give a user name",
		       text);
}

/* The method asked for, if the server offers it. */
static int wanted_find(const struct uam **out, const char *const *offered, const char *wanted,
		       struct err *e)
{
	const struct uam *u = uam_find(wanted);
	char text[OFFER_TEXT_MAX];

	if (!u)
		return err_set(e, -EINVAL, "unknown login method: %s; " THIS_SPEAKS, wanted);
	offer_text(text, offered);
	if (!is_offered(u, offered))
		return err_set(e, -EOPNOTSUPP, "server does not offer %s (%s), only: %s", u->name,
			       u->wire_name, text);
	*out = u;
	return 0;
}

int uam_choose(const struct uam **out, const char *const *offered, const struct uam_cred *cred,
	       const char *wanted, struct err *e)
{
	const struct uam *u = NULL;
	int r = 0;

	*out = NULL;
	if (wanted)
		r = wanted_find(&u, offered, wanted, e);
	else
		u = strongest(offered, cred, true);
	if (!r)
		r = u ? cred_check(u, cred, e) : none_error(offered, cred, e);
	if (!r)
		*out = u;
	return r;
}

#define UTF8_NAME 3

/* User name, and a pad byte if the method's own data would begin at an odd offset. */
static void user_write(const char *user, struct uam_command *command)
{
	struct wbuf *b = command->b;
	size_t len = strlen(user);

	if (command->ext) {
		wbuf_u8(b, UTF8_NAME);
		wbuf_u16(b, (uint16_t)len);
		wbuf_bytes(b, user, len);
		wbuf_u8(b, UTF8_NAME); /* no directory */
		wbuf_u16(b, 0);
	} else {
		wbuf_pascal(b, user);
	}
	if (!b->bad && (b->at - command->start) % 2)
		wbuf_u8(b, 0);
}

int uam_start(struct uam_session **out, const struct uam *u, const struct uam_cred *cred,
	      struct uam_command *command, struct err *e)
{
	struct uam_session *s;
	int r;

	*out = NULL;
	r = cred_check(u, cred, e);
	if (!r)
		r = uam_init(e);
	if (r)
		return r;
	s = calloc(1, sizeof(*s) + u->state_size);
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->u = u;
	s->cred = *cred;
	if (u->needs_user || command->ext)
		user_write(u->needs_user ? cred->user : "", command);
	if (u->start)
		r = u->start(s->state, cred, command->b, e);
	if (u == &uam_cleartext && command->ext)
		wbuf_u8(command->b, 0); /* netatalk wants more than the eight bytes that count */
	if (!r && command->b->bad)
		r = err_set(e, -ENOBUFS, "login by %s: no room for the command", u->name);
	if (r) {
		uam_end(s);
		return r;
	}
	*out = s;
	return 0;
}

int uam_step(struct uam_session *s, const uint8_t *reply, size_t len, struct wbuf *next,
	     struct err *e)
{
	struct rbuf b = rbuf_of(len ? reply : (const uint8_t *)"", len);
	int r;

	if (s->over || s->n_steps >= s->u->n_steps)
		return err_set(e, -EPROTO, "login by %s: server asks for more than the method has",
			       s->u->name);
	s->n_steps++;
	r = s->u->step(s->state, &s->cred, &b, next, e);
	if (!r && next->bad)
		r = err_set(e, -ENOBUFS, "login by %s: no room for the command", s->u->name);
	s->over = r < 0;
	return r ? r : 1;
}

const void *uam_tail(const struct uam_session *s, size_t *len)
{
	*len = 0;
	return s->u->tail ? s->u->tail(s->state, len) : NULL;
}

int uam_no_proof(const char *method, const uint8_t *proof, struct err *e)
{
	return err_set(e, -EPROTO,
		       "%s: server accepts the login, but %s that it knows the password: it, or "
		       "somebody on the way, is not who it seems to be",
		       method, proof ? "proves wrongly" : "does not prove");
}

int uam_finish(struct uam_session *s, const uint8_t *reply, size_t len, struct err *e)
{
	struct rbuf b = rbuf_of(len ? reply : (const uint8_t *)"", len);

	if (s->over || s->n_steps < s->u->n_steps)
		return err_set(e, -EPROTO,
			       "login by %s: server accepts it before it has seen a proof of the "
			       "password",
			       s->u->name);
	return s->u->finish ? s->u->finish(s->state, &s->cred, &b, e) : 0;
}

void uam_end(struct uam_session *s)
{
	if (!s)
		return;
	if (s->u->fini)
		s->u->fini(s->state);
	explicit_bzero(s, sizeof(*s) + s->u->state_size);
	free(s);
}
