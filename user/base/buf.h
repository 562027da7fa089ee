/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_BUF_H
#define BASE_BUF_H

/*
 * Byte cursors for messages in network byte order. Both stay bad once a step did not fit:
 * decode (or encode) every field, then check .bad once. A bad reader returns zeros.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rbuf {
	const uint8_t *at, *end;
	bool bad;
};

struct wbuf {
	uint8_t *at, *end;
	bool bad;
};

static inline struct rbuf rbuf_of(const void *data, size_t len)
{
	const uint8_t *p = data;

	return (struct rbuf) { .at = p, .end = p + len };
}

static inline size_t rbuf_left(const struct rbuf *b)
{
	return b->bad ? 0 : (size_t)(b->end - b->at);
}

/* The next len bytes, borrowed from the message; NULL past the end. */
static inline const uint8_t *rbuf_bytes(struct rbuf *b, size_t len)
{
	const uint8_t *p = b->at;

	if (b->bad || len > (size_t)(b->end - b->at)) {
		b->bad = true;
		return NULL;
	}
	b->at += len;
	return p;
}

static inline uint64_t rbuf_uint(struct rbuf *b, size_t len)
{
	const uint8_t *p = rbuf_bytes(b, len);
	uint64_t v = 0;

	for (size_t i = 0; p && i < len; i++)
		v = v << 8 | p[i];
	return v;
}

static inline uint8_t rbuf_u8(struct rbuf *b)
{
	return (uint8_t)rbuf_uint(b, 1);
}

static inline uint16_t rbuf_u16(struct rbuf *b)
{
	return (uint16_t)rbuf_uint(b, 2);
}

static inline uint32_t rbuf_u32(struct rbuf *b)
{
	return (uint32_t)rbuf_uint(b, 4);
}

static inline uint64_t rbuf_u64(struct rbuf *b)
{
	return rbuf_uint(b, 8);
}

static inline struct wbuf wbuf_of(void *data, size_t len)
{
	uint8_t *p = data;

	return (struct wbuf) { .at = p, .end = p + len };
}

/* Room for len bytes, or NULL if they do not fit. */
static inline uint8_t *wbuf_room(struct wbuf *b, size_t len)
{
	uint8_t *p = b->at;

	if (b->bad || len > (size_t)(b->end - b->at)) {
		b->bad = true;
		return NULL;
	}
	b->at += len;
	return p;
}

static inline void wbuf_bytes(struct wbuf *b, const void *data, size_t len)
{
	uint8_t *p = wbuf_room(b, len);

	if (p && len)
		memcpy(p, data, len);
}

static inline void wbuf_zero(struct wbuf *b, size_t len)
{
	uint8_t *p = wbuf_room(b, len);

	if (p && len)
		memset(p, 0, len);
}

static inline void wbuf_uint(struct wbuf *b, uint64_t v, size_t len)
{
	uint8_t *p = wbuf_room(b, len);

	while (p && len--) {
		p[len] = (uint8_t)v;
		v >>= 8;
	}
}

static inline void wbuf_u8(struct wbuf *b, uint8_t v)
{
	wbuf_uint(b, v, 1);
}

static inline void wbuf_u16(struct wbuf *b, uint16_t v)
{
	wbuf_uint(b, v, 2);
}

static inline void wbuf_u32(struct wbuf *b, uint32_t v)
{
	wbuf_uint(b, v, 4);
}

static inline void wbuf_u64(struct wbuf *b, uint64_t v)
{
	wbuf_uint(b, v, 8);
}

/* A Pascal string: one length byte, then at most 255 bytes. */
static inline void wbuf_pascal(struct wbuf *b, const char *text)
{
	size_t len = strlen(text);

	if (len > 255) {
		b->bad = true;
		return;
	}
	wbuf_u8(b, (uint8_t)len);
	wbuf_bytes(b, text, len);
}

#endif
