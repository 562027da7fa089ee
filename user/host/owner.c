/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/owner.h"

#include "base/procstat.h"
#include "host/cgroup.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNIT_LEN 64

uint32_t owner_of(pid_t pid)
{
	uint32_t real, effective;

	return procfs_uids(&real, &effective, pid) ? OWNER_UNKNOWN : real;
}

bool owner_counts(uint32_t uid)
{
	return !uid || uid == getuid();
}

/* Adds "12 smbd (user 0, smbd.service)". */
static void owner_append(struct err_list *list, pid_t pid)
{
	struct procstat st;
	char unit[UNIT_LEN];

	cgroup_unit(unit, sizeof(unit), pid);
	err_list_add(list, "%d %s (user %u%s%s)", pid, procstat_read(&st, pid) ? "" : st.comm,
		     owner_of(pid), *unit ? ", " : "", unit);
}

int owner_refuse(const pid_t *pid, size_t n, const char *what, const char *how, struct err *e)
{
	struct err_list list = { .room = 330 };

	for (size_t i = 0; i < n; i++)
		owner_append(&list, pid[i]);
	return err_set(e, -ENOTUNIQ, "%s (%s): name one with %s", what, err_list_end(&list), how);
}

int owner_one(const pid_t *pid, size_t n, const char *what, struct err *e)
{
	char unit[2][UNIT_LEN];

	for (size_t i = 0; i < n; i++) {
		cgroup_unit(unit[i > 0], UNIT_LEN, pid[i]);
		if (i && (owner_of(pid[i]) != owner_of(pid[0]) || strcmp(unit[0], unit[1]) != 0))
			return owner_refuse(pid, n, what, "--pid, --port or --unit", e);
	}
	return 0;
}
