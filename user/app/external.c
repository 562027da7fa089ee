/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds afpscope-NAME, and runs the one that writes Parquet. Commands of the user: child.c. */
#include "app/external.h"

#include "app/child.h"
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

int external_lake_check(const char *lake, struct err *e)
{
	char program[PROGRAM_MAX];
	int r;

	if (!*lake)
		return err_set(e, -EINVAL, "--into: the name of the folder is empty");
	external_path(program, sizeof(program), EXPORTER);
	r = child_check(program, e);
	return r ? err_set(e, r,
			   "--into needs afpscope-" EXPORTER " (%s): make install or the package "
			   "afpscope-analysis brings it, in a source tree make analysis",
			   strerror(-r))
		 : 0;
}

/* With names that are no option and no label, whatever they begin with. Does not return. */
static void run_export(const char *program, const char *lake, const char *folder)
{
	char into[PATH_MAX + 16], run[PATH_MAX + 16], name[] = "afpscope-" EXPORTER;
	char *const argv[] = { name, into, run, NULL };
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	snprintf(into, sizeof(into), "--into=%s", lake);
	snprintf(run, sizeof(run), "%s%s", *folder == '/' ? "" : "./", folder);

	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		_exit(126);
	execvp(program, argv);
	_exit(127);
}

int external_lake_put(const char *lake, const char *folder, struct err *e)
{
	char program[PROGRAM_MAX];
	int status = 0;
	pid_t pid;

	external_path(program, sizeof(program), EXPORTER);
	pid = fork();
	if (!pid)
		run_export(program, lake, folder);
	if (pid < 0)
		return err_set(e, -errno, "cannot put the run into %s: %s", lake, strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(e, -EIO,
			       "the run is not in the lake %s: afpscope-" EXPORTER
			       " failed; `afpscope export %s --into %s` tries again",
			       lake, folder, lake);
	return 0;
}
