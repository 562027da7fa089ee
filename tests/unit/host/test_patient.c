/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/patient.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int ask_named(const char *name, unsigned int mount, void (*fn)(void *arg), void *arg,
		     void *out, size_t len)
{
	return patient_ask((struct patient_what) { name, mount }, fn, arg, out, len);
}

/* On a busy machine an answer may take longer than what is left to wait. */
static int ask_until(const char *name, unsigned int mount, void (*fn)(void *arg), pid_t *out)
{
	int r;

	while ((r = ask_named(name, mount, fn, out, out, sizeof(*out))) == -ETIMEDOUT)
		usleep(1000);
	return r;
}

static void answer(void *arg)
{
	*(pid_t *)arg = getpid();
}

static void an_answer_comes_from_another_process(void **state)
{
	pid_t q = 0;

	(void)state;
	assert_int_equal(ask_until("a", 0, answer, &q), 0);
	assert_true(q > 0 && q != getpid());
}

/* Writes who it is at once, and answers only when "go" is there. */
struct hung {
	char folder[64];
	pid_t pid;
};

static void path_of(char *out, size_t len, const struct hung *h, const char *name)
{
	snprintf(out, len, "%s/%s", h->folder, name);
}

static void hang(void *arg)
{
	struct hung *h = arg;
	char go[96], who[96];
	int fd;

	path_of(go, sizeof(go), h, "go");
	path_of(who, sizeof(who), h, "who");
	h->pid = getpid();
	fd = open(who, O_CREAT | O_WRONLY, 0600);
	if (write(fd, &h->pid, sizeof(h->pid)) < 0)
		_exit(1);
	close(fd);
	while (access(go, F_OK))
		usleep(1000);
}

static struct hung hung_new(void)
{
	struct hung h = { .folder = "/tmp/afpscope-patient-XXXXXX" };

	assert_non_null(mkdtemp(h.folder));
	return h;
}

static void hung_go(const struct hung *h)
{
	char path[96];

	path_of(path, sizeof(path), h, "go");
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void hung_fini(const struct hung *h)
{
	static const char *const names[] = { "go", "who" };
	char path[96];

	for (size_t i = 0; i < 2; i++) {
		path_of(path, sizeof(path), h, names[i]);
		unlink(path);
	}
	rmdir(h->folder);
}

static void a_late_answer_is_that_of_a_later_question(void **state)
{
	struct hung h = hung_new();
	pid_t first, q;
	int r;

	(void)state;
	assert_int_equal(ask_named("b", 0, hang, &h, &h.pid, sizeof(h.pid)), -ETIMEDOUT);
	assert_int_equal(ask_named("b", 0, hang, &h, &h.pid, sizeof(h.pid)), -ETIMEDOUT);
	/* Others are not kept waiting by it. */
	assert_int_equal(ask_until("b", 0, answer, &q), 0);
	hung_go(&h);
	do {
		usleep(1000);
		r = ask_named("b", 0, hang, &h, &first, sizeof(first));
	} while (r == -ETIMEDOUT);
	assert_int_equal(r, 0);
	assert_int_equal(ask_named("b", 0, hang, &h, &h.pid, sizeof(h.pid)), 0);
	assert_true(first > 0 && first != h.pid);
	hung_fini(&h);
}

/* On one mount; on another one, or on none that is known, they are asked. */
static void what_is_on_a_dead_mount_is_not_asked(void **state)
{
	struct hung h = hung_new();
	pid_t q;

	(void)state;
	assert_int_equal(ask_named("e", 7, hang, &h, &h.pid, sizeof(h.pid)), -ETIMEDOUT);
	assert_int_equal(ask_named("f", 7, answer, &q, &q, sizeof(q)), -ETIMEDOUT);
	assert_int_equal(ask_until("f", 8, answer, &q), 0);
	assert_int_equal(ask_until("f", 0, answer, &q), 0);
	hung_go(&h);
	assert_int_equal(ask_until("f", 7, answer, &q), 0);
	assert_int_equal(ask_named("e", 7, hang, &h, &h.pid, sizeof(h.pid)), 0);
	hung_fini(&h);
}

/* Of 100 different ones, which all hang. */
/* Place: file system whose server or daemon does not answer (a volume, or all of the server's
 *   files) */
static void all_questions_together_are_waited_for_for_less_than_a_second(void **state)
{
	struct hung h = hung_new();
	uint64_t begun_ns = clock_now_ns();
	char what[16];
	pid_t q;

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(what, sizeof(what), "c%d", i);
		assert_int_equal(ask_named(what, 0, hang, &h, &h.pid, sizeof(h.pid)), -ETIMEDOUT);
	}
	assert_true(clock_now_ns() - begun_ns < 1000000000);
	hung_go(&h);
	/* Answers for which nobody asks again keep no place. */
	assert_int_equal(ask_until("new", 0, answer, &q), 0);
	for (int i = 0; i < 100; i++) {
		snprintf(what, sizeof(what), "c%d", i);
		while (ask_named(what, 0, hang, &h, &h.pid, sizeof(h.pid)) == -ETIMEDOUT)
			usleep(1000);
	}
	hung_fini(&h);
}

/* However that ends. */
static void one_that_hangs_ends_with_its_program(void **state)
{
	struct hung h = hung_new();
	char path[96];
	pid_t child, who = 0;
	int fd;

	(void)state;
	path_of(path, sizeof(path), &h, "who");
	child = fork();
	if (!child) {
		ask_named("d", 0, hang, &h, &h.pid, sizeof(h.pid));
		pause();
	}
	while (!who) {
		usleep(1000);
		fd = open(path, O_RDONLY);
		if (fd >= 0 && read(fd, &who, sizeof(who)) != sizeof(who))
			who = 0;
		if (fd >= 0)
			close(fd);
	}
	assert_int_equal(kill(who, 0), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; !kill(who, 0) && i < 5000; i++)
		usleep(1000);
	assert_true(kill(who, 0) < 0 && errno == ESRCH);
	hung_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_from_another_process),
		cmocka_unit_test(one_that_hangs_ends_with_its_program),
		cmocka_unit_test(a_late_answer_is_that_of_a_later_question),
		cmocka_unit_test(what_is_on_a_dead_mount_is_not_asked),
		cmocka_unit_test(all_questions_together_are_waited_for_for_less_than_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
