/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics on their way from one process to another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/exporter.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

struct sender {
	int socket;
	const struct exporter_page *page;
	int result;
};

static void *send_one(void *arg)
{
	struct sender *s = arg;

	s->result = exporter_page_send(s->page, s->socket);
	return NULL;
}

static struct exporter_page page_of(bool up)
{
	const struct tally t = { .up = up, .shown.port = 548 };
	struct exporter_page p;

	assert_int_equal(exporter_page_make(&p, &t, (struct openmetrics_style) { 0 }), 0);
	return p;
}

/* Its value; negative: it is not there. */
static double age(const char *text)
{
	static const char sample[] = "\nafpscope_reading_age_seconds{port=\"548\"} ";
	const char *at = strstr(text, sample);

	return at ? strtod(at + sizeof(sample) - 1, NULL) : -1;
}

static void each_format_has_the_age_that_it_has_when_it_is_read(void **state)
{
	struct exporter_page p = page_of(true), down = page_of(false);
	size_t len;
	char *text;

	(void)state;
	for (int i = 0; i < 2; i++) {
		p.made_ns -= 1500000000;
		text = exporter_page_text(&p, i, &len);
		assert_non_null(text);
		assert_int_equal(strlen(text), len);
		assert_true(age(text) >= 1.5 * (i + 1) && age(text) < 1.5 * (i + 1) + 1);
		assert_int_equal(strstr(text, "# EOF\n") == text + len - 6, i);
		assert_non_null(strstr(text, "\nafpscope_up{port=\"548\"} 1\n"));
		free(text);
		text = exporter_page_text(&down, i, &len);
		assert_non_null(text);
		assert_true(age(text) < 0);
		assert_non_null(strstr(text, "\nafpscope_up{port=\"548\"} 0\n"));
		free(text);
	}
	free(p.text);
	free(down.text);
}

static void a_page_arrives_as_it_was_sent(void **state)
{
	struct exporter_page p = page_of(true);
	struct exporter_reader r = { .asked = true };
	struct sender s = { .page = &p };
	pthread_t thread;
	int pair[2];

	(void)state;
	p.end[1] = 4 << 20; /* more than a socket holds */
	p.text = realloc(p.text, p.end[1]);
	assert_non_null(p.text);
	memset(p.text + p.end[0], 'x', p.end[1] - p.end[0]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	r.socket = pair[1];
	assert_false(exporter_reader_take(&r, 0));
	s.socket = pair[0];
	assert_int_equal(pthread_create(&thread, NULL, send_one, &s), 0);
	assert_true(exporter_reader_take(&r, -1));
	pthread_join(thread, NULL);
	assert_int_equal(s.result, 0);
	assert_false(r.asked || r.over);
	assert_true(r.page.up && r.page.text != p.text);
	assert_memory_equal(r.page.text, p.text, p.end[1]);
	close(pair[0]);
	assert_false(exporter_reader_take(&r, 0));
	assert_true(r.over);
	assert_memory_equal(r.page.text, p.text, p.end[1]);
	close(pair[1]);
	free(r.page.text);
	free(p.text);
}

static void who_does_not_answer_is_not_asked_again(void **state)
{
	struct exporter_reader r = { .page = page_of(true) };
	uint64_t asked;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	r.socket = pair[1];
	r.page.made_ns -= 1000000000;
	exporter_reader_refresh(&r);
	exporter_reader_refresh(&r);
	assert_true(r.asked);
	assert_int_equal(recv(pair[0], &asked, sizeof(asked), MSG_DONTWAIT), sizeof(asked));
	assert_int_equal(recv(pair[0], &asked, sizeof(asked), MSG_DONTWAIT), -1);
	close(pair[0]);
	close(pair[1]);
	free(r.page.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_has_the_age_that_it_has_when_it_is_read),
		cmocka_unit_test(a_page_arrives_as_it_was_sent),
		cmocka_unit_test(who_does_not_answer_is_not_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
