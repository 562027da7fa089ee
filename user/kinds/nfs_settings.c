/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads nfs-ganesha's configuration; which values spoil figures is a table. */
#include "kinds/nfs_settings.h"

#include "base/text.h"
#include "base/vec.h"
#include "host/proc/procfs.h"
#include "kinds/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define USUAL         "/etc/ganesha/ganesha.conf"
#define NFS_BLOCK     128   /* bytes of the names of blocks within each other */
#define NFS_DEPTH     8     /* files that include each other */
#define NFS_FILES     64    /* all of them */
#define NFS_ITEMS     16384 /* settings */
#define BLANKS        " \t\r\n"

#define CORE          "NFS_CORE_PARAM"
#define EXPORT        "EXPORT"
#define DEFAULTS      "EXPORT_DEFAULTS"
#define LOG           "LOG"
#define WORKERS       "RPC_Ioq_ThrdMax"
#define WORKERS_USUAL 200

struct nfs_reading {
	struct nfs_settings *out;
	const char *root;
	const char *file; /* that is read */
	char block[NFS_BLOCK];
	bool ignored;                  /* it is in a block that the server passes over */
	char changed[CENSUS_PATH_MAX]; /* the file that was changed last, and when */
	time_t changed_s;
	unsigned int depth, n_files;
	struct err *e;
};

/* ---- the file ---- */

static char *nfs_copied(struct nfs_reading *r, const char *from, size_t len)
{
	char *text = strndup(from, len);

	if (text && VEC_PUSH(r->out->text, r->out->n_texts, text)) {
		free(text);
		text = NULL;
	}
	return text;
}

/* Behind blanks, comments, and what ends a setting. */
static const char *nfs_skip(const char *at)
{
	for (;;) {
		at += strspn(at, BLANKS ";");
		if (*at != '#')
			return at;
		at += strcspn(at, "\n");
	}
}

/* A block of this name stands before it: of all but exports the first one counts (4.3). */
static bool nfs_is_again(const struct nfs_settings *s, const char *name, size_t len)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcspn(s->item[i].block, "/") == len &&
		    !strncasecmp(s->item[i].block, name, len))
			return true;
	return false;
}

static void nfs_enter(struct nfs_reading *r, const char *name, size_t len)
{
	size_t have = strlen(r->block);

	if (!have && len == strlen(EXPORT) && !strncasecmp(name, EXPORT, len))
		r->out->n_exports++;
	else if (!have)
		r->ignored = nfs_is_again(r->out, name, len);
	snprintf(r->block + have, sizeof(r->block) - have, "%s%.*s", have ? "/" : "", (int)len,
		 name);
}

static void nfs_leave_block(struct nfs_reading *r)
{
	char *last = strrchr(r->block, '/');

	*(last ? last : r->block) = '\0';
	r->ignored &= last != NULL;
}

/* Whether it is in an EXPORT, or in a block of one. */
static bool nfs_is_export(const char *block)
{
	size_t len = strlen(EXPORT);

	return !strncasecmp(block, EXPORT, len) && (!block[len] || block[len] == '/');
}

/* Bytes until a ";" outside quotes and comments, or fewer where there is none in the file. */
static size_t nfs_value_most(const char *from)
{
	const char *at = from;

	while (*at && *at != ';') {
		if (*at == '#')
			at += strcspn(at, "\n");
		else if (*at == '"' || *at == '\'')
			at += 1 + strcspn(at + 1, *at == '"' ? "\"" : "'");
		at += *at != '\0';
	}
	return (size_t)(at - from);
}

/* What stands before the next ";", without comments and quotes, blanks as one; *at: behind it. */
static char *nfs_value(struct nfs_reading *r, const char **at)
{
	const char *from = *at, *end = from;
	char quote = '\0', *value, *to;

	value = to = nfs_copied(r, from, nfs_value_most(from));
	if (!value)
		return NULL;
	for (; *end && (quote || *end != ';'); end++) {
		if (*end == quote)
			quote = '\0';
		else if (!quote && (*end == '"' || *end == '\''))
			quote = *end;
		else if (!quote && *end == '#')
			end += strcspn(end, "\n") - 1;
		else if (quote || !strchr(BLANKS, *end))
			*to++ = *end;
		else if (to > value && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
	*at = end;
	return text_strip(value);
}

static int nfs_take_value(struct nfs_reading *r, const char *name, size_t len, const char **at)
{
	struct nfs_setting item = { .export = nfs_is_export(r->block) ? r->out->n_exports : 0,
				    .block = nfs_copied(r, r->block, strlen(r->block)),
				    .key = nfs_copied(r, name, len),
				    .value = nfs_value(r, at) };

	if (r->out->n == NFS_ITEMS)
		return err_set(r->e, -EFBIG, "%s: more than %d settings", r->file, NFS_ITEMS);
	if (!item.block || !item.key || !item.value)
		return err_set(r->e, -ENOMEM, "out of memory");
	if (r->ignored)
		return 0;
	return VEC_PUSH(r->out->item, r->out->n, item);
}

static int nfs_read_file(struct nfs_reading *r, const char *file);

/* A relative name is one in the folder of the file that names it. */
static int nfs_include(struct nfs_reading *r, const char *name)
{
	const char *slash = strrchr(r->file, '/'), *outer = r->file;
	char path[CENSUS_PATH_MAX];
	int result;

	if (r->depth == NFS_DEPTH || r->n_files == NFS_FILES)
		return err_set(r->e, -ELOOP, "%s: too many files include each other", r->file);
	if (snprintf(path, sizeof(path), "%.*s%s",
		     *name == '/' || !slash ? 0 : (int)(slash - r->file + 1), r->file,
		     name) >= (int)sizeof(path))
		return err_set(r->e, -ENAMETOOLONG, "%s: the name of an included file is too long",
			       r->file);
	r->depth++;
	result = nfs_read_file(r, path);
	r->depth--;
	r->file = outer;
	return result;
}

/* "%include FILE", "%dir FOLDER" or "%url URL", to the end of the line. */
static int nfs_directive(struct nfs_reading *r, const char **at)
{
	size_t len = strcspn(*at, "\n"), word = strcspn(*at, BLANKS);
	const char *line = *at;
	char name[CENSUS_PATH_MAX], *bare;

	*at += len;
	if (strncasecmp(line, "%include", word) != 0 || word != strlen("%include")) {
		r->out->has_more = true;
		return 0;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(len - word), line + word);
	bare = text_strip(name);
	if (*bare == '"' || *bare == '<' || *bare == '\'')
		bare[1 + strcspn(bare + 1, "\">'")] = '\0';
	bare += *bare == '"' || *bare == '<' || *bare == '\'';
	return nfs_include(r, bare);
}

static int nfs_parse(struct nfs_reading *r, const char *text)
{
	const char *at = nfs_skip(text), *name;
	int result = 0;
	size_t len;

	for (; !result && *at; at = nfs_skip(at)) {
		name = at;
		len = strcspn(at, BLANKS "{}=;#");
		if (*at == '%') {
			result = nfs_directive(r, &at);
			continue;
		}
		at = nfs_skip(at + len);
		if (*at == '{' && len)
			nfs_enter(r, name, len);
		else if (*at == '}' && !len)
			nfs_leave_block(r);
		else if (*at == '=' && len) {
			at++;
			result = nfs_take_value(r, name, len, &at);
			continue;
		}
		at += *at && !len ? 1 : *at == '{';
	}
	return result;
}

static int nfs_read_file(struct nfs_reading *r, const char *file)
{
	time_t before_s = r->changed_s;
	char *text;
	int result;

	r->n_files++;
	r->file = file;
	result = conf_file(&text, &r->changed_s, r->root, file, r->e);
	if (result)
		return result;
	if (r->changed_s > before_s)
		snprintf(r->changed, sizeof(r->changed), "%s", file);
	result = nfs_parse(r, text);
	free(text);
	return result;
}

int nfs_settings_take(struct nfs_settings *out, const char *text, const char *file,
		      const char *root, struct err *e)
{
	struct nfs_reading r = { .out = out, .root = root, .file = file, .n_files = 1, .e = e };

	return nfs_parse(&r, text);
}

/* ---- of a server ---- */

void nfs_settings_read(struct nfs_settings *out, const struct servers_entry *s)
{
	struct err e = { 0 };
	struct nfs_reading r = { .out = out, .e = &e };
	char root[64];
	int result;

	*out = (struct nfs_settings) { 0 };
	if (!s->master) {
		snprintf(out->why, sizeof(out->why), "the server has ended");
		return;
	}
	if (procfs_argument(out->file, sizeof(out->file), s->master, "-f"))
		snprintf(out->file, sizeof(out->file), USUAL);
	if (procfs_argument(out->level, sizeof(out->level), s->master, "-N"))
		out->level[0] = '\0';
	procfs_inside(root, sizeof(root), s->master, "");
	r.root = root;
	result = nfs_read_file(&r, out->file);
	out->known = !result && !conf_is_newer(r.changed_s, s->started);
	if (result)
		snprintf(out->why, sizeof(out->why), "%s", e.text);
	else if (!out->known)
		snprintf(out->why, sizeof(out->why),
			 "%.200s may have been changed after the server began", r.changed);
}

void nfs_settings_fini(struct nfs_settings *s)
{
	for (size_t i = 0; i < s->n_texts; i++)
		free(s->text[i]);
	free(s->text);
	free(s->item);
	*s = (struct nfs_settings) { 0 };
}

/* ---- values ---- */

const char *nfs_settings_find(const struct nfs_settings *s, unsigned int export, const char *block,
			      const char *key)
{
	for (size_t i = s->n; i > 0; i--) {
		const struct nfs_setting *at = &s->item[i - 1];

		if (at->export == export && !strcasecmp(at->block, block) &&
		    !strcasecmp(at->key, key))
			return at->value;
	}
	return NULL;
}

/* Of an export; what it does not say is that of all of them. */
static const char *of_export(const struct nfs_settings *s, unsigned int export, const char *key)
{
	const char *value = nfs_settings_find(s, export, EXPORT, key);

	return value ? value : nfs_settings_find(s, 0, DEFAULTS, key);
}

static const char *const nfs_levels[] = { "NULL",  "FATAL", "MAJ",   "CRIT",      "WARN",
					  "EVENT", "INFO",  "DEBUG", "MID_DEBUG", "FULL_DEBUG" };

#define LEVEL_EVENT 5
#define LEVEL_DEBUG 7

/* Its place in nfs_levels; -1: it is none. */
static int nfs_level(const char *name)
{
	if (!strncasecmp(name, "NIV_", 4))
		name += 4;
	if (!strcasecmp(name, "M_DBG"))
		return LEVEL_DEBUG + 1;
	if (!strcasecmp(name, "F_DBG"))
		return LEVEL_DEBUG + 2;
	for (size_t i = 0; i < sizeof(nfs_levels) / sizeof(nfs_levels[0]); i++)
		if (!strcasecmp(name, nfs_levels[i]))
			return (int)i;
	return -1;
}

/* Of all components, before any of them is named. */
static int nfs_level_of_all(const struct nfs_settings *s, bool *each)
{
	const char *all = nfs_settings_find(s, 0, LOG "/COMPONENTS", "ALL");
	const char *usual = nfs_settings_find(s, 0, LOG, "Default_Log_Level");

	*each = !all || nfs_level(all) < 0;
	if (!*each)
		return nfs_level(all);
	if (usual && nfs_level(usual) >= 0)
		return nfs_level(usual);
	return nfs_level(s->level) >= 0 ? nfs_level(s->level) : LEVEL_EVENT;
}

const char *nfs_settings_level(const struct nfs_settings *s)
{
	bool each;
	int most = nfs_level_of_all(s, &each), level;

	for (size_t i = 0; i < s->n; i++) {
		const struct nfs_setting *at = &s->item[i];

		if (!(each && !strcasecmp(at->block, LOG "/COMPONENTS")) &&
		    strcasecmp(at->block, LOG "/CONDITIONAL") != 0)
			continue;
		level = nfs_level(at->value);
		most = level > most ? level : most;
	}
	return nfs_levels[most];
}

/* Of those that give names of folders of this machine. */
static bool nfs_is_local(const struct nfs_settings *s, unsigned int export)
{
	static const char *const local[] = { "VFS", "XFS", "ZFS", "LUSTRE", "GPFS" };
	const char *name = nfs_settings_find(s, export, EXPORT "/FSAL", "Name");

	return name &&
	       VEC_FIND(one, local, sizeof(local) / sizeof(local[0]), !strcasecmp(*one, name));
}

size_t nfs_settings_folders(const struct nfs_settings *s, char (*out)[CENSUS_PATH_MAX], size_t room)
{
	const char *path;
	size_t n = 0, k;

	for (unsigned int i = 1; i <= s->n_exports && n < room; i++) {
		path = nfs_settings_find(s, i, EXPORT, "Path");
		if (!path || *path != '/' || strlen(path) >= CENSUS_PATH_MAX || !nfs_is_local(s, i))
			continue;
		snprintf(out[n], CENSUS_PATH_MAX, "%s", path);
		for (k = 0; k < n && strcmp(out[k], path) != 0; k++)
			;
		n += k == n;
	}
	return n;
}

/* ---- what spoils figures ---- */

#define FEW_WORKERS 16

static bool nfs_is_few(const char *value)
{
	unsigned long n = strtoul(value, NULL, 0);

	return n && n < FEW_WORKERS;
}

static bool nfs_is_nought(const char *value)
{
	char *end;

	return !strtol(value, &end, 0) && end != value && !*end;
}

static bool nfs_is_given(const char *value)
{
	return strcasecmp(value, "none") != 0;
}

static bool nfs_is_verbose(const char *value)
{
	return nfs_level(value) >= LEVEL_DEBUG;
}

static const struct nfs_rule {
	const char *hint, *key, *block; /* NULL: of exports */
	bool (*applies)(const char *value);
	const char *does, *todo;
} nfs_rules[] = {
	{ "workers", WORKERS, CORE, nfs_is_few,
	  "no more requests are worked on at a time; others wait unread, which is in no time of a "
	  "request",
	  "remove the line (the default is 200)" CONF_UNLESS_IT },
	{ "attributes", "Attr_Expiration_Time", NULL, nfs_is_nought,
	  "attributes are read again for each request",
	  "remove the line (the default is 60)" CONF_UNLESS_IT },
	{ "delegations", "Delegations", NULL, nfs_is_given,
	  "a client that has a delegation of a file does not ask the server about it",
	  "compare only with servers that give delegations, too" },
	{ "sync-always", "NFS_Commit", NULL, afpconf_is_yes,
	  "each write waits until its data is on disk", "NFS_Commit = false" CONF_UNLESS_IT },
};

static bool nfs_gives_delegations(const struct nfs_settings *s)
{
	const char *value = nfs_settings_find(s, 0, "NFSv4", "Delegations");

	return value && afpconf_is_yes(value);
}

/* The first value to which the rule applies, and how many exports have such; NULL: none. */
static const char *nfs_first(const struct nfs_settings *s, const struct nfs_rule *rule, size_t *n)
{
	const char *value, *first = NULL;

	*n = 0;
	if (rule->block) {
		value = nfs_settings_find(s, 0, rule->block, rule->key);
		return value && rule->applies(value) ? value : NULL;
	}
	if (rule->applies == nfs_is_given && !nfs_gives_delegations(s))
		return NULL;
	for (unsigned int i = 1; i <= s->n_exports; i++) {
		value = of_export(s, i, rule->key);
		if (!value || !rule->applies(value))
			continue;
		first = first ? first : value;
		++*n;
	}
	return first;
}

static int nfs_settings_warn(const struct nfs_settings *s, struct run *r)
{
	const char *value = nfs_settings_level(s);
	char extent[64];
	int e = 0;
	size_t n;

	if (nfs_is_verbose(value))
		e = run_note(&r->warnings, "log-level", "log level = %s: %s (%s); %s", value,
			     "lines are written for single requests: their writes are counted and "
			     "take time",
			     s->file, "Default_Log_Level = EVENT, and no component above it");
	for (size_t i = 0; !e && i < sizeof(nfs_rules) / sizeof(nfs_rules[0]); i++) {
		const struct nfs_rule *rule = &nfs_rules[i];

		value = nfs_first(s, rule, &n);
		if (!value)
			continue;
		extent[0] = '\0';
		if (n && n < s->n_exports)
			snprintf(extent, sizeof(extent), ", %zu of %u exports", n, s->n_exports);
		e = run_note(&r->warnings, rule->hint, "%s = %.200s: %s (%s%s); %s", rule->key,
			     value, rule->does, s->file, extent, rule->todo);
	}
	return e;
}

/* ---- what is shown ---- */

/* Those that make figures of two servers differ; block NULL: of exports. */
static const struct {
	const char *block, *key, *usual;
} nfs_shown[] = {
	{ CORE, "Protocols", "3, 4" },
	{ CORE, WORKERS, "200" },
	{ LOG, "log level", NULL },
	{ "NFSv4", "Delegations", "false" },
	{ NULL, "Attr_Expiration_Time", "60" },
	{ NULL, "NFS_Commit", "false" },
	{ NULL, "SecType", "none, sys" },
	{ NULL, "FSAL", NULL },
};

static const char *nfs_shown_value(const struct nfs_settings *s, size_t row, unsigned int export)
{
	const char *block = nfs_shown[row].block, *key = nfs_shown[row].key, *value;

	if (block && !nfs_shown[row].usual)
		return s->has_more ? NULL : nfs_settings_level(s);
	if (block)
		value = nfs_settings_find(s, 0, block, key);
	else if (!nfs_shown[row].usual)
		value = nfs_settings_find(s, export, EXPORT "/FSAL", "Name");
	else
		value = of_export(s, export, key);
	return value ? value : s->has_more ? NULL : nfs_shown[row].usual;
}

static void nfs_put_settings(const struct nfs_settings *s, char out[ERR_TEXT_MAX])
{
	for (size_t i = 0; i < sizeof(nfs_shown) / sizeof(nfs_shown[0]); i++) {
		struct conf_values all = { 0 };
		unsigned int last = nfs_shown[i].block ? 1 : s->n_exports;

		for (unsigned int k = 1; k <= last; k++)
			conf_values_add(&all, nfs_shown_value(s, i, k));
		if (all.n && !conf_values_put(&all, nfs_shown[i].key, "exports", out))
			return;
	}
}

int nfs_settings_note(const struct nfs_settings *s, struct run *r)
{
	const char *workers = nfs_settings_find(s, 0, CORE, WORKERS);
	char shown[ERR_TEXT_MAX] = "";
	int e = 0;

	if (s->file[0])
		e |= run_note(&r->server, "settings", "%s", s->file);
	if (s->known)
		nfs_put_settings(s, shown);
	text_clean(shown);
	e |= run_note(&r->server, RUN_NFS_CONF, "%s%s",
		      s->known ? "" : "not visible: ", s->known ? shown : s->why);
	if (s->known && (workers || !s->has_more))
		r->limit.workers = workers ? strtoul(workers, NULL, 0) : WORKERS_USUAL;
	return e || !s->known ? e : nfs_settings_warn(s, r);
}
