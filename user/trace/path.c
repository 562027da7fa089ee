/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/path.h"

#include "base/text.h"

#include <string.h>

static void path_down(struct path *p, const uint8_t *name, size_t len)
{
	const size_t gap = p->depth ? 1 : 0;

	if (p->bad || p->len + gap + len >= sizeof(p->bytes)) {
		p->bad = true;
		return;
	}
	p->depth++;
	p->last = p->len + gap;
	memcpy(p->bytes + p->last, name, len);
	p->len = p->last + len;
	p->bytes[p->len] = 0;
}

void path_up(struct path *p)
{
	if (p->bad || !p->depth) {
		p->bad = true;
		return;
	}
	p->depth--;
	p->len = p->last ? p->last - 1 : 0;
	p->bytes[p->len] = 0;
	p->last = p->len;
	while (p->last && p->bytes[p->last - 1])
		p->last--;
}

void path_add(struct path *p, const uint8_t *name, size_t len, bool utf8)
{
	size_t at = len && !name[0], n;

	if (at < len)
		p->utf8 = utf8;
	/* With a component goes the 0 behind it. */
	for (; at < len; at += n + 1) {
		n = strnlen((const char *)name + at, len - at);
		if (n)
			path_down(p, name + at, n);
		else
			path_up(p);
	}
}

void path_add_last(struct path *p, const struct path *from)
{
	path_down(p, from->bytes + from->last, from->len - from->last);
	p->utf8 = from->utf8;
}

static bool is_combining(uint32_t c)
{
	return (c >= 0x300 && c <= 0x36f) || c == 0x3099 || c == 0x309a;
}

/* text ends with a 0 that is not part of it. */
static enum afs_name_kind path_kind(const uint8_t *text, size_t len, bool utf8)
{
	size_t longest = 0, n;
	bool combining = false;
	uint32_t c;

	for (size_t i = 0; i < len; i += n) {
		n = text_decode((const char *)text + i, &c);
		if (!n || (n > 1 && !utf8))
			return AFS_NAME_LEGACY;
		longest = n > longest ? n : longest;
		combining |= is_combining(c);
	}
	switch (longest) {
	case 0:
		return AFS_NAME_NONE;
	case 1:
		return AFS_NAME_ASCII;
	case 4:
		return AFS_NAME_BEYOND;
	default:
		return combining      ? AFS_NAME_DECOMPOSED
		       : longest == 2 ? AFS_NAME_COMPOSED
				      : AFS_NAME_WIDE;
	}
}

/* Bytes behind the last dot, but for a name that begins with it. */
static __u8 path_ext(const uint8_t *name, size_t len)
{
	const uint8_t *dot = memrchr(name, '.', len);
	const size_t n = dot && dot > name ? (size_t)(name + len - dot) - 1 : 0;

	return n <= UINT8_MAX ? (__u8)n : 0;
}

void path_tell(const struct path *p, struct names *names, const struct path_fields *to)
{
	const uint8_t *last = p->bytes + p->last;
	const size_t len = p->len - p->last;

	if (p->bad || !p->depth)
		return;
	*to->name = names_hash(names, p->bytes, p->len);
	*to->parent = p->depth > 1 ? names_hash(names, p->bytes, p->last - 1) : 0;
	*to->depth = p->depth < UINT8_MAX ? (__u8)p->depth : UINT8_MAX;
	*to->len = (__u16)len;
	*to->kind = (__u8)path_kind(last, len, p->utf8);
	*to->ext = path_ext(last, len);
}
