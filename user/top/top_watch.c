/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/top.h"

#include "report/paint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t top_programs_ns(const struct top *t)
{
	uint64_t ns;

	return t->a.watch && watch_price(t->a.watch, &ns) ? ns : 0;
}

int top_open_watch(struct top *t, bool files, struct err *e)
{
	const struct live_opts opts = { .names = run_kind_accounts(&t->a.found.kind->is),
					.files = files,
					.texts = t->state.texts };
	struct watch_opts watch = { .mode = WATCH_BPF };
	int r;

	t->live = live_new(&opts, e);
	if (!t->live)
		return -ENOMEM;
	t->files = files;
	t->texts = t->state.texts;
	watch.sink = live_sink(t->live);
	r = attach_open(&t->a, &watch, true, e);
	r = r ? r : live_begin(t->live, t->a.watch);
	if (!r && t->a.found.kind->is.has_diagnosis)
		r = opinion_begin(&t->opinion, t->a.watch, &t->a.found);
	if (r && !*e->text)
		err_set(e, r, "%s", strerror(-r));
	return r;
}

int top_end_watch(struct top *t)
{
	struct run run;
	int r = run_init(&run, "top", "top");

	run.kind = &t->a.found.kind->is;
	r = r ? r : attach_finish(&t->a, &run);
	run_fini(&run);
	return r;
}

void top_free_watch(struct top *t)
{
	opinion_end(&t->opinion);
	watch_free(t->a.watch);
	live_free(t->live);
	t->a.watch = NULL;
	t->live = NULL;
	t->has_step = false;
}
