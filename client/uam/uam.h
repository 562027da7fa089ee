/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UAM_UAM_H
#define UAM_UAM_H

/*
 * Login methods (user authentication methods) as state machines: the server's bytes in, our
 * bytes out. No sockets, no clock, no printing. How a login goes:
 *
 *	uam_init, once per program
 *	uam_choose (or uam_find) -> the method
 *	the caller writes the FPLogin command up to the method's wire name; uam_start the rest
 *	while the server's result is "continue" (-5001): uam_step with the reply's data writes the
 *	    FPLoginCont command behind its two first bytes (19, 0); uam_tail has what follows it
 *	at its result 0: uam_finish with the reply's data, which may have to prove who the server is
 *	uam_end, in any case
 *
 * Any other result of the server ends the login and is the caller's. A session belongs to one
 * thread at a time; different sessions are independent.
 */

#include "base/buf.h"
#include "base/err.h"

/* The methods for help and messages, strongest first. */
#define UAM_NAMES "kerberos, srp, dhx2, 2-way-randnum, randnum, dhcast128, cleartext, guest"

/* Room that uam_start and uam_step need at most. */
#define UAM_START_MAX 273 /* user name with length and pad byte, a number of 16 bytes */
#define UAM_STEP_MAX  530 /* DHX2: id, a number of 512 bytes, nonce */

/* Bytes as they go on the wire: UTF-8, no NUL inside. NULL: not given. */
struct uam_cred {
	const char *user;     /* "" counts as not given; at most 255 bytes */
	const char *password; /* "" is a password */
	const char *service;  /* SERVICE@HOST that the server has to prove to be, for Kerberos */
};

/* An FPLogin or FPLoginExt command that is being written. */
struct uam_command {
	const uint8_t *start; /* its first byte */
	struct wbuf *b;       /* the cursor that writes it */
	bool ext;             /* FPLoginExt: the user as UTF-8 */
};

/*
 * A row of the table of methods. The functions are for uam.c only; state is state_size zeroed
 * bytes of the session. Each may be NULL: nothing to add, no second message, nothing behind it, no
 * proof, nothing to free.
 */
struct uam {
	const char *wire_name; /* exact: in the server's list and in FPLogin */
	const char *name;      /* in options and messages */
	const char *alias;     /* in options of netatalk's tools; NULL: none */
	unsigned int strength; /* rank: the higher, the better the password is protected */
	unsigned int n_steps;  /* messages behind FPLogin that a login has */
	size_t password_max;   /* bytes */
	bool needs_user, needs_password;
	bool only_wanted;   /* never without being asked for by name */
	bool own_passwords; /* servers have others for it than for their accounts */
	bool by_ticket;     /* for cred.service, and by FPLoginExt */
	size_t state_size;
	int (*start)(void *state, const struct uam_cred *cred, struct wbuf *first, struct err *e);
	int (*step)(void *state, const struct uam_cred *cred, struct rbuf *reply, struct wbuf *next,
		    struct err *e);
	/* Bytes that follow those of the last step, in memory of the state. */
	const void *(*tail)(const void *state, size_t *len);
	/* The reply to a success: whether the server proves to know the password. */
	int (*finish)(void *state, const struct uam_cred *cred, struct rbuf *reply, struct err *e);
	void (*fini)(void *state);
};

struct uam_session;

/*
 * Initializes the cryptographic library. Call it once before a second thread logs in; with a single
 * thread uam_start's own call is enough.
 */
int uam_init(struct err *e);

/* By short or wire name or alias; NULL: unknown. */
const struct uam *uam_find(const char *name);

/*
 * The method to log in with: the one asked for by name (wanted), else the strongest that the
 * server offers and that takes this user and password (never clear text: somebody on the way may
 * have shortened the list), else (no user given) guest. offered: the
 * wire names in the server's information block, NULL at the end; nothing is assumed about the
 * bytes in them. -EOPNOTSUPP: server and program have none in common; -EINVAL: the user's input is
 * not usable. The error text says which, and what is on offer.
 */
int uam_choose(const struct uam **out, const char *const *offered, const struct uam_cred *cred,
	       const char *wanted, struct err *e);

/*
 * Begins a login: writes what follows the wire name in FPLogin. The strings of cred are borrowed
 * until uam_end. Clear text puts the password into the command: wipe it once it is sent.
 * On error *out is NULL.
 */
int uam_start(struct uam_session **out, const struct uam *u, const struct uam_cred *cred,
	      struct uam_command *command, struct err *e);

/*
 * Consumes the data of a reply with the result "continue" and writes id and data of the next
 * FPLoginCont. 1: send it and go on. -EPROTO: the server's bytes are invalid or prove that it does
 * not have the key; the login is over, and next must not be sent.
 */
int uam_step(struct uam_session *s, const uint8_t *reply, size_t len, struct wbuf *next,
	     struct err *e);

/*
 * What follows the bytes that uam_step wrote, of any length, as they are up to the next call; NULL
 * and 0: nothing.
 */
const void *uam_tail(const struct uam_session *s, size_t *len);

/*
 * Takes the data of the reply with the result 0. -EPROTO: the server accepts a login that is not
 * complete, or does not prove to know the password although the method has a proof: it is not to
 * be trusted, and the session must be ended.
 */
int uam_finish(struct uam_session *s, const uint8_t *reply, size_t len, struct err *e);

/* For methods: the error where the proof is not there (NULL) or wrong. */
int uam_no_proof(const char *method, const uint8_t *proof, struct err *e);

/* Wipes what is secret and frees the session; NULL does nothing. */
void uam_end(struct uam_session *s);

#endif
