/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose sessions are replayed, and who they log in as. */
#include "replay/replay.h"
#include "report/cell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LISTED 3 /* names in a warning, at most */

/* RECORDED=USER: the name as users_read() has it. */
static int replay_users_take(struct replay_cfg *cfg, unsigned int i, struct err *e)
{
	const char *volume = cfg->users.user[i].volume;
	char *name = cfg->users.user[i].name, *as = strchr(name, '=');

	if (!as || as == name || !as[1])
		return err_set(e, -EINVAL,
			       "%s: '%s' is not RECORDED=USER, as in anna=test,PASSWORD",
			       cfg->users_file, name);
	if (volume && strcmp(volume, cfg->w.s.c.volume ? cfg->w.s.c.volume : ""))
		return err_set(e, -EINVAL,
			       "%s: '%s' is on volume %s, but all work on that of the command line",
			       cfg->users_file, name, volume);
	*as = '\0';
	cfg->recorded[i] = name;
	cfg->users.user[i].name = as + 1;
	return 0;
}

int replay_users_read(struct replay_cfg *cfg, struct err *e)
{
	int r;

	if (!cfg->users_file)
		return 0;
	r = users_read(&cfg->users, cfg->users_file, e);
	if (r)
		return r;
	cfg->recorded = calloc(cfg->users.n, sizeof(*cfg->recorded));
	if (!cfg->recorded)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = 0; !r && i < cfg->users.n; i++)
		r = replay_users_take(cfg, i, e);
	return r;
}

void replay_users_free(struct replay_cfg *cfg)
{
	users_free(&cfg->users);
	free(cfg->recorded);
	cfg->recorded = NULL;
}

/* The line of a user of the recording: its number; users.n: there is none. */
static unsigned int replay_users_line(const struct replay_cfg *cfg, const struct recording *about,
				      const struct recording_user *of)
{
	unsigned int i = 0;

	while (i < cfg->users.n && recording_users_named(&about->users, cfg->recorded[i],
							 strlen(cfg->recorded[i])) != of)
		i++;
	return i;
}

int replay_users_accounts(const struct replay_cfg *cfg, const struct replay_plan *p,
			  const struct recording *about, const struct user ***out)
{
	const struct recording_users *u = &about->users;
	unsigned int line;

	*out = cfg->users_file ? calloc(p->n_clients + 1, sizeof(struct user *)) : NULL;
	if (!*out)
		return cfg->users_file ? -ENOMEM : 0;
	for (size_t i = 0; i < u->n; i++) {
		line = replay_users_line(cfg, about, &u->user[i]);
		for (uint32_t k = 0; line < cfg->users.n && k < p->n_clients; k++)
			if (p->client[k].user == u->user[i].uid)
				(*out)[k] = &cfg->users.user[line];
	}
	return 0;
}

/* "bench1 (uid 1001): 2 sessions, 56,322 requests, log in as test" */
static void replay_users_say_one(FILE *out, const struct replay_cfg *cfg,
				 const struct recording *about, const struct recording_user *of)
{
	const unsigned int line = replay_users_line(cfg, about, of);
	char text[RECORDING_USER_TEXT];

	fprintf(out, "  %s: %s session%s, %s request%s",
		of->uid ? recording_user_text(of, text) : "user not known",
		cell_count(of->sessions).text, of->sessions == 1 ? "" : "s",
		cell_count(of->requests).text, of->requests == 1 ? "" : "s");
	if (of->left_out)
		fputs(", not replayed", out);
	else if (line < cfg->users.n)
		fprintf(out, ", as %s", cfg->users.user[line].name);
	fputc('\n', out);
}

void replay_users_say(FILE *out, const struct replay_cfg *cfg, const struct recording *about)
{
	const struct recording_users *u = &about->users;

	if (!cfg->dry_run && !cfg->users_file && !*cfg->of_user)
		return;
	for (size_t i = 0; i < u->n; i++)
		replay_users_say_one(out, cfg, about, &u->user[i]);
}

int replay_users_note(const struct replay_cfg *cfg, const struct replay_plan *p,
		      const struct recording *about, struct run_notes *warnings)
{
	const struct recording_users *u = &about->users;
	char list[256] = "", text[RECORDING_USER_TEXT];
	unsigned long long n = 0, all = 0, unknown = 0;

	for (uint32_t i = 0; cfg->users_file && i < p->n_clients; i++)
		unknown += !p->client[i].user;
	if (unknown &&
	    run_note(warnings, "users",
		     "the recording does not say whose %llu of %u sessions were: they logged in as "
		     "the user of the command line",
		     unknown, p->n_clients))
		return -ENOMEM;
	for (size_t i = 0; cfg->users_file && i < u->n; i++) {
		if (!u->user[i].uid || u->user[i].left_out)
			continue;
		all++;
		if (replay_users_line(cfg, about, &u->user[i]) < cfg->users.n)
			continue;
		if (n++ < LISTED)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 *list ? ", " : "", recording_user_text(&u->user[i], text));
	}
	if (!n)
		return 0;
	return run_note(
	    warnings, "users",
	    "%llu of %llu users of the recording have no line in --users, and logged in "
	    "as the user of the command line: %s%s",
	    n, all, list, n > LISTED ? ", ..." : "");
}
