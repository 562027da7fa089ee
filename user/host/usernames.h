/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_USERNAMES_H
#define HOST_USERNAMES_H

/*
 * Names of users, as a process calls them: of its own list of users (/etc/passwd below its root),
 * else, where that list is this host's, of the name service. Another process asks for them
 * (host/patient.h): until it answers they are not known.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct usernames;

struct usernames *usernames_new(void); /* NULL: no memory */
void usernames_free(struct usernames *u);

/* A user's number of this process as pid's user namespace counts: the one that pid itself sees. */
uint32_t usernames_inside(pid_t pid, uint32_t uid);

/*
 * The name of a user by the number that pid sees; NULL: it has none, or it is not known yet. It is
 * valid until the next call.
 */
const char *usernames_find(struct usernames *u, pid_t pid, uint32_t uid);

/* How many users have no answer yet. */
size_t usernames_unanswered(const struct usernames *u);

/* The user that this process works for, within a second; empty: not known. */
struct usernames_own {
	char name[256], home[3840];
};
void usernames_own(struct usernames_own *out);

#endif
