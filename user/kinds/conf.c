/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the file; hints.c interprets the values. */

#include "kinds/conf.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/procstat.h"
#include "base/text.h"
#include "base/vec.h"
#include "host/filesystem.h"
#include "host/proc/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define DEPTH_MAX  8
#define FILES_MAX  64    /* with what is included, each time that it is */
#define ITEMS_MAX  16384 /* of all of them */
#define FILE_MAX_B (1u << 20)
#define NEWER_S    2

struct afpconf_reading {
	struct afpconf *out;
	const char *root, *section;
	bool follow;
	unsigned int depth, n_files;
	struct err *e;
};

static int afpconf_read_file(struct afpconf_reading *r, const char *file);

/* The value without the quotes around it and the comment after it. */
static char *bare(char *value)
{
	char *end;

	value = text_strip(value);
	if (*value == '"' || *value == '\'') {
		end = strchr(value + 1, *value);
		if (end) {
			*end = '\0';
			return value + 1;
		}
	}
	for (end = value; *end; end++)
		if ((*end == ';' || *end == '#') && end > value && isblank((unsigned char)end[-1]))
			break;
	*end = '\0';
	return text_strip(value);
}

static int include(struct afpconf_reading *r, const struct afpconf_item *i)
{
	int result;

	if (r->depth == DEPTH_MAX)
		return err_set(r->e, -ELOOP, "%s:%u: include: nested too deep", i->file, i->line);
	if (r->n_files == FILES_MAX)
		return err_set(r->e, -EFBIG, "%s:%u: include: more than %d files", i->file, i->line,
			       FILES_MAX);
	r->depth++;
	result = afpconf_read_file(r, i->value);
	r->depth--;
	return result;
}

static int afpconf_take_line(struct afpconf_reading *r, char *line, const char *file,
			     unsigned int number)
{
	char *text = text_strip(line), *value;
	struct afpconf_item i = { .file = file, .line = number };

	if (!*text || *text == ';' || *text == '#')
		return 0;
	if (*text == '[') {
		text[strcspn(text, "]")] = '\0';
		r->section = text_strip(text + 1);
		return 0;
	}
	value = strchr(text, '=');
	if (!value)
		return 0;
	*value++ = '\0';
	i.section = r->section;
	i.key = text_strip(text);
	i.value = bare(value);
	if (r->follow && !strcasecmp(i.key, "include"))
		return include(r, &i);
	if (r->out->n == ITEMS_MAX)
		return err_set(r->e, -EFBIG, "%s:%u: more than %d settings", file, number,
			       ITEMS_MAX);
	return VEC_PUSH(r->out->item, r->out->n, i);
}

/* One line, to which its continuations are moved; *at: behind them. */
static char *afpconf_next_line(char **at, char *end, unsigned int *n_lines)
{
	char *line = *at, *to = line, *stop;
	size_t len;

	for (*n_lines = 0; *at < end; *to = '\0') {
		++*n_lines;
		stop = memchr(*at, '\n', (size_t)(end - *at));
		stop = stop ? stop : end;
		*stop = '\0';
		len = strlen(*at);
		memmove(to, *at, len + 1);
		*at = stop + 1;
		while (len && to[len - 1] == '\r')
			len--;
		if (!len || to[len - 1] != '\\')
			break;
		to += len - 1;
	}
	return line;
}

/* What the kernel makes as it is read may have no end, or be what another program waits for. */
static bool is_stored(int fd)
{
	static const unsigned int made[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,    TRACEFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,
	};
	struct statfs fs;

	return !fstatfs(fd, &fs) && !VEC_FIND(one, made, sizeof(made) / sizeof(made[0]),
					      (unsigned int)fs.f_type == *one);
}

static int conf_open(const char *root, const char *file, struct err *e)
{
	int fd = filesystem_open(root, file);

	if (fd >= 0 && !is_stored(fd)) {
		close(fd);
		return err_set(
		    e, -EINVAL,
		    "cannot read %s: it is not a file of a file system that stores files", file);
	}
	if (fd >= 0)
		return fd;
	return err_set(e, fd, "cannot read %s: %s", file,
		       fd == -ETIMEDOUT ? "its file system does not answer"
		       : fd == -EINVAL  ? "it is not a regular file"
					: strerror(-fd));
}

/* Whoever copies a file with its times, or puts another one in its place, leaves the second one. */
void conf_take_time(time_t *changed_s, const struct stat *st)
{
	if (st->st_mtim.tv_sec > *changed_s)
		*changed_s = st->st_mtim.tv_sec;
	if (st->st_ctim.tv_sec > *changed_s)
		*changed_s = st->st_ctim.tv_sec;
}

int conf_file(char **text, time_t *changed_s, const char *root, const char *file, struct err *e)
{
	int fd = conf_open(root, file, e);
	struct stat st;

	*text = NULL;
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st))
		conf_take_time(changed_s, &st);
	return file_read_from(text, fd, file, FILE_MAX_B, e);
}

/* Owns the text from here on. */
static int afpconf_take_text(struct afpconf_reading *r, char *text, const char *file)
{
	char *at = text, *end = text + strlen(text), *line;
	int result = VEC_PUSH(r->out->text, r->out->n_texts, text);
	unsigned int number = 1, n_lines;

	if (result) {
		free(text);
		return result;
	}
	for (; !result && at < end; number += n_lines) {
		line = afpconf_next_line(&at, end, &n_lines);
		result = afpconf_take_line(r, line, file, number);
	}
	return result;
}

bool conf_is_newer(time_t changed_s, uint64_t started)
{
	double began_s = (double)time(NULL) - procfs_age_s(started);

	return (double)changed_s > began_s + NEWER_S;
}

static int afpconf_read_file(struct afpconf_reading *r, const char *file)
{
	char *text;
	int result;

	r->out->n_files = ++r->n_files;
	result = conf_file(&text, &r->out->changed_s, r->root, file, r->e);
	return result ? result : afpconf_take_text(r, text, file);
}

int afpconf_read(struct afpconf *out, const char *root, const char *path, bool follow,
		 struct err *e)
{
	struct afpconf_reading r = {
		.out = out, .root = root, .section = "", .follow = follow, .e = e
	};
	char *file = strdup(path);
	int result;

	*out = (struct afpconf) { 0 };
	result = file ? VEC_PUSH(out->text, out->n_texts, file) : -ENOMEM;
	if (result)
		free(file);
	else
		result = afpconf_read_file(&r, file);
	return result == -ENOMEM ? err_set(e, result, "out of memory") : result;
}

int afpconf_parse(struct afpconf *out, char *text, const char *file)
{
	struct afpconf_reading r = { .out = out, .section = "" };

	*out = (struct afpconf) { 0 };
	return afpconf_take_text(&r, text, file);
}

void afpconf_fini(struct afpconf *c)
{
	for (size_t i = 0; i < c->n_texts; i++)
		free(c->text[i]);
	free(c->text);
	free(c->item);
	*c = (struct afpconf) { 0 };
}

const struct afpconf_item *afpconf_find(const struct afpconf *c, const char *section,
					const char *key)
{
	for (size_t i = c->n; i-- > 0;)
		if (!strcasecmp(c->item[i].section, section) && !strcasecmp(c->item[i].key, key))
			return &c->item[i];
	return NULL;
}

bool afpconf_follows(pid_t pid)
{
	static const char *const library[] = { "libiniparser", NULL };

	return !procfs_mapped(pid, library);
}

int afpconf_bool(const char *value)
{
	static const char *const words[] = { "no", "yes", "false", "true", "0", "1" };

	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (!strcasecmp(value, words[i]))
			return i % 2;
	return -1;
}

bool afpconf_is_yes(const char *value)
{
	return afpconf_bool(value) == 1;
}

bool afpconf_is_no(const char *value)
{
	return !afpconf_bool(value);
}

void conf_values_add(struct conf_values *v, const char *value)
{
	const char *text = !value ? "not set" : *value ? value : "none";
	struct conf_value *is = VEC_FIND(o, v->of, v->n, !strcasecmp(o->text, text));

	v->all++;
	if (!is && v->n < CONF_VALUES_MAX) {
		is = &v->of[v->n++];
		*is = (struct conf_value) { text, 0 };
	}
	if (is)
		is->n++;
}

bool conf_values_put(const struct conf_values *v, const char *key, const char *kind,
		     char text[ERR_TEXT_MAX])
{
	char one[ERR_TEXT_MAX] = "";

	err_append(one, "%s%s = ", *text ? "; " : "", key);
	for (size_t i = 0; i < v->n; i++) {
		err_append(one, "%s%.80s", i ? ", " : "", v->of[i].text);
		if (v->of[i].n < v->all)
			err_append(one, " (%zu of %zu %s)", v->of[i].n, v->all, kind);
	}
	if (strlen(text) + strlen(one) + 1 >= ERR_TEXT_MAX)
		return false;
	err_append(text, "%s", one);
	return true;
}

/* Volumes */

/* What the kernel adds to the name of a folder that was deleted. */
#define DELETED " (deleted)"

/* Length without trailing slashes. */
static size_t length_of(const char *folder)
{
	size_t len = strlen(folder);

	while (len > 1 && folder[len - 1] == '/')
		len--;
	return len;
}

const char *volumes_find(const struct afpconf *c, const char *path)
{
	const char *found = NULL, *folder;

	for (size_t i = 0; i < c->n; i++) {
		folder = c->item[i].value;
		if (strcasecmp(c->item[i].key, "path") != 0 || *folder != '/' || !folder[1])
			continue;
		if (text_below(path, folder) && (!found || length_of(folder) > length_of(found)))
			found = folder;
	}
	return found;
}

void volumes_settings_fini(struct volumes_settings *s)
{
	afpconf_fini(&s->conf);
	*s = (struct volumes_settings) { 0 };
}

/* Its server, where it is a session: they run the same program, and all of that one's are many. */
static pid_t volumes_server(pid_t afpd)
{
	struct procstat own, parent;

	if (procstat_read(&own, afpd) || procstat_read(&parent, own.ppid) ||
	    strcmp(own.comm, parent.comm) != 0)
		return afpd;
	return own.ppid;
}

static void volumes_read_settings(struct volumes_settings *s, pid_t afpd)
{
	struct census_process p = { .pid = afpd, .comm = "afpd" };
	struct servers_entry server = { 0 };
	char root[64];

	volumes_settings_fini(s);
	census_look(&p);
	servers_conf(&server, &p);
	procfs_inside(root, sizeof(root), afpd, "");
	if (server.conf[0]) /* in part is good enough */
		afpconf_read(&s->conf, root, server.conf, afpconf_follows(volumes_server(afpd)),
			     NULL);
	s->root = p.root;
	s->read_ns = clock_now_ns();
}

char *volumes_of(struct volumes_settings *s, pid_t afpd)
{
	char cwd[CENSUS_PATH_MAX];
	const char *found;
	size_t len;

	census_cwd(cwd, sizeof(cwd), afpd);
	len = strlen(cwd);
	if (len > strlen(DELETED) && !strcmp(cwd + len - strlen(DELETED), DELETED))
		cwd[len - strlen(DELETED)] = '\0';
	if (!cwd[0] || !strcmp(cwd, "/"))
		return NULL;
	if (s->root != procfs_identity(afpd, "root") ||
	    clock_now_ns() - s->read_ns > VOLUMES_SETTINGS_NS)
		volumes_read_settings(s, afpd);
	found = volumes_find(&s->conf, cwd);
	return found ? strndup(found, length_of(found)) : strdup(cwd);
}

bool volumes_read_only(const struct afpconf *c, const char *path)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct afpconf_item *item = &c->item[i], *only;

		if (strcasecmp(item->key, "path") != 0 ||
		    length_of(item->value) != length_of(path) ||
		    strncmp(item->value, path, length_of(path)) != 0)
			continue;
		only = afpconf_find(c, item->section, "read only");
		if (only && afpconf_is_yes(only->value))
			return true;
	}
	return false;
}

static void kinds_volumes_add_volume(char (*out)[CENSUS_PATH_MAX], size_t *n, size_t room,
				     const char *path)
{
	size_t len = length_of(path);

	if (path[0] != '/' || !path[1] || strchr(path, '$') || len >= CENSUS_PATH_MAX || *n == room)
		return;
	if (!VEC_FIND(one, out, *n, !strncmp(*one, path, len) && !(*one)[len]))
		snprintf(out[(*n)++], CENSUS_PATH_MAX, "%.*s", (int)len, path);
}

size_t volumes_list(char (*out)[CENSUS_PATH_MAX], size_t room, const struct afpconf *c,
		    const struct servers_entry *s)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (!strcasecmp(c->item[i].key, "path"))
			kinds_volumes_add_volume(out, &n, room, c->item[i].value);
	for (size_t i = 0; i < s->n_sessions; i++)
		if (!volumes_find(c, s->session[i].volume))
			kinds_volumes_add_volume(out, &n, room, s->session[i].volume);
	return n;
}
