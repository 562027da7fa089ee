/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/owner.h"

#include "base/procstat.h"
#include "host/cgroup.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LISTED   6 /* of several processes, in a message */
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

/* Adds "12 smbd (user 0, smbd.service)" to a text of ERR_TEXT_MAX. */
static void owner_append(char *text, pid_t pid)
{
	struct procstat st;
	char unit[UNIT_LEN];

	cgroup_unit(unit, sizeof(unit), pid);
	err_append(text, "%s%d %s (user %u%s%s)", *text ? ", " : "", pid,
		   procstat_read(&st, pid) ? "" : st.comm, owner_of(pid), *unit ? ", " : "", unit);
}

int owner_refuse(const pid_t *pid, size_t n, const char *what, const char *how, struct err *e)
{
	char text[ERR_TEXT_MAX] = "";

	for (size_t i = 0; i < n && i < LISTED; i++)
		owner_append(text, pid[i]);
	return err_set(e, -ENOTUNIQ, "%s (%.330s%s): name one with %s", what, text,
		       n > LISTED ? ", ..." : "", how);
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
