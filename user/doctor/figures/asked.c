/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/figures/asked.h"

#include "doctor/figures/sessions.h"
#include "doctor/rules/rules.h"

/* Entries of a cache whose size is not known: the smaller one of netatalk's defaults. */
#define DIRCACHE_DEFAULT 8192
/* A full cache drops many entries at a time, so that some are gone after half of its size. */
#define LONG_AGO(size) ((size) / 2)
#define ENTRY_BYTES    192 /* of the cache, by afp.conf(5) */
#define UNSEEN_FEW     0.1 /* of the questions: more of another kind may be another picture */

struct asked {
	uint64_t n, again[AFS_ASKING_BUCKETS]; /* of all sessions; questions of long ago only */
	unsigned int long_ago;                 /* the first of these buckets */
	uint64_t most;                         /* of one session */
	uint64_t older;                        /* of n, of sessions that began before the watch */
	bool has_older;                        /* there is such a session */
};

/* Of questions asked so many questions ago. */
static unsigned int bucket_of(uint64_t n)
{
	unsigned int bucket = 0;

	for (; n && bucket < AFS_ASKING_BUCKETS - 1; n /= 2)
		bucket++;
	return bucket;
}

static void asked_add(struct asked *a, const struct run_session *s, struct run_figures *out)
{
	uint64_t again = 0;

	a->n += s->asking.n;
	a->older += s->begun_ns ? 0 : s->asking.n;
	a->has_older |= !s->begun_ns;
	for (unsigned int i = a->long_ago; i < AFS_ASKING_BUCKETS; i++) {
		a->again[i] += s->asking.again[i];
		again += s->asking.again[i];
	}
	if (again > a->most) {
		a->most = again;
		doctor_session_who(out, RUN_FIGURE_ASKED_AGAIN, s);
	}
}

static uint64_t sum(const struct asked *a)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < AFS_ASKING_BUCKETS; i++)
		n += a->again[i];
	return n;
}

/* A power of two; twice the present size at least. */
static uint64_t needed(const struct asked *a, uint64_t size)
{
	uint64_t n = 0, least = (sum(a) * 9 + 9) / 10;
	unsigned int i = 0;

	while (i < AFS_ASKING_BUCKETS - 1 && n + a->again[i] < least)
		n += a->again[i++];
	return 1ull << i > 2 * size ? 1ull << i : 2 * size;
}

static void set_again(struct run_figures *out, const struct asked *a, const struct asked_seen *seen)
{
	double share = a->n ? (double)sum(a) / (double)a->n : 0;

	run_figure_set(out, RUN_FIGURE_ASKED_AGAIN, share);
	run_figure_share(out, RUN_FIGURE_ASKED_TIME, seen->cnid_ns * share, seen->work_ns);
}

static void not_known(struct run_figures *out, const char *why)
{
	out->known[RUN_FIGURE_ASKED_AGAIN] = out->known[RUN_FIGURE_ASKED_TIME] = false;
	run_figure_who(out, RUN_FIGURE_ASKED_AGAIN, "%s", why);
	run_figure_who(out, RUN_FIGURE_ASKED_TIME, "%s", why);
}

/*
 * Why it is not known how many were asked again, where few were, or of a cache of any size; NULL:
 * that is known. A session that has asked for less than its cache holds since it began has
 * forgotten nothing.
 */
static const char *unseen(const struct run_figures *f, const struct asked *a,
			  const struct asked_seen *seen, const struct run *r)
{
	if (r->limit.changed)
		return "the configuration may have been changed after the server began";
	if (f->value[RUN_FIGURE_ASKED_AGAIN] >= DIRCACHE_AGAIN &&
	    f->value[RUN_FIGURE_ASKED_TIME] >= DIRCACHE_HARM)
		return NULL;
	if (!a->has_older && (double)a->n + seen->unseen < (double)LONG_AGO(r->limit.cached))
		return NULL;
	if (seen->unseen > (double)a->n * UNSEEN_FEW)
		return "sessions read the database directly: what they ask for is not seen";
	return (double)a->older > (double)a->n * UNSEEN_FEW
		   ? "what sessions had asked before the watch is not seen"
		   : NULL;
}

void doctor_asked(struct run_figures *out, const struct run *r, const struct asked_seen *seen)
{
	uint64_t size = r->limit.cached ? r->limit.cached : DIRCACHE_DEFAULT;
	struct asked a = { .long_ago = bucket_of(LONG_AGO(size)) };
	const char *why;
	double need;

	for (size_t i = 0; i < r->n_sessions; i++)
		asked_add(&a, &r->session[i], out);
	if (r->limit.cached_key)
		run_name_set(out, RUN_NAME_CACHE_KEY, "%s", r->limit.cached_key);
	if (r->has_asking || a.n)
		run_figure_set(out, RUN_FIGURE_ASKED, (double)a.n);
	set_again(out, &a, seen);
	why = unseen(out, &a, seen, r);
	/* What would not be much is no cause, whatever is not seen. */
	if (why && seen->most_ns >= DIRCACHE_HARM * seen->work_ns)
		not_known(out, why);
	if (r->limit.changed)
		return;
	if (r->limit.cached)
		run_figure_set(out, RUN_FIGURE_DIRCACHE, (double)r->limit.cached);
	if (!sum(&a))
		return;
	need = (double)needed(&a, size);
	run_figure_set(out, RUN_FIGURE_DIRCACHE_NEED, need);
	run_figure_set(out, RUN_FIGURE_DIRCACHE_BYTES, need * ENTRY_BYTES);
}
