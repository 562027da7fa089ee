/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mixes as INI texts: those that are built in, and files. */
#include "work/mix/mix.h"

#include "base/file.h"
#include "base/opt.h"

#include <errno.h>
#include <ini.h>
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
	{ .name = "files", .type = OPT_UINT, .offset = offsetof(struct mix, files), .max = 99999 },
	{ .name = "window",
	  .type = OPT_UINT,
	  .offset = offsetof(struct mix, window),
	  .min = 1,
	  .max = 64 },
	{ .name = "requests",
	  .type = OPT_UINT,
	  .offset = offsetof(struct mix, requests),
	  .min = 1,
	  .max = 1000000 },
	{ .name = "request",
	  .type = OPT_SIZE,
	  .offset = offsetof(struct mix, request_len),
	  .min = 512,
	  .max = 64u << 20 },
};

static const struct opt weight = { .type = OPT_UINT, .max = 1000000 };

const char *mix_action_name(unsigned int a)
{
	return actions[a].key;
}

bool mix_has_actions(const struct mix *m)
{
	for (size_t i = 0; i < N_MIX_ACTIONS; i++)
		if (m->weight[i])
			return true;
	return false;
}

uint64_t mix_set_bytes(const struct mix *m)
{
	return (uint64_t)llround(m->files * mix_sizes_mean(&m->sizes));
}

/* ---- parsing ---- */

struct parser {
	struct mix *m;
	const char *text; /* what is left of it */
	int line;         /* read last, from 1 */
	int wrong;        /* the line that e is about; 0: none */
	struct err e;     /* without file and line */
};

/*
 * libinih's reader, as fgets(). It counts lines, ends at the first that is wrong, and gives no line
 * a blank at its begin: libinih would take that for more of the value before.
 */
static char *mix_read_line(char *out, int room, void *stream)
{
	struct parser *p = stream;
	size_t n, blank;

	if (p->wrong)
		return NULL;
	p->line++;
	n = strcspn(p->text, "\n");
	n += p->text[n] == '\n';
	if (!n)
		return NULL;
	n = n < (size_t)room ? n : (size_t)room - 1;
	blank = strspn(p->text, " \t");
	blank = blank < n ? blank : n;
	snprintf(out, (size_t)room, "%.*s", (int)(n - blank), p->text + blank);
	p->text += n;
	return out;
}

static int mix_put_number(struct parser *p, const struct opt *row, const char *key,
			  const char *text)
{
	char *at = (char *)p->m + row->offset;
	uint64_t v;

	if (opt_number(row, key, text, &v, &p->e))
		return 0;
	if (row->type == OPT_UINT)
		*(unsigned int *)(void *)at = (unsigned int)v;
	else
		*(uint64_t *)(void *)at = v;
	return 1;
}

static int put_think(struct parser *p, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0 && s <= 86400)) {
		err_set(&p->e, -EINVAL, "think: '%s' is not a number of seconds from 0 to 86400",
			text);
		return 0;
	}
	p->m->think_ns = (uint64_t)llround(s * 1e9);
	return 1;
}

/* "uniform", "zipf" or "zipf:0.8" */
static int put_popularity(struct parser *p, const char *text)
{
	char *end = "";

	p->m->zipf = !strcmp(text, "zipf");
	if (!strncmp(text, "zipf:", 5))
		p->m->zipf = strtod(text + 5, &end);
	if (!strcmp(text, "uniform") || (p->m->zipf > 0 && p->m->zipf <= MIX_ZIPF_MAX && !*end))
		return 1;
	err_set(&p->e, -EINVAL,
		"popularity: '%s' is not uniform, zipf, or zipf: and a number up to %d", text,
		MIX_ZIPF_MAX);
	return 0;
}

static int put_shared(struct parser *p, const char *text)
{
	p->m->shared = !strcmp(text, "yes");
	if (p->m->shared || !strcmp(text, "no"))
		return 1;
	err_set(&p->e, -EINVAL, "shared: '%s' is neither yes nor no", text);
	return 0;
}

static int put_of_mix(struct parser *p, const char *key, const char *text)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].name))
			return mix_put_number(p, &numbers[i], key, text);
	if (!strcmp(key, "file_size"))
		return !mix_sizes_parse(&p->m->sizes, text, &p->e);
	if (!strcmp(key, "popularity"))
		return put_popularity(p, text);
	if (!strcmp(key, "think"))
		return put_think(p, text);
	if (!strcmp(key, "shared"))
		return put_shared(p, text);
	if (!strcmp(key, "name")) {
		snprintf(p->m->name, sizeof(p->m->name), "%s", text);
		return 1;
	}
	err_set(&p->e, -EINVAL,
		"there is no key '%s' in [mix]; its keys are name, files, file_size, popularity, "
		"request, window, requests, think and shared",
		key);
	return 0;
}

static void list_actions(char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < N_MIX_ACTIONS && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? ", " : "", actions[i].key);
}

static int put_weight(struct parser *p, const char *key, const char *text)
{
	char list[128];
	uint64_t v;

	for (size_t i = 0; i < N_MIX_ACTIONS; i++) {
		if (strcmp(key, actions[i].key))
			continue;
		if (opt_number(&weight, key, text, &v, &p->e))
			return 0;
		p->m->weight[i] = (unsigned int)v;
		return 1;
	}
	list_actions(list, sizeof(list));
	err_set(&p->e, -EINVAL, "there is no action '%s'; there are %s", key, list);
	return 0;
}

/* libinih's handler: 0 is an error. */
static int mix_handle(void *user, const char *section, const char *key, const char *text)
{
	struct parser *p = user;
	int good = 0;

	if (!strcmp(section, "mix"))
		good = put_of_mix(p, key, text);
	else if (!strcmp(section, "actions"))
		good = put_weight(p, key, text);
	else
		err_set(&p->e, -EINVAL, "there is no section [%s]; there are [mix] and [actions]",
			section);
	if (!good)
		p->wrong = p->line;
	return good;
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
		if (!m->files && i != MIX_LIST && i != MIX_CREATE)
			return err_set(e, -EINVAL, "'%s' needs files, but files is 0",
				       actions[i].key);
		if ((i == MIX_RANDOM_READ || i == MIX_RANDOM_WRITE) && !(mix_set_bytes(m) > 0))
			return err_set(e, -EINVAL, "'%s' needs files with data, but file_size is 0",
				       actions[i].key);
	}
	return 0;
}

/* line: what libinih returned; 0: none is wrong. */
static int mix_finish(struct mix *out, struct parser *p, const char *name, int line, struct err *e)
{
	struct err why = { 0 };

	if (line > 0)
		return err_set(e, -EINVAL, "%s, line %d: %s", name, line,
			       line == p->wrong ? p->e.text : "neither [section] nor key = value");
	if (line < 0)
		return err_set(e, -EIO, "cannot read %s", name);
	if (!*out->name)
		snprintf(out->name, sizeof(out->name), "%.31s", name);
	return mix_check(out, &why) ? err_set(e, -EINVAL, "%s: %s", name, why.text) : 0;
}

static int no_such(const char *name, struct err *e)
{
	char list[128] = "";
	size_t n = 0;

	for (size_t i = 0; i < N_BUILT_IN && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      built_in[i].name);
	return err_set(e, -ENOENT,
		       "there is no mix '%s'; there are %s, and INI files (such as ./%s)", name,
		       list, name);
}

static int mix_read_file(struct mix *out, struct parser *p, const char *name, struct err *e)
{
	char *text;
	int r = file_read(&text, name, FILE_MAX, e);

	if (r)
		return r;
	p->text = text;
	r = mix_finish(out, p, name, ini_parse_stream(mix_read_line, p, mix_handle, p), e);
	free(text);
	return r;
}

int mix_find(struct mix *out, const char *name, struct err *e)
{
	struct parser p = { .m = out };

	*out = (struct mix) { .files = 10, .window = 1, .requests = 16, .request_len = 1u << 20 };
	if (strpbrk(name, "/."))
		return mix_read_file(out, &p, name, e);
	for (size_t i = 0; i < N_BUILT_IN; i++) {
		if (strcmp(name, built_in[i].name))
			continue;
		p.text = built_in[i].text;
		return mix_finish(out, &p, name,
				  ini_parse_stream(mix_read_line, &p, mix_handle, &p), e);
	}
	return no_such(name, e);
}
