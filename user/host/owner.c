/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/owner.h"

#include "base/procstat.h"
#include "host/cgroup.h"
#include "host/proc/procfs.h"

#include <errno.h>
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

int owner_refuse(const pid_t *pid, size_t n, const char *what, const char *how, struct err *e)
{
	struct err_list list = { .room = 330 };
	struct procstat st;
	char unit[UNIT_LEN];

	/* "12 smbd (user 0, smbd.service)" */
	for (size_t i = 0; i < n; i++) {
		cgroup_unit(unit, sizeof(unit), pid[i]);
		err_list_add(&list, "%d %s (user %u%s%s)", pid[i],
			     procstat_read(&st, pid[i]) ? "" : st.comm, owner_of(pid[i]),
			     *unit ? ", " : "", unit);
	}
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
