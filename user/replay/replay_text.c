/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a recording, and of what came of its replay. */
#include "replay/replay.h"
#include "report/cell.h"
#include "run/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LISTED   6 /* names in a list, at most */
#define LEFT_LEN 900

/* A list of names with their numbers: "FPGetExtAttr 12, FPOpenDT 3". */
struct replay_list {
	char text[512];
	unsigned int n;
};

static void replay_list_add(struct replay_list *l, const char *name, uint64_t n)
{
	const size_t len = strlen(l->text);

	if (!n)
		return;
	if (l->n++ < LISTED)
		snprintf(l->text + len, sizeof(l->text) - len, "%s%s %s", len ? ", " : "", name,
			 cell_count(n).text);
	else if (l->n == LISTED + 2)
		snprintf(l->text + len, sizeof(l->text) - len, ", ...");
}

static const char *replay_command_name(unsigned int command, char room[ACCOUNT_NAME_MAX])
{
	if (command >= 256)
		return "DSI";
	return account_name(command, room);
}

static void replay_list_left(const struct replay_plan *p, enum replay_reason reason,
			     struct replay_list *out)
{
	char room[ACCOUNT_NAME_MAX];

	*out = (struct replay_list) { 0 };
	for (unsigned int i = 0; i <= 256; i++)
		replay_list_add(out, replay_command_name(i, room), p->counts[i].left[reason]);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Of all copies. */
static void replay_say_image(FILE *out, const struct replay_plan *p, unsigned int copies)
{
	const struct replay_image *i = &p->image;
	const uint64_t dirs = i->dirs * copies, fill = i->fill * copies;
	const uint64_t files = i->files * copies + fill;

	if (copies > 1)
		fprintf(out, "Images of %u copies: ", copies);
	else
		fputs("Image: ", out);
	fprintf(out, "%s folder%s, %s file%s", cell_count(dirs).text, plural(dirs),
		cell_count(files).text, plural(files));
	if (fill)
		fprintf(out, " (%s of them only listed)", cell_count(fill).text);
	fprintf(out, ", %sB", cell_short((double)(i->bytes + i->rsrc_bytes) * copies).text);
	if (i->rsrc_bytes)
		fprintf(out, " (%sB of them resource forks)",
			cell_short((double)i->rsrc_bytes * copies).text);
	fputc('\n', out);
}

/* Of a reason: how many, and of which commands. "": none. */
static void replay_put_left(const struct replay_plan *p, const struct replay_counts *all,
			    enum replay_reason reason, char out[static LEFT_LEN])
{
	struct replay_list list;

	*out = '\0';
	if (!all->left[reason])
		return;
	replay_list_left(p, reason, &list);
	snprintf(out, LEFT_LEN, "%s of %s requests are not replayed: those %s%s%s",
		 cell_count(all->left[reason]).text, cell_count(all->recorded).text,
		 replay_reason_text(reason), reason == REPLAY_OUTSIDE ? "" : ": ",
		 reason == REPLAY_OUTSIDE ? "" : list.text);
}

static void replay_say_requests(FILE *out, const struct replay_plan *p, unsigned int copies)
{
	const uint64_t clients = (uint64_t)p->n_clients * copies;
	struct replay_counts all;

	replay_plan_counts(p, &all);
	fprintf(out, "Replay: %s requests of %s client%s", cell_count(all.planned * copies).text,
		cell_count(clients).text, plural(clients));
	if (copies > 1)
		fprintf(out, " (%u copies of %u)", copies, p->n_clients);
	if (p->n_sessions > p->n_clients)
		fprintf(out, " in place of %s", cell_count((uint64_t)p->n_sessions * copies).text);
	else if (p->n_sessions > p->n_at_once)
		fprintf(out, " (at most %s at the same time: see --sessions)",
			cell_count((uint64_t)p->n_at_once * copies).text);
	fprintf(out, ", %sB to be read, %sB to be written, ",
		cell_short((double)all.read_b * copies).text,
		cell_short((double)all.written_b * copies).text);
	if (p->o.no_think)
		fputs("as fast as their order allows\n", out);
	else
		fprintf(out, "in %.1f s\n", (double)p->last_due_ns / 1e9 + 1 - 1.0 / copies);
}

static uint64_t replay_n_users(const struct recording_users *u)
{
	uint64_t n = 0;

	for (size_t i = 0; i < u->n; i++)
		n += u->user[i].uid != 0;
	return n;
}

void replay_say(FILE *out, const struct replay_cfg *cfg, const struct replay_plan *p,
		const struct recording *about)
{
	const uint64_t users = replay_n_users(&about->users);
	struct run_notes notes = { 0 };
	struct replay_counts all;
	char left[LEFT_LEN];

	replay_plan_counts(p, &all);
	fprintf(out, "Recording: %s requests in %.1f s, %s session%s of %s user%s\n",
		cell_count(all.recorded).text, (double)p->end_ns / 1e9,
		cell_count(about->users.n_sessions).text, plural(about->users.n_sessions),
		cell_count(users).text, plural(users));
	replay_users_say(out, cfg, about);
	replay_say_image(out, p, cfg->copies);
	replay_say_requests(out, p, cfg->copies);
	for (unsigned int i = 0; i < REPLAY_N_REASONS; i++) {
		replay_put_left(p, &all, i, left);
		if (replay_is_usual(i) && *left)
			fprintf(out, "%s\n", left);
	}
	replay_note_recording(p, about, &notes);
	for (size_t i = 0; i < notes.n; i++)
		fprintf(out, "%s\n", notes.note[i].text);
	run_notes_fini(&notes);
}

uint64_t replay_gone(const struct recording *about)
{
	const struct trace_read *f = &about->found;

	/* the run's total, which missing is of, has those in the parts that cannot be read */
	if (!about->missing && (f->damaged || f->missing || f->torn_b))
		return REPLAY_GONE_UNKNOWN;
	return about->lost + about->missing;
}

/* That nothing will be told of the server, as too little is sent, or nobody knows whether it is. */
static int replay_note_less(const struct replay_plan *p, const struct recording *about,
			    struct run_notes *warnings)
{
	const uint64_t gone = replay_gone(about);

	if (replay_has_less(p, gone == REPLAY_GONE_UNKNOWN ? about->lost : gone))
		return run_note(warnings, "left_out",
				"too many requests are left out to say that the server keeps up, "
				"or keeps the limits of --slo");
	if (gone == REPLAY_GONE_UNKNOWN)
		return run_note(warnings, "left_out",
				"how many requests the unreadable parts of the recording had is "
				"not known: whether the server keeps up, or keeps the limits of "
				"--slo, cannot be told");
	return 0;
}

int replay_note_recording(const struct replay_plan *p, const struct recording *about,
			  struct run_notes *warnings)
{
	struct replay_counts all;
	char left[LEFT_LEN];
	int r = 0;

	replay_plan_counts(p, &all);
	if (about->found.damaged || about->found.torn_b)
		r |= run_note(warnings, "damaged",
			      "the recording is damaged: %s of %s packets, and %s bytes at its "
			      "end, cannot be read",
			      cell_count(about->found.damaged).text,
			      cell_count(about->found.packets).text,
			      cell_count(about->found.torn_b).text);
	if (about->found.missing)
		r |= run_note(warnings, "damaged",
			      "the recording is not whole: %s packet%s missing between others",
			      cell_count(about->found.missing).text,
			      about->found.missing == 1 ? " is" : "s are");
	if (about->missing)
		r |= run_note(warnings, "damaged",
			      "of the requests that were recorded %s %s not in the recording any "
			      "more",
			      cell_count(about->missing).text, about->missing == 1 ? "is" : "are");
	if (about->lost)
		r |= run_note(warnings, "recorded", "%llu request%s lost while it was recorded",
			      (unsigned long long)about->lost,
			      about->lost == 1 ? " was" : "s were");
	for (unsigned int i = 0; i < REPLAY_N_REASONS; i++) {
		replay_put_left(p, &all, i, left);
		if (!replay_is_usual(i) && *left)
			r |= run_note(warnings, "left_out", "%s", left);
	}
	r |= replay_note_less(p, about, warnings);
	return r ? -ENOMEM : 0;
}

int replay_note_done(const struct replay_done *done, struct run_notes *warnings)
{
	struct replay_list list;
	uint64_t n;
	int r = 0;

	for (unsigned int o = 0; o < REPLAY_AS_RECORDED; o++) {
		list = (struct replay_list) { 0 };
		n = 0;
		for (unsigned int v = 0; v < N_STORE_VERBS; v++) {
			replay_list_add(&list, store_verb_name(v), done->n[v][o]);
			n += done->n[v][o];
		}
		if (n)
			r |= run_note(warnings, "otherwise", "%s request%s %s: %s",
				      cell_count(n).text, n == 1 ? " was" : "s were",
				      replay_outcome_text(o), list.text);
	}
	if (*done->first)
		r |= run_note(warnings, "otherwise",
			      "the first that was answered in another way: %s", done->first);
	if (done->n_unordered)
		r |= run_note(warnings, "unordered",
			      "%s request%s sent though one of another client that comes before "
			      "was not answered, as that client did nothing for 10 s",
			      cell_count(done->n_unordered).text,
			      done->n_unordered == 1 ? " was" : "s were");
	return r ? -ENOMEM : 0;
}

/* 0: there are so few that it would be the longest one. */
static uint64_t replay_quantile(const struct hist *h, double q)
{
	return (double)h->n * (1 - q) > 0.999 ? hist_quantile(h, q) : 0;
}

static void replay_put_row(struct run_replay_request *q, const struct replay_plan *p,
			   unsigned int copies, const struct replay_done *done,
			   const struct run_load *load, enum store_verb v)
{
	const struct hist *was = &p->recorded[v], *now = &load->action[v].begun;

	*q = (struct run_replay_request) {
		.name = store_verb_name(v),
		.recorded = was->n * copies,
		.came = { .as_recorded = done->n[v][REPLAY_AS_RECORDED],
			  .new_error = done->n[v][REPLAY_NEW_ERROR],
			  .no_error = done->n[v][REPLAY_NO_ERROR],
			  .other_error = done->n[v][REPLAY_OTHER_ERROR],
			  .other_size = done->n[v][REPLAY_OTHER_SIZE],
			  .unsent = done->n[v][REPLAY_UNSENT],
			  .lacks = done->n[v][REPLAY_LACKS] },
		.recorded_p50_ns = replay_quantile(was, 0.5),
		.recorded_p99_ns = replay_quantile(was, 0.99),
		.p50_ns = replay_quantile(now, 0.5),
		.p99_ns = replay_quantile(now, 0.99),
	};
}

static void replay_put_due(struct run_replay *r, const struct run_load *load)
{
	struct run_action all;

	run_load_all(load, &all);
	r->due_p50_ns = replay_quantile(&all.planned, 0.5);
	r->due_p99_ns = replay_quantile(&all.planned, 0.99);
	r->due_max_ns = all.planned.max;
	if (!load->late)
		return;
	r->late_p50_ns = replay_quantile(load->late, 0.5);
	r->late_p99_ns = replay_quantile(load->late, 0.99);
	r->late_max_ns = load->late->max;
}

struct run_replay *replay_result(const struct replay_plan *p, unsigned int copies, uint64_t gone,
				 const struct replay_done *done, const struct run_load *load)
{
	struct run_replay *r = calloc(1, sizeof(*r));
	struct replay_counts all;

	if (r)
		r->request = calloc(N_STORE_VERBS, sizeof(*r->request));
	if (!r || !r->request) {
		free(r);
		return NULL;
	}
	replay_plan_counts(p, &all);
	if (!p->o.no_think) {
		replay_put_due(r, load);
		r->planned_ns = p->last_due_ns;
	}
	r->delayed = done->n_delayed;
	r->delayed_max_ns = done->delayed_max_ns;
	r->copies = copies;
	r->recorded = (all.recorded + gone) * copies;
	r->planned = all.planned * copies;
	r->recorded_read_b = all.read_b * copies;
	r->recorded_written_b = all.written_b * copies;
	r->read_b = done->read_b;
	r->written_b = done->written_b;
	r->waited = done->n_waited;
	r->unordered = done->n_unordered;
	for (unsigned int v = 0; v < N_STORE_VERBS && v < load->n_actions; v++)
		if (p->recorded[v].n)
			replay_put_row(&r->request[r->n++], p, copies, done, load, v);
	return r;
}
