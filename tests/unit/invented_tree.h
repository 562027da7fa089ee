/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_INVENTED_TREE_H
#define TESTS_UNIT_INVENTED_TREE_H

/* A folder with files that look like the system's own, for readers that take a root. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char invented_root[64];

static int invented_tree(void **state)
{
	(void)state;
	strcpy(invented_root, "/tmp/afpscope-tree-XXXXXX");
	return mkdtemp(invented_root) ? 0 : -1;
}

static int invented_gone(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", invented_root);
	return system(command);
}

/* Makes the folders of a path below the root. */
static inline void invented_folders(char out[PATH_MAX], const char *path)
{
	snprintf(out, PATH_MAX, "%s%s", invented_root, path);
	for (char *at = out + strlen(invented_root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(out, 0755);
		*at = '/';
	}
}

static inline void invented_file(const char *path, const char *text)
{
	char file[PATH_MAX];
	FILE *f;

	invented_folders(file, path);
	f = fopen(file, "w");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static inline void invented_link(const char *path, const char *to)
{
	char file[PATH_MAX];

	invented_folders(file, path);
	if (symlink(to, file))
		abort();
}

#endif
