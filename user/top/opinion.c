/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/opinion.h"

#include "base/clock.h"
#include "report/report.h"

#include <errno.h>

#define NS_PER_S 1000000000u
/* A look at all sessions in /proc takes at most this part of the time. */
#define LOOK_PART 50

int opinion_begin(struct opinion *o, const struct watch *w, const struct kind_found *found)
{
	diagnose_fini(&o->d);
	o->due_ns = clock_now_ns() + OPINION_FIRST_NS;
	o->looked_ns = clock_now_ns();
	return diagnose_begin(&o->d, w, found);
}

static int make(struct opinion *o, struct live *l, struct watch *w, const struct kind_found *found)
{
	struct run run;
	int r = run_init(&run, "top", "top");

	if (r)
		return r;
	run.kind = &found->kind->is;
	r = live_note(l, &run);
	r = r ? r : diagnose_last(&o->d, w, found);
	r = r ? r : diagnose_end(&o->d, w, found, &run);
	if (!r)
		r = report_doctor_first(run.figures, o->text, sizeof(o->text));
	r = r ? r : diagnose_again(&o->d, w, found);
	run_fini(&run);
	return r;
}

int opinion_look(struct opinion *o, struct live *l, struct watch *w, const struct kind_found *found)
{
	uint64_t now = clock_now_ns();

	if (now - o->looked_ns >= NS_PER_S) {
		diagnose_tick(&o->d);
		o->looked_ns = now;
	}
	if (now < o->due_ns)
		return 0;
	o->due_ns = now + OPINION_NS;
	return make(o, l, w, found);
}

int opinion_older(struct opinion *o, struct watch *w, const struct kind_found *found,
		  void (*fn)(void *arg, const struct run_service *is), void *arg)
{
	uint64_t now = clock_now_ns();
	int e = 0;

	if (now >= o->older_due_ns) {
		e = diagnose_last(&o->d, w, found);
		o->older_due_ns = now + LOOK_PART * (clock_now_ns() - now);
	}
	if (!e)
		unanswered_each_older(&o->d.unanswered, fn, arg);
	return e;
}

void opinion_end(struct opinion *o)
{
	diagnose_fini(&o->d);
}
