/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread of the engine counts of its clients' actions and requests. */
#include "load/tally.h"

#include "base/clock.h"
#include "load/pause.h"

#include <errno.h>
#include <string.h>

bool tally_open_loop(const struct worker *w)
{
	return w->job->what == ENGINE_WORK && w->job->pace.kind != PACE_CLOSED;
}

bool tally_measures(const struct worker *w, uint64_t planned_ns)
{
	return planned_ns >= w->measure_ns && planned_ns < w->end_ns;
}

/* A closed loop for a given time: what ends in that time counts, whenever it began. */
static bool tally_by_end(const struct worker *w)
{
	return !tally_open_loop(w) && w->job->duration_ns;
}

uint64_t tally_own_ns(const struct worker *w, const struct actor *a, uint64_t ns)
{
	return tally_open_loop(w) ? ns : ns - (a->aside_ns - a->aside_job_ns);
}

/* Likewise of an action until its last answer, from a time when its script had that behind it. */
static uint64_t tally_own_since(const struct worker *w, const struct actor *a, uint64_t end_ns,
				uint64_t aside_ns)
{
	return tally_open_loop(w) ? end_ns : end_ns - (a->aside_ns - aside_ns);
}

static bool tally_counts(const struct worker *w, const struct actor *a, uint64_t end_ns)
{
	return tally_measures(w, tally_by_end(w) ? tally_own_ns(w, a, end_ns) : a->planned_ns);
}

/* It takes at least ns. */
static void note_undone(struct run_load *l, uint64_t ns, bool held)
{
	l->n_held += held;
	if (!held)
		hist_add(&l->undone, ns);
}

/* What a second counts. */
struct tally_event {
	bool astray;          /* run_second.astray */
	bool dropped, failed; /* else it has these: */
	uint64_t latency_ns, bytes;
};

static void tally_put_event(struct run_second *s, const struct tally_event *x)
{
	s->dropped += x->dropped;
	s->n += !x->dropped;
	s->failed += x->failed;
	s->astray += x->astray;
	if (x->dropped || x->failed)
		return;
	s->astray_ns += x->astray ? x->latency_ns : 0;
	s->bytes += x->bytes;
	s->sum_ns += x->latency_ns;
	if (x->latency_ns > s->max_ns)
		s->max_ns = x->latency_ns;
	s->bucket[hist_index(x->latency_ns, RUN_SECOND_BITS)]++;
}

/* For who looks on; NULL: that second has been over for long. */
static struct run_second *tally_recent(struct worker *w, uint64_t second)
{
	struct recent_second *r = &w->recent[second % RECENT_SECONDS];

	if (r->number > second + 1)
		return NULL;
	if (r->number < second + 1)
		*r = (struct recent_second) { .number = second + 1 };
	return &r->s;
}

static void tally_put_in(struct worker *w, uint64_t second, const struct tally_event *x)
{
	struct run_second *kept = run_load_second(w->load, second), *recent;

	if (kept)
		tally_put_event(kept, x);
	recent = w->keeps_recent ? tally_recent(w, second) : NULL;
	if (recent)
		tally_put_event(recent, x);
}

static void tally_event(struct worker *w, uint64_t at_ns, const struct tally_event *x)
{
	const uint64_t second = at_ns > w->begin_ns ? (at_ns - w->begin_ns) / 1000000000u : 0;

	if (w->keeps_recent)
		pthread_mutex_lock(&w->looked_on);
	tally_put_in(w, second, x);
	if (w->keeps_recent)
		pthread_mutex_unlock(&w->looked_on);
}

/* By when it was due, in a closed loop by when it ended. NULL: there are none, or it is not in the
 * measured time. */
static struct run_stage *tally_stage(struct worker *w, uint64_t at_ns)
{
	double s;

	if (!w->load->n_stages)
		return NULL;
	s = (double)(at_ns - w->measure_ns) / 1e9;
	for (size_t i = 0; tally_measures(w, at_ns) && i < w->load->n_stages; i++)
		if (s < w->load->stage[i].to_s)
			return &w->load->stage[i];
	return NULL;
}

void tally_arrival(struct worker *w, const struct arrival *x, bool waits)
{
	struct run_stage *stage = tally_stage(w, x->due_ns);

	w->load->n_arrivals += x->measured;
	w->load->n_found_none += x->measured && waits;
	if (stage)
		stage->n_planned++;
}

void tally_dropped(struct worker *w, const struct arrival *x)
{
	tally_event(w, clock_now_ns(),
		    &(struct tally_event) { .dropped = true, .astray = !x->measured });
	w->load->n_no_room += x->measured;
	if (x->measured && w->job->queue)
		note_undone(w->load, w->end_ns - x->due_ns, x->held);
}

void tally_waiting(struct run_load *l, const struct arrival *x, uint64_t end_ns)
{
	l->n_waiting += x->measured;
	if (x->measured)
		note_undone(l, end_ns > x->due_ns ? end_ns - x->due_ns : 0, x->held);
}

void tally_end_earlier(struct worker *w, uint64_t ns)
{
	struct hist *h = &w->load->undone;
	struct hist less = { 0 };
	uint64_t low;

	for (size_t i = 0; i < HIST_BUCKETS(HIST_BITS) && h->n; i++) {
		low = hist_low(i, HIST_BITS);
		low = low > ns ? low - ns : 0;
		less.bucket[hist_index(low, HIST_BITS)] += h->bucket[i];
		less.sum += h->bucket[i] * low;
	}
	less.n = h->n;
	less.min = h->min > ns ? h->min - ns : 0;
	less.max = h->max > ns ? h->max - ns : 0;
	*h = less;
}

void tally_cut(struct worker *w, const struct actor *a, uint64_t now_ns)
{
	bool held = a->arrival.held || pause_within_ns(w, a->planned_ns, now_ns);

	if (tally_by_end(w) ? now_ns < w->measure_ns : !tally_measures(w, a->planned_ns))
		return;
	w->load->n_cut++;
	note_undone(w->load, now_ns - a->planned_ns, held);
}

/* It was under way when the measured time was over. */
static void note_outlasting(struct worker *w, const struct actor *a, uint64_t end_ns)
{
	if (!tally_by_end(w) || tally_own_ns(w, a, end_ns) < w->end_ns ||
	    a->planned_ns >= w->end_ns || pause_within_ns(w, a->planned_ns, end_ns))
		return;
	w->load->n_outlasting++;
	a->out->outlasting_ns = end_ns - a->planned_ns;
	if (end_ns - a->planned_ns > w->load->outlasting_max_ns)
		w->load->outlasting_max_ns = end_ns - a->planned_ns;
}

void tally_bytes(struct worker *w, struct actor *a, uint64_t bytes, uint64_t answered_ns)
{
	if (w->job->duration_ns && !tally_measures(w, tally_own_ns(w, a, answered_ns)))
		return;
	a->out->bytes += bytes;
	a->bytes_counted += bytes;
}

void tally_late(struct worker *w, uint64_t planned_ns, uint64_t now_ns)
{
	tally_handed(w, now_ns - planned_ns, true);
}

void tally_handed(struct worker *w, uint64_t late_ns, bool counts)
{
	w->load->late_n += counts && late_ns > TALLY_LATE_NS;
	if (late_ns > w->load->late_max_ns)
		w->load->late_max_ns = late_ns;
}

/* Of an open loop: what ended on another side of the measured time's begin or end than it was due.
 */
static void note_across(struct worker *w, const struct actor *a, uint64_t end_ns)
{
	bool due = tally_measures(w, a->planned_ns);

	if (!tally_open_loop(w))
		return;
	w->load->n_ended_after += due && end_ns >= w->end_ns;
	w->load->n_due_before += !due && tally_measures(w, end_ns);
}

/* Until the first client has nothing more to do; by the last action before that it may be off. */
static void count_common(struct worker *w, uint64_t end_ns, uint64_t bytes)
{
	uint64_t first_ns = atomic_load_explicit(&w->times->first_ns, memory_order_relaxed);
	bool common = !first_ns || end_ns <= first_ns;

	run_progress_add(w->load->progress, end_ns - w->begin_ns, bytes);
	w->load->common_n += common;
	w->load->common_bytes += common ? bytes : 0;
}

/* Whether it took longer because this thread did not run: that is in no latency. */
static bool load_tally_note_paused(struct worker *w, const struct actor *a, uint64_t end_ns)
{
	if (!a->arrival.held && !pause_within_ns(w, a->planned_ns, end_ns))
		return false;
	if (!tally_counts(w, a, end_ns))
		return true;
	w->load->n_paused++;
	if (end_ns - a->planned_ns > w->load->paused_max_ns)
		w->load->paused_max_ns = end_ns - a->planned_ns;
	return true;
}

/* Its latencies; of one that did not fail, and was not held up by this program. */
static void tally_latency(struct worker *w, struct actor *a, struct run_stage *stage,
			  uint64_t end_ns)
{
	struct run_action *to = &w->load->action[a->action];
	uint64_t own_ns = tally_own_since(w, a, end_ns, a->aside_planned_ns) - a->planned_ns;

	a->out->sum_ns += own_ns;
	if (own_ns > a->out->max_ns)
		a->out->max_ns = own_ns;
	if (stage)
		hist_add(&stage->done.planned, own_ns);
	hist_add(&to->planned, own_ns);
	hist_add(&to->begun, tally_own_since(w, a, end_ns, a->aside_begun_ns) - a->begun_ns);
	if (a->over_network)
		chain_end(&a->chain, a->script->bytes - a->bytes_before, &to->trips);
}

void tally_action(struct worker *w, struct actor *a, uint64_t end_ns, bool failed)
{
	struct run_action *to = &w->load->action[a->action];
	struct run_stage *stage = tally_stage(w, tally_by_end(w) ? end_ns : a->planned_ns);
	bool paused = !failed && load_tally_note_paused(w, a, end_ns);
	uint64_t own_end_ns = tally_own_ns(w, a, end_ns);

	atomic_store_explicit(&w->n_done, w->n_done + 1, memory_order_relaxed);
	if (!paused)
		tally_event(w, end_ns,
			    &(struct tally_event) {
				.astray = tally_open_loop(w) && !tally_measures(w, a->planned_ns),
				.failed = failed,
				.latency_ns = tally_own_since(w, a, end_ns, a->aside_planned_ns) -
					      a->planned_ns,
				.bytes = a->script->bytes - a->bytes_before });
	if (own_end_ns > w->load->done_ns)
		w->load->done_ns = own_end_ns;
	note_outlasting(w, a, end_ns);
	if (!failed)
		note_across(w, a, end_ns);
	/* Of a given amount of work they are the bytes that were moved. */
	a->out->bytes -= failed && w->job->duration_ns ? a->bytes_counted : 0;
	if (!tally_counts(w, a, end_ns))
		return;
	to->n++;
	to->failed += failed;
	w->load->n_contended += a->script->contended - a->contended_before;
	if (stage) {
		stage->done.n++;
		stage->done.failed += failed;
	}
	a->out->actions++;
	a->out->failed += failed;
	a->out->last_ns = own_end_ns - w->begin_ns;
	if (failed)
		return;
	count_common(w, own_end_ns, a->script->bytes - a->bytes_before);
	if (!paused)
		tally_latency(w, a, stage, end_ns);
}

void tally_rtt(struct worker *w, const struct actor *a)
{
	uint64_t ns;

	if (!a->store || a->state == ACTOR_ENDING || !a->store->has_trips ||
	    !store_rtt(a->store, &ns))
		return;
	w->load->rtt_n++;
	w->load->rtt_sum_ns += ns;
}

static int tally_command(struct worker *w, const struct store_part *part, struct err *e)
{
	struct run_command *c = w->command[part->command];

	if (!c) {
		c = run_command(&w->region, part->command, part->what);
		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		w->command[part->command] = c;
	}
	c->errors += part->refused;
	hist_add(&c->latency, part->last_ns - part->begun_ns -
				  pause_within_ns(w, part->begun_ns, part->last_ns));
	return 0;
}

int tally_request(struct worker *w, const struct store_op *op, struct err *e)
{
	const struct store_part whole = { op->command, op->result != STORE_OK, op->what,
					  op->t.begun_ns, op->t.last_ns };
	int r = 0;

	if (!op->parts)
		return tally_command(w, &whole, e);
	for (unsigned int i = 0; !r && i < op->n_parts; i++)
		r = tally_command(w, &op->parts[i], e);
	return r;
}
