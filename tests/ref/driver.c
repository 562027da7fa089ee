/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests in all sizes and pieces; replies checked one by one. */

#include "ref/driver.h"

#include "fake/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_ROOM (REF_BATCH_MAX * 4096 + 2 * REF_BULK_MAX)
#define DATA_MAX 600

void ref_driver_init(struct ref_driver *d, int fd, const struct ref_plan *plan,
		     struct ref_shared *s)
{
	memset(d, 0, sizeof(*d));
	d->fd = fd;
	d->plan = plan;
	d->s = s;
	d->id = 65500;
	d->out = malloc(OUT_ROOM);
	REF_MUST(d->out);
}

void ref_driver_fini(struct ref_driver *d)
{
	free(d->out);
	d->out = NULL;
}

static uint32_t pick(struct ref_driver *d, uint32_t below)
{
	return below ? (uint32_t)((ref_random(&d->random) >> 20) % below) : 0;
}

static void put_frame(struct ref_driver *d, uint8_t flags, uint8_t dsi, uint16_t id, uint32_t len)
{
	uint8_t *at = d->out + d->out_len;

	REF_MUST(d->out_len + WIRE_HEAD + len <= OUT_ROOM);
	wire_put(at, &(struct wire_head) { flags, dsi, id, dsi == WIRE_WRITE ? 12 : 0, len, 0 });
	d->out_len += WIRE_HEAD + len;
}

void ref_driver_put(struct ref_driver *d, uint8_t dsi, int command, const uint8_t *data,
		    uint32_t len)
{
	size_t last = (d->first + d->n) % 512;
	bool afp = dsi == WIRE_COMMAND || dsi == WIRE_WRITE;
	uint8_t *at;

	put_frame(d, 0, dsi, d->id, len);
	at = d->out + d->out_len - len;
	if (len && data)
		memcpy(at, data, len);
	if (len && command >= 0)
		at[0] = (uint8_t)command;
	if (dsi == WIRE_TICKLE || dsi == WIRE_CLOSE)
		return;
	if (afp && len && d->plan->mute && (uint32_t)command == d->plan->mute) {
		d->id++;
		return;
	}
	d->owed[last].id = d->id;
	d->owed[last].result = 0;
	d->owed[last].len = dsi == WIRE_COMMAND ? 0 : 12;
	if (afp && len) {
		d->owed[last].result = ref_result((unsigned int)command, d->id);
		d->owed[last].len = ref_reply_len((unsigned int)command, d->id, d->plan->most);
	}
	d->n++;
	d->id++;
}

/* Random bytes, and now and then some that look like the header of another frame. */
static void put_data(struct ref_driver *d, const struct ref_mix *mix, uint8_t dsi, uint32_t len)
{
	static const uint8_t trap[WIRE_HEAD] = { 0, 2, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 4 };
	uint32_t all = mix->commands ? mix->commands : 256;
	int command = (int)pick(d, all > REF_UNKNOWN && pick(d, 4) ? REF_UNKNOWN : all);
	uint8_t *at;

	ref_driver_put(d, dsi, command, NULL, len);
	at = d->out + d->out_len - len;
	for (uint32_t i = 1; i < len; i++)
		at[i] = len > 40 ? trap[(i + len) % WIRE_HEAD] : (uint8_t)ref_random(&d->random);
}

static void put_random(struct ref_driver *d, const struct ref_mix *mix, bool *large)
{
	uint32_t len, of_1000 = pick(d, 1000);

	if (of_1000 < mix->bulk) {
		len = pick(d, *large ? DATA_MAX : mix->bulk_most);
		*large = true;
		put_data(d, mix, WIRE_WRITE, 12 + len);
		return;
	}
	of_1000 = pick(d, 1000);
	if (of_1000 < 4)
		put_frame(d, 0, WIRE_TICKLE, 0, 0);
	else if (of_1000 < 8)
		put_frame(d, 1, WIRE_ATTENTION, (uint16_t)of_1000, 0);
	else if (of_1000 < 12)
		ref_driver_put(d, of_1000 & 1 ? WIRE_STATUS : WIRE_OPEN, -1,
			       (const uint8_t *)"\1\4\0\0\0\2", of_1000 & 1 ? 0 : 6);
	else if (of_1000 < 14 && mix->bare)
		ref_driver_put(d, WIRE_COMMAND, -1, NULL, 0);
	else
		put_data(d, mix, WIRE_COMMAND, 1 + pick(d, pick(d, 50) ? 24 : DATA_MAX));
}

static void take_reply(struct ref_driver *d)
{
	struct wire_head h = wire_get(d->head);
	size_t i = d->first % 512;

	d->have = 0;
	d->body = h.len;
	if (!h.flags) {
		d->n_told++;
		return;
	}
	REF_MUST(d->n && h.flags == 1);
	REF_MUST(d->owed[i].id == h.id);
	REF_MUST(d->owed[i].result == (int32_t)h.code && d->owed[i].len == h.len);
	d->first++;
	d->n--;
	d->n_answered++;
}

static void take(struct ref_driver *d, const uint8_t *at, size_t len)
{
	uint32_t n;

	while (len) {
		if (d->skip || d->body) {
			uint32_t *left = d->skip ? &d->skip : &d->body;

			n = *left < len ? *left : (uint32_t)len;
			*left -= n;
		} else {
			n = WIRE_HEAD - d->have < len ? WIRE_HEAD - d->have : (uint32_t)len;
			memcpy(d->head + d->have, at, n);
			d->have += n;
			if (d->have == WIRE_HEAD)
				take_reply(d);
		}
		at += n;
		len -= n;
	}
}

/* What has come; waits for something when there is nothing to send either. */
static void receive(struct ref_driver *d, int flags)
{
	static _Thread_local uint8_t buf[65536];
	ssize_t r = recv(d->fd, buf, sizeof(buf), flags);

	REF_MUST(r > 0 || (r < 0 && errno == EAGAIN));
	if (r > 0)
		take(d, buf, (size_t)r);
}

static bool can_send(struct ref_driver *d, const struct ref_mix *mix)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN | POLLOUT };

	REF_MUST(poll(&p, 1, -1) == 1);
	if (p.revents & POLLIN) {
		if (mix->slow)
			usleep(500);
		receive(d, MSG_DONTWAIT);
	}
	return p.revents & POLLOUT;
}

void ref_driver_send(struct ref_driver *d, const struct ref_mix *mix)
{
	size_t at = 0, n;
	ssize_t r;

	while (at < d->out_len) {
		n = d->out_len - at;
		if (mix->pieces && pick(d, 3)) {
			r = 1 + (ssize_t)pick(d, pick(d, 8) ? 40 : 3000);
			n = (size_t)r < n ? (size_t)r : n;
		}
		r = send(d->fd, d->out + at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		REF_MUST(r > 0 || errno == EAGAIN);
		if (r > 0)
			at += (size_t)r;
		else
			can_send(d, mix);
	}
	d->out_len = 0;
	while (d->n || d->body || d->have || d->skip) {
		if (mix->slow)
			usleep(300);
		receive(d, 0);
	}
}

void ref_driver_send_part(struct ref_driver *d, size_t len)
{
	uint64_t end = __atomic_load_n(&d->s->n_read, __ATOMIC_ACQUIRE) + len;

	REF_MUST(len <= d->out_len);
	REF_MUST(send(d->fd, d->out, len, MSG_NOSIGNAL) == (ssize_t)len);
	d->out_len -= len;
	memmove(d->out, d->out + len, d->out_len);
	while (__atomic_load_n(&d->s->n_read, __ATOMIC_ACQUIRE) < end)
		usleep(100);
}

void ref_driver_close(struct ref_driver *d)
{
	const struct ref_mix plain = {};

	ref_driver_put(d, WIRE_CLOSE, -1, NULL, 0);
	ref_driver_send(d, &plain);
}

void ref_driver_run(struct ref_driver *d, const struct ref_mix *mix)
{
	static const uint32_t size[] = { 1, 1, 2, 5, 10, 30, 60, 200 };
	uint64_t end = d->n_answered + mix->n, left;
	uint32_t n;
	bool large;

	d->random = mix->seed;
	while (d->n_answered < end) {
		left = end - d->n_answered;
		n = size[pick(d, 8)];
		n = n == 200 ? 1 + pick(d, 200) : n;
		n = n < mix->batch_most ? n : mix->batch_most;
		n = n < left ? n : (uint32_t)left;
		large = false;
		while (d->n < n)
			put_random(d, mix, &large);
		ref_driver_send(d, mix);
	}
}
