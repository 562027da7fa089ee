/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the server kept up with a recording, and the limits of --slo. */
#include "replay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is refused is said elsewhere: it makes nobody late. */
#define FAILED   "failed<=100%%" /* as a format */
#define LATE_MS  1000.0
#define LATE     0.1 /* of the time of all, where that is less */
#define PAUSE_NS 1e7 /* a shorter time is no pause: a program sends the next request */
#define PAUSED   0.1 /* of its time; or as much longer as a server may be and keep up */

int replay_check_slos(const struct slos *s, struct err *e)
{
	const char *scope;
	unsigned int v;

	for (unsigned int i = 0; i < s->n; i++) {
		scope = s->slo[i].scope;
		for (v = 0; *scope && v < N_STORE_VERBS; v++)
			if (!strcmp(store_verb_name(v), scope))
				break;
		if (v == N_STORE_VERBS)
			return err_set(e, -EINVAL, "--slo %s: a replay has no request '%s'",
				       s->slo[i].text, scope);
	}
	return 0;
}

/* How late may be. */
static double replay_late_ms(const struct replay_plan *p)
{
	return fmin(LATE_MS, (double)p->last_due_ns / 1e6 * LATE);
}

/*
 * Whether a client paused in the recording for more than a tenth of its time, and so often that a
 * server that is a tenth slower would not make it too late before it pauses: what comes late within
 * a time without pauses adds up, and a pause takes off no more than its length.
 */
static bool replay_client_paused(const struct replay_plan *p, const struct replay_client_plan *c)
{
	const double most_ns = replay_late_ms(p) * 1e6;
	double paused_ns = 0, late_ns = 0, gap_ns, pause_ns, span_ns;

	if (c->n_steps < 2)
		return true;
	for (uint32_t i = 0; i + 1 < c->n_steps; i++) {
		const struct replay_step *now = &p->step[c->step[i]];

		gap_ns = ((double)p->step[c->step[i + 1]].due_ns - (double)now->due_ns) *
			 p->o.speed;
		pause_ns = gap_ns - (double)now->time_ns;
		pause_ns = pause_ns < PAUSE_NS ? 0 : pause_ns;
		paused_ns += pause_ns;
		late_ns += (gap_ns - pause_ns) * PAUSED;
		if (late_ns > most_ns)
			return false;
		late_ns = fmax(late_ns - pause_ns, 0);
	}
	span_ns = (double)p->step[c->step[c->n_steps - 1]].due_ns -
		  (double)p->step[c->step[0]].due_ns;
	return paused_ns > span_ns * p->o.speed * PAUSED;
}

uint64_t replay_unpaused(const struct replay_plan *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->n_clients; i++)
		n += replay_client_paused(p, &p->client[i]) ? 0 : p->client[i].n_steps;
	return n;
}

/* A session that comes late in the place of another one is late because of that one, and the time
 * between them is no pause of a user. */
static bool replay_doubt_shared(const struct replay_plan *p, const struct run_load *load,
				struct run_slo *kept_up)
{
	if (kept_up->verdict != RUN_SLO_BROKEN || load->n_lost || p->n_sessions <= p->n_clients)
		return false;
	kept_up->verdict = RUN_SLO_UNSURE;
	snprintf(kept_up->why, sizeof(kept_up->why),
		 "sessions that share a place (--sessions) wait for the one before to end");
	return true;
}

/* A client that does not pause is late with all that follows as soon as one answer takes longer,
 * also on the recorded server. At a higher speed it was to be faster than that. */
static void replay_doubt(const struct replay_plan *p, const struct run_load *load,
			 struct run_slo *kept_up)
{
	const uint64_t n = replay_unpaused(p);

	if (kept_up->verdict != RUN_SLO_BROKEN || load->n_lost || p->o.speed > 1 ||
	    n * 100 <= p->n_steps)
		return;
	kept_up->verdict = RUN_SLO_UNSURE;
	snprintf(kept_up->why, sizeof(kept_up->why),
		 "the clients that sent %llu of %u requests seldom paused in the recording: delays "
		 "add up until the next pause",
		 (unsigned long long)n, p->n_steps);
}

/* A server that refuses what users do, or has less for them, and so is not sent the rest of it, is
 * quick: they would have it otherwise. As many as may be late may be so. */
static void replay_doubt_refused(const struct replay_done *done, struct run_slo *kept_up)
{
	const unsigned long long n = done->n_refused_anew, all = done->n_were_done;

	if (kept_up->verdict != RUN_SLO_KEPT || n * 100 <= all)
		return;
	kept_up->verdict = RUN_SLO_UNSURE;
	if (n == 1)
		snprintf(kept_up->why, sizeof(kept_up->why),
			 "1 of %llu requests that were done in the recording was refused or not "
			 "sent, or moved fewer bytes",
			 all);
	else
		snprintf(kept_up->why, sizeof(kept_up->why),
			 "%llu of %llu requests that were done in the recording were refused or "
			 "not sent, or moved fewer bytes",
			 n, all);
}

bool replay_is_usual(enum replay_reason reason)
{
	return reason == REPLAY_SESSION || reason == REPLAY_OUTSIDE || reason == REPLAY_OTHERS;
}

/* What cannot be sent again, of what was asked for. */
static uint64_t replay_left(const struct replay_counts *all)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < REPLAY_N_REASONS; i++)
		n += replay_is_usual(i) ? 0 : all->left[i];
	return n;
}

static bool replay_lacks(const struct replay_counts *all, uint64_t gone)
{
	const uint64_t left = replay_left(all);

	return gone == REPLAY_GONE_UNKNOWN || gone + left > (all->planned + gone + left) / 100;
}

bool replay_has_less(const struct replay_plan *p, uint64_t gone)
{
	struct replay_counts all;

	replay_plan_counts(p, &all);
	return replay_lacks(&all, gone);
}

/* What is not in the recording any more, or cannot be replayed, was not sent: the server had less
 * to do. As many as may be late may be so. */
static bool replay_doubt_gone(const struct replay_plan *p, uint64_t gone, struct run_slo *slo)
{
	struct replay_counts all;

	replay_plan_counts(p, &all);
	/* of which part those are that are gone is not known: perhaps of the one that is replayed
	 */
	if (slo->verdict != RUN_SLO_KEPT || !replay_lacks(&all, gone))
		return false;
	slo->verdict = RUN_SLO_UNSURE;
	if (gone == REPLAY_GONE_UNKNOWN) {
		snprintf(slo->why, sizeof(slo->why),
			 "parts of the recording cannot be read, and how many requests they had is "
			 "not known");
		return true;
	}
	snprintf(slo->why, sizeof(slo->why),
		 "too many requests were left out: not in the recording any more %llu, impossible "
		 "to replay %llu; to be sent were %llu",
		 (unsigned long long)gone, (unsigned long long)replay_left(&all),
		 (unsigned long long)all.planned);
	return true;
}

/* 99 of 100 are not late by more than a second, or a tenth of a replay that is shorter than 10 s.
 */
static bool replay_keeps_up(struct slos *out, const struct replay_plan *p)
{
	char text[80];
	struct err e;

	*out = (struct slos) { .carried = true };
	snprintf(text, sizeof(text), "p99<=%.6gms," FAILED, replay_late_ms(p));
	return p->last_due_ns && !slo_take(out, text, &e);
}

enum run_slo_verdict replay_judge(const struct slos *s, const struct replay_plan *p,
				  const struct replay_done *done, uint64_t gone,
				  struct run_load *load, struct run_slo *kept_up, bool stopped)
{
	const uint64_t late_n = load->late_n, late_max_ns = load->late_max_ns;
	struct slos default_slos, given = *s;
	enum run_slo_verdict worst;

	/* What delayed one request is in the times of those that came after it, too. */
	if (done->n_delayed > load->late_n)
		load->late_n = done->n_delayed;
	if (done->delayed_max_ns > load->late_max_ns)
		load->late_max_ns = done->delayed_max_ns;
	*kept_up = (struct run_slo) { 0 };
	if (replay_keeps_up(&default_slos, p)) {
		slo_judge(&default_slos, load, NULL, stopped);
		*kept_up = load->slo[0];
		if (!replay_doubt_shared(p, load, kept_up))
			replay_doubt(p, load, kept_up);
		replay_doubt_refused(done, kept_up);
		replay_doubt_gone(p, gone, kept_up);
	}
	given.carried = true;
	worst = slo_judge(&given, load, NULL, stopped);
	for (unsigned int i = 0; i < load->n_slos; i++)
		if (replay_doubt_gone(p, gone, &load->slo[i]) && worst == RUN_SLO_KEPT)
			worst = RUN_SLO_UNSURE;
	load->late_n = late_n;
	load->late_max_ns = late_max_ns;
	return worst;
}
