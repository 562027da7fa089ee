/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/users.h"

#include "afp/afp.h"
#include "base/file.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (8u << 20)

static int users_take_line(struct users *out, char *line, const char *path, unsigned int number,
			   struct err *e)
{
	char *password = strchr(line, ','), *volume;

	if (!password || password == line)
		return err_set(e, -EINVAL, "%s, line %u: not USER,PASSWORD or USER,PASSWORD,VOLUME",
			       path, number);
	*password++ = '\0';
	volume = strrchr(password, ',');
	if (volume)
		*volume++ = '\0';
	if (volume && (!*volume || strlen(volume) > AFP_NAME_MAX))
		return err_set(e, -EINVAL,
			       "%s, line %u: the volume's name has %zu bytes, not 1 to %d", path,
			       number, strlen(volume), AFP_NAME_MAX);
	if (VEC_PUSH(out->user, out->n, (struct user) { line, password, volume }))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

int users_read(struct users *out, const char *path, struct err *e)
{
	unsigned int number = 0;
	char *line, *rest;
	int r;

	*out = (struct users) { 0 };
	r = file_read(&out->text, path, FILE_MAX, e);
	out->len = r ? 0 : strlen(out->text);
	rest = out->text;
	while (!r && (line = strsep(&rest, "\n"))) {
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (*line && *line != '#')
			r = users_take_line(out, line, path, number, e);
	}
	if (!r && !out->n)
		r = err_set(e, -EINVAL, "%s names no user", path);
	if (r)
		users_free(out);
	return r;
}

void users_forget(struct users *u)
{
	for (unsigned int i = 0; i < u->n; i++)
		explicit_bzero(u->user[i].password, strlen(u->user[i].password));
}

void users_free(struct users *u)
{
	if (u->text)
		explicit_bzero(u->text, u->len);
	free(u->text);
	free(u->user);
	*u = (struct users) { 0 };
}
