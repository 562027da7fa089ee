/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mixes as INI texts: those that are built in, and files. */
#include "work/mix/mix.h"

#include "work/mix/mix_content.h"

#include "base/file.h"
#include "base/opt.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1u << 20)

static const struct {
	const char *name, *text;
} built_in[] = {
	/* a Finder window: the folder's entries, what each looks like, a few of them opened */
	{ "browse", "[mix]\nname=browse\nfiles=100\nfile_size=16K\n"
		    "[actions]\nlist=1\nlook=20\nread=4\n" },
	{ "office", "[mix]\nname=office\nfiles=20\nfile_size=256K\n"
		    "[actions]\nsave=1\nread=2\nlook=4\nlist=1\n" },
	{ "batch-read", "[mix]\nname=batch-read\nfiles=1\nfile_size=64M\nshared=yes\nwindow=4\n"
			"[actions]\nread=1\n" },
	{ "batch-write", "[mix]\nname=batch-write\nfiles=1\nfile_size=16M\nwindow=4\n"
			 "[actions]\nwrite=1\n" },
	{ "metadata", "[mix]\nname=metadata\nfiles=100\nfile_size=0\n[actions]\ncreate=1\n" },
	{ "timemachine", "[mix]\nname=timemachine\nfiles=4\nfile_size=8M\nrequest=128K\nwindow=4\n"
			 "[actions]\nband=1\n" },
	{ "login-storm", "[mix]\nname=login-storm\nfiles=0\nfile_size=0\n"
			 "[actions]\nlogin=1\nlogout=1\n" },
	{ "idle", "[mix]\nname=idle\nfiles=0\nfile_size=0\n[actions]\n" },
};

#define N_BUILT_IN (sizeof(built_in) / sizeof(built_in[0]))

static const struct {
	const char *key;
	bool writes;
} actions[N_MIX_ACTIONS] = {
#define X(name, key, writes) { key, writes },
	MIX_ACTIONS(X)
#undef X
};

/* The keys that are numbers, as rows of base/opt.h. */
static const struct opt numbers[] = {
	{ .name = "files",
	  .arg = "N",
	  .type = OPT_UINT,
	  .offset = offsetof(struct mix, files),
	  .max = 99999 },
	{ .name = "window",
	  .arg = "N",
	  .type = OPT_UINT,
	  .offset = offsetof(struct mix, window),
	  .min = 1,
	  .max = 64 },
	{ .name = "requests",
	  .arg = "N",
	  .type = OPT_UINT,
	  .offset = offsetof(struct mix, requests),
	  .min = 1,
	  .max = 1000000 },
	{ .name = "request",
	  .arg = "N",
	  .type = OPT_SIZE,
	  .offset = offsetof(struct mix, request_len),
	  .min = 512,
	  .max = 64u << 20 },
	{ .name = "compressible",
	  .arg = "PERCENT",
	  .type = OPT_SHARE,
	  .offset = offsetof(struct mix, compressible),
	  .max = 100 },
	{ .name = "dedup",
	  .arg = "PERCENT",
	  .type = OPT_SHARE,
	  .offset = offsetof(struct mix, duplicate),
	  .max = 100 },
	{ .type = OPT_END },
};

static const struct opt weight = { .type = OPT_UINT, .max = 1000000 };

const char *mix_action_name(unsigned int a)
{
	return actions[a].key;
}

unsigned int mix_kinds(const struct mix *m)
{
	unsigned int n = 0;

	for (size_t i = 0; i < N_MIX_ACTIONS; i++)
		n += m->weight[i] > 0;
	return n;
}

int mix_keep(struct mix *m, const char *action)
{
	unsigned int kept = 0;

	for (size_t i = 0; i < N_MIX_ACTIONS; i++) {
		if (strcmp(actions[i].key, action))
			m->weight[i] = 0;
		kept += m->weight[i];
	}
	return kept ? 0 : -ENOENT;
}

const char *mix_needs_afp(const struct mix *m)
{
	static const enum mix_action of_afp[] = { MIX_MAC_SAVE, MIX_SEARCH, MIX_LOGIN, MIX_LOGOUT };

	for (size_t i = 0; i < sizeof(of_afp) / sizeof(of_afp[0]); i++)
		if (m->weight[of_afp[i]])
			return mix_action_name(of_afp[i]);
	return NULL;
}

bool mix_logs_in(const struct mix *m)
{
	return m->weight[MIX_LOGIN] || m->weight[MIX_LOGOUT];
}

uint64_t mix_file_len(const struct mix *m, uint64_t seed, uint64_t number)
{
	return draw_numbered(&m->sizes, seed, number);
}

uint64_t mix_set_bytes(const struct mix *m)
{
	return (uint64_t)llround(m->files * draw_mean(&m->sizes));
}

uint64_t mix_dir_bytes(const struct mix *m, uint64_t seed, unsigned int dir, unsigned int n_dirs,
		       uint64_t *longest)
{
	bool drawn = m->sizes.kind != DRAW_FIXED && (uint64_t)m->files * n_dirs <= MIX_DRAWN;
	uint64_t all = 0, len;

	if (!drawn) {
		all = mix_set_bytes(m);
		len = draw_most(&m->sizes) < all ? draw_most(&m->sizes) : all;
		*longest = len > *longest ? len : *longest;
		return all;
	}
	for (unsigned int i = 0; i < m->files; i++) {
		len = mix_file_len(m, seed, (uint64_t)dir * m->files + i);
		*longest = len > *longest ? len : *longest;
		all += len;
	}
	return all;
}

/* ---- parsing ---- */

static int put_think(struct mix *m, const char *text, struct err *e)
{
	return draw_parse(&m->think, DRAW_NS, "think", text, e) ? -EINVAL : 0;
}

static int put_yes(bool *out, const char *key, const char *text, struct err *e)
{
	*out = !strcmp(text, "yes");
	if (*out || !strcmp(text, "no"))
		return 0;
	return err_set(e, -EINVAL, "%s: '%s' is neither yes nor no", key, text);
}

/* "uniform", "zipf" or "zipf:0.8" */
static int put_popularity(struct mix *m, const char *text, struct err *e)
{
	const char *end = "";

	m->zipf = !strcmp(text, "zipf");
	if (!strncmp(text, "zipf:", 5) && !text_decimal(text + 5, &end, &m->zipf))
		m->zipf = 0;
	if (!strcmp(text, "uniform") || (m->zipf > 0 && m->zipf <= DRAW_ZIPF_MAX && !*end))
		return 0;
	return err_set(e, -EINVAL,
		       "popularity: '%s' is not uniform, zipf, or zipf: and a number up to %d",
		       text, DRAW_ZIPF_MAX);
}

static int put_of_mix(struct mix *m, const char *key, const char *text, struct err *e)
{
	const struct opt *row = opt_of_key(numbers, key);

	if (row)
		return opt_put(row, m, text, e) ? -EINVAL : 0;
	if (!strcmp(key, "file_size"))
		return draw_parse(&m->sizes, DRAW_BYTES, "file_size", text, e) ? -EINVAL : 0;
	if (!strcmp(key, "popularity"))
		return put_popularity(m, text, e);
	if (!strcmp(key, "think"))
		return put_think(m, text, e);
	if (!strcmp(key, "shared"))
		return put_yes(&m->shared, key, text, e);
	if (!strcmp(key, "verify"))
		return put_yes(&m->verify, key, text, e);
	if (!strcmp(key, "name")) {
		snprintf(m->name, sizeof(m->name), "%s", text);
		return 0;
	}
	return err_set(
	    e, -EINVAL,
	    "there is no key '%s' in [mix]; its keys are name, files, file_size, popularity, "
	    "request, window, requests, think, shared, compressible, dedup and verify",
	    key);
}

static void list_actions(char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < N_MIX_ACTIONS && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? ", " : "", actions[i].key);
}

static int put_weight(struct mix *m, const char *key, const char *text, struct err *e)
{
	char list[256];
	uint64_t v;

	for (size_t i = 0; i < N_MIX_ACTIONS; i++) {
		if (strcmp(key, actions[i].key))
			continue;
		if (opt_number(&weight, key, text, &v, e))
			return -EINVAL;
		m->weight[i] = (unsigned int)v;
		return 0;
	}
	list_actions(list, sizeof(list));
	return err_set(e, -EINVAL, "there is no action '%s'; there are %s", key, list);
}

void mix_begin(struct mix *m)
{
	*m = (struct mix) { .files = 10, .window = 1, .requests = 16, .request_len = 1u << 20 };
}

int mix_take(void *mix, const struct inifile_key *k, struct err *e)
{
	const bool actions_too = !strcmp(k->section, "actions");
	int r;

	if (!actions_too && strcmp(k->section, "mix"))
		return err_set(e, -EINVAL,
			       "there is no section [%s]; there are [mix] and [actions]",
			       k->section);
	r = inifile_once(k, e);
	if (r)
		return r;
	return actions_too ? put_weight(mix, k->key, k->value, e)
			   : put_of_mix(mix, k->key, k->value, e);
}

int mix_end(struct mix *m, const char *name, struct err *e)
{
	struct err why = { 0 };

	if (!*m->name)
		snprintf(m->name, sizeof(m->name), "%.31s", name);
	return mix_check(m, &why) ? err_set(e, -EINVAL, "%s: %s", name, why.text) : 0;
}

void mix_put(FILE *out, const struct mix *m)
{
	char text[512];

	fputs("\n[mix]\n", out);
	inifile_put(out, "name", m->name);
	draw_text(text, sizeof(text), DRAW_BYTES, &m->sizes);
	fprintf(out, "files = %u\nfile_size = %s\n", m->files, text);
	if (m->zipf > 0)
		fprintf(out, "popularity = zipf:%.17g\n", m->zipf);
	fprintf(out, "request = %llu\nwindow = %u\nrequests = %u\n",
		(unsigned long long)m->request_len, m->window, m->requests);
	draw_text(text, sizeof(text), DRAW_NS, &m->think);
	inifile_put(out, "think", text);
	inifile_put(out, "shared", m->shared ? "yes" : "no");
	if (m->compressible > 0)
		fprintf(out, "compressible = %.17g%%\n", m->compressible * 100);
	if (m->duplicate > 0)
		fprintf(out, "dedup = %.17g%%\n", m->duplicate * 100);
	if (m->verify)
		inifile_put(out, "verify", "yes");
	fputs("\n[actions]\n", out);
	for (size_t i = 0; i < N_MIX_ACTIONS; i++)
		if (m->weight[i])
			fprintf(out, "%s = %u\n", actions[i].key, m->weight[i]);
}

int mix_check(const struct mix *m, struct err *e)
{
	for (size_t i = 0; i < N_MIX_ACTIONS; i++) {
		if (!m->weight[i])
			continue;
		if (m->shared && actions[i].writes)
			return err_set(e, -EINVAL,
				       "'%s' changes files: it cannot be used with shared = yes",
				       actions[i].key);
		if (!m->files && i != MIX_LIST && i != MIX_CREATE && i != MIX_LOGIN &&
		    i != MIX_LOGOUT)
			return err_set(e, -EINVAL, "'%s' needs files, but files is 0",
				       actions[i].key);
		if ((i == MIX_RANDOM_READ || i == MIX_RANDOM_WRITE || i == MIX_LOCK) &&
		    !(mix_set_bytes(m) > 0))
			return err_set(e, -EINVAL, "'%s' needs files with data, but file_size is 0",
				       actions[i].key);
	}
	if (m->verify && m->weight[MIX_RANDOM_WRITE] && m->request_len % MIX_CONTENT_BLOCK)
		return err_set(e, -EINVAL,
			       "verify: 'random-write' needs requests of whole blocks of %u bytes",
			       MIX_CONTENT_BLOCK);
	return 0;
}

static int no_such(const char *name, struct err *e)
{
	char list[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < N_BUILT_IN && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      built_in[i].name);
	return err_set(e, -ENOENT,
		       "there is no mix '%s'; there are %s, and INI files (such as ./%s)", name,
		       list, name);
}

/* text is freed. */
static int mix_read(struct mix *out, char *text, const char *name, struct err *e)
{
	int r;

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	mix_begin(out);
	r = inifile_read(text, name, mix_take, out, e);
	free(text);
	return r ? r : mix_end(out, name, e);
}

int mix_find(struct mix *out, const char *name, struct err *e)
{
	char *text;
	int r;

	if (strpbrk(name, "/.")) {
		r = file_read(&text, name, FILE_MAX, e);
		return r ? r : mix_read(out, text, name, e);
	}
	for (size_t i = 0; i < N_BUILT_IN; i++)
		if (!strcmp(name, built_in[i].name))
			return mix_read(out, strdup(built_in[i].text), name, e);
	return no_such(name, e);
}
