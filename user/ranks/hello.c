/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ranks say to each other at first, and what a rank other than 0 answers. */
#include "ranks/hello.h"
#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELLO_VERSION 1
#define DIAL_NS       3000000000ull
#define ANSWER_NS     (HUB_HELLO_S * 1000000000ull)

/* ---- hello ---- */

size_t hello_pack(const struct hello *hello, const uint8_t secret[static INVITE_SECRET],
		  uint8_t out[static HELLO_LEN])
{
	struct wbuf b = wbuf_of(out, HELLO_LEN);
	size_t len = strlen(hello->terms);

	wbuf_u16(&b, HELLO_VERSION);
	for (size_t i = 0; i < INVITE_SECRET; i++)
		wbuf_u8(&b, secret[i]);
	wbuf_u32(&b, hello->rank);
	wbuf_u32(&b, (uint32_t)hello->pid);
	wbuf_pascal(&b, hello->host);
	wbuf_u16(&b, (uint16_t)len);
	wbuf_bytes(&b, hello->terms, len);
	return (size_t)(b.at - out);
}

static bool hello_take_text(struct rbuf *b, char *out, size_t len, size_t room)
{
	const uint8_t *p = rbuf_bytes(b, len);

	if (!p || len >= room)
		return false;
	memcpy(out, p, len);
	out[len] = '\0';
	return true;
}

int hello_unpack(struct hello *out, const struct message *m,
		 const uint8_t secret[static INVITE_SECRET])
{
	struct rbuf b = rbuf_of(m->data, m->len);
	const uint8_t *own;

	memset(out, 0, sizeof(*out));
	if (rbuf_u16(&b) != HELLO_VERSION)
		return -EPROTO;
	own = rbuf_bytes(&b, INVITE_SECRET);
	if (!own || memcmp(own, secret, INVITE_SECRET))
		return -EPROTO;
	out->rank = rbuf_u32(&b);
	out->pid = (pid_t)rbuf_u32(&b);
	if (!hello_take_text(&b, out->host, rbuf_u8(&b), sizeof(out->host)) ||
	    !hello_take_text(&b, out->terms, rbuf_u16(&b), sizeof(out->terms)))
		return -EPROTO;
	return b.bad || rbuf_left(&b) ? -EPROTO : 0;
}

/* Whether who answers at this address is rank 0. 0; -EINVAL: it refuses; another negative errno. */
static int say_hello(struct channel *c, const struct hello *hello, const struct invite *to,
		     struct err *e)
{
	uint8_t data[HELLO_LEN];
	struct message m;
	int r = channel_send(c, HUB_HELLO, data, hello_pack(hello, to->secret, data));

	if (r)
		return r;
	r = channel_take(c, &m, clock_now_ns() + ANSWER_NS);
	if (r != 1)
		return r ? r : -ETIMEDOUT;
	if (m.type == HUB_REFUSED)
		return err_set(e, -EINVAL, "%.*s", (int)m.len, (const char *)m.data);
	return m.type == HUB_WELCOME ? 0 : -EPROTO;
}

int hub_join(struct channel *out, const struct invite *to, const struct hub_guest *who,
	     struct err *e)
{
	struct hello hello = { .rank = who->rank, .pid = getpid() };
	int fd, r = -EHOSTUNREACH;

	out->fd = -1;
	gethostname(hello.host, sizeof(hello.host) - 1);
	snprintf(hello.terms, sizeof(hello.terms), "%s", who->terms);
	for (unsigned int i = 0; i < to->n; i++) {
		fd = channel_dial(&to->address[i], DIAL_NS);
		if (fd < 0) {
			r = fd;
			continue;
		}
		channel_init(out, fd);
		r = say_hello(out, &hello, to, e);
		if (!r) {
			out->len_max = CHANNEL_MAX;
			return 0;
		}
		channel_close(out);
		if (r == -EINVAL)
			return r;
	}
	return err_set(e, r, "rank %u cannot reach rank 0 at any of its %u addresses, port %u: %s",
		       who->rank, to->n, to->port, strerror(-r));
}

/* ---- reports ---- */

size_t hub_report_pack(const struct hub_report *r, uint8_t out[static HUB_REPORT_LEN])
{
	struct wbuf b = wbuf_of(out, HUB_REPORT_LEN);

	wbuf_u32(&b, (uint32_t)r->result);
	wbuf_u32(&b, r->not_open);
	wbuf_pascal(&b, r->text);
	return (size_t)(b.at - out);
}

int hub_report_unpack(struct hub_report *out, const struct message *m)
{
	struct rbuf b = rbuf_of(m->data, m->len);

	memset(out, 0, sizeof(*out));
	out->result = (int32_t)rbuf_u32(&b);
	out->not_open = rbuf_u32(&b);
	if (!hello_take_text(&b, out->text, rbuf_u8(&b), sizeof(out->text)))
		return -EPROTO;
	return b.bad || rbuf_left(&b) ? -EPROTO : 0;
}

/* ---- clocks ---- */

int hub_pong(struct channel *c, const struct message *ping)
{
	uint64_t came_ns = clock_now_ns();
	uint8_t data[24];
	struct wbuf b = wbuf_of(data, sizeof(data));

	if (ping->len != 8)
		return -EPROTO;
	wbuf_bytes(&b, ping->data, 8);
	wbuf_u64(&b, came_ns);
	wbuf_u64(&b, clock_now_ns());
	return channel_send(c, HUB_PONG, data, sizeof(data));
}
