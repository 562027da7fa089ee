/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals and messages, the same for every command. */
#include "app/cmd.h"

#include "base/text.h"
#include "base/typed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t cmd_stop;

/*
 * One stop may be several signals: ^C twice, or "timeout", which sends SIGTERM to its child and
 * then to its group.
 */
#define ONE_STOP_MS 500

static int now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int)((t.tv_sec * 1000 + t.tv_nsec / 1000000) & INT_MAX);
}

/* A second stop ends the program at once: cleaning up may itself hang. */
static void on_signal(int sig)
{
	static const char text[] =
	    "\nafpscope: ended at once: nothing was saved; what is left on a volume is being "
	    "removed (else by afpscope clean)\n";
	static volatile sig_atomic_t stopped_ms; /* when the first one came */
	int ms = now_ms();
	ssize_t n;

	if (cmd_stop && cmd_stop != CMD_STOP_TOLD && cmd_stop != CMD_STOP_ORPHANED) {
		if (((ms - stopped_ms) & INT_MAX) < ONE_STOP_MS)
			return;
		n = write(STDERR_FILENO, text, sizeof(text) - 1);
		(void)n;
		_exit(128 + sig);
	}
	stopped_ms = ms;
	cmd_stop = sig;
}

void cmd_catch_signals(void)
{
	const struct sigaction catch = { .sa_handler = on_signal }; /* no SA_RESTART */
	const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &catch, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void cmd_allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* One write: other processes may write to the same place. Names in it may be anybody's: cleaned. */
void cmd_say(const char *fmt, ...)
{
	char *text, *typed;
	va_list ap;
	int len;

	fflush(stdout);
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	typed = typed_text(text);
	text_clean(typed ? typed : text);
	dprintf(STDERR_FILENO, "afpscope: %s\n", typed ? typed : text);
	free(typed);
	free(text);
}

void cmd_hold_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0 &&
		    open("/", O_PATH) < 0)
			_exit(OUTCOME_FAILED);
	}
}

int cmd_end(int r, int failed)
{
	if (fflush(stdout))
		cmd_say("cannot write the result: %s", strerror(errno));
	else if (ferror(stdout) && !r)
		cmd_say("cannot write the result: only part of it was written");
	return ferror(stdout) && !r ? failed : r;
}

int cmd_version(void *cfg, const char *arg, struct err *e)
{
	(void)cfg, (void)arg, (void)e;
	puts("afpscope " AFPSCOPE_VERSION);
	exit(fflush(stdout) ? OUTCOME_FAILED : OUTCOME_OK);
}

int cmd_help(const struct opt *options, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	opt_help(stdout, options);
	return OUTCOME_OK;
}

int cmd_usage_error(const char *command, const struct err *e)
{
	if (cmd_stop)
		return OUTCOME_INTERRUPTED;
	if (strstr(e->text, "--help"))
		cmd_say("%s: %s", command, e->text);
	else
		cmd_say("%s: %s (see afpscope %s --help)", command, e->text, command);
	return OUTCOME_USAGE;
}
