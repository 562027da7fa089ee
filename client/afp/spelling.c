/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "afp/spelling.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of libunistring 0.9.10 to 1.3 (unistr.h, uninorm.h). */
struct spelling_library {
	const uint8_t *(*check)(const uint8_t *text, size_t len); /* NULL: it is UTF-8 */
	uint8_t *(*normalize)(const void *form, const uint8_t *text, size_t len, uint8_t *room,
			      size_t *room_len);
	const void *form;
};

static bool spelling_load(struct spelling_library *out)
{
	static const char *const names[] = { "libunistring.so.5", "libunistring.so.2" };
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	out->form = dlsym(library, "uninorm_nfc");
	*(void **)&out->check = dlsym(library, "u8_check");
	*(void **)&out->normalize = dlsym(library, "u8_normalize");
	return out->form && out->check && out->normalize;
}

bool spelling_is_ascii(const char *name)
{
	while (*name && !(*name & 0x80))
		name++;
	return !*name;
}

void spelling_compose(char out[static SPELLING_MAX], const char *name)
{
	size_t len = strlen(name), n = SPELLING_MAX - 1;
	struct spelling_library l;
	uint8_t *made;

	*out = '\0';
	strncat(out, name, SPELLING_MAX - 1);
	if (len >= SPELLING_MAX || spelling_is_ascii(name) || !spelling_load(&l) ||
	    l.check((const uint8_t *)name, len))
		return;
	made = l.normalize(l.form, (const uint8_t *)name, len, (uint8_t *)out, &n);
	if (made == (uint8_t *)out)
		out[n] = '\0';
	else
		memcpy(out, name, len + 1); /* no memory, or longer */
	if (made && made != (uint8_t *)out)
		free(made);
}

/* %XX are bytes, but never a NUL; all else stays. */
bool spelling_decode(char out[static SPELLING_MAX], const char *name)
{
	const char *text = name;
	size_t n = 0;

	for (; *text && n < SPELLING_MAX - 1; text++) {
		char hex[3] = { 0 }, byte = 0;

		if (*text == '%' && isxdigit((unsigned char)text[1]) &&
		    isxdigit((unsigned char)text[2])) {
			memcpy(hex, text + 1, 2);
			byte = (char)strtoul(hex, NULL, 16);
		}
		out[n++] = byte ? byte : *text;
		text += byte ? 2 : 0;
	}
	out[n] = '\0';
	return n < (size_t)(text - name);
}

const char *spelling_user(char out[static SPELLING_MAX], const char *user, bool decodes)
{
	char decoded[SPELLING_MAX];
	bool other = decodes && spelling_decode(decoded, user);

	spelling_compose(out, other ? decoded : user);
	return other || !spelling_is_ascii(user) ? out : user;
}

bool spelling_other(char out[static SPELLING_MAX], const char *asked, const char *name)
{
	char decoded[SPELLING_MAX], a[SPELLING_MAX], b[SPELLING_MAX];

	spelling_compose(b, name);
	spelling_compose(a, asked);
	spelling_decode(decoded, asked);
	spelling_compose(out, decoded);
	if (!strcmp(a, b) || !strcmp(out, b)) {
		*out = '\0';
		strncat(out, name, SPELLING_MAX - 1);
		return strcmp(asked, name) != 0;
	}
	return strcmp(decoded, asked) != 0 && !strcasecmp(out, b);
}

static bool only_blanks_differ(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, " \t");
		b += strspn(b, " \t");
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

const char *spelling_differs(const char *asked, const char *name)
{
	char decoded[SPELLING_MAX], a[SPELLING_MAX], b[SPELLING_MAX];

	spelling_decode(decoded, asked);
	spelling_compose(a, decoded);
	spelling_compose(b, name);
	if (!strcmp(a, b))
		return NULL;
	if (!strcasecmp(a, b))
		return "capitals";
	return only_blanks_differ(a, b) ? "blanks" : NULL;
}
