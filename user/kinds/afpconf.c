/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the file; hints.c interprets the values. */

#include "kinds/afpconf.h"

#include "host/filesystem.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX    8
#define LINE_MAX_LEN 8192

struct source {
	const char *root, *file;
	bool follow;
	unsigned int line, depth;
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
	struct source inner = {
		.root = s->root, .file = file, .follow = true, .depth = s->depth + 1, .e = s->e
	};

	if (inner.depth > DEPTH_MAX)
		return err_set(s->e, -ELOOP, "%s:%u: include: nested too deep", s->file, s->line);
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

static int open_file(FILE **out, const struct source *s)
{
	int fd = filesystem_open(s->root, s->file);
	struct stat st;

	*out = NULL;
	if (fd < 0)
		return err_set(s->e, fd, "cannot read %s: %s", s->file,
			       fd == -ETIMEDOUT ? "its file system does not answer"
						: strerror(-fd));
	/* A pipe or device could block this program. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(s->e, -EINVAL, "cannot read %s: it is not a regular file", s->file);
	}
	*out = fdopen(fd, "r");
	if (*out)
		return 0;
	close(fd);
	return err_set(s->e, -ENOMEM, "out of memory");
}

static int read_source(struct afpconf *c, char **section, struct source *s)
{
	unsigned int n_lines;
	char *line;
	FILE *f;
	int r = open_file(&f, s);

	if (r)
		return r;
	line = malloc(LINE_MAX_LEN);
	s->line = 1;
	while (line && !r && read_line(line, LINE_MAX_LEN, f, &n_lines)) {
		r = take_line(c, section, s, line);
		s->line += n_lines;
	}
	fclose(f);
	if (!line || r == -ENOMEM)
		r = err_set(s->e, -ENOMEM, "out of memory");
	free(line);
	return r;
}

int afpconf_read(struct afpconf *out, const char *root, const char *path, bool follow,
		 struct err *e)
{
	struct source s = { .root = root, .file = path, .follow = follow, .e = e };
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
