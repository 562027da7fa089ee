/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/volumes.h"

#include "host/census.h"
#include "host/patient.h"
#include "host/procfs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>

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

bool volumes_below(const char *path, const char *folder)
{
	size_t len = length_of(folder);

	return !strncmp(path, folder, len) && (!path[len] || path[len] == '/');
}

const char *volumes_find(const struct afpconf *c, const char *path)
{
	const char *found = NULL, *folder;

	for (size_t i = 0; i < c->n; i++) {
		folder = c->item[i].value;
		if (strcasecmp(c->item[i].key, "path") != 0 || *folder != '/' || !folder[1])
			continue;
		if (volumes_below(path, folder) && (!found || length_of(folder) > length_of(found)))
			found = folder;
	}
	return found;
}

char *volumes_of(pid_t afpd)
{
	struct census_process p = { .pid = afpd, .comm = "afpd" };
	struct servers_entry s = { 0 };
	const char *found = NULL;
	struct afpconf c = { 0 };
	struct err e = { 0 };
	char root[64], *volume;
	size_t len;

	census_look(&p);
	len = strlen(p.cwd);
	if (len > strlen(DELETED) && !strcmp(p.cwd + len - strlen(DELETED), DELETED))
		p.cwd[len - strlen(DELETED)] = '\0';
	if (!p.cwd[0] || !strcmp(p.cwd, "/"))
		return NULL;
	servers_conf(&s, &p);
	procfs_inside(root, sizeof(root), afpd, "");
	if (s.conf[0]) {
		/* A partial result is good enough. */
		afpconf_read(&c, root, s.conf, true, &e);
		found = volumes_find(&c, p.cwd);
	}
	volume = found ? strndup(found, length_of(found)) : strdup(p.cwd);
	afpconf_fini(&c);
	return volume;
}

/* Its file system may be a network's, whose server does not answer. */
#define ROOM_MS 500

struct room {
	char path[CENSUS_PATH_MAX + 64];
	double share; /* that is free; below 0: not known, or nobody can write there anyway */
};

static void ask_room(void *arg)
{
	struct room *r = arg;
	struct statvfs st;

	r->share = -1;
	if (!statvfs(r->path, &st) && st.f_blocks && !(st.f_flag & ST_RDONLY))
		r->share = (double)st.f_bavail / (double)st.f_blocks;
}

static void look_at_room(struct run_figures *out, const char *root, const char *volume)
{
	struct room r;

	snprintf(r.path, sizeof(r.path), "%s%s", root, volume);
	if (volume[0] != '/' || patient_call(ask_room, &r, &r, sizeof(r), ROOM_MS) || r.share < 0)
		return;
	if (out->known[RUN_FIGURE_ROOM] && r.share >= out->value[RUN_FIGURE_ROOM])
		return;
	run_figure_set(out, RUN_FIGURE_ROOM, r.share);
	run_figure_who(out, RUN_FIGURE_ROOM, "%s", volume);
}

void volumes_room(struct run_figures *out, const struct servers_entry *s)
{
	pid_t pid = s->master ? s->master : s->n_sessions ? s->session[0].pid : 0;
	struct afpconf c = { 0 };
	struct err e = { 0 };
	char root[64];

	if (!pid || !s->conf[0])
		return;
	procfs_inside(root, sizeof(root), pid, "");
	afpconf_read(&c, root, s->conf, true, &e);
	for (size_t i = 0; i < c.n; i++)
		if (!strcasecmp(c.item[i].key, "path"))
			look_at_room(out, root, c.item[i].value);
	afpconf_fini(&c);
}
