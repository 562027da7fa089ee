/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/doctor/say.c, user/doctor/rules/rules.c, user/run/figures.c: texts with figures in
 * them. */
#include "doctor/rules/rules.h"
#include "doctor/say.h"
#include "kinds/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void figures_are_said_with_their_units(void **state)
{
	struct run_figures f = { 0 };
	char text[100];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.583);
	run_figure_set(&f, RUN_FIGURE_LOG, 0.043);
	run_figure_set(&f, RUN_FIGURE_P99, 12.3e6);
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 12345);
	run_figure_set(&f, RUN_FIGURE_SYNC_RATE, 2.5);
	run_figure_set(&f, RUN_FIGURE_REREAD, 2.5e6);
	assert_string_equal(
	    doctor_say(text, sizeof(text), &f,
		       "{wait_cpu} {log} {p99} {requests} {sync_rate} {reread} {cnid}"),
	    "58% 4.3% 12ms 12,345 2.50/s 2.50MB/s n/a");
}

static void settings_are_said_as_they_are_written(void **state)
{
	struct run_figures f = { 0 };
	char text[100];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_DIRCACHE_NEED, 65536);
	run_figure_set(&f, RUN_FIGURE_LIMIT, 1000);
	assert_string_equal(
	    doctor_say(text, sizeof(text), &f, "{dircache_need} {limit} {dircache}"),
	    "65536 1000 n/a");
}

static void quantiles_have_the_digits_that_are_known(void **state)
{
	struct run_figures f = { 0 };
	char text[100];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_P50, 388.3e3);
	run_figure_set(&f, RUN_FIGURE_P99, 2.96e6);
	run_figure_set(&f, RUN_FIGURE_LONGEST, 2.97e6);
	run_figure_set(&f, RUN_FIGURE_PAUSE, 43.25e6);
	assert_string_equal(doctor_say(text, sizeof(text), &f, "{p50} {p99} {longest} {pause}"),
			    "390µs 2.97ms 2.97ms 43ms");
}

static void brackets_need_all_their_figures(void **state)
{
	struct run_figures f = { 0 };
	char text[100];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_OTHERS, 0.5);
	assert_string_equal(
	    doctor_say(text, sizeof(text), &f, "{others} of it[, most {others.who}]."),
	    "50% of it.");
	run_figure_who(&f, RUN_FIGURE_OTHERS, "cc1\x1b (pid %d)", 7);
	assert_string_equal(
	    doctor_say(text, sizeof(text), &f, "{others} of it[, most {others.who}]."),
	    "50% of it, most cc1? (pid 7).");
	assert_string_equal(doctor_say(text, 8, &f, "[{cnid}]a long text"), "a long ");
	/* What would be shown as nothing is left out. */
	run_figure_set(&f, RUN_FIGURE_SYNC, 0.0004);
	run_figure_set(&f, RUN_FIGURE_CNID_STOPS, 0);
	assert_string_equal(
	    doctor_say(text, sizeof(text), &f, "all[ (fsync {sync})][, {cnid_stops} pauses]"),
	    "all");
	run_figure_set(&f, RUN_FIGURE_SYNC, 0.0006);
	assert_string_equal(doctor_say(text, sizeof(text), &f, "all[ (fsync {sync})]"),
			    "all (fsync 0.1%)");
}

static void names_of_the_server_are_said_as_words_of_a_command(void **state)
{
	static const char advice[] = "grep -n x {conf}; systemctl status {unit}; ls /proc/{pid}";
	struct run_figures f = { 0 };
	char text[200];

	(void)state;
	assert_string_equal(doctor_say(text, sizeof(text), &f, advice),
			    "grep -n x AFP.CONF; systemctl status UNIT; ls /proc/PID");
	assert_string_equal(doctor_say(text, sizeof(text), &f, "kill {cnid_metad}"), "kill PID");
	assert_string_equal(doctor_say(text, sizeof(text), &f, "ok[, in {conf}]"), "ok");
	run_name_set(&f, RUN_NAME_CONF, "%s", "/opt/netatalk/etc/afp.conf");
	run_name_set(&f, RUN_NAME_UNIT, "%s", "netatalk@2.service");
	run_name_set(&f, RUN_NAME_PID, "%d", 4711);
	assert_string_equal(doctor_say(text, sizeof(text), &f, advice),
			    "grep -n x /opt/netatalk/etc/afp.conf; systemctl status "
			    "netatalk@2.service; ls /proc/4711");
	assert_string_equal(doctor_say(text, sizeof(text), &f, "ok[, in {conf}]"),
			    "ok, in /opt/netatalk/etc/afp.conf");
	assert_string_equal(doctor_say(text, sizeof(text), &f, "{cache_key.text} = 1"),
			    "dircache size = 1");
	run_name_set(&f, RUN_NAME_CACHE_KEY, "%s", "dircache size");
	assert_string_equal(doctor_say(text, sizeof(text), &f, "{cache_key.text} = 1, {cache_key}"),
			    "dircache size = 1, 'dircache size'");
	run_name_set(&f, RUN_NAME_CONF, "%s", "/a b/$(x)'s.conf");
	assert_string_equal(doctor_say(text, sizeof(text), &f, "cat {conf}"),
			    "cat '/a b/$(x)'\\''s.conf'");
}

/* It would be another one. */
static void a_name_that_is_cut_or_changed_is_not_known(void **state)
{
	struct run_figures f = { 0 };

	(void)state;
	run_name_set(&f, RUN_NAME_CONF, "%*d", RUN_NAME_MAX, 1);
	assert_string_equal(f.name[RUN_NAME_CONF], "");
	run_name_set(&f, RUN_NAME_CONF, "%s", "/a\x1b[2J");
	assert_string_equal(f.name[RUN_NAME_CONF], "");
	run_name_set(&f, RUN_NAME_CONF, "%s", "/a\nb");
	assert_string_equal(f.name[RUN_NAME_CONF], "");
}

static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < RUN_N_NAMES; i++)
		if (strlen(run_names[i].key) == len && !strncmp(run_names[i].key, text, len))
			return true;
	return len == strlen("server") && !strncmp(text, "server", len);
}

/* A name that is no figure would be printed as nothing. */
static void has_figures_only(const char *text)
{
	for (const char *at = text; (at = strchr(at, '{')); at++) {
		size_t len = strcspn(at + 1, ".}"), k = 0;

		if (is_name(at + 1, len))
			continue;
		while (k < N_RUN_FIGURES && (strlen(run_figures[k].key) != len ||
					     strncmp(run_figures[k].key, at + 1, len) != 0))
			k++;
		assert_int_not_equal(k, N_RUN_FIGURES);
	}
}

static void a_process_is_called_as_its_kind_has_it(void **state)
{
	struct run_figures f = { 0 };
	char text[64];

	(void)state;
	f.kind = &kind_smb.is;
	assert_string_equal(doctor_say(text, sizeof(text), &f, "no {server} is in state T"),
			    "no smbd is in state T");
	f.kind = NULL;
	assert_string_equal(doctor_say(text, sizeof(text), &f, "no {server} is in state T"),
			    "no afpd is in state T");
}

static void all_texts_have_names_of_figures_only(void **state)
{
	struct run_figures f = { 0 };
	const struct doctor_rule *r;

	(void)state;
	for (int k = 0; kind_judged[k]; k++) {
		f.kind = &kind_at(kind_place(kind_judged[k]))->is;
		for (size_t i = 0; (r = doctor_rule_at(&f, i)); i++) {
			const char *const texts[] = { r->says,          r->todo,     r->disproof,
						      r->next,          r->fact,     r->over.todo,
						      r->over.disproof, r->over.next };

			for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
				if (texts[t])
					has_figures_only(texts[t]);
		}
	}
}

/* Words of a state that is there, in which processes are. */
static bool says_it_is_so(const char *text)
{
	return strstr(text, "in state T") || strstr(text, "is frozen") ||
	       strstr(text, "kill -CONT");
}

/* Of what may be over when it is read: it is not said to be so unless it is known to be. */
static void what_is_over_is_not_said_to_be_so(void **state)
{
	struct run_figures f = { 0 };
	const struct doctor_rule *r;
	struct doctor_advice a;
	size_t n = 0;

	(void)state;
	for (int k = 0; kind_judged[k]; k++) {
		f.kind = &kind_at(kind_place(kind_judged[k]))->is;
		for (size_t i = 0; (r = doctor_rule_at(&f, i)); i++) {
			if (r->kind == DOCTOR_NOTE || !says_it_is_so(r->todo))
				continue;
			/* What it is found by is seen at the end. */
			if (r->test[0].figure == RUN_FIGURE_UNACCEPTED ||
			    r->test[0].figure == RUN_FIGURE_BRICKS_HELD ||
			    r->test[0].figure == RUN_FIGURE_STOPPED_NOW)
				continue;
			n++;
			for (int is = 0; is < 3; is++) {
				f.known[r->now] = is;
				f.value[r->now] = is == 2;
				a = doctor_advice(&f, r);
				assert_int_equal(says_it_is_so(a.todo), is == 2);
				assert_int_equal(says_it_is_so(a.disproof), is == 2);
				assert_int_equal(strstr(a.next, "ps -") != NULL, is == 2);
				assert_int_equal(strstr(a.disproof, "in that time") == NULL,
						 is == 2);
			}
			f.known[r->now] = false;
		}
	}
	assert_int_equal(n, 7);
}

/* Likewise of who traces: one that has left cannot be ended, nor be found in /proc. */
static void a_tracer_that_has_left_is_not_to_be_ended(void **state)
{
	struct run_figures f = { 0 };
	const struct doctor_rule *r;
	struct doctor_advice a;
	size_t n = 0;

	(void)state;
	for (int k = 0; kind_judged[k]; k++) {
		f.kind = &kind_at(kind_place(kind_judged[k]))->is;
		for (size_t i = 0; (r = doctor_rule_at(&f, i)); i++) {
			if (r->test[0].figure != RUN_FIGURE_TRACED)
				continue;
			n++;
			for (int is = 0; is < 3; is++) {
				f.known[r->now] = is;
				f.value[r->now] = is == 2;
				a = doctor_advice(&f, r);
				assert_int_equal(strstr(a.todo, "end the tracer") != NULL, is == 2);
				assert_int_equal(strstr(a.disproof, "has left") == NULL, is == 2);
				assert_int_equal(strstr(a.next, "TracerPid") != NULL, is == 2);
			}
			f.known[r->now] = false;
		}
	}
	assert_int_equal(n, 5);
}

static void a_share_can_be_said_as_a_time_and_a_number_has_its_plural(void **state)
{
	struct run_figures f = { 0 };
	char out[64];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_LOCK, 0.12);
	run_figure_set(&f, RUN_FIGURE_BUSY, 0.5);
	run_figure_set(&f, RUN_FIGURE_ELAPSED, 10e9);
	assert_string_equal(doctor_say(out, sizeof(out), &f, "{lock} ({lock.time})"),
			    "12% (600ms)");
	assert_string_equal(doctor_say(out, sizeof(out), &f, "{net.time}[, {net.time}]"), "n/a");
	run_figure_set(&f, RUN_FIGURE_PENDING_N, 1);
	assert_string_equal(doctor_say(out, sizeof(out), &f, "{pending_n} way{pending_n.s}"),
			    "1 way");
	run_figure_set(&f, RUN_FIGURE_PENDING_N, 2);
	assert_string_equal(doctor_say(out, sizeof(out), &f, "{pending_n} way{pending_n.s}"),
			    "2 ways");
}

static void why_a_server_was_not_watched_is_the_verdict(void **state)
{
	const struct diagnosis d = { .verdict = DOCTOR_UNSEEN };
	struct run_figures f = { 0 };
	char text[300];

	(void)state;
	assert_string_equal(
	    doctor_verdict(text, sizeof(text), &f, &d),
	    "No verdict: requests cannot be counted here; afpscope check says why.");
	run_figure_set(&f, RUN_FIGURE_UNWATCHED, 1);
	run_figure_who(&f, RUN_FIGURE_UNWATCHED, "--watch=off");
	assert_string_equal(doctor_verdict(text, sizeof(text), &f, &d),
			    "No verdict: the server was not watched: --watch=off.");
}

/* Where nothing is wrong although most of the time is a wait, the verdict says both, if it is known
 * that few requests are long. */
static void what_stands_out_is_in_the_verdict(void **state)
{
	static const enum doctor_verdict quick[] = { DOCTOR_HEALTHY, DOCTOR_IDLE, DOCTOR_PARTLY };
	static const struct {
		enum run_figure figure;
		double least;
		const char *says;
	} waits[] = {
		{ RUN_FIGURE_WAIT_CPU, CPU_HARM, "waited for a CPU" },
		{ RUN_FIGURE_WAIT_DISK, DISK_HARM, "waited for files" },
		{ RUN_FIGURE_LOCK, LOCK_HARM, "waited for locks" },
		{ RUN_FIGURE_NET, NET_HARM, "waited for their clients" },
		{ RUN_FIGURE_CNID, CNID_WAIT_HARM, "waited for another process or database" },
	};
	char text[1024];

	(void)state;
	for (size_t v = 0; v < sizeof(quick) / sizeof(quick[0]); v++)
		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
			const struct diagnosis d = { .verdict = quick[v] };
			struct run_figures f = { 0 };

			run_figure_set(&f, RUN_FIGURE_P99, 99e6);
			run_figure_set(&f, waits[i].figure, waits[i].least * 0.99);
			doctor_verdict(text, sizeof(text), &f, &d);
			assert_null(strstr(text, "Few requests"));
			run_figure_set(&f, waits[i].figure, waits[i].least);
			doctor_verdict(text, sizeof(text), &f, &d);
			assert_non_null(strstr(text, waits[i].says));
			run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.86);
			doctor_verdict(text, sizeof(text), &f, &d);
			assert_string_equal(strstr(text, "Few requests"),
					    "Few requests took 100ms or more, but requests waited "
					    "for a CPU 86% of their time.");
			f.known[RUN_FIGURE_P99] = false;
			doctor_verdict(text, sizeof(text), &f, &d);
			assert_null(strstr(text, "Few requests"));
		}
	doctor_verdict(text, sizeof(text), &(struct run_figures) { 0 },
		       &(struct diagnosis) { .verdict = DOCTOR_TOO_FEW });
	assert_null(strstr(text, "Few requests"));
}

/* What stands out is said once, by the note of a cause that nobody feels. */
static void what_a_note_says_is_not_in_the_verdict_too(void **state)
{
	static const struct doctor_rule rule = { .kind = DOCTOR_WAIT,
						 .harm = RUN_FIGURE_WAIT_DISK,
						 .least = 0.2,
						 .n_evidence = 1,
						 .evidence = { RUN_FIGURE_WAIT_DISK } };
	const struct doctor_rule *note[] = { &rule };
	struct diagnosis d = { .verdict = DOCTOR_HEALTHY, .note = note, .n_notes = 1 };
	struct run_figures f = { 0 };
	char text[1024];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_P99, 99e6);
	run_figure_set(&f, RUN_FIGURE_WAIT_DISK, 0.9);
	assert_null(strstr(doctor_verdict(text, sizeof(text), &f, &d), "Few requests"));
	d.n_notes = 0;
	assert_non_null(strstr(doctor_verdict(text, sizeof(text), &f, &d), "Few requests"));
}

static void that_requests_lay_unread_is_said_once(void **state)
{
	const struct diagnosis d = { .verdict = DOCTOR_HEALTHY };
	struct run_figures f = { 0 };
	char text[1024];
	const char *first;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_P99, 99e6);
	run_figure_set(&f, RUN_FIGURE_WAIT_CPU, 0.86);
	run_figure_set(&f, RUN_FIGURE_UNREAD, 6e6);
	run_figure_set(&f, RUN_FIGURE_UNREAD_SHARE, 0.5);
	doctor_verdict(text, sizeof(text), &f, &d);
	first = strstr(text, "lay unread");
	assert_non_null(first);
	assert_null(strstr(first + strlen("lay unread"), "unread"));
}

static void of_a_server_that_answers_nothing_it_is_said_what_happened(void **state)
{
	const struct diagnosis d = { .verdict = DOCTOR_TOO_FEW };
	struct run_figures f = { 0 };
	char text[300];

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 3);
	run_figure_set(&f, RUN_FIGURE_FAILED, 0.67);
	doctor_verdict(text, sizeof(text), &f, &d);
	assert_non_null(strstr(text, "No verdict: too few requests were seen (3)."));
	run_figure_set(&f, RUN_FIGURE_FAILED, 1);
	/* A server's own count of its answers: it runs. */
	assert_string_equal(doctor_verdict(text, sizeof(text), &f, &d),
			    "No verdict: too few requests were seen, and all 3 failed. Watch "
			    "longer (-d), or while users wait.");
	run_figure_set(&f, RUN_FIGURE_UNHEARD, 0);
	run_figure_who(&f, RUN_FIGURE_FAILED, "send: aborted by the server (102)");
	assert_string_equal(doctor_verdict(text, sizeof(text), &f, &d),
			    "No verdict: too few requests were seen, and all 3 failed, the first "
			    "with: send: aborted by the server (102). Watch longer (-d), or while "
			    "users wait.");
	run_figure_set(&f, RUN_FIGURE_UNHEARD, 1);
	run_figure_who(&f, RUN_FIGURE_FAILED, "recv: nobody listens on this port (-1)");
	assert_string_equal(doctor_verdict(text, sizeof(text), &f, &d),
			    "No verdict: no call succeeded, 3 failed, the first with: recv: nobody "
			    "listens on this port (-1). See whether the server runs and listens on "
			    "that port, and whether a firewall lets UDP through.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_can_be_said_as_a_time_and_a_number_has_its_plural),
		cmocka_unit_test(figures_are_said_with_their_units),
		cmocka_unit_test(what_stands_out_is_in_the_verdict),
		cmocka_unit_test(what_a_note_says_is_not_in_the_verdict_too),
		cmocka_unit_test(that_requests_lay_unread_is_said_once),
		cmocka_unit_test(settings_are_said_as_they_are_written),
		cmocka_unit_test(quantiles_have_the_digits_that_are_known),
		cmocka_unit_test(brackets_need_all_their_figures),
		cmocka_unit_test(names_of_the_server_are_said_as_words_of_a_command),
		cmocka_unit_test(a_name_that_is_cut_or_changed_is_not_known),
		cmocka_unit_test(a_process_is_called_as_its_kind_has_it),
		cmocka_unit_test(all_texts_have_names_of_figures_only),
		cmocka_unit_test(what_is_over_is_not_said_to_be_so),
		cmocka_unit_test(a_tracer_that_has_left_is_not_to_be_ended),
		cmocka_unit_test(why_a_server_was_not_watched_is_the_verdict),
		cmocka_unit_test(of_a_server_that_answers_nothing_it_is_said_what_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
