/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a replay did beside what was recorded. */
#include "report/screen/screen.h"
#include "report/screen/screen_text.h"

#define SCREEN_REPLAY_LATE_NS 1000000u /* p99: more is said in yellow */

enum { COL_NAME, COL_RECORDED, COL_SENT, COL_OTHER, COL_WAS_P50, COL_P50, COL_WAS_P99, COL_P99 };

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "request" },
	[COL_RECORDED] = { .head = "recorded" },
	[COL_SENT] = { .head = "replayed" },
	[COL_OTHER] = { .head = "otherwise" },
	[COL_WAS_P50] = { .head = "server p50", .name = "recorded_p50" },
	[COL_P50] = { .head = "client p50", .name = "p50" },
	[COL_WAS_P99] = { .head = "server p99", .name = "recorded_p99" },
	[COL_P99] = { .head = "client p99", .name = "p99" },
};

static const struct section_type replay_section = {
	.key = "replay",
	.title = "Recorded, as the server took, and replayed, as the client waited",
	SECTION_OF(columns),
};

static struct cell screen_replay_time(uint64_t ns)
{
	return ns ? screen_time((double)ns) : cell_blank();
}

static void screen_replay_put_row(struct section *s, const struct run_replay_request *q)
{
	struct cell *cell = section_row(s)->cell;
	const uint64_t others = run_replay_others(&q->came);

	cell[COL_NAME] = cell_text(q->name, 24);
	cell[COL_RECORDED] = cell_count(q->recorded);
	cell[COL_SENT] = cell_count(q->came.as_recorded + others);
	cell[COL_OTHER] = others ? cell_count(others) : cell_blank();
	cell[COL_WAS_P50] = screen_replay_time(q->recorded_p50_ns);
	cell[COL_P50] = screen_replay_time(q->p50_ns);
	cell[COL_WAS_P99] = screen_replay_time(q->recorded_p99_ns);
	cell[COL_P99] = screen_replay_time(q->p99_ns);
}

/* Whether each request had the answer that it has in the recording. */
static void screen_replay_put_answers(const struct paint *p, const struct run_replay *r)
{
	struct screen_text t = { 0 };
	uint64_t same = 0, others = 0, unsent = 0, lacks = 0;

	for (size_t i = 0; i < r->n; i++) {
		same += r->request[i].came.as_recorded;
		others += run_replay_others(&r->request[i].came);
		unsent += r->request[i].came.unsent;
		lacks += r->request[i].came.lacks;
	}
	if (!r->planned)
		return;
	if (same == r->planned) {
		screen_add(&t, "Answered as recorded: all %s request%s", cell_count(same).text,
			   same == 1 ? "" : "s");
	} else {
		screen_add(&t, "Answered as recorded: %s of %s requests", cell_count(same).text,
			   cell_count(r->planned).text);
		if (others)
			screen_add(&t, ", %s answered differently", cell_count(others).text);
		if (unsent)
			screen_add(&t, ", %s not sent", cell_count(unsent).text);
		if (lacks)
			screen_add(&t, ", %s not supported", cell_count(lacks).text);
	}
	screen_put(p, others ? INK_RED : INK_NONE, t.text, 2);
}

/* Whether the server kept up: its figure is when 99 of 100 requests were answered. */
static void screen_replay_put_kept_up(const struct paint *p, const struct run_slo *s)
{
	static const enum ink inks[] = { INK_NONE, INK_RED, INK_YELLOW };
	struct screen_text t = { 0 };

	if (!*s->text)
		return;
	if (s->verdict == RUN_SLO_UNSURE)
		screen_add(&t, "CANNOT TELL whether the server kept up: %s", s->why);
	else if (s->verdict == RUN_SLO_KEPT)
		screen_add(&t,
			   "The server kept up: 99 of 100 requests were answered within %s of "
			   "when they were due",
			   screen_time(s->value).text);
	else if (*s->why)
		screen_add(&t, "The server DID NOT KEEP UP: %s", s->why);
	else
		screen_add(&t,
			   "The server DID NOT KEEP UP: 1 of 100 requests was answered %s after it "
			   "was due, or later",
			   screen_time(s->value).text);
	screen_put(p, inks[s->verdict], t.text, 2);
}

/* How far behind the recording it was. */
static void screen_replay_put_due(const struct paint *p, const struct run_replay *r)
{
	struct screen_text t = { 0 };

	if (!r->due_max_ns)
		return;
	if (r->due_p99_ns)
		screen_add(&t,
			   "From when a request was due until its reply: p50 %s, p99 %s, max %s",
			   screen_time((double)r->due_p50_ns).text,
			   screen_time((double)r->due_p99_ns).text,
			   screen_time((double)r->due_max_ns).text);
	else
		screen_add(&t, "From when a request was due until its reply: at most %s",
			   screen_time((double)r->due_max_ns).text);
	screen_put(p, INK_NONE, t.text, 2);
}

/* By which of these times this program itself held requests up. */
static void screen_replay_put_late(const struct paint *p, const struct run_replay *r)
{
	struct screen_text t = { 0 };

	if (!r->late_p99_ns)
		return;
	screen_add(&t,
		   "Late because of this machine, after they were due and their client was free: "
		   "p50 %s, p99 %s, max %s",
		   screen_time((double)r->late_p50_ns).text,
		   screen_time((double)r->late_p99_ns).text,
		   screen_time((double)r->late_max_ns).text);
	screen_put(p, r->late_p99_ns > SCREEN_REPLAY_LATE_NS ? INK_YELLOW : INK_NONE, t.text, 2);
}

int screen_replay(const struct paint *p, const struct run_phase *phase)
{
	const struct run_replay *r = phase->replay;
	struct screen_text t = { 0 };
	struct section s;
	uint64_t sent = 0;

	if (!r)
		return 0;
	section_open(&s, p, &replay_section);
	for (size_t i = 0; i < r->n; i++) {
		screen_replay_put_row(&s, &r->request[i]);
		sent += r->request[i].came.as_recorded + run_replay_others(&r->request[i].came);
	}
	screen_replay_put_answers(p, r);
	screen_replay_put_kept_up(p, &r->kept_up);
	if (r->copies > 1)
		screen_add(&t, "%u copies of each session. ", r->copies);
	screen_add(&t, "Replayed: %s of %s requests of the recording (%s)", cell_count(sent).text,
		   cell_count(r->recorded).text,
		   screen_percent((double)sent, (double)r->recorded).text);
	screen_put(p, INK_NONE, t.text, 2);
	screen_replay_put_due(p, r);
	screen_replay_put_late(p, r);
	return section_close(&s);
}
