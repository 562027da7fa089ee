/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/backend.h"

#include "base/text.h"
#include "host/proc/procfs.h"

#include <stdlib.h>
#include <string.h>

#define MYSQL_PORT 3306

void backend_read(struct backend *out, pid_t pid)
{
	unsigned long port;
	char text[32];

	*out = (struct backend) { .port = MYSQL_PORT };
	procfs_variable(out->path, sizeof(out->path), pid, "MYSQL_UNIX_PORT");
	procfs_variable(text, sizeof(text), pid, "MYSQL_TCP_PORT");
	port = strtoul(text, NULL, 10);
	if (port && port <= UINT16_MAX)
		out->port = (uint16_t)port;
}

bool backend_is_socket(const struct backend *b, const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len = strlen(path), own = strlen(b->path);

	/* The database server may have another root: then afpd's path is the end of its path. */
	if (own && len >= own && !strcmp(path + len - own, b->path))
		return true;
	return name && text_has_word("mysqld.sock mysql.sock mariadb.sock", ' ', name + 1);
}
