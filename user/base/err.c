/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats the text of an error. the command prints it. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int err_prefix(struct err *e, int code, const char *fmt, ...)
{
	char text[2 * ERR_TEXT_MAX];
	va_list ap;
	int n;

	if (!e)
		return code;
	va_start(ap, fmt);
	n = vsnprintf(text, ERR_TEXT_MAX, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= ERR_TEXT_MAX)
		n = ERR_TEXT_MAX - 1;
	snprintf(text + n, sizeof(text) - (size_t)n, ": %s", e->text);
	return err_set(e, code, "%.*s", ERR_TEXT_MAX - 1, text);
}

void err_append(char *text, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, ERR_TEXT_MAX - len, fmt, ap);
	va_end(ap);
}

void err_list_add(struct err_list *l, const char *fmt, ...)
{
	const size_t end = sizeof(", and 1234567 more");
	char item[ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	if (!*l->text)
		err_append(l->text, "%.*s", (int)(l->room - end), item);
	else if (l->left_out || strlen(l->text) + strlen(", ") + strlen(item) + end > l->room)
		l->left_out++;
	else
		err_append(l->text, ", %s", item);
}

const char *err_list_end(struct err_list *l)
{
	if (l->left_out)
		err_append(l->text, ", and %zu more", l->left_out);
	return l->text;
}
