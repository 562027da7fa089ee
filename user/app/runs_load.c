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
#include <zlib.h>

#define HEAD_LEN 4096
#define RUN_MOST (1u << 30) /* bytes */
#define SUM_LEN  8
/* Of counts of 2^63 and more, which jansson refuses as integers. */
#define NUMBERS JSON_DECODE_INT_AS_REAL

char *runs_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int runs_json_open(const char *folder, uint64_t *len)
{
	char *file = runs_path(folder, "run.json");
	int fd = file ? file_open(AT_FDCWD, file, len) : -ENOMEM;

	free(file);
	/* What --json or afpscope bundle wrote is a run without a folder. */
	return fd == -ENOTDIR ? file_open(AT_FDCWD, folder, len) : fd;
}

/* A bundle begins so, and ends with the CRC-32 of all before that (docs/bundle.md). */
static bool runs_is_sound(const char *text)
{
	static const char head[] = "{\"bundle\": ", end[] = ", \"crc32\": \"", shut[] = "\"}\n";
	const size_t len = strlen(text), end_len = strlen(end) + SUM_LEN + strlen(shut);
	const char *at = len > end_len ? text + len - end_len : "";
	char wanted[sizeof(end) + SUM_LEN + sizeof(shut)];

	if (strncmp(at, end, strlen(end)) != 0)
		return strncmp(text, head, strlen(head)) != 0;
	snprintf(wanted, sizeof(wanted), "%s%08x%s", end,
		 (unsigned int)crc32_z(0, (const uint8_t *)text, (size_t)(at - text)), shut);
	return !strcmp(at, wanted);
}

json_t *runs_load(const char *folder)
{
	json_t *run = NULL;
	struct err e = { 0 };
	uint64_t len = 0;
	int fd = runs_json_open(folder, &len);
	char *text;

	if (fd >= 0 && len > RUN_MOST) {
		close(fd);
		return NULL;
	}
	if (fd < 0 || file_read_from(&text, fd, folder, len, &e))
		return NULL;
	if (runs_is_sound(text))
		run = json_loads(text, NUMBERS, NULL);
	free(text);
	return run;
}

/* The first fields of a run, the last of which is its id. NULL: it does not begin with them. */
static json_t *runs_head(const char *folder)
{
	uint64_t len;
	int fd = runs_json_open(folder, &len);
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
