/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A question for each user, of which one may be stuck (host/patient.h); answers are remembered. */
#include "host/usernames.h"

#include "host/patient.h"
#include "host/proc/procfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWD   "/etc/passwd"
#define LIST_MAX 1048576 /* bytes of a list that are read: it may be a stranger's */
#define SERVICE  ~0u     /* what all questions are stuck together by: no mount has this number */

/* The list belongs to somebody else: a link is not followed, a pipe not waited for. */
static FILE *open_list(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *list = fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) ? fdopen(fd, "r") : NULL;

	if (!list && fd >= 0)
		close(fd);
	return list;
}

static void usernames_find_in(FILE *list, struct usernames_user *u)
{
	struct passwd entry, *found;
	char buf[4096];

	while (ftell(list) < LIST_MAX && !fgetpwent_r(list, &entry, buf, sizeof(buf), &found)) {
		if (entry.pw_uid != u->uid)
			continue;
		snprintf(u->name, sizeof(u->name), "%s", entry.pw_name);
		return;
	}
}

static void usernames_look_up(void *arg)
{
	struct passwd entry, *found = NULL;
	struct usernames_user *u = arg;
	struct stat own, its;
	char path[64], buf[16384];
	FILE *list;

	procfs_inside(path, sizeof(path), u->pid, PASSWD);
	list = open_list(path, &its);
	if (list && (stat(PASSWD, &own) || own.st_dev != its.st_dev || own.st_ino != its.st_ino))
		usernames_find_in(list, u);
	else if (list && !getpwuid_r(u->uid, &entry, buf, sizeof(buf), &found) && found)
		snprintf(u->name, sizeof(u->name), "%s", entry.pw_name);
	u->known = list || !kill(u->pid, 0);
	if (list)
		fclose(list);
}

const char *usernames_find(struct usernames *u, pid_t pid, uint32_t uid)
{
	struct usernames_user *at = &u->user[uid % USERNAMES_PLACES], q = {
		.pid = pid ? pid : getpid(), .uid = uid, .root = procfs_identity(pid, "root")
	};
	char what[64];

	if (!at->known || at->uid != uid || (q.root && at->root != q.root)) {
		snprintf(what, sizeof(what), "user %u of %d", uid, q.pid);
		if (patient_ask((struct patient_what) { what, SERVICE }, usernames_look_up, &q, &q,
				sizeof(q))) {
			u->n_unanswered++;
			return NULL;
		}
		*at = q;
	}
	return *at->name ? at->name : NULL;
}

size_t usernames_unanswered(struct usernames *u)
{
	size_t n = u->n_unanswered;

	u->n_unanswered = 0;
	return n;
}

uint32_t usernames_inside(pid_t pid, uint32_t uid)
{
	uint32_t inside, ours, n;
	struct procfs_lines l;

	/* Of its own namespace a process is shown the numbers of the one above. */
	if (procfs_identity(pid, "ns/user") == procfs_identity(0, "ns/user") ||
	    procfs_lines(&l, pid, "uid_map"))
		return uid;
	while (procfs_line(&l)) {
		if (sscanf(l.text, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inside, &ours, &n) != 3 ||
		    uid < ours || uid - ours >= n)
			continue;
		uid = inside + (uid - ours);
		break;
	}
	procfs_lines_end(&l);
	return uid;
}

_Static_assert(sizeof(struct usernames_own) <= PATIENT_MAX, "the answer is read in one piece");

static void look_own(void *arg)
{
	struct usernames_own *own = arg;
	struct passwd entry, *found = NULL;
	char buf[16384];

	if (getpwuid_r(geteuid(), &entry, buf, sizeof(buf), &found) || !found)
		return;
	snprintf(own->name, sizeof(own->name), "%s", found->pw_name);
	snprintf(own->home, sizeof(own->home), "%s", found->pw_dir);
}

void usernames_own(struct usernames_own *out)
{
	*out = (struct usernames_own) { .name = "" };
	if (patient_ask((struct patient_what) { "own name", SERVICE }, look_own, out, out,
			sizeof(*out)))
		*out = (struct usernames_own) { .name = "" };
}
