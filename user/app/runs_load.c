/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a saved run says of itself: its run.json, which may be large. */
#include "app/runs.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_LEN 4096
/* Of counts of 2^63 and more, which jansson refuses as integers. */
#define NUMBERS JSON_DECODE_INT_AS_REAL

char *runs_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int runs_json_open(const char *folder)
{
	char *file = runs_path(folder, "run.json");
	uint64_t len;
	int fd = file ? file_open(AT_FDCWD, file, &len) : -ENOMEM;

	free(file);
	return fd;
}

json_t *runs_load(const char *folder)
{
	int fd = runs_json_open(folder);
	json_t *run = fd < 0 ? NULL : json_loadfd(fd, NUMBERS, NULL);

	if (fd >= 0)
		close(fd);
	return run;
}

/* The first fields of a run, the last of which is its id. NULL: it does not begin with them. */
static json_t *runs_head(const char *folder)
{
	int fd = runs_json_open(folder);
	char head[HEAD_LEN + 2], *at;
	ssize_t n = fd < 0 ? 0 : read(fd, head, HEAD_LEN);

	if (fd >= 0)
		close(fd);
	head[n > 0 ? n : 0] = '\0';
	/* Where its value begins, and where it ends: no object, if it is none of a field of all. */
	at = strstr(head, "\"id\"");
	at = at ? strchr(at + strlen("\"id\""), '"') : NULL;
	at = at ? strchr(at + 1, '"') : NULL;
	if (!at)
		return NULL;
	memcpy(at + 1, "}", sizeof("}"));
	return json_loads(head, NUMBERS, NULL);
}

bool runs_has_id(const char *folder, const char *id)
{
	json_t *run = runs_head(folder);
	const char *found;
	bool same;

	if (!json_string_value(json_object_get(run, "id"))) {
		json_decref(run);
		run = runs_load(folder);
	}
	found = json_string_value(json_object_get(run, "id"));
	same = found && !strncmp(found, id, strlen(id));
	json_decref(run);
	return same;
}
