/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLAY_RECORDING_USERS_H
#define REPLAY_RECORDING_USERS_H

/*
 * The sessions of a recording and the accounts that they worked as. The trace has the numbers of
 * these, the run beside it the names.
 *
 *	recording_users_note    each request
 *	recording_users_end     all were noted: names, and who was asked for
 *	recording_users_find    the session of a request
 */

#include "base/err.h"
#include "work/replay/replay_map.h"

#include <stdbool.h>

#define RECORDING_NAME_MAX 64

struct recording_user {
	uint32_t uid;                  /* 0: of sessions that no login is known of */
	char name[RECORDING_NAME_MAX]; /* "": not known */
	uint64_t sessions, requests;
	bool left_out; /* others were asked for */
};

struct recording_session {
	uint64_t key; /* process and port: replay_request.session */
	uint32_t uid; /* 0: not known */
	uint64_t requests;
	uint32_t user; /* in recording_users.user */
};

/* All 0 before. */
struct recording_users {
	size_t n_sessions, n;
	struct recording_session *session;
	struct recording_user *user; /* by their numbers */
	struct replay_map by_key;
	size_t last; /* session of the request before: most are the same again */
};

/* Names and numbers of accounts, each word with commas between. */
struct recording_choice {
	const char *const *words;
	size_t n; /* 0: all */
};

/* uid 0: not known, or root, as before the login. 0 or -ENOMEM. */
int recording_users_note(struct recording_users *u, uint64_t key, uint32_t uid);

/*
 * folder: the recording's; its run, if there is one, is read for names. 0; -EINVAL: none of the
 * recording's users has the name or number that was asked for; or another negative errno; with a
 * text.
 */
int recording_users_end(struct recording_users *u, const char *folder,
			const struct recording_choice *only, struct err *e);

/* NULL: it was not noted. */
const struct recording_session *recording_users_find(struct recording_users *u, uint64_t key);

/* The user with this name or, if nobody has that name, this number; NULL. The number 0 is nobody's.
 */
struct recording_user *recording_users_named(const struct recording_users *u, const char *word,
					     size_t len);

/* "anna (uid 1001)", "uid 1001" */
#define RECORDING_USER_TEXT (RECORDING_NAME_MAX + 32)
const char *recording_user_text(const struct recording_user *u, char out[RECORDING_USER_TEXT]);

void recording_users_free(struct recording_users *u);

#endif
