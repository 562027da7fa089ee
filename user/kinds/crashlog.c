/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/crashlog.h"

#include "base/file.h"
#include "host/patient.h"
#include "host/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TAIL      3584 /* bytes at the end of a log: a backtrace has about 1,500 */
#define ANSWER_MS 500
#define ERROR     "INTERNAL ERROR: Signal "
#define FRAME     "/afpd("

struct log_end {
	char path[CENSUS_PATH_MAX + 64];
	char text[TAIL + 1];
};

static void read_end(void *arg)
{
	struct log_end *l = arg;
	uint64_t len;
	int fd = file_open(AT_FDCWD, l->path, &len);
	ssize_t n = 0;

	if (fd >= 0)
		n = pread(fd, l->text, TAIL, len > TAIL ? (off_t)(len - TAIL) : 0);
	l->text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

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
	struct log_end l = { .text = "" };
	char root[64];

	if (!file || !s->master)
		return;
	procfs_inside(root, sizeof(root), s->master, "");
	snprintf(l.path, sizeof(l.path), "%s%s", root, file->value);
	if (!patient_call(read_end, &l, l.text, sizeof(l.text), ANSWER_MS))
		crashlog_read(out, l.text, pid);
}
