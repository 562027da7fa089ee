/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cleans texts, one character at a time. Columns and widths: report/cell.h. */
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Control characters and invisible ones: first and last code point. */
static const uint32_t unseen[][2] = {
	{ 0x0, 0x1f },      { 0x7f, 0x9f },     { 0x61c, 0x61c },
	{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f }
};

static bool is_seen(uint32_t code)
{
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
		if (code >= unseen[i][0] && code <= unseen[i][1])
			return false;
	return true;
}

size_t text_decode(const char *text, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t first = (uint8_t)*text;
	size_t len = first < 0x80             ? 1
		     : (first & 0xe0) == 0xc0 ? 2
		     : (first & 0xf0) == 0xe0 ? 3
		     : (first & 0xf8) == 0xf0 ? 4
					      : 0;

	*code = len > 1 ? first & (0x7fu >> len) : first;
	for (size_t i = 1; i < len; i++) {
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | ((uint8_t)text[i] & 0x3f);
	}
	if (!len || *code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

/* How many bytes of UTF-8 a code point has been written as. */
static size_t text_encode(char *out, uint32_t code)
{
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (len == 1) {
		*out = (char)code;
		return len;
	}
	for (size_t i = len; --i; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	*out = (char)((0xf00u >> len) | code);
	return len;
}

static bool is_half(uint32_t unit, uint32_t first)
{
	return unit >= first && unit < first + 0x400;
}

void text_utf16(char *out, const uint8_t *units, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t code = units[2 * i] | (uint32_t)units[2 * i + 1] << 8, next = 0;

		if (i + 1 < n)
			next = units[2 * i + 2] | (uint32_t)units[2 * i + 3] << 8;
		if (is_half(code, 0xd800) && is_half(next, 0xdc00)) {
			code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
			i++;
		} else if (!code || is_half(code, 0xd800) || is_half(code, 0xdc00)) {
			code = '?';
		}
		out += text_encode(out, code);
	}
	*out = '\0';
}

size_t text_char(const char *text)
{
	uint32_t code;
	size_t len = text_decode(text, &code);

	return len && is_seen(code) ? len : 0;
}

/* The length of the next character of text, and what is printed for it. */
static size_t text_next(const char *text, size_t len, const char **shown, size_t *shown_len)
{
	size_t n = text_char(text);
	uint32_t code;

	*shown = n && n <= len ? text : "?";
	*shown_len = n && n <= len ? n : 1;
	if (!n)
		n = text_decode(text, &code);
	return n && n <= len ? n : 1;
}

void text_put(FILE *out, const char *text, size_t len)
{
	size_t shown_len;
	const char *shown;

	len = strnlen(text, len);
	while (len) {
		size_t n = text_next(text, len, &shown, &shown_len);

		fwrite(shown, 1, shown_len, out);
		text += n;
		len -= n;
	}
}

void text_clean(char *text)
{
	size_t len = strlen(text), shown_len;
	const char *shown;
	char *to = text;

	while (len) {
		size_t n = text_next(text, len, &shown, &shown_len);

		memmove(to, *text == '\n' ? text : shown, shown_len);
		to += shown_len;
		text += n;
		len -= n;
	}
	*to = '\0';
}

char *text_strip(char *text)
{
	char *end;

	text += strspn(text, " \t\r\n");
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

const char *text_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	while (len && folder[len - 1] == '/')
		len--;
	if (strncmp(path, folder, len) != 0 || (path[len] && path[len] != '/'))
		return NULL;
	path += len;
	return path[strspn(path, "/")] ? path : path + strlen(path);
}

const char *text_url(const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *end = word;

	if (*word && strchr(letters, *word))
		while (*end && (strchr(letters, *end) || strchr("0123456789+-.", *end)))
			end++;
	return end > word && !strncmp(end, "://", 3) ? end + 3 : NULL;
}

bool text_has_word(const char *list, char between, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; len && (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == between) && (!at[len] || at[len] == between))
			return true;
	return false;
}

bool text_decimal(const char *text, const char **end, double *out)
{
	const char *digits = text + (*text == '-');
	bool dot = *digits == '.';
	char *after;

	*end = text;
	if (!isdigit((unsigned char)digits[dot]) || (!dot && (digits[1] | 0x20) == 'x'))
		return false;
	*out = strtod(text, &after);
	*end = after;
	return true;
}
