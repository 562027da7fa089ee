/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A saved run with odd figures, as `afpscope doctor RUN` reads it: whatever its numbers are,
 * nothing is concluded from one that cannot be. The input is a script: the kind of server, then
 * figures and what stands there.
 */
#include "app/saved.h"
#include "doctor/judge.h"
#include "doctor/say.h"
#include "run/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define FIGURE_LEN 10 /* bytes of one figure: which, how, a number */
#define MOST       12 /* figures: more are slower, and find no more */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* What may stand as a value; NULL: it is not there. */
static json_t *value_of(const uint8_t how, double number)
{
	static const double odd[] = {
		-1,  -0.0, 0,    0.5,    1,      1.0000001,         2.5,   50,
		1e9, 1e11, 1e18, 0x1p63, 0x1p64, -9007199254740992, 1e308, 5e-324
	};

	switch (how % 24) {
	case 16:
		return isfinite(number) ? json_real(number) : json_null();
	case 17:
		return json_true();
	case 18:
		return json_string("12");
	case 19:
		return json_array();
	case 20:
		return json_integer(-(json_int_t)fmin(fabs(number), 1e15));
	case 21:
		return NULL;
	default:
		return json_real(odd[how % 16]);
	}
}

/* By the contract of app/saved.h, not by its code. */
static bool can_be(enum run_figure which, const json_t *value)
{
	double v = json_number_value(value);

	if (!json_is_number(value))
		return false;
	return v >= 0 && v < 9223372036854775808.0 &&
	       (v <= 1 || strcmp(run_figures[which].unit, "share"));
}

/* The same run, and the same without what cannot be. */
static void saved_runs(json_t **all, json_t **sound, const uint8_t *data, size_t len)
{
	json_t *figures = json_object(), *good = json_object();

	for (size_t n = 0; len >= FIGURE_LEN && n < MOST;
	     n++, data += FIGURE_LEN, len -= FIGURE_LEN) {
		enum run_figure which = (enum run_figure)(data[0] % N_RUN_FIGURES);
		json_t *one = json_object(), *value;
		double number;

		memcpy(&number, data + 2, sizeof(number));
		value = value_of(data[1], number);
		if (value)
			json_object_set_new(one, "value", value);
		json_object_set_new(one, "who", json_stringn((const char *)data + 2, 8));
		json_object_del(good, run_figures[which].key);
		if (can_be(which, value))
			json_object_set(good, run_figures[which].key, one);
		json_object_set_new(figures, run_figures[which].key, one);
	}
	*all = json_pack("{s:o}", "figures", figures);
	*sound = json_pack("{s:o}", "figures", good);
}

/* A server whose users wait: a cause is named by its own figures. */
static struct run_figures waited_for(const struct run_kind *kind)
{
	struct run_figures f = { .kind = kind };

	run_figure_set(&f, RUN_FIGURE_REQUESTS, 10000);
	run_figure_set(&f, RUN_FIGURE_SLOW, 0.5);
	run_figure_set(&f, RUN_FIGURE_OWN, 1);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	return f;
}

static void say_all(const struct run_figures *f, const struct diagnosis *d)
{
	char text[512];

	doctor_verdict(text, sizeof(text), f, d);
	for (size_t i = 0; i < d->n_found; i++) {
		const struct doctor_advice a = doctor_advice(f, d->found[i].rule);

		doctor_say(text, sizeof(text), f, d->found[i].rule->says);
		must(strlen(text) < sizeof(text), "a text without an end");
		doctor_say(text, sizeof(text), f, a.todo);
		doctor_say(text, sizeof(text), f, a.next);
	}
	for (size_t i = 0; i < d->n_notes; i++)
		doctor_note(text, sizeof(text), f, d->note[i]);
}

static void must_be_alike(const struct diagnosis *a, const struct diagnosis *b)
{
	must(a->verdict == b->verdict && a->n_found == b->n_found && a->n_notes == b->n_notes,
	     "a number that cannot be changed what is concluded");
	for (size_t i = 0; i < a->n_found; i++)
		must(a->found[i].rule == b->found[i].rule && a->found[i].sure == b->found[i].sure &&
			 a->found[i].weight >= 0,
		     "a number that cannot be changed a finding");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct run_kind kinds[] = {
		{ .judged = RUN_JUDGED_SESSIONS, .has_requests = true },
		{ .judged = RUN_JUDGED_CALLS, .has_requests = true },
		{ .judged = RUN_JUDGED_BRICKS, .has_requests = true },
		{ .judged = RUN_JUDGED_SHARES, .has_requests = true },
		{ .judged = RUN_JUDGED_EXPORTS, .has_requests = true },
	};
	struct run_figures f, g;
	struct diagnosis d, e;
	json_t *all, *sound;

	if (!len)
		return 0;
	f = g = waited_for(&kinds[*data % 5]);
	saved_runs(&all, &sound, data + 1, len - 1);
	saved_figures(&f, all);
	must(!saved_figures(&g, sound), "a number that can be was taken for one that cannot");
	must(!doctor_judge(&d, &f) && !doctor_judge(&e, &g), "memory");
	say_all(&f, &d);
	must_be_alike(&d, &e);
	diagnosis_fini(&d);
	diagnosis_fini(&e);
	json_decref(all);
	json_decref(sound);
	return 0;
}
