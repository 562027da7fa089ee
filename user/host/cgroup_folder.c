/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/cgroup has the group's name, /proc/self/mountinfo where the groups are. */
#include "host/cgroup_folder.h"

#include "base/file.h"
#include "base/text.h"
#include "host/proc/proctext.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROC_TEXT_MAX 8192

/* A line "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2. */
static void take_group_name(struct cgroup_folder *out, char *line, const char *controller)
{
	const char *list;

	strsep(&line, ":");
	list = strsep(&line, ":");
	if (!line || *line != '/')
		return;
	if (*list ? !controller || !text_has_word(list, ',', controller) : out->version == 1)
		return;
	out->version = *list ? 1 : 2;
	snprintf(out->path, sizeof(out->path), "%s", line);
}

static void read_name(struct cgroup_folder *out, const char *root, pid_t pid,
		      const char *controller)
{
	char file[PATH_MAX], text[PROC_TEXT_MAX], *line, *rest = text;

	snprintf(file, sizeof(file), "%s/proc/%d/cgroup", root, pid);
	if (file_text(text, sizeof(text), file) < 0)
		return;
	while ((line = strsep(&rest, "\n")))
		take_group_name(out, line, controller);
}

/*
 * The mount's path in front of the name; the mount may begin with a folder of the hierarchy, as
 * those in containers do. false: another mount, or the group is not below it.
 */
static bool cgroup_folder_join(struct cgroup_folder *f, const struct proctext_mount *m,
			       const char *controller)
{
	size_t root_len = strlen(m->root);
	const char *rest;
	char path[CGROUP_PATH_MAX];
	int len;

	if (f->version == 2
		? strcmp(m->type, "cgroup2") != 0
		: strcmp(m->type, "cgroup") != 0 || !text_has_word(m->options, ',', controller))
		return false;
	while (root_len && m->root[root_len - 1] == '/')
		root_len--;
	rest = f->path + root_len;
	if (strncmp(f->path, m->root, root_len) != 0 || (*rest && *rest != '/') ||
	    !strncmp(rest, "/..", 3))
		return false;
	if (!rest[strspn(rest, "/")])
		rest = "";
	len = snprintf(path, sizeof(path), "%s%s", m->point, rest);
	if (len >= (int)sizeof(path))
		return false;
	f->top_len = strlen(m->point);
	memcpy(f->path, path, (size_t)len + 1);
	return true;
}

static bool has_file(const char *root, const struct cgroup_folder *f, size_t path_len,
		     const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%.*s/%s", root, (int)path_len, f->path, file);
	return !access(path, F_OK);
}

static bool read_mount(struct cgroup_folder *f, const char *root, const char *controller)
{
	char path[PATH_MAX], *line = NULL;
	struct proctext_mount m;
	bool found = false;
	size_t len = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &len, file) > 0)
		found = !proctext_mount(&m, line) && cgroup_folder_join(f, &m, controller);
	free(line);
	if (file)
		fclose(file);
	return found;
}

int cgroup_folder(struct cgroup_folder *out, const char *root, pid_t pid, const char *controller)
{
	*out = (struct cgroup_folder) { 0 };
	read_name(out, root, pid, controller);
	if (!out->version || !read_mount(out, root, controller) ||
	    !has_file(root, out, strlen(out->path), "cgroup.procs")) {
		out->version = 0;
		return -ENODATA;
	}
	/* Files that only the topmost group has, and only the others. */
	out->whole = out->version == 1 ? has_file(root, out, out->top_len, "cgroup.sane_behavior")
				       : !has_file(root, out, out->top_len, "cgroup.events");
	return 0;
}

bool cgroup_folder_up(struct cgroup_folder *f)
{
	char *slash = strrchr(f->path, '/');

	if (!slash || (size_t)(slash - f->path) < f->top_len)
		return false;
	*slash = '\0';
	return true;
}

bool cgroup_folder_is_all(const struct cgroup_folder *f)
{
	return f->whole && strlen(f->path) == f->top_len;
}

ssize_t cgroup_folder_text(char *out, size_t len, const char *root, const struct cgroup_folder *f,
			   const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", root, f->path, file);
	return file_text(out, len, path);
}
