/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/afp/looks.h"

#include "host/filesystem.h"
#include "host/proc/procfs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes at the end of a log: a backtrace has about 1,500, and others write after it. */
#define TAIL  65536
#define ERROR "INTERNAL ERROR: Signal "
#define FRAME "/afpd("

/* The first function of afpd in the frames that follow, without what called it: "afp_read". */
static size_t function_after(const char *at, const char **name)
{
	const char *frame = strstr(at, FRAME);

	if (!frame)
		return 0;
	*name = frame + strlen(FRAME);
	return strcspn(*name, "+)\n");
}

void crashlog_read(struct run_figures *out, const char *log, pid_t pid)
{
	const char *last = NULL, *name = "";
	int signal, its;
	size_t len;

	for (const char *at = log; (at = strstr(at, ERROR)); at += strlen(ERROR))
		if (sscanf(at, ERROR "%d in pid %d", &signal, &its) == 2 && its == pid)
			last = at;
	if (!last)
		return;
	len = function_after(last, &name);
	run_figure_who(out, RUN_FIGURE_CRASHED_SHARE, "%.*s%s%.*s", (int)strcspn(last, "\n"), last,
		       len ? ", in " : "", (int)len, name);
}

void crashlog_look(struct run_figures *out, const struct servers_entry *s, const struct afpconf *c,
		   pid_t pid)
{
	const struct afpconf_item *file = afpconf_find(c, "Global", "log file");
	char root[64], text[TAIL + 1];
	struct stat st;
	ssize_t n = 0;
	int fd;

	if (!file || !s->master)
		return;
	procfs_inside(root, sizeof(root), s->master, "");
	fd = filesystem_open(root, file->value);
	if (fd < 0)
		return;
	if (!fstat(fd, &st))
		n = pread(fd, text, TAIL, st.st_size > TAIL ? st.st_size - TAIL : 0);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	crashlog_read(out, text, pid);
}
