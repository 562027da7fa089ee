/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out how this program is called here, and puts that into texts. */
#include "base/typed.h"

#include "base/shell.h"
#include "base/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "afpscope"
#define SUDO "sudo "

/* Whether a shell that is told this name runs the file self. */
static bool is_on_path(const char *self)
{
	const char *at = getenv("PATH");
	struct stat ours, found;
	char path[PATH_MAX];
	int len;

	if (!at || stat(self, &ours))
		return false;
	for (; *at; at += len + (at[len] == ':')) {
		len = (int)strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s/" NAME, len, at);
		if (len && !stat(path, &found) && S_ISREG(found.st_mode) && !access(path, X_OK))
			return found.st_dev == ours.st_dev && found.st_ino == ours.st_ino;
	}
	return false;
}

/* The path of a file from the current folder, if it is below it and that is not /; else as it is.
 */
static void from_here(char *out, size_t room, const char *file)
{
	char here[PATH_MAX];
	const char *rest = getcwd(here, sizeof(here)) ? text_below(file, here) : NULL;

	if (rest && *rest == '/' && here[1])
		snprintf(out, room, "%s%s", strchr(rest + 1, '/') ? "" : "./", rest + 1);
	else
		snprintf(out, room, "%s", file);
}

const char *typed_program(char *out, size_t room)
{
	char self[PATH_MAX], path[PATH_MAX], word[PATH_MAX] = NAME;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *base;

	self[len > 0 ? len : 0] = '\0';
	base = strrchr(self, '/');
	if (base && !strcmp(base + 1, NAME) && !is_on_path(self)) {
		from_here(path, sizeof(path), self);
		shell_word(word, sizeof(word), path);
	}
	snprintf(out, room, "%s%s", getenv("SUDO_UID") && !geteuid() ? SUDO : "", word);
	return out;
}

/* Whether a command stands here: no word of a sentence about the program. */
static bool is_command(const char *word)
{
	static const char others[] = "and for in inside is itself of on outside put that with";
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz");
	char text[16];

	if (!strncmp(word, "--", 2))
		return true;
	if (len < 2 || len >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)len, word);
	return !text_has_word(others, ' ', text);
}

/* Whether NAME at `at` begins a command that is to be typed here. */
static bool is_typed(const char *text, const char *at)
{
	static const char elsewhere[] = "on the server: ";
	const char blank = at[strlen(NAME)];
	size_t before = (size_t)(at - text), n = strlen(elsewhere);

	if (before && !strchr(" (`'\"\x1f\n", at[-1]))
		return false;
	if (before >= n && !strncmp(at - n, elsewhere, n))
		return false;
	return (blank == ' ' || blank == '\x1f') && is_command(at + strlen(NAME) + 1);
}

char *typed_text(const char *text)
{
	char program[PATH_MAX], *out = NULL;
	const char *at = text;
	size_t len;
	FILE *to = open_memstream(&out, &len);

	if (!to)
		return NULL;
	*program = '\0';
	for (const char *next; (next = strstr(at, NAME)); at = next + strlen(NAME)) {
		fprintf(to, "%.*s", (int)(next - at), at);
		if (!*program)
			typed_program(program, sizeof(program));
		fputs(is_typed(text, next) ? program : NAME, to);
	}
	fputs(at, to);
	if (fclose(to)) {
		free(out);
		return NULL;
	}
	return out;
}

void typed_print(FILE *out, const char *fmt, ...)
{
	char *text = NULL, *typed;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	typed = typed_text(text);
	fputs(typed ? typed : text, out);
	free(typed);
	free(text);
}
