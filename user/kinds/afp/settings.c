/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/afp/settings.h"

#include "base/text.h"
#include "host/filesystem.h"
#include "host/proc/procfs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CONNECTIONS 200 /* the default */

/* Entries of the cache: the least, without which the default is taken; its powers of two are. */
#define DIRCACHE_MIN 1024
#define DIRCACHE_MAX (1ul << 31)
#define PROGRAM_MAX  (64u << 20)

static const struct settings_cache caches[] = {
	{ 406, "dircache size", "dircachesize", 65536,
	  "netatalk's pull requests 3264 and 3286; not run" },
	{ 405, "dircache size", "dircachesize", 8192,
	  "a 4.5.1 that was run with either, both and neither: config_max in its log. Its manual says "
	  "65536" },
	{ 301, "dircachesize", NULL, 8192, "the texts in 3.1.12 and 4.2.3, and their afp.conf(5)" },
	{ 0, "dircache size", "dircachesize", 0, "an unknown version" },
};

const struct settings_cache *settings_cache(unsigned int version)
{
	const struct settings_cache *c = caches;

	while (c->since > version)
		c++;
	return c;
}

bool settings_makes_volume(const struct afpconf *c, size_t item)
{
	const struct afpconf_item *i = &c->item[item];

	return !strcasecmp(i->key, "path") ||
	       (!strcasecmp(i->key, "basedir regex") && !afpconf_find(c, i->section, "path"));
}

const struct afpconf_item *settings_of_volume(const struct afpconf *c, const char *section,
					      const char *key)
{
	const struct afpconf_item *is = afpconf_find(c, section, key);
	const struct afpconf_item *preset = is ? NULL : afpconf_find(c, section, "vol preset");

	if (!is && !preset)
		preset = afpconf_find(c, "Global", "vol preset");
	return is || !preset ? is : afpconf_find(c, preset->value, key);
}

/* A positive number; 0: not set, or none. */
static unsigned long settings_number(const struct afpconf *c, const char *key)
{
	const struct afpconf_item *i = afpconf_find(c, "Global", key);
	long n = i ? strtol(i->value, NULL, 10) : 0;

	return n > 0 ? (unsigned long)n : 0;
}

/* A whole string "4.5.1", or "4.5.1dev"; 0: it is none. */
static unsigned int version_in(const char *text)
{
	unsigned int major, minor, patch;
	int end = 0;

	if (sscanf(text, "%1u.%2u.%2u%n", &major, &minor, &patch, &end) != 3 || major < 3)
		return 0;
	for (text += end; isalnum((unsigned char)*text); text++)
		;
	return *text ? 0 : major * 100 + minor;
}

unsigned int settings_version(const char *program, size_t len)
{
	const char *end = program + len, *next;
	unsigned int version = 0;

	for (; !version && program < end; program = next + 1) {
		next = memchr(program, 0, (size_t)(end - program));
		if (!next)
			return 0;
		if (next - program >= (int)sizeof("3.1.0") - 1 && isdigit((unsigned char)*program))
			version = version_in(program);
	}
	return version;
}

unsigned int settings_version_of(pid_t pid)
{
	int fd = filesystem_open_exe(pid);
	char *text = fd < 0 ? NULL : malloc(PROGRAM_MAX);
	/* Not mapped: the file may be shortened meanwhile. */
	ssize_t n = text ? pread(fd, text, PROGRAM_MAX, 0) : 0;
	unsigned int version = n > 0 ? settings_version(text, (size_t)n) : 0;

	free(text);
	if (fd >= 0)
		close(fd);
	return version;
}

void settings_conf(struct run *r, const struct afpconf *c, unsigned int version)
{
	unsigned long n = settings_number(c, "max connections"), size = DIRCACHE_MIN;
	const struct settings_cache *cache = settings_cache(version);
	const char *key = cache->key;

	r->limit.sessions = n ? n : MAX_CONNECTIONS;
	if (cache->old_key && !afpconf_find(c, "Global", key))
		key = cache->old_key;
	n = settings_number(c, key);
	while (size < n && size < DIRCACHE_MAX)
		size *= 2;
	r->limit.cached = n < DIRCACHE_MIN ? cache->size : size;
	r->limit.cached_key = cache->key;
}

void settings_read(struct settings *out, const struct servers_entry *s)
{
	pid_t pid = servers_process(s);
	struct stat st;
	char root[64];

	if (!pid || !s->conf[0])
		return;
	procfs_inside(root, sizeof(root), pid, "");
	if (filesystem_stat(&st, root, s->conf))
		return;
	if (out->known && out->conf.n_files == 1 && out->inode == (uint64_t)st.st_ino &&
	    !memcmp(&out->time, &st.st_ctim, sizeof(st.st_ctim)) &&
	    out->len == (uint64_t)st.st_size)
		return;
	if (!out->version)
		out->version = settings_version_of(pid);
	afpconf_fini(&out->conf);
	out->known = !afpconf_read(&out->conf, root, s->conf, afpconf_follows(pid), NULL);
	out->time = st.st_ctim;
	out->len = (uint64_t)st.st_size;
	out->inode = (uint64_t)st.st_ino;
}

void settings_fini(struct settings *s)
{
	afpconf_fini(&s->conf);
	*s = (struct settings) { 0 };
}

/* From this version on a server that is full says so to the client (FPOpenSession refused). */
#define TELLS_SINCE 405

bool settings_may_differ(const struct settings *set, const struct servers_entry *s)
{
	return s->master && conf_is_newer(set->conf.changed_s, s->started);
}

void settings_note(struct run *r, const struct settings *set, const struct servers_entry *s)
{
	/* Without cnid_dbd the CNID database is asked in other words. */
	if (!s->n_dbd)
		r->has_asking = false;
	if (set->known)
		settings_conf(r, &set->conf, set->version);
	r->limit.tells = set->version >= TELLS_SINCE;
	/* The server may not have read what was changed since it began. */
	r->limit.changed = set->known && settings_may_differ(set, s);
	if (r->limit.changed)
		r->limit.sessions = r->limit.cached = 0;
}

/* ---- what is shown ---- */

enum settings_where { VOLUMES, VOLUMES_BY_GLOBAL, GLOBAL }; /* the second: else in [Global] */

static const struct {
	const char *key;
	enum settings_where where;
} settings_shown[] = {
	{ "cnid scheme", VOLUMES },         { "ea", VOLUMES },
	{ "convert appledouble", VOLUMES }, { "spotlight", VOLUMES_BY_GLOBAL },
	{ "use sendfile", GLOBAL },         { "log level", GLOBAL },
	{ "dircache size", GLOBAL },        { "dircachesize", GLOBAL },
	{ "fce listener", GLOBAL },         { "multi protocol", GLOBAL },
};

static bool settings_put(const struct afpconf *c, size_t which, char text[ERR_TEXT_MAX])
{
	const char *key = settings_shown[which].key;
	const struct afpconf_item *is = afpconf_find(c, "Global", key);
	struct conf_values all = { 0 };

	for (size_t i = 0; settings_shown[which].where != GLOBAL && i < c->n; i++) {
		if (!settings_makes_volume(c, i))
			continue;
		is = settings_of_volume(c, c->item[i].section, key);
		if (!is && settings_shown[which].where == VOLUMES_BY_GLOBAL)
			is = afpconf_find(c, "Global", key);
		conf_values_add(&all, is ? is->value : NULL);
	}
	if (!all.n)
		conf_values_add(&all, is ? is->value : NULL);
	return conf_values_put(&all, key, "volumes", text);
}

int settings_show(struct run *r, const struct servers_entry *s)
{
	char text[ERR_TEXT_MAX] = "";
	struct settings set = { 0 };
	int e;

	settings_read(&set, s);
	if (!s->conf[0])
		err_append(text,
			   "not visible: the configuration is not known, or is another user's");
	else if (!set.known)
		err_append(text, "not visible: the configuration cannot be read");
	else if (settings_may_differ(&set, s))
		err_append(text, "not visible: " SETTINGS_MAY_DIFFER);
	else
		for (size_t i = 0; i < sizeof(settings_shown) / sizeof(settings_shown[0]); i++)
			if (!settings_put(&set.conf, i, text))
				break;
	text_clean(text);
	e = run_note(&r->server, RUN_AFP_CONF, "%s", text);
	settings_fini(&set);
	return e;
}
