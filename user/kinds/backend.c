/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/backend.h"

#include "base/text.h"
#include "host/proc/procfs.h"

#include <stdio.h>
#include <string.h>

#define MYSQL_PORT 3306
#define MYSQL_PATH "MYSQL_UNIX_PORT="

static int backend_take(void *arg, const char *variable)
{
	struct backend *b = arg;
	unsigned long port;

	if (sscanf(variable, "MYSQL_TCP_PORT=%lu", &port) == 1 && port && port <= UINT16_MAX)
		b->port = (uint16_t)port;
	if (!strncmp(variable, MYSQL_PATH, strlen(MYSQL_PATH)))
		snprintf(b->path, sizeof(b->path), "%s", variable + strlen(MYSQL_PATH));
	return 0;
}

void backend_read(struct backend *out, pid_t pid)
{
	*out = (struct backend) { .port = MYSQL_PORT };
	procfs_each_variable(pid, backend_take, out);
}

bool backend_is_socket(const struct backend *b, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len = strlen(path), own = strlen(b->path);

	/* The database server may have another root than afpd: then afpd's path is the end of its
	 * path. */
	if (own && len >= own && !strcmp(path + len - own, b->path))
		return true;
	return name && text_has_word("mysqld.sock mysql.sock mariadb.sock", ' ', name + 1);
}
