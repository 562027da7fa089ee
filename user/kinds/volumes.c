/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/volumes.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "host/census.h"
#include "host/proc/procfs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static void volumes_read_settings(struct volumes_settings *s, pid_t afpd)
{
	struct census_process p = { .pid = afpd, .comm = "afpd" };
	struct servers_entry server = { 0 };
	char root[64];

	volumes_settings_fini(s);
	census_look(&p);
	servers_conf(&server, &p);
	procfs_inside(root, sizeof(root), afpd, "");
	if (server.conf[0])
		afpconf_read(&s->conf, root, server.conf, true, NULL); /* in part is good enough */
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
		if (only && afpconf_bool(only->value) == 1)
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
