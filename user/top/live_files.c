/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/live_files.h"

#include "base/vec.h"
#include "run/account.h"
#include "trace/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES  4096u /* of sessions; a power of two */
#define PENDING 64    /* names of requests in flight of a session */
#define FORKS   4096  /* open ones of a session that are known */
#define ROOT    2     /* id of a volume's root directory (AFP reference) */

#define NO_FILE "(no file)"
#define EARLIER "(opened before)"

struct files_pending {
	uint16_t dsi_id, command;
	bool used;
	char name[FILES_NAME_MAX];
};

struct files_fork {
	uint16_t number;
	char *name; /* owned */
};

struct files_session {
	uint32_t pid;
	struct files_session *next;
	unsigned int newest;
	struct files_pending pending[PENDING];
	size_t n;
	struct files_fork *fork; /* owned */
};

struct files {
	struct names *names;
	bool texts;
	struct files_session *place[PLACES]; /* by process number */
};

int files_open(struct files **out, bool texts, struct err *e)
{
	struct files *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->texts = texts;
	r = names_open(&f->names, false, e);
	if (r)
		files_close(f);
	else
		*out = f;
	return r;
}

static void session_free(struct files_session *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->fork[i].name);
	free(s->fork);
	free(s);
}

void files_close(struct files *f)
{
	struct files_session *s, *next;

	for (size_t i = 0; f && i < PLACES; i++)
		for (s = f->place[i]; s; s = next) {
			next = s->next;
			session_free(s);
		}
	if (f)
		names_close(f->names);
	free(f);
}

static struct files_session **live_files_place_of(struct files *f, uint32_t pid)
{
	struct files_session **at = &f->place[pid % PLACES];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

/* NULL: no memory. */
static struct files_session *live_files_session_of(struct files *f, uint32_t pid)
{
	struct files_session **at = live_files_place_of(f, pid);

	if (!*at && (*at = calloc(1, sizeof(**at))))
		(*at)->pid = pid;
	return *at;
}

void files_end(struct files *f, uint32_t session)
{
	struct files_session **at = live_files_place_of(f, session), *s = *at;

	if (!s)
		return;
	*at = s->next;
	session_free(s);
}

static void live_files_put_name(const struct files *f, const struct afs_named *named,
				const struct afs_record_names *r, char out[FILES_NAME_MAX])
{
	char text[AFS_TEXT_LEN] = "";

	if (f->texts)
		names_words(named, text);
	else if (r->name && r->len)
		snprintf(text, sizeof(text), "%016" PRIx64, (uint64_t)r->name);
	if (r->dir == ROOT && text[0])
		snprintf(out, FILES_NAME_MAX, "%s", text);
	else
		snprintf(out, FILES_NAME_MAX, "%s%s(folder %" PRIu32 ")", text, text[0] ? " " : "",
			 r->dir);
}

void files_named(struct files *f, const struct afs_named *named)
{
	struct files_session *s = live_files_session_of(f, named->session);
	struct afs_record_names r;
	struct files_pending *p;

	if (!s)
		return;
	names_record(f->names, named, &r);
	p = &s->pending[s->newest++ % PENDING];
	*p = (struct files_pending) { .dsi_id = r.dsi_id, .command = r.command, .used = true };
	live_files_put_name(f, named, &r, p->name);
}

static struct files_pending *pending_of(struct files_session *s,
					const struct afs_record_requests *r)
{
	struct files_pending *p;

	for (unsigned int i = 1; i <= PENDING; i++) {
		p = &s->pending[(s->newest - i) % PENDING];
		if (p->used && p->dsi_id == r->dsi_id && p->command == r->command)
			return p;
	}
	return NULL;
}

static struct files_fork *fork_of(struct files_session *s, uint16_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->fork[i].number == number)
			return &s->fork[i];
	return NULL;
}

static void fork_drop(struct files_session *s, struct files_fork *fork)
{
	free(fork->name);
	*fork = s->fork[--s->n];
}

static void fork_add(struct files_session *s, uint16_t number, const char *name)
{
	struct files_fork *old = fork_of(s, number);
	char *copy;

	if (old)
		fork_drop(s, old);
	copy = s->n < FORKS ? strdup(name) : NULL;
	if (copy && VEC_PUSH(s->fork, s->n, (struct files_fork) { .number = number, .name = copy }))
		free(copy);
}

static bool is_account(uint16_t number, const char *name)
{
	const char *its = account_known_name(number);

	return its && !strcmp(its, name);
}

void files_request(struct files *f, const struct afs_record_requests *r, char out[FILES_NAME_MAX])
{
	struct files_session *s = live_files_session_of(f, r->session);
	struct files_pending *p = s ? pending_of(s, r) : NULL;
	struct files_fork *fork = s && r->fork && !p ? fork_of(s, r->fork) : NULL;

	snprintf(out, FILES_NAME_MAX, "%s",
		 p         ? p->name
		 : fork    ? fork->name
		 : r->fork ? EARLIER
			   : NO_FILE);
	if (p)
		p->used = false;
	if (p && r->fork && !r->result && is_account(r->command, "FPOpenFork"))
		fork_add(s, r->fork, out);
	if (fork && !r->result && is_account(r->command, "FPCloseFork"))
		fork_drop(s, fork);
}
