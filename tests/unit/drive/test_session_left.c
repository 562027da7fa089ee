/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command could not remove: how it is said, and for how long a server is waited for. */
#include "drive/session.h"
#include "unit/loopback.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define STOP_US 200000

/* libnfs forgets what it began when a connection is given up before its mount was answered. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libnfs.so\n";
}

int __real_store_begin_local(struct store **out, const char *place, bool create, struct err *e);
int __wrap_store_begin_local(struct store **out, const char *place, bool create, struct err *e);

/* As libgfapi, which waits inside a call until its server answers; this one never does. */
int __wrap_store_begin_local(struct store **out, const char *place, bool create, struct err *e)
{
	while (store_place_blocks(place))
		pause();
	return __real_store_begin_local(out, place, create, e);
}

/* What it says of a base that is left in a place. */
static void what_is_said(char *out, size_t size, const char *place, const char *base)
{
	const struct session_cfg cfg = { .local = true, .directory = place };
	struct warden_left left = { 0 };
	struct session s = { .cfg = &cfg, .left = &left };
	FILE *said = tmpfile();
	int err = dup(STDERR_FILENO);
	size_t n;

	assert_non_null(said);
	snprintf(left.base[0], sizeof(left.base[0]), "%s", base);
	dup2(fileno(said), STDERR_FILENO);
	session_remove_left(&s);
	dup2(err, STDERR_FILENO);
	close(err);
	rewind(said);
	n = fread(out, 1, size - 1, said);
	out[n] = '\0';
	fclose(said);
	run_fini(&s.run);
}

static void the_command_that_is_named_removes_it(void **state)
{
	static const struct {
		const char *place, *base, *command;
	} rows[] = {
		{ "/srv/vol", "LanTest-1", ": afpscope clean /srv/vol, or" },
		{ "/srv/my vol", "LanTest-1", ": afpscope clean '/srv/my vol', or" },
		{ "/srv/ann's", "LanTest-1", ": afpscope clean '/srv/ann'\\''s', or" },
		/* without --all it would be kept for the next replay */
		{ "/srv/vol", "afpscope-replay-0123abcd", ": afpscope clean --all /srv/vol, or" },
	};
	char text[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		what_is_said(text, sizeof(text), rows[i].place, rows[i].base);
		if (!strstr(text, rows[i].command) || !strstr(text, rows[i].base))
			fail_msg("%s", text);
	}
}

static void stop(int sig)
{
	cmd_stop = sig;
}

/* A server that takes connections, and says nothing: it. */
static int silent_server(unsigned int *port)
{
	struct sockaddr_storage at;
	socklen_t len = loopback_addr(&at, AF_INET, 0);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listener, 10), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(((struct sockaddr_in *)(void *)&at)->sin_port);
	return listener;
}

/* Loads a library of the cache of tests/need.sh; the store then finds it by its name. */
static void load_library(const char *option, const char *file)
{
	char line[1000], path[1200];
	FILE *folder;

	snprintf(line, sizeof(line), "tests/need.sh %s", option);
	folder = popen(line, "r");
	assert_non_null(folder);
	assert_non_null(fgets(line, sizeof(line), folder));
	assert_int_equal(pclose(folder), 0);
	snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(line, "\n"), line, file);
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
		fail_msg("%s", dlerror());
}

static int load_libraries(void **state)
{
	(void)state;
	load_library("--libnfs", "libnfs.so.14");
	load_library("--libsmb2", "libsmb2.so.6");
	return 0;
}

static void its_patience_ends(const char *place)
{
	struct store *s = NULL;
	struct err e = { 0 };
	int r = store_begin_local(&s, place, false, &e);

	if (r)
		fail_msg("%s", e.text);
	s->patience_ns = 300000000;
	while (!r) {
		struct io_wait w;

		store_wait(s, &w);
		r = store_advance(s, io_wait(&w, UINT64_MAX), &e);
	}
	if (!strstr(e.text, "the connection is lost: no answer for 0.3 s"))
		fail_msg("%s", e.text);
	store_close(s);
}

static void a_silent_nfs_server_is_lost_when_patience_ends(void **state)
{
	unsigned int port;
	int listener = silent_server(&port);
	char place[100];

	(void)state;
	snprintf(place, sizeof(place), "nfs://127.0.0.1:%u/e?mountport=%u", port, port);
	its_patience_ends(place);
	close(listener);
}

static void a_silent_smb_server_is_lost_when_patience_ends(void **state)
{
	unsigned int port;
	int listener = silent_server(&port);
	char place[100];

	(void)state;
	snprintf(place, sizeof(place), "smb://me@127.0.0.1:%u/share", port);
	its_patience_ends(place);
	close(listener);
}

static void it_is_waited_for_until_a_stop(const char *place)
{
	const struct sigaction catch = { .sa_handler = stop };
	const struct itimerval often = { { 0, STOP_US }, { 0, STOP_US } }, never = { 0 };
	char text[1000];

	sigaction(SIGALRM, &catch, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	what_is_said(text, sizeof(text), place, "LanTest-1");
	setitimer(ITIMER_REAL, &never, NULL);
	cmd_stop = 0;
	if (!strstr(text, "(interrupted)"))
		fail_msg("%s", text);
}

static void a_server_that_does_not_answer_is_waited_for_until_a_stop(void **state)
{
	unsigned int port;
	int listener = silent_server(&port);
	char place[100];

	(void)state;
	snprintf(place, sizeof(place), "nfs://127.0.0.1:%u/e?mountport=%u", port, port);
	it_is_waited_for_until_a_stop(place);
	close(listener);
}

static void so_is_a_server_of_a_library_that_waits(void **state)
{
	(void)state;
	it_is_waited_for_until_a_stop("gluster://127.0.0.1/volume");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_that_is_named_removes_it),
		cmocka_unit_test(a_silent_nfs_server_is_lost_when_patience_ends),
		cmocka_unit_test(a_silent_smb_server_is_lost_when_patience_ends),
		cmocka_unit_test(a_server_that_does_not_answer_is_waited_for_until_a_stop),
		cmocka_unit_test(so_is_a_server_of_a_library_that_waits),
	};

	return cmocka_run_group_tests(tests, load_libraries, NULL);
}
