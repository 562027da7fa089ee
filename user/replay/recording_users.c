/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/recording_users.h"

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN      "run.json"
#define RUN_MOST (32u << 20)

/* ---- sessions ---- */

/* The place of a session; n_sessions: it is not there. */
static size_t users_seek(struct recording_users *u, uint64_t key)
{
	uint32_t i;

	if (u->last < u->n_sessions && u->session[u->last].key == key)
		return u->last;
	i = replay_map_get(&u->by_key, replay_key(key, 0, 0));
	return i == REPLAY_NONE ? u->n_sessions : i;
}

int recording_users_note(struct recording_users *u, uint64_t key, uint32_t uid)
{
	struct recording_session *s;
	const size_t i = users_seek(u, key);

	if (i == u->n_sessions &&
	    (VEC_PUSH(u->session, u->n_sessions, (struct recording_session) { .key = key }) ||
	     replay_map_put(&u->by_key, replay_key(key, 0, 0), (uint32_t)i)))
		return -ENOMEM;
	u->last = i;
	s = &u->session[i];
	s->requests++;
	s->uid = s->uid ? s->uid : uid;
	return 0;
}

const struct recording_session *recording_users_find(struct recording_users *u, uint64_t key)
{
	u->last = users_seek(u, key);
	return u->last < u->n_sessions ? &u->session[u->last] : NULL;
}

/* ---- users ---- */

static int users_order(const void *a, const void *b)
{
	const struct recording_user *x = a, *y = b;

	return x->uid < y->uid ? -1 : x->uid > y->uid;
}

static struct recording_user *users_of(const struct recording_users *u, uint32_t uid)
{
	const struct recording_user like = { .uid = uid };

	return u->n ? bsearch(&like, u->user, u->n, sizeof(like), users_order) : NULL;
}

/* Each account once, with what its sessions did. 0 or -ENOMEM. */
static int users_gather(struct recording_users *u)
{
	struct replay_map seen = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < u->n_sessions; i++) {
		const uint32_t uid = u->session[i].uid;

		if (replay_map_get(&seen, replay_key(uid, 0, 0)) != REPLAY_NONE)
			continue;
		r = replay_map_put(&seen, replay_key(uid, 0, 0), 0);
		r = r ? r : VEC_PUSH(u->user, u->n, (struct recording_user) { .uid = uid });
	}
	replay_map_free(&seen);
	if (u->n)
		qsort(u->user, u->n, sizeof(*u->user), users_order);
	for (size_t i = 0; !r && i < u->n_sessions; i++) {
		struct recording_user *of = users_of(u, u->session[i].uid);

		u->session[i].user = (uint32_t)(of - u->user);
		of->sessions++;
		of->requests += u->session[i].requests;
	}
	return r;
}

/* ---- names ---- */

/* A session of the run: process, client's port, and whose it is. */
static void users_name_one(struct recording_users *u, const json_t *of)
{
	const char *name = json_string_value(json_object_get(of, "user"));
	const char *address = json_string_value(json_object_get(of, "address"));
	const char *port = address ? strrchr(address, ':') : NULL;
	const uint64_t pid = (uint64_t)json_integer_value(json_object_get(of, "pid"));
	struct recording_user *user;
	size_t i;

	if (!name || !port)
		return;
	i = users_seek(u, pid << 16 | (strtoul(port + 1, NULL, 10) & 0xffff));
	user = i < u->n_sessions ? &u->user[u->session[i].user] : NULL;
	if (!user || !user->uid || *user->name)
		return;
	snprintf(user->name, sizeof(user->name), "%s", name);
	text_clean(user->name);
}

/* A recording without its run, or one that cannot be read, has numbers only. */
static void users_name(struct recording_users *u, const char *folder)
{
	int fd = -1, dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_t *run = NULL, *one, *all;
	char *text = NULL;
	uint64_t len;
	size_t i;

	if (dir >= 0)
		fd = file_open(dir, RUN, &len);
	if (fd >= 0 && !file_read_from(&text, fd, RUN, RUN_MOST, NULL))
		run = json_loads(text, 0, NULL);
	all = json_object_get(run, "sessions");
	json_array_foreach(all, i, one) users_name_one(u, one);
	json_decref(run);
	free(text);
	if (dir >= 0)
		close(dir);
}

struct recording_user *recording_users_named(const struct recording_users *u, const char *word,
					     size_t len)
{
	char number[16];
	unsigned long uid;

	for (size_t i = 0; i < u->n; i++)
		if (len && strlen(u->user[i].name) == len && !memcmp(u->user[i].name, word, len))
			return &u->user[i];
	if (!len || len >= sizeof(number) || strspn(word, "0123456789") < len)
		return NULL;
	snprintf(number, sizeof(number), "%.*s", (int)len, word);
	uid = strtoul(number, NULL, 10);
	return uid && uid <= UINT32_MAX ? users_of(u, (uint32_t)uid) : NULL;
}

const char *recording_user_text(const struct recording_user *u, char out[RECORDING_USER_TEXT])
{
	if (*u->name)
		snprintf(out, RECORDING_USER_TEXT, "%s (uid %u)", u->name, u->uid);
	else
		snprintf(out, RECORDING_USER_TEXT, "uid %u", u->uid);
	return out;
}

/* ---- who was asked for ---- */

static int users_choose(struct recording_users *u, const char *word, const char *folder,
			struct err *e)
{
	struct recording_user *one;
	size_t len;

	for (;; word += len + 1) {
		len = strcspn(word, ",");
		one = recording_users_named(u, word, len);
		if (!one)
			return err_set(e, -EINVAL,
				       "--of-user %.*s: %s has no session of that user, see "
				       "--dry-run",
				       (int)len, word, folder);
		one->left_out = false;
		if (!word[len])
			return 0;
	}
}

int recording_users_end(struct recording_users *u, const char *folder,
			const struct recording_choice *only, struct err *e)
{
	int r = users_gather(u);

	if (r)
		return err_set(e, r, "out of memory");
	users_name(u, folder);
	for (size_t i = 0; only->n && i < u->n; i++)
		u->user[i].left_out = true;
	for (size_t i = 0; !r && i < only->n; i++)
		r = users_choose(u, only->words[i], folder, e);
	return r;
}

void recording_users_free(struct recording_users *u)
{
	free(u->session);
	free(u->user);
	replay_map_free(&u->by_key);
	*u = (struct recording_users) { 0 };
}
