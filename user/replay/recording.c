/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/recording.h"

#include "app/cmd.h"
#include "app/runs.h"
#include "bpf/records.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS       86400e9
#define TIME_MOST_NS (366 * 86400000000000u) /* no recording is longer */

/* The fields of a record that are used: X(name). All but timestamp must be there. */
#define RECORDING_FIELDS(X)                                                                        \
	X(t)                                                                                       \
	X(time_ns)                                                                                 \
	X(session)                                                                                 \
	X(port)                                                                                    \
	X(command)                                                                                 \
	X(result)                                                                                  \
	X(marks)                                                                                   \
	X(user)                                                                                    \
	X(volume)                                                                                  \
	X(volume2)                                                                                 \
	X(dir)                                                                                     \
	X(name)                                                                                    \
	X(parent)                                                                                  \
	X(dir2)                                                                                    \
	X(name2)                                                                                   \
	X(parent2)                                                                                 \
	X(offset)                                                                                  \
	X(length)                                                                                  \
	X(actual)                                                                                  \
	X(size)                                                                                    \
	X(id)                                                                                      \
	X(fork)                                                                                    \
	X(bitmap)                                                                                  \
	X(bitmap2)                                                                                 \
	X(flags)                                                                                   \
	X(name_len)                                                                                \
	X(name2_len)                                                                               \
	X(which)                                                                                   \
	X(depth)                                                                                   \
	X(depth2)                                                                                  \
	X(room)                                                                                    \
	X(name_kind)                                                                               \
	X(name2_kind)                                                                              \
	X(ext_len)                                                                                 \
	X(ext2_len)

enum recording_field {
#define X(name) FIELD_##name,
	RECORDING_FIELDS(X)
#undef X
	    N_FIELDS
};

static const char *const field_names[N_FIELDS] = {
#define X(name) #name,
	RECORDING_FIELDS(X)
#undef X
};

struct recording_reader {
	struct trace_reader *t;
	int field[N_FIELDS];
	uint64_t begin_ns;
	struct recording *about;
};

static uint64_t recording_value(const struct recording_reader *r, enum recording_field f)
{
	return trace_reader_value(r->t, r->field[f]);
}

#define VALUE(name) recording_value(r, FIELD_##name)

static uint64_t recording_session_key(const struct recording_reader *r)
{
	return VALUE(session) << 16 | VALUE(port);
}

static void recording_request(const struct recording_reader *r, struct replay_request *q)
{
	const struct replay_path path = { .dir = VALUE(dir),
					  .name = VALUE(name),
					  .parent = VALUE(parent),
					  .volume = (uint16_t)VALUE(volume),
					  .len = (uint16_t)VALUE(name_len),
					  .depth = (uint8_t)VALUE(depth),
					  .kind = (uint8_t)VALUE(name_kind),
					  .ext_len = (uint8_t)VALUE(ext_len) };
	const struct replay_path to = { .dir = VALUE(dir2),
					.name = VALUE(name2),
					.parent = VALUE(parent2),
					.volume = (uint16_t)VALUE(volume2),
					.len = (uint16_t)VALUE(name2_len),
					.depth = (uint8_t)VALUE(depth2),
					.kind = (uint8_t)VALUE(name2_kind),
					.ext_len = (uint8_t)VALUE(ext2_len) };

	*q = (struct replay_request) { .t_ns = VALUE(t) - r->begin_ns,
				       .time_ns = VALUE(time_ns),
				       .session = recording_session_key(r),
				       .path = path,
				       .to = to,
				       .offset = VALUE(offset),
				       .length = VALUE(length),
				       .actual = VALUE(actual),
				       .size = VALUE(size),
				       .id = VALUE(id),
				       .room = (uint32_t)VALUE(room),
				       .result = (int32_t)VALUE(result),
				       .command = (uint16_t)VALUE(command),
				       .marks = (uint16_t)VALUE(marks),
				       .bitmap = (uint16_t)VALUE(bitmap),
				       .dir_bitmap = (uint16_t)VALUE(bitmap2),
				       .flags = (uint16_t)VALUE(flags),
				       .fork = (uint16_t)VALUE(fork),
				       .which = (uint8_t)VALUE(which) };
}

/* Marks are those of the trace. */
_Static_assert(REPLAY_ARGS_MISSING == AFS_MARK_ARGUMENTS && REPLAY_NAME_CUT == AFS_MARK_CUT &&
		   REPLAY_BEGUN_BEFORE == AFS_MARK_BEFORE && REPLAY_LOST_BEFORE == AFS_MARK_LOST &&
		   REPLAY_REPLY_MISSING == AFS_MARK_REPLY,
	       "a plan has the trace's marks");
_Static_assert(REPLAY_NAME_LEGACY == (int)AFS_NAME_LEGACY &&
		   REPLAY_NAME_EMOJI == (int)AFS_NAME_BEYOND,
	       "a plan has the trace's kinds of names");

static int recording_fields(struct recording_reader *r, const char *folder, struct err *e)
{
	for (unsigned int i = 0; i < N_FIELDS; i++) {
		r->field[i] = trace_reader_field(r->t, field_names[i]);
		if (r->field[i] < 0)
			return err_set(e, -EINVAL, "%s: the trace has no field %s of operations",
				       folder, field_names[i]);
	}
	return 0;
}

/*
 * All of it once, before: when its first request began, as the records are in the order of their
 * ends; the sessions and users.
 */
static int recording_look(struct recording_reader *r, struct err *e)
{
	struct recording_users *users = &r->about->users;
	int more, failed = 0;

	r->begin_ns = UINT64_MAX;
	while (!failed && (more = trace_reader_next(r->t, e)) > 0) {
		if (VALUE(t) < r->begin_ns)
			r->begin_ns = VALUE(t);
		failed = recording_users_note(users, recording_session_key(r),
					      (uint32_t)VALUE(user));
		if (!failed && cmd_stop)
			return err_set(e, -EINTR, "interrupted");
	}
	trace_reader_rewind(r->t);
	return failed ? err_set(e, failed, "out of memory") : more;
}

/* One that was written since is left out. */
static int recording_read(struct recording_reader *r, struct replay_plan *p, struct err *e)
{
	struct recording *about = r->about;
	const struct recording_session *s;
	struct replay_request q;
	int more, failed = 0;

	while (!failed && (more = trace_reader_next(r->t, e)) > 0) {
		recording_request(r, &q);
		s = recording_users_find(&about->users, q.session);
		if (!s)
			continue;
		q.user = s->uid;
		q.of_others = about->users.user[s->user].left_out;
		about->n_lost_before += !!(q.marks & REPLAY_LOST_BEFORE);
		failed = replay_plan_add(p, &q);
		if (!failed && cmd_stop)
			return err_set(e, -EINTR, "interrupted");
	}
	if (failed)
		return err_set(e, failed, "out of memory");
	if (more)
		return more;
	trace_reader_found(r->t, &about->found);
	about->lost = about->found.discarded < UINT32_MAX ? about->found.discarded : UINT32_MAX;
	if (p->end_ns > TIME_MOST_NS)
		return err_set(e, -EINVAL,
			       "the recording is of %.0f days: its times cannot be right",
			       (double)p->end_ns / DAY_NS);
	return replay_plan_close(p, e);
}

/*
 * What is missing at the end of the file, which nothing else shows: the run says how many requests
 * its trace has ("FOLDER: 123 requests, ..."). 0 where it does not say so.
 */
static uint64_t recording_missing(const char *folder, uint64_t found)
{
	json_t *run = runs_load(folder);
	const char *said = json_string_value(
	    json_object_get(json_object_get(run, "rungs"), "trace"));
	const char *at = NULL;
	uint64_t written = 0;
	int end;

	/* The last one that a number of calls follows: a name of a folder is before it. */
	for (const char *s = said; s && (s = strstr(s, " requests, ")); s++) {
		end = 0;
		sscanf(s, " requests, %*u calls,%n", &end);
		at = end ? s : at;
	}
	while (at && at > said && at[-1] >= '0' && at[-1] <= '9')
		at--;
	if (at && sscanf(at, "%" SCNu64, &written) != 1)
		written = 0;
	json_decref(run);
	return written > found ? written - found : 0;
}

int recording_plan(struct replay_plan **out, struct recording *about, const char *folder,
		   const struct replay_opts *o, const struct recording_choice *only, struct err *e)
{
	struct recording_reader r = { .about = about };
	int failed;

	*about = (struct recording) { 0 };
	*out = NULL;
	failed = trace_reader_open(&r.t, folder, "operations", e);
	if (failed == -ENOENT)
		err_set(e, -ENOENT,
			"%s is no recording that can be replayed: record --trace --replayable "
			"makes one",
			folder);
	if (failed)
		return failed;
	*out = replay_plan_new(o);
	failed = *out ? recording_fields(&r, folder, e) : err_set(e, -ENOMEM, "out of memory");
	failed = failed ? failed : recording_look(&r, e);
	failed = failed ? failed : recording_users_end(&about->users, folder, only, e);
	failed = failed ? failed : recording_read(&r, *out, e);
	about->missing = failed ? 0 : recording_missing(folder, about->found.records);
	snprintf(about->uuid, sizeof(about->uuid), "%s", trace_reader_uuid(r.t));
	trace_reader_close(r.t);
	return failed;
}

void recording_free(struct recording *about)
{
	recording_users_free(&about->users);
}
