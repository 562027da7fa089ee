/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the first screen says that no action ended for long, of one load and of one of several. */
#include "report/screen/screen.h"
#include "run/rank.h"
#include "unit/report_text.h"
#include "unit/sample_load.h"

#include <stdio.h>

/* Nothing ended in seconds 2 to 4, for which waited clients waited. */
static struct run_load *silent_load(unsigned int waited)
{
	const uint64_t s = 1000 * LOAD_MS;
	struct run_load *l = load_of_clients();

	for (size_t i = 0; i < l->n_seconds; i++)
		l->second[i].n = i < 2 || i > 4;
	l->second[5].max_ns = 4 * s;
	for (size_t i = 0; i < l->n_actions; i++) {
		memset(&l->action[i].planned, 0, sizeof(l->action[i].planned));
		hist_add(&l->action[i].planned, LOAD_MS);
	}
	for (unsigned int i = 0; i < waited; i++)
		l->client[i].max_ns = 4 * s;
	return l;
}

static void says(struct run_load *l, const char *of, const char *wanted)
{
	char *text = NULL;
	size_t len;
	struct paint p = { .out = open_memstream(&text, &len), .width = 100 };

	screen_silence(&p, of, of ? "operation" : "action", l);
	fclose(p.out);
	assert_string_equal(text, wanted);
	free(text);
	run_load_free(l);
}

static void a_silence_is_said_with_who_waited(void **state)
{
	struct run_load *open = silent_load(0);

	(void)state;
	says(silent_load(4), NULL,
	     "No action ended for at least 3 s, from second 2 on; 4 of 10 clients had one that "
	     "took so long. p99\n  hides it: clients that wait send nothing; with --rate all "
	     "actions that were due count\n");
	says(silent_load(4), "create",
	     "create: no operation ended for at least 3 s, from second 2 on; 4 of 10 clients had "
	     "one that took so\n  long. p99 hides it: clients that wait send nothing\n");
	open->rate_per_s = 100;
	says(open, NULL, "No action ended for at least 3 s, from second 2 on\n");
	says(load_of_clients(), NULL, "");
}

static void a_silence_is_of_the_ranks_that_are_known(void **state)
{
	struct run_load *l = silent_load(4);

	(void)state;
	l->n_ranks = 3;
	l->rank = calloc(3, sizeof(*l->rank));
	l->rank[1].end = RUN_RANK_LOST;
	says(l, NULL,
	     "No action ended for at least 3 s, from second 2 on; 4 of 10 clients had one that "
	     "took so long (of 2\n  of 3 ranks: what the others did is not known). p99 hides it: "
	     "clients that wait send nothing; with\n  --rate all actions that were due count\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silence_is_of_the_ranks_that_are_known),
		cmocka_unit_test(a_silence_is_said_with_who_waited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
