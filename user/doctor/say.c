/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/say.h"

#include "base/shell.h"
#include "report/cell.h"
#include "run/kind.h"

#include <stdio.h>
#include <string.h>

#define OPEN_NAMED 4   /* of the causes that may be, as many */
#define OPEN_MAX   256 /* their names */

/* From a histogram, known to some per cent. */
static bool is_about(enum run_figure which)
{
	return which == RUN_FIGURE_P50 || which == RUN_FIGURE_P99 ||
	       which == RUN_FIGURE_MOSTLY_P50 || which == RUN_FIGURE_MOSTLY_P99 ||
	       which == RUN_FIGURE_PAUSE;
}

/* As it is written in the server's settings. */
static bool is_setting(enum run_figure which)
{
	return which == RUN_FIGURE_LIMIT || which == RUN_FIGURE_DIRCACHE ||
	       which == RUN_FIGURE_DIRCACHE_NEED || which == RUN_FIGURE_BUFFER ||
	       which == RUN_FIGURE_BUFFER_NEED || which == RUN_FIGURE_BUFFER_MAX ||
	       which == RUN_FIGURE_BUFFER_RAISE;
}

/* The longest request is exact: no quantile is beyond it. */
static double most_of(const struct run_figures *f, enum run_figure which)
{
	return which != RUN_FIGURE_PAUSE && f->known[RUN_FIGURE_LONGEST]
		   ? f->value[RUN_FIGURE_LONGEST]
		   : 0;
}

char *doctor_value(char *out, size_t len, const struct run_figures *f, enum run_figure which)
{
	const char *unit = run_figures[which].unit;
	double v = f->value[which];

	if (!f->known[which])
		snprintf(out, len, "n/a");
	else if (!strcmp(unit, "share"))
		snprintf(out, len, v < 0.0995 ? "%.1f%%" : "%.0f%%", 100 * v);
	else if (is_setting(which))
		snprintf(out, len, "%.0f", v);
	else if (is_about(which))
		snprintf(out, len, "%s", cell_about(v, most_of(f, which)).text);
	else if (!strcmp(unit, "ns"))
		snprintf(out, len, "%s", cell_time(v).text);
	else if (v == (double)(long)v && v < (*unit == 'B' ? 1e4 : 1e9))
		snprintf(out, len, "%s%s", cell_count((uint64_t)v).text, unit + (*unit == '1'));
	else
		snprintf(out, len, "%s%s", cell_short(v).text, unit + (*unit == '1'));
	return out;
}

bool doctor_shows(const struct run_figures *f, enum run_figure which)
{
	bool outlasted = which == RUN_FIGURE_LONGEST && f->known[RUN_FIGURE_OLDEST] &&
			 f->value[RUN_FIGURE_OLDEST] > f->value[which];

	return f->known[which] && !outlasted;
}

/* The figure named at text, up to the closing brace; N_RUN_FIGURES: there is none. */
static enum run_figure named(const char *text, size_t len)
{
	unsigned int i = 0;

	while (i < N_RUN_FIGURES &&
	       (strlen(run_figures[i].key) != len || strncmp(run_figures[i].key, text, len) != 0))
		i++;
	return (enum run_figure)i;
}

/* A number of things that there are not, or a share that would be shown as 0. */
static bool is_none(const struct run_figures *f, enum run_figure which)
{
	bool is_share = !strcmp(run_figures[which].unit, "share");

	return is_share ? f->value[which] < 0.0005
			: *run_figures[which].unit == '1' && f->value[which] == 0;
}

/* The same of the server's names; RUN_N_NAMES: there is none. */
static enum run_name say_name_at(const char *text, size_t len)
{
	unsigned int i = 0;

	while (i < RUN_N_NAMES &&
	       (strlen(run_names[i].key) != len || strncmp(run_names[i].key, text, len) != 0))
		i++;
	return (enum run_name)i;
}

/* plain: in a sentence, not as a word of a command line. */
static void say_put_name(char *out, size_t room, const struct run_figures *f, enum run_name which,
			 bool plain, bool *missing)
{
	*missing |= !*f->name[which];
	if (*f->name[which] && plain)
		snprintf(out, room, "%s", f->name[which]);
	else if (*f->name[which])
		shell_word(out, room, f->name[which]);
	else
		run_kind_text(f->kind, run_names[which].otherwise, out, room);
}

/* A share of the request time, as that time. */
static void say_put_time(char *out, size_t room, const struct run_figures *f, enum run_figure which)
{
	double all = f->value[RUN_FIGURE_BUSY] * f->value[RUN_FIGURE_ELAPSED];

	snprintf(out, room, "%s", f->known[which] ? cell_time(f->value[which] * all).text : "n/a");
}

/* What the kind calls a process of the server. */
static bool is_word(const char *text)
{
	return !strncmp(text, "{server}", strlen("{server}"));
}

/* What stands for "{key}" or "{key.word}" at text; *missing: it is not known, or about nobody. */
static size_t say_put_one(char *out, size_t room, const struct run_figures *f, const char *text,
			  bool *missing)
{
	size_t len = strcspn(text + 1, "}"), name = strcspn(text + 1, ".}");
	const char *word = text + 1 + name;
	enum run_figure which = named(text + 1, name);
	const enum run_name of = say_name_at(text + 1, name);

	if (is_word(text))
		snprintf(out, room, "%s", run_kind_word(f->kind, RUN_WORD_SERVER));
	if (of < RUN_N_NAMES)
		say_put_name(out, room, f, of, !strncmp(word, ".text}", 6), missing);
	if (which == N_RUN_FIGURES)
		return len + 2;
	if (!strncmp(word, ".who}", 5)) {
		snprintf(out, room, "%s", f->who[which]);
		*missing |= !*f->who[which];
	} else if (!strncmp(word, ".time}", 6)) {
		say_put_time(out, room, f, which);
	} else if (!strncmp(word, ".s}", 3)) {
		snprintf(out, room, "%s", f->value[which] == 1 ? "" : "s");
	} else {
		doctor_value(out, room, f, which);
	}
	*missing |= !f->known[which] || is_none(f, which);
	return len + 2;
}

char *doctor_say(char *out, size_t len, const struct run_figures *f, const char *text)
{
	size_t at = 0, begin = 0;
	bool missing = false;
	const char *brackets = NULL;

	if (len)
		*out = '\0';
	while (*text && at + 1 < len) {
		if (*text == '{') {
			text += say_put_one(out + at, len - at, f, text, &missing);
			at += strlen(out + at);
		} else if (*text == '[') {
			brackets = text++;
			begin = at;
			missing = false;
		} else if (*text == ']' && brackets) {
			at = missing ? begin : at;
			brackets = NULL;
			text++;
		} else {
			out[at++] = *text++;
		}
		out[at] = '\0';
	}
	return out;
}

char *doctor_note(char *out, size_t len, const struct run_figures *f, const struct doctor_rule *r)
{
	static const char but[] = "nobody waits long for it, but ";

	if (r->fact || len <= sizeof(but))
		return doctor_say(out, len, f, r->fact ? r->fact : r->says);
	memcpy(out, but, sizeof(but));
	doctor_say(out + strlen(but), len - strlen(but), f, r->says);
	return out;
}

struct doctor_advice doctor_advice(const struct run_figures *f, const struct doctor_rule *r)
{
	bool is_now = f->known[r->now] && f->value[r->now] >= 1;

	if (r->over.todo && !is_now)
		return r->over;
	return (struct doctor_advice) { r->todo, r->disproof, r->next };
}

char *doctor_say_doubt(char *out, size_t len, const struct run_figures *f,
		       const struct doctor_finding *found)
{
	static const char *const words[] = {
		[DOCTOR_NO_DOUBT] = "",
		[DOCTOR_DOUBT_WHOM] = "it says only who, not why",
		[DOCTOR_DOUBT_LOSSES] = "not all was counted",
		[DOCTOR_DOUBT_SMALL] = "nobody waits long for it",
		[DOCTOR_DOUBT_FEW] = "few requests were seen",
		[DOCTOR_DOUBT_WEIGHT] = "it explains less than half of the waiting",
		[DOCTOR_DOUBT_RULE] = "other causes can look the same",
		[DOCTOR_DOUBT_OTHER] = "another finding may explain the same time",
	};
	const struct doctor_rule *r = found->rule;
	const char *about = found->about < N_RUN_FIGURES ? run_figures[found->about].key : "";
	bool measured = r->harm < N_RUN_FIGURES && f->known[r->harm];

	if (found->doubt == DOCTOR_DOUBT_UNKNOWN)
		snprintf(out, len, "%s is not known", about);
	else if (found->doubt == DOCTOR_DOUBT_REASON)
		snprintf(out, len, "%s may explain part of the same time", about);
	else if (found->doubt == DOCTOR_DOUBT_BOUND)
		snprintf(out, len, "%s may be larger than is known", about);
	else if (found->doubt == DOCTOR_DOUBT_LIMIT)
		snprintf(out, len, "%s is close to the threshold of this rule", about);
	else if (found->doubt == DOCTOR_DOUBT_WEIGHT && !measured)
		snprintf(out, len, "how much it explains is not known");
	else if (found->doubt == DOCTOR_DOUBT_WEIGHT && r->kind == DOCTOR_FAILS)
		snprintf(out, len, "it explains less than half of what failed");
	else
		snprintf(out, len, "%s", words[found->doubt]);
	return out;
}

/* "full disk, memory limit and 3 more" */
static void say_open(char *out, size_t len, const struct diagnosis *d)
{
	size_t at = 0, named = d->n_open > OPEN_NAMED + 1 ? OPEN_NAMED : d->n_open;

	*out = '\0';
	for (size_t i = 0; i < named && at < len; i++)
		at += (size_t)snprintf(out + at, len - at, "%s%s", i ? ", " : "", d->open[i]->name);
	if (named < d->n_open && at < len)
		snprintf(out + at, len - at, " and %zu more", d->n_open - named);
}

/* The text with the names in place of "{open.text}"; what is in brackets with it only if there are
 * any. */
static void say_put_open(char *out, size_t len, const char *text, const struct diagnosis *d)
{
	static const char mark[] = "{open.text}";
	const char *at = strstr(text, mark), *begin = at, *end = at;
	char names[OPEN_MAX];

	if (!at) {
		snprintf(out, len, "%s", text);
		return;
	}
	say_open(names, sizeof(names), d);
	while (begin > text && *begin != '[' && *begin != ']')
		begin--;
	end = *begin == '[' ? strchr(at, ']') : NULL;
	if (end && !*names)
		snprintf(out, len, "%.*s%s", (int)(begin - text), text, end + 1);
	else
		snprintf(out, len, "%.*s%s%s", (int)(at - text), text, names, at + strlen(mark));
}

/* A note says the same, with more of it. */
static bool is_noted(const struct run_figures *f, const struct diagnosis *d, enum run_figure share)
{
	for (size_t i = 0; i < d->n_notes; i++)
		for (size_t k = 0; k < d->note[i]->n_evidence; k++)
			if (d->note[i]->evidence[k] == share && doctor_would_harm(f, d->note[i]))
				return true;
	return false;
}

/*
 * What stands out of the time of requests of which few are long: the most of it; or NULL. No such
 * verdict is given where P99 is NOTICED_P99 or more, which the texts name.
 */
static const char *quick_wait(const struct run_figures *f, const struct diagnosis *d)
{
	static const struct {
		enum run_figure share;
		double least;
		const char *says;
	} waits[] = {
		{ RUN_FIGURE_WAIT_CPU, CPU_HARM,
		  .says = "Few requests took 100ms or more, but requests waited for a CPU "
			  "{wait_cpu} of their time." },
		{ RUN_FIGURE_WAIT_DISK, DISK_HARM,
		  .says = "Few requests took 100ms or more, but requests waited for files "
			  "{wait_disk} of their time." },
		{ RUN_FIGURE_LOCK, LOCK_HARM,
		  .says = "Few requests took 100ms or more, but requests waited for locks "
			  "{lock} of their time." },
		{ RUN_FIGURE_NET, NET_HARM,
		  .says = "Few requests took 100ms or more, but requests waited for their "
			  "clients {net} of their time." },
		{ RUN_FIGURE_CNID, CNID_WAIT_HARM,
		  .says = "Few requests took 100ms or more, but requests waited for another "
			  "process or database {cnid} of their time." },
	};
	bool quick = f->known[RUN_FIGURE_P99] &&
		     (d->verdict == DOCTOR_HEALTHY || d->verdict == DOCTOR_IDLE ||
		      d->verdict == DOCTOR_PARTLY);
	const char *says = NULL;
	double most = 0;

	for (size_t i = 0; quick && i < sizeof(waits) / sizeof(waits[0]); i++) {
		double share = f->known[waits[i].share] ? f->value[waits[i].share] : 0;

		if (share < waits[i].least || share <= most)
			continue;
		most = share;
		says = is_noted(f, d, waits[i].share) ? NULL : waits[i].says;
	}
	return says;
}

/* One that answers, if with errors only, runs, and is reached. */
static const char *all_failed(const struct run_figures *f)
{
	if (f->known[RUN_FIGURE_UNHEARD] && f->value[RUN_FIGURE_UNHEARD] >= 1)
		return "No verdict: no call succeeded, {requests} failed[, the first with: "
		       "{failed.who}]. See whether the server runs and listens on that port, and "
		       "whether a firewall lets UDP through.";
	return "No verdict: too few requests were seen, and all {requests} failed[, the first "
	       "with: {failed.who}]. Watch longer (-d), or while users wait.";
}

char *doctor_verdict(char *out, size_t len, const struct run_figures *f, const struct diagnosis *d)
{
	static const char *const words[] = {
		[DOCTOR_FOUND] = NULL,
		[DOCTOR_SLOW] =
		    "Requests are slow, and no cause is shown[, but {open.text} could not be "
		    "seen]: they took {mean} on average, the longest {longest}[ ({longest.who})][; "
		    "{mostly} of that time was {mostly.who}: half of these took {mostly_p50}, 99% at "
		    "most {mostly_p99}]; {slow} of all request time is in requests of 100ms or more[, "
		    "{pending} in ones without an answer, such as {pending.who}].",
		[DOCTOR_HEALTHY] =
		    "Nothing is wrong with the server: requests took {mean} on average, the longest "
		    "{longest}[ ({longest.who})][; {mostly} of that time was {mostly.who}: half of "
		    "these took {mostly_p50}, 99% at most {mostly_p99}].[ Before that they lay unread "
		    "for {unread} on average.]",
		[DOCTOR_IDLE] =
		    "The server is idle: {requests} requests, on average {busy} at a time and "
		    "{mean} long, the longest {longest}[ ({longest.who})]. If users wait, they wait for "
		    "their own machine or the network.",
		[DOCTOR_PARTLY] =
		    "Nothing wrong was seen with the server: {requests} requests took {mean} on "
		    "average, the longest {longest}[ ({longest.who})], on average {busy} at a time. "
		    "Whether something else is wrong cannot be told: {open.text} could not be seen.",
		[DOCTOR_TOO_FEW] =
		    "No verdict: too few requests were seen ({requests}). Watch longer "
		    "(-d), or while users wait.",
		[DOCTOR_LOST] =
		    "No verdict: not all was counted ({uncounted} losses[, the first: "
		    "{uncounted.who}]), so that nothing is ruled out; what was counted shows no "
		    "cause.",
		[DOCTOR_UNSEEN] =
		    "No verdict: requests cannot be counted here[ ({program_32bit.who})]; afpscope "
		    "check says why.",
	};
	const char *said = words[d->verdict] ? words[d->verdict] : "", *wait = quick_wait(f, d);
	char text[OPEN_MAX + 512];

	if (d->verdict == DOCTOR_UNSEEN && f->known[RUN_FIGURE_UNWATCHED])
		said = "No verdict: the server was not watched: {unwatched.who}.";
	if (d->verdict == DOCTOR_TOO_FEW && f->known[RUN_FIGURE_FAILED] &&
	    f->value[RUN_FIGURE_FAILED] >= 1)
		said = all_failed(f);
	say_put_open(text, sizeof(text), said, d);
	doctor_say(out, len, f, text);
	if (wait && strlen(out) + 1 < len) {
		strcat(out, " ");
		doctor_say(out + strlen(out), len - strlen(out), f, wait);
	}
	return out;
}
