/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/top.h"

#include "report/paint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t top_programs_ns(const struct top *t)
{
	uint64_t ns;

	return t->watch && watch_price(t->watch, &ns) ? ns : 0;
}

int top_open_watch(struct top *t, bool files, struct err *e)
{
	const struct live_opts opts = { .files = files, .texts = t->state.texts };
	struct watch_opts watch = { .mode = WATCH_BPF };
	struct ledger now = { 0 };
	int r;

	t->live = live_new(&opts, e);
	if (!t->live)
		return -ENOMEM;
	t->files = files;
	t->texts = t->state.texts;
	watch.sink = live_sink(t->live);
	r = watch_open_traced(&t->watch, &watch, &t->found.target, e);
	if (!r && !watch_read(t->watch, &now) && !now.has_requests)
		r = err_set(e, -ENOTSUP, "the kernel does not allow reading its memory");
	ledger_fini(&now);
	r = r ? r : live_begin(t->live, t->watch);
	r = r ? r : opinion_begin(&t->opinion, t->watch, &t->found);
	if (r && !*e->text)
		err_set(e, r, "%s", strerror(-r));
	return r;
}

int top_end_watch(struct top *t)
{
	struct run run;
	const char *price;
	int r = run_init(&run, "top", "top");

	run.kind = &t->found.kind->is;
	r = r ? r : watch_finish(t->watch, &run);
	if (!r) {
		price = run_note_find(&run.rungs, RUNGS_PRICE_NS);
		t->before_programs_ns += price ? strtoull(price, NULL, 10) : 0;
		t->before_lost += run_losses(&run);
		t->untrusted |= !run_books_closed(&run);
	}
	run_fini(&run);
	return r;
}

void top_free_watch(struct top *t)
{
	opinion_end(&t->opinion);
	watch_free(t->watch);
	live_free(t->live);
	t->watch = NULL;
	t->live = NULL;
	t->has_step = false;
}
