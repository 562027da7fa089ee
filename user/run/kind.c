/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run says of its kind of server. */
#include "run/kind.h"

#include "run/run.h"

#include <stdio.h>
#include <string.h>

const char *const run_word_keys[RUN_N_WORDS] = {
#define X(NAME, key, usual) [RUN_WORD_##NAME] = (key),
	RUN_WORDS(X)
#undef X
};

const char *run_kind_name(const struct run *r)
{
	return r->kind ? r->kind->name : "afp";
}

bool run_has_requests(const struct run *r)
{
	return !r->kind || r->kind->has_requests;
}

bool run_has_threads(const struct run *r)
{
	return r->kind && r->kind->has_threads;
}

bool run_is_by_session(const struct run *r)
{
	return !r->kind || r->kind->by_session;
}

bool run_has_backend(const struct run *r)
{
	return run_own_word(r, RUN_WORD_BACKEND);
}

const char *run_account_name(const struct run *r, unsigned int number, char buf[ACCOUNT_NAME_MAX])
{
	return account_name_of(r->kind ? r->kind->accounts : NULL, number, buf);
}

const char *run_role_name(const struct run *r, unsigned int role)
{
	const char *name = r->kind && role < AFS_N_ROLES ? r->kind->role[role] : NULL;

	return name ? name : ledger_role_name(role);
}

bool run_has_metric(const struct run *r, unsigned int metric)
{
	if (run_is_by_session(r) || metric == METRIC_ELAPSED)
		return true;
	/* of the client */
	for (size_t i = 0; i < r->n_phases && metric < METRIC_AFPD_SYSCR; i++)
		if (r->phase[i]->known[metric])
			return true;
	return false;
}

const char *run_column_name(const struct run *r, unsigned int column)
{
	return column == ACCOUNT_CNID ? run_word(r, RUN_WORD_ASKED) : account_columns[column].text;
}

const char *run_own_word(const struct run *r, enum run_word w)
{
	static const char *const afp[RUN_N_WORDS] = RUN_WORDS_AFP;

	if (w == RUN_WORD_SERVER || w == RUN_WORD_HELPER)
		return run_role_name(r, w == RUN_WORD_SERVER ? AFS_ROLE_SERVER : AFS_ROLE_BACKEND);
	return r->kind ? r->kind->word[w] : afp[w];
}

static const char *usual_word(enum run_word w)
{
	static const char *const usual[RUN_N_WORDS] = {
#define X(NAME, key, word) [RUN_WORD_##NAME] = (word),
		RUN_WORDS(X)
#undef X
	};

	return usual[w];
}

const char *run_word(const struct run *r, enum run_word w)
{
	const char *word = run_own_word(r, w);

	return word ? word : usual_word(w);
}

const char *run_asked(const struct run_kind *k)
{
	const char *word = k->word[RUN_WORD_ASKED];

	return word ? word : usual_word(RUN_WORD_ASKED);
}

/* The word whose key in braces begins text; RUN_N_WORDS: none. */
static enum run_word run_word_at(const char *text, size_t len)
{
	for (enum run_word w = 0; w < RUN_N_WORDS; w++)
		if (strlen(run_word_keys[w]) == len && !strncmp(run_word_keys[w], text, len))
			return w;
	return RUN_N_WORDS;
}

const char *run_text(const struct run *r, const char *text, char *out, size_t len)
{
	enum run_word w;
	size_t n = 0, key;

	while (*text && n + 1 < len) {
		key = *text == '{' ? strcspn(text + 1, "}") : 0;
		w = key && text[1 + key] ? run_word_at(text + 1, key) : RUN_N_WORDS;
		if (w == RUN_N_WORDS) {
			out[n++] = *text++;
			continue;
		}
		n += (size_t)snprintf(out + n, len - n, "%s", run_word(r, w));
		n = n < len ? n : len - 1;
		text += key + 2;
	}
	out[n] = '\0';
	return out;
}
