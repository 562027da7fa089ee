/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/gluster/bricks.h"

#include "base/procstat.h"
#include "host/filesystem.h"
#include "host/proc/procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define INDEX "/.glusterfs/indices/xattrop"
#define BASE  "xattrop-"
#define MOST  10000u /* for one brick; more need not be counted */

struct heal_index {
	char path[CENSUS_PATH_MAX + 128];
	bool known;
	unsigned int n;
};

static void bricks_count(void *arg)
{
	struct heal_index *x = arg;
	struct dirent *entry;
	DIR *d = opendir(x->path);

	x->known = d != NULL;
	while (d && x->n < MOST && (entry = readdir(d)))
		x->n += entry->d_name[0] != '.' && strncmp(entry->d_name, BASE, strlen(BASE)) != 0;
	if (d)
		closedir(d);
}

static void bricks_look_heal(struct run_figures *out, const struct kind_found *found)
{
	unsigned int most = 0;
	double all = 0;
	char root[64];

	procfs_inside(root, sizeof(root), found->target.server, "");
	for (size_t i = 0; i < found->n_folders; i++) {
		struct heal_index x = { 0 };

		snprintf(x.path, sizeof(x.path), "%s%s%s", root, found->folder[i], INDEX);
		if (filesystem_ask(found->target.server, found->folder[i], bricks_count, &x, &x,
				   sizeof(x)) ||
		    !x.known)
			continue;
		all += x.n;
		run_figure_set(out, RUN_FIGURE_HEAL_ENTRIES, all);
		if (x.n > most)
			run_figure_who(out, RUN_FIGURE_HEAL_ENTRIES, "most on %s",
				       found->folder[i]);
		most = x.n > most ? x.n : most;
	}
}

static void say_brick(struct run_figures *out, enum run_figure which,
		      const struct kind_found *found, size_t i, pid_t pid)
{
	run_figure_who(out, which, "%s (pid %d)", i < found->n_folders ? found->folder[i] : "?",
		       pid);
}

static void look_processes(struct run_figures *out, const struct kind_found *found)
{
	const struct target *t = &found->target;
	double ended = 0, held = 0;
	const struct target_process *p;
	struct procstat st;

	for (size_t at = 0; (p = target_next(t, AFS_ROLE_SERVER, &at));) {
		if (procstat_read(&st, p->pid) || !procstat_lives(&st)) {
			ended++;
			say_brick(out, RUN_FIGURE_SERVER_ENDED, found, at - 1, p->pid);
		} else if (st.state == 'T' || st.state == 't') {
			held++;
			say_brick(out, RUN_FIGURE_BRICKS_HELD, found, at - 1, p->pid);
		}
	}
	if (ended > 0)
		run_figure_set(out, RUN_FIGURE_SERVER_ENDED, ended);
	run_figure_set(out, RUN_FIGURE_BRICKS_HELD, held);
	run_figure_share(out, RUN_FIGURE_BRICKS_HELD_SHARE, held,
			 (double)target_count(t, AFS_ROLE_SERVER));
}

void bricks_look(struct run_figures *out, const struct kind_found *found)
{
	look_processes(out, found);
	bricks_look_heal(out, found);
}
