/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/backend.h"

#include "host/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MYSQL_PORT 3306

static int take_port(struct backend *b, const char *value)
{
	unsigned long port = strtoul(value, NULL, 10);

	if (port && port <= UINT16_MAX)
		b->port = (uint16_t)port;
	return 0;
}

static int take_path(struct backend *b, const char *value)
{
	snprintf(b->path, sizeof(b->path), "%s", value);
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct backend *b, const char *value);
} variables[] = {
	{ "MYSQL_TCP_PORT=", take_port },
	{ "MYSQL_UNIX_PORT=", take_path },
};

static int take(void *arg, const char *word)
{
	size_t len;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		len = strlen(variables[i].name);
		if (!strncmp(word, variables[i].name, len))
			return variables[i].take(arg, word + len);
	}
	return 0;
}

void backend_read(struct backend *out, pid_t pid)
{
	*out = (struct backend) { .port = MYSQL_PORT };
	procfs_each_variable(pid, take, out);
}

bool backend_is_socket(const struct backend *b, const char *path)
{
	static const char *const usual[] = { "mysqld.sock", "mysql.sock", "mariadb.sock" };
	const char *name = strrchr(path, '/');
	size_t len = strlen(path), own = strlen(b->path);

	/* The database server may have another root than afpd: then afpd's path is the end of its
	 * path. */
	if (own && len >= own && !strcmp(path + len - own, b->path))
		return true;
	for (size_t i = 0; name && i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!strcmp(name + 1, usual[i]))
			return true;
	return false;
}
