/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds afpscope-NAME, and runs those that make something of a run when it is kept. Commands of the
 * user: child.c.
 */
#include "app/external.h"

#include "app/child.h"
#include "base/shell.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORTER    "export"
#define BUNDLER     "bundle"
#define PROGRAM_MAX (PATH_MAX + 256)

void external_path(char *out, size_t size, const char *name)
{
	char self[PATH_MAX];

	if (!procfs_link(self, sizeof(self), 0, "exe")) {
		snprintf(out, size, "%s/afpscope-%s", dirname(self), name);
		if (!access(out, F_OK))
			return;
	}
	snprintf(out, size, "afpscope-%s", name);
}

/* Whether a program is there that an option needs; what: the option's argument names. */
static int external_check(const char *option, const char *name, const char *what,
			  const char *argument, struct err *e)
{
	char program[PROGRAM_MAX];
	int r;

	if (!*argument)
		return err_set(e, -EINVAL, "--%s: the name of the %s is empty", option, what);
	external_path(program, sizeof(program), name);
	r = child_check(program, e);
	return r ? err_set(e, r,
			   "--%s needs afpscope-%s (%s): make install or the package "
			   "afpscope-analysis brings it, in a source tree make analysis",
			   option, name, strerror(-r))
		 : 0;
}

int external_lake_check(const char *lake, struct err *e)
{
	return external_check("into", EXPORTER, "folder", lake, e);
}

int external_bundle_check(const char *file, struct err *e)
{
	return external_check("bundle", BUNDLER, "file", file, e);
}

/* With names that are no option and no label, whatever they begin with. Does not return. */
static void external_exec(const char *name, const char *option, const char *argument,
			  const char *folder)
{
	char program[PROGRAM_MAX], into[PATH_MAX + 16], run[PATH_MAX + 16], called[64];
	char *const argv[] = { called, into, run, NULL };
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	external_path(program, sizeof(program), name);
	snprintf(called, sizeof(called), "afpscope-%s", name);
	snprintf(into, sizeof(into), "%s%s", option, argument);
	snprintf(run, sizeof(run), "%s%s", *folder == '/' ? "" : "./", folder);

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(126);
	execvp(program, argv);
	_exit(127);
}

/* Runs it on the run, and waits. 0; -EIO: it failed; another negative errno: it was not begun. */
static int external_run(const char *name, const char *option, const char *argument,
			const char *folder)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		external_exec(name, option, argument, folder);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

int external_lake_put(const char *lake, const char *folder, struct err *e)
{
	int r = external_run(EXPORTER, "--into=", lake, folder);
	char run[ERR_TEXT_MAX], into[ERR_TEXT_MAX];

	if (r == -EIO)
		return err_set(e, r,
			       "the run is not in the lake %s: afpscope-" EXPORTER
			       " failed; `afpscope export %s --into %s` tries again",
			       lake, shell_word(run, sizeof(run), folder),
			       shell_word(into, sizeof(into), lake));
	return r ? err_set(e, r, "cannot put the run into %s: %s", lake, strerror(-r)) : 0;
}

int external_bundle_make(const char *file, const char *folder, struct err *e)
{
	int r = external_run(BUNDLER, "-o", file, folder);
	char run[ERR_TEXT_MAX], into[ERR_TEXT_MAX];

	if (r == -EIO)
		return err_set(e, r,
			       "there is no bundle %s: afpscope-" BUNDLER
			       " failed; `afpscope bundle %s -o %s` tries again",
			       file, shell_word(run, sizeof(run), folder),
			       shell_word(into, sizeof(into), file));
	return r ? err_set(e, r, "cannot make the bundle %s: %s", file, strerror(-r)) : 0;
}
