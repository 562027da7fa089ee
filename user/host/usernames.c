/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question at a time has the numbers of many users; the answer names them. */
#include "host/usernames.h"

#include "base/clock.h"
#include "host/patient.h"
#include "host/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWD    "/etc/passwd"
#define PLACES    4096 /* users that are remembered, each in the place of its number */
#define AT_ONCE   60   /* users in one question */
#define NAME_LEN  56   /* longer names are cut */
#define NOT_ASKED (-1)
#define SLOW_NS   1000000000u /* after so long those that have an answer are not kept waiting */
#define LIST_MAX  1048576     /* bytes of a list that are read: it may be a stranger's */

enum state { UNKNOWN, WANTED, KNOWN };

struct usernames_user {
	uint32_t uid;
	pid_t pid;           /* in whose list it is looked for; NOT_ASKED: that could not be done */
	char name[NAME_LEN]; /* empty: it has none */
};

struct usernames_place {
	enum state state;
	uint64_t root; /* identity of that process's root */
	struct usernames_user user;
};

struct usernames_question {
	struct usernames_user user[AT_ONCE];
};

_Static_assert(sizeof(struct usernames_question) <= PATIENT_MAX, "the answer is read in one piece");

struct usernames {
	struct usernames_place place[PLACES];
};

struct usernames *usernames_new(void)
{
	return calloc(1, sizeof(struct usernames));
}

void usernames_free(struct usernames *u)
{
	free(u);
}

/* The list belongs to somebody else: a link is not followed, a pipe not waited for. */
static FILE *open_list(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *list = fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) ? fdopen(fd, "r") : NULL;

	if (!list && fd >= 0)
		close(fd);
	return list;
}

static void find_in(FILE *list, struct usernames_user *u)
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

static void look_up(struct usernames_user *u)
{
	struct passwd entry, *found = NULL;
	struct stat own, its;
	char path[64], buf[16384];
	FILE *list;

	procfs_inside(path, sizeof(path), u->pid, PASSWD);
	list = open_list(path, &its);
	if (!list && kill(u->pid, 0))
		u->pid = NOT_ASKED;
	if (list && (stat(PASSWD, &own) || own.st_dev != its.st_dev || own.st_ino != its.st_ino))
		find_in(list, u);
	else if (list && !getpwuid_r(u->uid, &entry, buf, sizeof(buf), &found) && found)
		snprintf(u->name, sizeof(u->name), "%s", entry.pw_name);
	if (list)
		fclose(list);
}

static void answer(void *arg)
{
	uint64_t end_ns = clock_now_ns() + SLOW_NS;
	struct usernames_question *q = arg;

	for (size_t i = 0; i < AT_ONCE && q->user[i].pid; i++)
		if (clock_now_ns() < end_ns)
			look_up(&q->user[i]);
		else
			q->user[i].pid = NOT_ASKED;
}

static struct usernames_place *place_of(struct usernames *u, uint32_t uid)
{
	return &u->place[uid % PLACES];
}

/* Asks for all that are wanted, and takes what was answered, also to an earlier question. */
static void ask(struct usernames *u)
{
	struct usernames_question q = { 0 };
	struct usernames_place *p;
	size_t n = 0;

	for (size_t i = 0; i < PLACES && n < AT_ONCE; i++)
		if (u->place[i].state == WANTED)
			q.user[n++] = u->place[i].user;
	if (!n ||
	    patient_ask((struct patient_what) { "names of users", 0 }, answer, &q, &q, sizeof(q)))
		return;
	for (size_t i = 0; i < AT_ONCE && q.user[i].pid; i++) {
		p = place_of(u, q.user[i].uid);
		if (p->state != WANTED || p->user.uid != q.user[i].uid)
			continue;
		p->user = q.user[i];
		p->state = p->user.pid == NOT_ASKED ? UNKNOWN : KNOWN;
	}
}

const char *usernames_find(struct usernames *u, pid_t pid, uint32_t uid)
{
	struct usernames_place *p = place_of(u, uid);
	uint64_t root = procfs_identity(pid, "root");

	if (p->state == UNKNOWN || p->user.uid != uid || (root && p->root != root))
		*p = (struct usernames_place) { WANTED,
						root,
						{ .uid = uid, .pid = pid ? pid : getpid() } };
	if (p->state == WANTED)
		ask(u);
	return p->state == KNOWN && *p->user.name ? p->user.name : NULL;
}

size_t usernames_unanswered(const struct usernames *u)
{
	size_t n = 0;

	for (size_t i = 0; i < PLACES; i++)
		n += u->place[i].state == WANTED;
	return n;
}

struct usernames_map {
	uint32_t ours, inside;
};

static int find_mapped(void *arg, const char *line)
{
	struct usernames_map *m = arg;
	uint32_t inside, ours, n;

	if (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inside, &ours, &n) != 3 ||
	    m->ours < ours || m->ours - ours >= n)
		return 0;
	m->inside = inside + (m->ours - ours);
	return 1;
}

uint32_t usernames_inside(pid_t pid, uint32_t uid)
{
	struct usernames_map m = { .ours = uid, .inside = uid };

	/* Of its own namespace a process is shown the numbers of the one above. */
	if (procfs_identity(pid, "ns/user") != procfs_identity(0, "ns/user"))
		procfs_each_line(pid, "uid_map", find_mapped, &m);
	return m.inside;
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
	if (patient_ask((struct patient_what) { "own name", 0 }, look_own, out, out, sizeof(*out)))
		*out = (struct usernames_own) { .name = "" };
}
