/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_USERNAMES_H
#define HOST_USERNAMES_H

/*
 * Names of users, as a process calls them: of its own list of users (/etc/passwd below its root),
 * else, where that list is this host's, of the name service. Another process asks for them
 * (host/patient.h): until it answers they are not known.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct usernames_user {
	pid_t pid; /* in whose list it was looked for */
	bool known;
	uint32_t uid;
	uint64_t root;  /* identity of that process's root */
	char name[256]; /* empty: it has none */
};

/* Users that are remembered, each in the place of its number; all 0 at first. */
#define USERNAMES_PLACES 4096
struct usernames {
	struct usernames_user user[USERNAMES_PLACES];
	size_t n_unanswered;
};

/* A user's number of this process as pid's user namespace counts: the one that pid itself sees. */
uint32_t usernames_inside(pid_t pid, uint32_t uid);

/*
 * The name of a user by the number that pid sees; NULL: it has none, or it is not known yet. It is
 * valid until the next call.
 */
const char *usernames_find(struct usernames *u, pid_t pid, uint32_t uid);

/* How often that had no answer yet, since this was asked for the last time. */
size_t usernames_unanswered(struct usernames *u);

/* The user that this process works for, within a second; empty: not known. */
struct usernames_own {
	char name[256], home[3840];
};
void usernames_own(struct usernames_own *out);

#endif
