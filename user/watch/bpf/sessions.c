/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users, addresses and volumes of the watched sessions, and where each comes from. The programs
 * keep what they saw (the client's address, the effective user id); what only /proc shows is read
 * while the process lives.
 */

#include "watch/watch_priv.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "host/net/sockets.h"
#include "host/proc/procfs.h"
#include "host/usernames.h"
#include "kinds/conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LEN 512

/* How often the folder of a session is looked at whose volumes were not seen: of many at a time. */
#define FOLDER_NS 1000000000u

struct label {
	uint32_t uid;
	bool has_uid;
	uint64_t looked_ns; /* at its folder; 0: never */
	uint16_t n_asked;   /* users of its connection whose names were asked for */
	char *cwd;          /* owned; last working directory; NULL: never seen */
	char *folder; /* owned; its volume's, or the highest it was seen in; NULL: not known */
};

/* What is kept of a session when its slot is reused. */
struct known {
	struct run_session row; /* without texts */
	struct label label;
	uint32_t uid;     /* that it switched to; 0: not seen */
	pid_t lister;     /* lister_of() */
	uint16_t n_users; /* as whom requests of the connection were answered */
	uint32_t user[AFS_N_USERS];
	bool wide; /* volumes are paths in UTF-16 */
	uint16_t port, family;
	uint8_t ip[16];
	uint32_t scope;
	bool saw_volumes;
	uint32_t n_volumes, more_volumes;
	struct afs_openvol volume[AFS_N_VOLUMES];
};

_Static_assert(RUN_VOLUMES == AFS_N_VOLUMES, "all that were kept");

/* Ended sessions that are kept; when there are more, the less busy half is dropped. */
#define KEPT_MAX 16384

struct sessions {
	struct volumes_settings settings; /* all are of one server */
	struct label label[AFS_N_PROCESSES];
	struct known *ended; /* owned */
	size_t n_ended;
	struct run_session rest; /* sum of those that were dropped */
	uint64_t n_rest, rest_ns;
	uint64_t begun_ns; /* the watch */
	struct usernames names;
};

struct sessions *sessions_new(void)
{
	struct sessions *s = calloc(1, sizeof(*s));

	if (s)
		s->begun_ns = clock_now_ns();
	return s;
}

static void label_free(struct label *l)
{
	free(l->cwd);
	free(l->folder);
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < AFS_N_PROCESSES; i++)
		label_free(&s->label[i]);
	for (size_t i = 0; i < s->n_ended; i++)
		label_free(&s->ended[i].label);
	volumes_settings_fini(&s->settings);
	free(s->ended);
	free(s);
}

/* All volumes that it opened were seen: its working directory is not needed. */
static bool saw_volumes(const struct afs_process *p, const struct afs_stream *s)
{
	return s && (s->n_volumes || (p->parent >= 0 && s->begun && !s->found));
}

/* The effective one, as the process itself sees it, other than root's. Whether it was found. */
static bool look_uid(struct label *l, pid_t pid)
{
	uint32_t real, uid;

	if (procfs_uids(&real, &uid, pid))
		return false;
	uid = usernames_inside(pid, uid);
	if (!uid)
		return false;
	l->uid = uid;
	l->has_uid = true;
	return true;
}

/* Only if the folder has changed: this may read the server's configuration. */
static void look_folder(struct sessions *s, struct label *l, pid_t pid)
{
	char cwd[PATH_LEN], *folder;

	if (procfs_link(cwd, sizeof(cwd), pid, "cwd") || !cwd[1])
		return;
	if (l->cwd && !strcmp(l->cwd, cwd))
		return;
	free(l->cwd);
	l->cwd = strdup(cwd);
	folder = volumes_of(&s->settings, pid);
	/* The highest folder it was seen in is nearest to the volume's root. */
	if (!folder || (l->folder && !text_below(l->folder, folder))) {
		free(folder);
		return;
	}
	free(l->folder);
	l->folder = folder;
}

/*
 * In whose list of users the name is: the process that accepted the connection lives longer. Of one
 * that is older than the watch that is the first process, the server, or it is that itself.
 */
static pid_t lister_of(const struct bpf_view *v, const struct afs_process *p)
{
	const struct afs_process *first = &v->process[0];

	if (p->parent >= 0)
		return v->process[p->parent].tgid;
	return first->tgid && first->ended < first->threads ? first->tgid : p->tgid;
}

/* Names of users are asked for while the process lives, and may be known when they are shown. */
static void ask_users(struct sessions *s, const struct bpf_view *v, const struct afs_process *p,
		      struct label *l)
{
	const struct afs_stream *stream = bpf_view_stream_of(v, p);

	while (stream && l->n_asked < stream->n_users && l->n_asked < AFS_N_USERS)
		usernames_find(&s->names, lister_of(v, p),
			       usernames_inside(p->tgid, stream->user[l->n_asked++]));
}

void sessions_look(struct bpf_rung *b)
{
	const struct bpf_view *v = &b->view;
	struct sessions *s = b->sessions;
	uint32_t n = bpf_view_processes(v);
	uint64_t now = clock_now_ns();
	const struct afs_process *p;
	struct label *l;

	for (uint32_t i = 0; i < n && !b->sink.totals_only; i++) {
		p = &v->process[i];
		l = &s->label[i];
		if (!bpf_view_serves(v, p) || p->ended >= p->threads)
			continue;
		/* Its name is asked for now, and may be known when it is shown. */
		if (!l->has_uid && look_uid(l, p->tgid))
			usernames_find(&s->names, lister_of(v, p), l->uid);
		ask_users(s, v, p, l);
		if (now - l->looked_ns < FOLDER_NS || saw_volumes(p, bpf_view_stream_of(v, p)))
			continue;
		l->looked_ns = now;
		look_folder(s, l, p->tgid);
	}
}

/* One more user of a session: "a, b". */
static int sessions_add_user(struct run_session *to, const struct known *from, uint32_t uid,
			     struct usernames *names)
{
	const char *name = usernames_find(names, from->lister, uid);
	char number[24], *before = to->user;

	snprintf(number, sizeof(number), "uid %u", uid);
	if (asprintf(&to->user, "%s%s%s", before ? before : "", before ? ", " : "",
		     name ? name : number) < 0)
		to->user = NULL;
	free(before);
	return to->user ? 0 : -ENOMEM;
}

static int label_user(struct run_session *to, const struct known *from, struct usernames *names)
{
	int err = 0;

	if (from->n_users) {
		to->user_from = "user id, as requests were answered";
		for (uint16_t i = 0; i < from->n_users && !err; i++)
			err = sessions_add_user(
			    to, from, usernames_inside(from->lister, from->user[i]), names);
		return err;
	}
	if (!from->uid && !from->label.has_uid)
		return 0;
	to->user_from = from->uid ? "effective user id, seen in setresuid" : "/proc/PID/status";
	return sessions_add_user(to, from, from->uid ? from->uid : from->label.uid, names);
}

static int label_address(struct run_session *to, const struct known *s)
{
	char text[SOCKETS_TEXT_LEN];
	struct sockets_addr at;

	if (!s->family)
		return 0;
	sockets_diag_addr(&at, s->family, s->ip, htons(s->port), s->scope);
	sockets_text(text, sizeof(text), &at);
	to->address = strdup(text);
	return to->address ? 0 : -ENOMEM;
}

/* "…": the rest was not kept. */
static char *volume_name(const struct afs_openvol *v)
{
	unsigned int len = v->bytes[AFS_OPENVOL_AT], have = v->have - AFS_OPENVOL_AT - 1;
	char *name = NULL;

	if (asprintf(&name, "%.*s%s", (int)(len < have ? len : have),
		     (const char *)v->bytes + AFS_OPENVOL_AT + 1, have < len ? "…" : "") < 0)
		return NULL;
	return name;
}

/* The last part of a path of TREE_CONNECT. "…": its begin was not kept. */
static char *share_name(const struct afs_openvol *v)
{
	const uint8_t *unit = v->bytes + AFS_OPENVOL_AT + 1;
	char path[TEXT_UTF16_ROOM(AFS_OPENVOL_LEN / 2)], *name;
	const char *last;

	text_utf16(path, unit, v->bytes[AFS_OPENVOL_AT] % AFS_OPENVOL_LEN / 2);
	last = strrchr(path, '\\');
	if (asprintf(&name, "%s%s", last ? "" : "…", last ? last + 1 : path) < 0)
		return NULL;
	return name;
}

/* Clients may call the same server by different names: each share once. */
static int add_volume(struct run_session *to, char *name)
{
	if (!name)
		return -ENOMEM;
	if (VEC_FIND(v, to->volume, to->n_volumes, !strcmp(*v, name)))
		free(name);
	else
		to->volume[to->n_volumes++] = name;
	return 0;
}

static int label_volumes(struct run_session *to, const struct known *from)
{
	int err = 0;

	to->more_volumes = from->more_volumes;
	if (from->n_volumes || from->more_volumes)
		to->volume_from = from->wide ? "TREE_CONNECT" : VOLUMES_FROM_REQUESTS;
	for (uint32_t i = 0; i < from->n_volumes && !err; i++)
		err = add_volume(to, from->wide ? share_name(&from->volume[i])
						: volume_name(&from->volume[i]));
	if (err)
		return err;
	if (from->saw_volumes || to->volume_from || !from->label.folder)
		return 0;
	to->volume[0] = strdup(from->label.folder);
	if (!to->volume[0])
		return -ENOMEM;
	to->n_volumes = 1;
	to->volume_from = "folder";
	return 0;
}

/* What is known of a process that serves a client. The label still belongs to the slot. */
static struct known known_process(const struct sessions *s, const struct bpf_view *v, uint32_t i)
{
	const struct afs_process *p = &v->process[i];

	return (struct known) {
		.row = {
			.pid = p->tgid,
			.begun_ns = p->parent >= 0 ? p->begun_ns : 0,
			.ended_ns = p->ended >= p->threads ? p->ended_ns : 0,
			.calls = bpf_view_process(v, i).calls,
			.shared = p->streams > 1,
			.asking = p->asking,
		},
		.label = s->label[i],
		.uid = p->uid,
		.lister = lister_of(v, p),
	};
}

/* With what has no answer yet, until now or until the client left. */
static uint64_t busy_ns(const struct bpf_view *v, const struct afs_stream *s)
{
	uint64_t until = s->ended ? s->ended_ns : bpf_view_until(v);

	return s->ns + (s->n && s->request_ns && s->request_ns < until ? until - s->request_ns : 0);
}

/* A process that serves one connection begins and ends with it. */
static struct known known_stream(const struct sessions *s, const struct bpf_view *v,
				 const struct afs_stream *stream)
{
	const struct afs_process *p = &v->process[stream->process - 1];
	struct known k = known_process(s, v, stream->process - 1);

	if (k.row.shared)
		k.row.begun_ns = stream->found ? 0 : stream->begun_ns;
	if (stream->ended && (k.row.shared || !k.row.ended_ns))
		k.row.ended_ns = stream->ended_ns;
	k.row.requests = stream->answered;
	k.row.denied = stream->denied;
	k.row.busy_ns = busy_ns(v, stream);
	k.row.bytes_in = stream->bytes_in;
	k.row.bytes_out = stream->bytes_out;
	k.row.habit = stream->habit;
	k.port = stream->port;
	k.family = stream->family;
	k.row.dialect = stream->dialect;
	k.n_users = stream->n_users < AFS_N_USERS ? stream->n_users : AFS_N_USERS;
	memcpy(k.user, stream->user, sizeof(k.user));
	k.wide = v->setup->decoder == AFS_DECODER_SMB2;
	k.saw_volumes = saw_volumes(p, stream);
	k.n_volumes = stream->n_volumes;
	k.more_volumes = stream->more_volumes;
	memcpy(k.volume, stream->volume, sizeof(k.volume));
	memcpy(k.ip, stream->ip, sizeof(k.ip));
	k.scope = stream->scope;
	return k;
}

static int bpf_sessions_busiest_first(const void *a, const void *b)
{
	const struct run_session *x = &((const struct known *)a)->row;
	const struct run_session *y = &((const struct known *)b)->row;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns < y->busy_ns ? 1 : -1;
	return x->begun_ns < y->begun_ns ? 1 : -1;
}

/* Of one that has ended, since the watch began. */
static uint64_t lived_ns(const struct sessions *s, const struct run_session *row)
{
	uint64_t begun_ns = row->begun_ns > s->begun_ns ? row->begun_ns : s->begun_ns;
	uint64_t ended_ns = row->ended_ns ? row->ended_ns : clock_now_ns();

	return ended_ns > begun_ns ? ended_ns - begun_ns : 0;
}

static void drop_idle(struct sessions *s)
{
	struct run_session *to = &s->rest;
	const struct run_session *row;

	qsort(s->ended, s->n_ended, sizeof(*s->ended), bpf_sessions_busiest_first);
	while (s->n_ended > KEPT_MAX / 2) {
		label_free(&s->ended[--s->n_ended].label);
		row = &s->ended[s->n_ended].row;
		to->requests += row->requests;
		to->calls += row->calls;
		to->denied += row->denied;
		to->busy_ns += row->busy_ns;
		to->bytes_in += row->bytes_in;
		to->bytes_out += row->bytes_out;
		to->habit.upload_ns += row->habit.upload_ns;
		s->rest_ns += lived_ns(s, row);
		s->n_rest++;
	}
}

/* Copies what the label owns, which may belong to other connections of the process, too. */
static int bpf_sessions_keep(struct sessions *s, const struct known *k)
{
	struct known *more;

	if (s->n_ended == KEPT_MAX)
		drop_idle(s);
	more = VEC_ADD(s->ended, s->n_ended);
	if (!more)
		return -ENOMEM;
	*more = *k;
	more->label.cwd = NULL;
	more->label.folder = k->label.folder ? strdup(k->label.folder) : NULL;
	return k->label.folder && !more->label.folder ? -ENOMEM : 0;
}

int sessions_end(struct bpf_rung *b, uint32_t stream)
{
	struct known k;

	if (b->sink.totals_only || !bpf_view_server_of(&b->view, &b->view.stream[stream]))
		return 0;
	k = known_stream(b->sessions, &b->view, &b->view.stream[stream]);
	return bpf_sessions_keep(b->sessions, &k);
}

int sessions_end_process(struct bpf_rung *b, uint32_t process)
{
	const struct afs_process *p = &b->view.process[process];
	struct sessions *s = b->sessions;
	struct known k;
	int r = 0;

	if (!b->sink.totals_only && bpf_view_serves(&b->view, p) && !p->streams) {
		k = known_process(s, &b->view, process);
		r = bpf_sessions_keep(s, &k);
	}
	label_free(&s->label[process]);
	s->label[process] = (struct label) { 0 };
	return r;
}

static int bpf_sessions_fill(const struct known *k, struct run_session *to, struct usernames *names)
{
	int err;

	*to = k->row;
	err = label_user(to, k, names);
	err = err ? err : label_address(to, k);
	return err ? err : label_volumes(to, k);
}

static int bpf_sessions_note(const struct known *k, struct run *r, struct usernames *names)
{
	struct run_session *to = run_session(r);

	return to ? bpf_sessions_fill(k, to, names) : -ENOMEM;
}

static bool filled(const struct known *k, struct run_session *to, struct usernames *names)
{
	if (!bpf_sessions_fill(k, to, names))
		return true;
	run_session_fini(to);
	return false;
}

bool watch_session(struct watch *w, pid_t pid, uint16_t port, struct run_session *out)
{
	struct sessions *s = w->bpf ? w->bpf->sessions : NULL;
	const struct bpf_view *v = s ? &w->bpf->view : NULL;
	uint32_t n = v ? bpf_view_streams(v) : 0, m = v ? bpf_view_processes(v) : 0;
	const struct afs_process *p;
	struct known k;

	for (uint32_t i = 0; i < n; i++) {
		p = bpf_view_server_of(v, &v->stream[i]);
		if (!p || p->tgid != pid || v->stream[i].port != port)
			continue;
		k = known_stream(s, v, &v->stream[i]);
		return filled(&k, out, &s->names);
	}
	for (size_t i = s ? s->n_ended : 0; i--;)
		if (s->ended[i].row.pid == pid && s->ended[i].port == port)
			return filled(&s->ended[i], out, &s->names);
	for (uint32_t i = 0; i < m; i++) {
		p = &v->process[i];
		if (!bpf_view_serves(v, p) || p->streams || p->tgid != pid)
			continue;
		k = known_process(s, v, i);
		return filled(&k, out, &s->names);
	}
	return false;
}

int sessions_note(const struct bpf_rung *b, struct run *r)
{
	const struct bpf_view *v = &b->view;
	struct sessions *s = b->sessions;
	uint32_t n = bpf_view_streams(v), m = bpf_view_processes(v);
	struct known k;
	size_t unknown;
	int err = 0;

	usernames_unanswered(&s->names);
	for (size_t i = 0; i < s->n_ended && !err; i++)
		err = bpf_sessions_note(&s->ended[i], r, &s->names);
	for (uint32_t i = 0; i < n && !err; i++) {
		if (!bpf_view_server_of(v, &v->stream[i]))
			continue;
		k = known_stream(s, v, &v->stream[i]);
		err = bpf_sessions_note(&k, r, &s->names);
	}
	for (uint32_t i = 0; i < m && !err; i++) {
		if (!bpf_view_serves(v, &v->process[i]) || v->process[i].streams)
			continue;
		k = known_process(s, v, i);
		err = bpf_sessions_note(&k, r, &s->names);
	}
	r->rest = s->rest;
	r->n_rest = s->n_rest;
	r->rest_ns = s->rest_ns;
	unknown = usernames_unanswered(&s->names);
	if (!err && unknown)
		err = run_note(
		    &r->warnings, "names",
		    "the list of users (passwd in /etc/nsswitch.conf, or the server's own) "
		    "has not answered yet: the users of %zu sessions are shown by number",
		    unknown);
	return err;
}

static void bpf_sessions_put_client(const struct known *k, watch_client_fn *put, void *user)
{
	struct run_session text = { 0 };

	if (!label_address(&text, k) && text.address)
		put(user, text.address, k->row.requests);
	free(text.address);
}

bool watch_clients(struct watch *w, watch_client_fn *put, void *user)
{
	const struct sessions *s = w->bpf ? w->bpf->sessions : NULL;
	const struct bpf_view *v = s ? &w->bpf->view : NULL;
	uint32_t n = v ? bpf_view_streams(v) : 0;
	struct known k;

	if (!s)
		return true;
	for (size_t i = 0; i < s->n_ended; i++)
		bpf_sessions_put_client(&s->ended[i], put, user);
	for (uint32_t i = 0; i < n; i++) {
		if (!bpf_view_server_of(v, &v->stream[i]))
			continue;
		k = known_stream(s, v, &v->stream[i]);
		bpf_sessions_put_client(&k, put, user);
	}
	return !s->n_rest;
}
