/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels for sessions, and where each comes from. */

#include "watch/sessions.h"

#include "watch/procfs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_LEN 512

struct label {
	uint32_t uid;
	bool has_uid;
	char cwd[PATH_LEN]; /* empty: never seen */
};

struct sessions {
	struct label label[AFS_N_PROCESSES];
};

struct sessions *sessions_new(void)
{
	return calloc(1, sizeof(struct sessions));
}

void sessions_free(struct sessions *s)
{
	free(s);
}

static bool is_session(const struct bpf_view *v, uint32_t i)
{
	return v->process[i].role == AFS_ROLE_AFPD && v->process[i].serving;
}

/* Real, effective, saved, file system: the second. */
static void look_uid(struct label *l, pid_t pid)
{
	char text[128];
	unsigned int uid;

	if (procfs_status(text, sizeof(text), pid, "Uid") || sscanf(text, "%*u %u", &uid) != 1)
		return;
	if (!uid)
		return;
	l->uid = uid;
	l->has_uid = true;
}

static void look_cwd(struct label *l, pid_t pid)
{
	char path[64], cwd[PATH_LEN], root[PATH_LEN];
	ssize_t len, root_len;

	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	len = readlink(path, cwd, sizeof(cwd) - 1);
	if (len <= 1)
		return;
	cwd[len] = '\0';
	/* Where it stands before it opens a volume: also the root of a chroot. */
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root_len = readlink(path, root, sizeof(root));
	if (root_len == len && !memcmp(root, cwd, (size_t)len))
		return;
	/* The highest folder it was seen in is nearest to the volume's root. */
	if (!l->cwd[0] || !strncmp(l->cwd, cwd, (size_t)len))
		snprintf(l->cwd, sizeof(l->cwd), "%s", cwd);
}

void sessions_look(struct sessions *s, const struct bpf_view *v)
{
	uint32_t n = bpf_view_processes(v);

	for (uint32_t i = 0; i < n; i++) {
		if (!is_session(v, i) || v->process[i].ended >= v->process[i].threads)
			continue;
		if (!s->label[i].has_uid)
			look_uid(&s->label[i], v->process[i].tgid);
		look_cwd(&s->label[i], v->process[i].tgid);
	}
}

static char *user_name(uint32_t uid)
{
	struct passwd entry, *found = NULL;
	char buf[4096], *name = NULL;

	if (!getpwuid_r(uid, &entry, buf, sizeof(buf), &found) && found)
		return strdup(found->pw_name);
	return asprintf(&name, "uid %u", uid) < 0 ? NULL : name;
}

static int label_user(struct run_session *to, const struct label *l, const struct afs_process *p)
{
	if (!p->uid && !l->has_uid)
		return 0;
	to->user = user_name(p->uid ? p->uid : l->uid);
	to->user_from = p->uid ? "effective user id, seen in setresuid" : "/proc/PID/status";
	return to->user ? 0 : -ENOMEM;
}

static int label_address(struct run_session *to, const struct afs_stream *s)
{
	char text[INET6_ADDRSTRLEN];
	bool v6 = s->family == AF_INET6;

	if (!s->family || !inet_ntop(v6 ? AF_INET6 : AF_INET, s->ip, text, sizeof(text)))
		return 0;
	if (asprintf(&to->address, v6 ? "[%s]:%u" : "%s:%u", text, s->port) < 0) {
		to->address = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int label_volume(struct run_session *to, const struct label *l)
{
	if (!l->cwd[0])
		return 0;
	to->volume = strdup(l->cwd);
	to->volume_from = "current directory, /proc/PID/cwd";
	return to->volume ? 0 : -ENOMEM;
}

int sessions_note(const struct sessions *s, const struct bpf_view *v, struct run *r)
{
	uint32_t n = bpf_view_processes(v), threads = bpf_view_threads(v);
	struct run_session *to;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		if (!is_session(v, i))
			continue;
		to = run_session(r);
		if (!to)
			return -ENOMEM;
		to->pid = v->process[i].tgid;
		if (v->process[i].parent >= 0)
			to->begun_ns = v->process[i].begun_ns;
		if (v->process[i].ended >= v->process[i].threads)
			to->ended_ns = v->process[i].ended_ns;
		to->requests = v->stream[i].answered;
		to->busy_ns = v->stream[i].ns;
		to->bytes_in = v->stream[i].bytes_in;
		to->bytes_out = v->stream[i].bytes_out;
		for (uint32_t k = 0; k < threads; k++)
			if (v->thread[k].process == i)
				to->calls += v->thread[k].calls;
		err = label_user(to, &s->label[i], &v->process[i]);
		err = err ? err : label_address(to, &v->stream[i]);
		err = err ? err : label_volume(to, &s->label[i]);
	}
	return err;
}
