/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of stores that need no server, and which of them a user's words mean. */
#include "base/text.h"
#include "store/store_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_NS            100000000u
#define STORE_PASSWORD_MAX 1024

static const struct store_kind *const kinds[] = {
#define X(name, ...) &store_##name##_kind,
	STORE_KINDS(X)
#undef X
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* *where: text behind the prefix. */
static const struct store_kind *local_find(const char *text, const char **where)
{
	size_t i = 0, len;

	for (;; i++) {
		len = strlen(kinds[i]->prefix);
		if (i + 1 == N_KINDS || !strncmp(text, kinds[i]->prefix, len))
			break;
	}
	*where = text + len;
	return kinds[i];
}

const char *store_place_usage(size_t *i)
{
	const char *usage = NULL;

	while (*i < N_KINDS && !usage)
		usage = kinds[(*i)++]->usage;
	return usage;
}

bool store_is_local(const char *word)
{
	const char *where;

	return *local_find(word, &where)->prefix || (*word && strchr("/.", *word));
}

int store_make_local(const char *place, struct err *e)
{
	const char *where;
	const struct store_kind *k = local_find(place, &where);

	return k->make ? k->make(where, e) : 0;
}

int store_begin_local(struct store **out, const char *place, bool direct, struct err *e)
{
	const char *where;

	return local_find(place, &where)->open(out, where, direct, e);
}

int store_await_open(struct store *s, struct err *e)
{
	int r = 0;

	while (!r && s->state == STORE_OPENING)
		r = s->type->work(s, WAIT_NS, e);
	if (r)
		store_close(s);
	return r;
}

int store_open_local(struct store **out, const char *place, bool direct, struct err *e)
{
	struct store *s;
	int r = store_begin_local(&s, place, direct, e);

	r = r ? r : store_await_open(s, e);
	if (!r)
		*out = s;
	return r;
}

bool store_place_blocks(const char *place)
{
	const char *where;

	return !local_find(place, &where)->never_waits;
}

bool store_place_low_ports(const char *place)
{
	const char *where;

	/* libnfs does so without looking whether it is needed */
	return local_find(place, &where)->low_ports && !geteuid();
}

int store_place_login(struct store_place_login *out, const char *place, struct err *e)
{
	const char *where;
	const struct store_kind *k = local_find(place, &where);

	return k->login ? k->login(out, where, e) : 0;
}

/* Of the process: all its stores log in as one user. */
static struct {
	char user[256], password[STORE_PASSWORD_MAX];
} local_login;

void store_keep_password(const char *user, const char *password)
{
	snprintf(local_login.user, sizeof(local_login.user), "%s", user);
	snprintf(local_login.password, sizeof(local_login.password), "%s", password);
}

const char *store_user(void)
{
	return local_login.user;
}

const char *store_password(void)
{
	return local_login.password;
}

const char *store_place_below(char *out, size_t size, const char *place, const char *name)
{
	const size_t len = text_url(place) ? strcspn(place, "?") : strlen(place);

	snprintf(out, size, "%.*s/%s%s", (int)len, place, name, place + len);
	return out;
}

int store_remove_local(struct store *s, const char *place, const char *name, struct err *e)
{
	struct store_op last;
	struct err why;
	char all[ERR_TEXT_MAX];
	int r = store_remove_tree(s, s->root[0], name, &last, &why);

	if (r > 0)
		r = last.code ? -last.code : -EIO;
	store_place_below(all, sizeof(all), place, name);
	return r ? err_set(e, r, "cannot remove %s: %.300s", all, why.text) : 0;
}
