/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run says of its kind of server. */
#include "run/kind.h"

#include "base/vec.h"
#include "run/run.h"

#include <ctype.h>
#include <inttypes.h>
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

static const char *role_name(const struct run_kind *k, unsigned int role)
{
	const char *name = k && role < AFS_N_ROLES ? k->role[role] : NULL;

	return name ? name : ledger_role_name(role);
}

const char *run_role_name(const struct run *r, unsigned int role)
{
	return role_name(r->kind, role);
}

const char *run_kind_another(const struct run_kind *kind, const char *comm)
{
	/* Kinds without programs of their own have words in place of their names. */
	if (!strcmp(role_name(kind, AFS_ROLE_SERVER), "server"))
		return "";
	for (unsigned int role = AFS_ROLE_SERVER; role <= AFS_ROLE_BACKEND; role++)
		if (!strcmp(role_name(kind, role), comm))
			return "another server's ";
	return "";
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

/* NULL: it has none. */
static const char *own_word(const struct run_kind *k, enum run_word w)
{
	static const char *const afp[RUN_N_WORDS] = RUN_WORDS_AFP;

	if (w == RUN_WORD_SERVER || w == RUN_WORD_HELPER)
		return role_name(k, w == RUN_WORD_SERVER ? AFS_ROLE_SERVER : AFS_ROLE_BACKEND);
	return k ? k->word[w] : afp[w];
}

const char *run_own_word(const struct run *r, enum run_word w)
{
	return own_word(r->kind, w);
}

const char *run_kind_word(const struct run_kind *k, enum run_word w)
{
	static const char *const usual[RUN_N_WORDS] = {
#define X(NAME, key, word) [RUN_WORD_##NAME] = (word),
		RUN_WORDS(X)
#undef X
	};
	const char *word = own_word(k, w);

	return word ? word : usual[w];
}

const char *run_word(const struct run *r, enum run_word w)
{
	return run_kind_word(r->kind, w);
}

static int letter_as_it_is(int c)
{
	return c;
}

/* The word whose key in braces begins text, and how its letters are written; RUN_N_WORDS: none. */
static enum run_word run_word_at(const char *text, size_t len, int (**letter)(int))
{
	static const struct {
		const char *key;
		int (*letter)(int);
	} forms[] = { { "", letter_as_it_is }, { ".lower", tolower }, { ".upper", toupper } };
	char key[32];

	for (enum run_word w = 0; w < RUN_N_WORDS; w++)
		for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
			snprintf(key, sizeof(key), "%s%s", run_word_keys[w], forms[i].key);
			*letter = forms[i].letter;
			if (strlen(key) == len && !strncmp(key, text, len))
				return w;
		}
	return RUN_N_WORDS;
}

const char *run_kind_text(const struct run_kind *k, const char *text, char *out, size_t len)
{
	int (*letter)(int);
	enum run_word w;
	size_t n = 0, key;

	while (*text && n + 1 < len) {
		key = *text == '{' ? strcspn(text + 1, "}") : 0;
		w = key && text[1 + key] ? run_word_at(text + 1, key, &letter) : RUN_N_WORDS;
		if (w == RUN_N_WORDS) {
			out[n++] = *text++;
			continue;
		}
		for (const char *at = run_kind_word(k, w); *at && n + 1 < len; at++)
			out[n++] = (char)letter((unsigned char)*at);
		text += key + 2;
	}
	out[n] = '\0';
	return out;
}

const char *run_text(const struct run *r, const char *text, char *out, size_t len)
{
	return run_kind_text(r->kind, text, out, len);
}

enum run_judged run_kind_judged(const struct run_kind *k)
{
	return k ? k->judged : RUN_JUDGED_SESSIONS;
}

const struct account_names *run_kind_accounts(const struct run_kind *k)
{
	return k ? k->accounts : NULL;
}

const struct result_name *run_kind_results(const struct run_kind *k, size_t *n)
{
	bool own = k && (k->results || k->result_text);

	*n = own ? k->n_results : result_n_afp;
	return own ? k->results : result_afp;
}

const char *run_kind_result_text(const struct run_kind *k, int32_t code)
{
	size_t n;
	const struct result_name *all = run_kind_results(k, &n);
	const struct result_name *is = VEC_FIND(r, all, n, r->code == code);

	if (is)
		return is->text;
	return k && k->result_text ? k->result_text(code) : NULL;
}

char *run_kind_result(const struct run_kind *k, int32_t code, char out[RUN_RESULT_MAX])
{
	if (k && k->has_hex_results)
		snprintf(out, RUN_RESULT_MAX, "0x%08" PRIx32, (uint32_t)code);
	else
		snprintf(out, RUN_RESULT_MAX, "%" PRId32, code);
	return out;
}

const char *run_kind_rest(const struct run_kind *k)
{
	return k && k->parks ? "parked" : "unexplained";
}
