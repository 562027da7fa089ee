/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the name in the bytes of an AFP command. A path is a byte for its type, then: for long and
 * short names (1, 2) a byte of length and the name in a Macintosh encoding; for UTF-8 (3) a hint of
 * 4 bytes, a length of 2 and the name (AFP reference; as client/afp sends them).
 */
#include "trace/names.h"

#include "base/buf.h"

#include <errno.h>
#include <gcrypt.h>
#include <stdlib.h>
#include <string.h>

#define KEY_LEN 32
#define UTF8    3
#define ROOT    2 /* id of a volume's root, and 1 that of what is above it */

/* Size of the table of names written lately; a power of two. When full it is emptied. */
#define TOLD     65536u
#define TOLD_MAX (TOLD / 4 * 3)

struct names {
	gcry_md_hd_t hash;
	bool texts;
	uint64_t *told; /* open addressing; 0: free */
	size_t n_told;
};

int names_open(struct names **out, bool texts, struct err *e)
{
	struct names *n = calloc(1, sizeof(*n));
	uint8_t key[KEY_LEN];
	int r = 0;

	if (!n)
		return err_set(e, -ENOMEM, "out of memory");
	n->texts = texts;
	n->told = texts ? calloc(TOLD, sizeof(*n->told)) : NULL;
	gcry_randomize(key, sizeof(key), GCRY_STRONG_RANDOM);
	if ((texts && !n->told) || gcry_md_open(&n->hash, GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC) ||
	    gcry_md_setkey(n->hash, key, sizeof(key)))
		r = err_set(e, -ENOMEM, "cannot hash names: out of memory");
	memset(key, 0, sizeof(key));
	if (r)
		names_close(n);
	else
		*out = n;
	return r;
}

void names_close(struct names *n)
{
	if (!n)
		return;
	gcry_md_close(n->hash);
	free(n->told);
	free(n);
}

/* The name's bytes, *len of them; NULL: incomplete. */
static const uint8_t *names_name_of(const struct afs_named *seen, uint8_t *type, size_t *len)
{
	size_t at = afs_path_at[seen->command];
	struct rbuf b;

	/* bytes has no command number */
	if (!at || seen->len < at || seen->len > sizeof(seen->bytes))
		return NULL;
	b = rbuf_of(seen->bytes + at - 1, seen->len - (at - 1));
	*type = rbuf_u8(&b);
	if (*type == UTF8)
		rbuf_u32(&b);
	*len = *type == UTF8 ? rbuf_u16(&b) : rbuf_u8(&b);
	return rbuf_bytes(&b, *len);
}

uint64_t names_hash(struct names *n, const uint8_t *name, size_t len)
{
	uint64_t h;

	gcry_md_reset(n->hash);
	gcry_md_write(n->hash, name, len);
	memcpy(&h, gcry_md_read(n->hash, GCRY_MD_SHA256), sizeof(h));
	return h ? h : 1;
}

uint64_t names_id(struct names *n, uint32_t id)
{
	const uint8_t bytes[] = { 0, (uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8),
				  (uint8_t)id };

	return id <= ROOT ? id : names_hash(n, bytes, sizeof(bytes));
}

void names_record(struct names *n, const struct afs_named *seen, struct afs_record_names *out)
{
	struct rbuf b = rbuf_of(seen->bytes, seen->len);
	const uint8_t *name;
	size_t len;
	uint8_t type;

	*out = (struct afs_record_names) {
		.timestamp = seen->timestamp,
		.session = seen->session,
		.dsi_id = seen->dsi_id,
		.command = seen->command,
	};
	rbuf_bytes(&b, AFS_PATH_VOLUME - 1);
	out->volume = rbuf_u16(&b);
	_Static_assert(AFS_PATH_DIR == AFS_PATH_VOLUME + 2, "no gap");
	out->dir = rbuf_u32(&b);
	name = names_name_of(seen, &type, &len);
	if (!name)
		return;
	out->len = (uint16_t)len;
	out->name = names_hash(n, name, len);
}

/* false: it was written lately. */
static bool names_tell(struct names *n, uint64_t h)
{
	size_t at = h & (TOLD - 1);

	while (n->told[at] && n->told[at] != h)
		at = (at + 1) & (TOLD - 1);
	if (n->told[at])
		return false;
	if (n->n_told >= TOLD_MAX) {
		memset(n->told, 0, TOLD * sizeof(*n->told));
		n->n_told = 0;
		at = h & (TOLD - 1);
	}
	n->told[at] = h;
	n->n_told++;
	return true;
}

bool names_words(const struct afs_named *seen, char text[AFS_TEXT_LEN])
{
	const uint8_t *name;
	size_t len;
	uint8_t type;

	memset(text, 0, AFS_TEXT_LEN);
	name = names_name_of(seen, &type, &len);
	for (size_t i = 0; name && i < len && i < AFS_TEXT_LEN - 1; i++) {
		text[i] = name[i] ? (char)name[i] : '/';
		if (name[i] >= 0x80 && type != UTF8)
			text[i] = '?';
	}
	return name;
}

bool names_text(struct names *n, const struct afs_named *seen,
		const struct afs_record_names *record, struct afs_record_texts *out)
{
	if (!n->texts || !record->name || !names_tell(n, record->name))
		return false;
	*out = (struct afs_record_texts) { .timestamp = record->timestamp, .name = record->name };
	return names_words(seen, out->text);
}
