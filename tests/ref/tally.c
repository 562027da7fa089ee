/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a reference server did, by the rules, one byte and one call at a time. */

#include "ref/tally.h"

#include "run/account.h"

#include <string.h>

#define ADD(counter, n) __atomic_fetch_add(&(counter), (n), __ATOMIC_RELAXED)

void ref_stream_init(struct ref_stream *s, struct ref_tally *tally)
{
	memset(s, 0, sizeof(*s));
	s->tally = tally;
	s->account = AFS_ACCOUNT_BETWEEN;
}

static void begin_oldest(struct ref_stream *s)
{
	s->account = s->n ? s->queue[s->first % REF_N_QUEUED].account : AFS_ACCOUNT_BETWEEN;
	if (s->n)
		ADD(s->tally->account[s->account].begun, 1);
}

/* Header and, where there is one, the first byte after it are here. */
static void take_frame(struct ref_stream *s, uint32_t len)
{
	uint32_t at = (s->first + s->n) % REF_N_QUEUED, command = s->head[1];
	bool answered = command == 2 || command == 3 || command == 4 || command == 6;

	s->have = 0;
	s->body = len ? len - 1 : 0;
	if (s->head[0] || !answered)
		return;
	s->queue[at].mute = false;
	s->queue[at].bytes = 16 + len;
	s->queue[at].account = AFS_ACCOUNT_DSI + command;
	if ((command == 2 || command == 6) && len)
		s->queue[at].account = account_known_name(s->head[16]) ? s->head[16]
								       : AFS_ACCOUNT_UNNAMED;
	s->n++;
	if (s->n == 1)
		begin_oldest(s);
}

static void take_byte(struct ref_stream *s, uint8_t byte)
{
	uint32_t len;

	if (s->body) {
		s->body--;
		return;
	}
	s->head[s->have++] = byte;
	if (s->have < 16)
		return;
	len = (uint32_t)s->head[8] << 24 | s->head[9] << 16 | s->head[10] << 8 | s->head[11];
	if (s->have == 17 || !len)
		take_frame(s, len);
}

void ref_stream_in(struct ref_stream *s, const uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		take_byte(s, buf[i]);
}

void ref_stream_skip(struct ref_stream *s, size_t len)
{
	s->body -= len;
}

static void add_result(struct ref_tally *t, uint32_t account, int32_t code)
{
	uint64_t i;

	for (i = 0; i < t->n_results; i++)
		if (t->result[i].account == account && t->result[i].code == code)
			break;
	if (i == REF_N_RESULTS)
		return;
	if (i == t->n_results) {
		t->result[i].account = account;
		t->result[i].code = code;
		t->n_results++;
	}
	t->result[i].n++;
}

void ref_stream_mute(struct ref_stream *s)
{
	uint32_t i = 0;

	while (s->queue[(s->first + i) % REF_N_QUEUED].mute)
		i++;
	s->queue[(s->first + i) % REF_N_QUEUED].mute = true;
}

static void drop_oldest(struct ref_stream *s)
{
	s->first++;
	s->n--;
	begin_oldest(s);
}

void ref_stream_answered(struct ref_stream *s, int32_t result, uint32_t len)
{
	struct ref_account *a;

	while (s->queue[s->first % REF_N_QUEUED].mute)
		drop_oldest(s);
	a = &s->tally->account[s->account];
	ADD(a->answered, 1);
	ADD(a->bytes_in, s->queue[s->first % REF_N_QUEUED].bytes);
	ADD(a->bytes_out, 16 + len);
	if (result) {
		ADD(a->errors, 1);
		add_result(s->tally, s->account, result);
	}
	drop_oldest(s);
}

/*
 * A wait is for the client after a write that found no room, and after a read if the rest of a
 * request is to come while one is in service.
 */
static bool is_for_client(const struct ref_stream *s)
{
	return s->blocked || (s->reads && s->body && s->n);
}

long ref_count(struct ref_worker *w, enum afs_class class, enum afs_object object, long r)
{
	uint32_t account = w->serves ? w->stream->account : w->account;
	struct ref_cell *c;

	if (w->serves && class == AFS_CLASS_WAIT && is_for_client(w->stream)) {
		object = AFS_OBJECT_CLIENT;
	} else if (w->serves && class != AFS_CLASS_WAIT) {
		w->stream->blocked = false;
		w->stream->reads = object == AFS_OBJECT_CLIENT &&
				   (class == AFS_CLASS_READ || class == AFS_CLASS_RECV);
	}
	c = &w->tally->cell[w->role][account][class][object];
	ADD(c->calls, 1);
	if (r < 0)
		ADD(c->errors, 1);
	else if (class <= AFS_CLASS_COPY)
		ADD(c->bytes, (uint64_t)r);
	return r;
}

void ref_tally_subtract(struct ref_tally *later, const struct ref_tally *earlier)
{
	size_t n = sizeof(later->cell) / sizeof(uint64_t);
	const uint64_t *from = (const uint64_t *)earlier->cell;
	uint64_t *to = (uint64_t *)later->cell;

	for (size_t i = 0; i < n; i++)
		to[i] -= from[i];
	n = AFS_N_ACCOUNTS * (sizeof(struct ref_account) / sizeof(uint64_t));
	from = (const uint64_t *)earlier->account;
	to = (uint64_t *)later->account;
	for (size_t i = 0; i < n; i++)
		to[i] -= from[i];
	/* Results keep their place. */
	for (size_t i = 0; i < earlier->n_results; i++)
		later->result[i].n -= earlier->result[i].n;
}

uint64_t ref_tally_calls(const struct ref_tally *t, enum afs_role role, unsigned int account)
{
	uint64_t n = 0;

	for (int class = 0; class < AFS_N_CLASSES; class ++)
		for (int object = 0; object < AFS_N_OBJECTS; object++)
			if (class != AFS_CLASS_WAIT)
				n += t->cell[role][account][class][object].calls;
	return n;
}
