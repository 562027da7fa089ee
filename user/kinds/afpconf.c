/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the file; hints.c interprets the values. */

#include "kinds/afpconf.h"

#include "host/filesystem.h"

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

#define DEPTH_MAX    8
#define FILES_MAX    64    /* with what is included, each time that it is */
#define ITEMS_MAX    16384 /* of all of them */
#define FILE_MAX_MIB 1
#define LINE_MAX_LEN 8192

struct source {
	const char *root, *file;
	bool follow;
	unsigned int line, depth, *n_files;
	struct err *e;
};

static int read_source(struct afpconf *c, char **section, struct source *s);

static char *trimmed(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* The value without the quotes around it and the comment after it. */
static char *bare(char *value)
{
	char *end;

	value = trimmed(value);
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
	return trimmed(value);
}

static int add(struct afpconf *c, const struct source *s, const char *section, const char *key,
	       const char *value)
{
	struct afpconf_item *more, *i;

	if (c->n == ITEMS_MAX)
		return err_set(s->e, -EFBIG, "%s:%u: more than %d settings", s->file, s->line,
			       ITEMS_MAX);
	if (c->n == c->room) {
		more = realloc(c->item, (c->room ? 2 * c->room : 32) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->item = more;
		c->room = c->room ? 2 * c->room : 32;
	}
	i = &c->item[c->n++];
	*i = (struct afpconf_item) { .section = strdup(section),
				     .key = strdup(key),
				     .value = strdup(value),
				     .file = strdup(s->file),
				     .line = s->line };
	return i->section && i->key && i->value && i->file ? 0 : -ENOMEM;
}

static int include(struct afpconf *c, char **section, const struct source *s, const char *file)
{
	struct source inner = { .root = s->root,
				.file = file,
				.follow = true,
				.depth = s->depth + 1,
				.n_files = s->n_files,
				.e = s->e };

	if (inner.depth > DEPTH_MAX)
		return err_set(s->e, -ELOOP, "%s:%u: include: nested too deep", s->file, s->line);
	if (*s->n_files == FILES_MAX)
		return err_set(s->e, -EFBIG, "%s:%u: include: more than %d files", s->file, s->line,
			       FILES_MAX);
	return read_source(c, section, &inner);
}

static int take_line(struct afpconf *c, char **section, struct source *s, char *line)
{
	char *text = trimmed(line), *value, *end;

	if (!*text || *text == ';' || *text == '#')
		return 0;
	if (*text == '[') {
		end = strchr(text, ']');
		if (end)
			*end = '\0';
		free(*section);
		*section = strdup(trimmed(text + 1));
		return *section ? 0 : -ENOMEM;
	}
	value = strchr(text, '=');
	if (!value)
		return 0;
	*value++ = '\0';
	text = trimmed(text);
	value = bare(value);
	if (s->follow && !strcasecmp(text, "include"))
		return include(c, section, s, value);
	return add(c, s, *section, text, value);
}

/* One line with its continuations; false: the end. */
static bool read_line(char *out, size_t room, FILE *f, unsigned int *n_lines)
{
	size_t len = 0, got;

	*n_lines = 0;
	out[0] = '\0';
	while (len + 1 < room && fgets(out + len, (int)(room - len), f)) {
		++*n_lines;
		got = strlen(out + len);
		len += got;
		while (got && (out[len - 1] == '\n' || out[len - 1] == '\r')) {
			out[--len] = '\0';
			got--;
		}
		if (!got || out[len - 1] != '\\')
			return true;
		out[--len] = '\0';
	}
	return *n_lines > 0;
}

/* What the kernel makes as it is read may have no end, or be what another program waits for. */
static bool is_stored(int fd)
{
	static const unsigned int made[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,    TRACEFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,
	};
	struct statfs fs;
	bool stored = !fstatfs(fd, &fs);

	for (size_t i = 0; stored && i < sizeof(made) / sizeof(made[0]); i++)
		stored = (unsigned int)fs.f_type != made[i];
	return stored;
}

static int open_file(const struct source *s)
{
	int fd = filesystem_open(s->root, s->file);

	if (fd >= 0 && !is_stored(fd)) {
		close(fd);
		return err_set(
		    s->e, -EINVAL,
		    "cannot read %s: it is not a file of a file system that stores files", s->file);
	}
	if (fd >= 0)
		return fd;
	return err_set(s->e, fd, "cannot read %s: %s", s->file,
		       fd == -ETIMEDOUT ? "its file system does not answer"
		       : fd == -EINVAL  ? "it is not a regular file"
					: strerror(-fd));
}

/* All of it, at once: it may grow meanwhile. text: owned, also after an error. */
static int read_text(char **text, FILE **out, const struct source *s)
{
	const size_t most = FILE_MAX_MIB << 20;
	size_t len = 0;
	ssize_t n = 1;
	int fd = open_file(s);

	*text = fd < 0 ? NULL : malloc(most + 1);
	while (*text && n > 0 && len <= most) {
		n = read(fd, *text + len, most + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (fd < 0)
		return fd;
	if (n < 0)
		return err_set(s->e, -EIO, "cannot read %s to its end", s->file);
	if (len > most)
		return err_set(s->e, -EFBIG, "cannot read %s: it is larger than %d MiB", s->file,
			       FILE_MAX_MIB);
	*out = *text ? fmemopen(*text, len, "r") : NULL;
	return *out ? 0 : -ENOMEM;
}

static int read_source(struct afpconf *c, char **section, struct source *s)
{
	char *line = malloc(LINE_MAX_LEN), *text = NULL;
	unsigned int n_lines;
	FILE *f = NULL;
	int r = line ? read_text(&text, &f, s) : -ENOMEM;

	s->line = 1;
	++*s->n_files;
	while (!r && read_line(line, LINE_MAX_LEN, f, &n_lines)) {
		r = take_line(c, section, s, line);
		s->line += n_lines;
	}
	if (f)
		fclose(f);
	if (r == -ENOMEM)
		err_set(s->e, r, "out of memory");
	free(text);
	free(line);
	return r;
}

int afpconf_read(struct afpconf *out, const char *root, const char *path, bool follow,
		 struct err *e)
{
	unsigned int n_files = 0;
	struct source s = {
		.root = root, .file = path, .follow = follow, .n_files = &n_files, .e = e
	};
	char *section = strdup("");
	int r;

	memset(out, 0, sizeof(*out));
	r = section ? read_source(out, &section, &s) : err_set(e, -ENOMEM, "out of memory");
	free(section);
	return r;
}

void afpconf_fini(struct afpconf *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->item[i].section);
		free(c->item[i].key);
		free(c->item[i].value);
		free(c->item[i].file);
	}
	free(c->item);
	memset(c, 0, sizeof(*c));
}

const struct afpconf_item *afpconf_find(const struct afpconf *c, const char *section,
					const char *key)
{
	for (size_t i = c->n; i-- > 0;)
		if (!strcasecmp(c->item[i].section, section) && !strcasecmp(c->item[i].key, key))
			return &c->item[i];
	return NULL;
}

bool afpconf_bool(const char *value, bool *out)
{
	static const char *const yes[] = { "yes", "true", "1" };
	static const char *const no[] = { "no", "false", "0" };

	for (size_t i = 0; i < 3; i++) {
		*out = !strcasecmp(value, yes[i]);
		if (*out || !strcasecmp(value, no[i]))
			return true;
	}
	return false;
}
