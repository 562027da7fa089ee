/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a load sees of its server besides what its own clients do, as doctor does; and the server of
 * a place where a command works without an AFP session: drive/session.h
 */
#include "drive/session.h"

#include "attach/attach.h"
#include "base/clock.h"
#include "base/text.h"
#include "doctor/diagnose.h"
#include "host/census.h"
#include "host/filesystem.h"
#include "kinds/kind.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_NS    1000000000u
#define FILES_NOTE "file system"

int session_look_find(struct session *s, pid_t pid, struct err *e)
{
	const struct kind_wish wish = { .whole = true, .pid = (unsigned int)pid };
	struct kind_found *found = calloc(1, sizeof(*found));
	int r = found ? kind_find(&kind_afp, found, &wish, e)
		      : err_set(e, -ENOMEM, "out of memory");

	if (r)
		free(found);
	else
		s->found = found;
	return r;
}

void session_look_begin(struct session *s)
{
	if (!s->watch || !watch_rung(s->watch))
		return;
	if (!s->look)
		s->look = calloc(1, sizeof(*s->look));
	if (!s->look)
		return;
	if (!s->found && s->whole)
		diagnose_machine_begin(s->look, s->watch);
	else if (s->found && !s->look->begun)
		diagnose_begin(s->look, s->watch, s->found);
}

/* The clients of a load go before it ends; a session of its own is there until then. */
void session_look_after(struct session *s)
{
	if (!s->look || !s->whole)
		return;
	if (s->found && s->look->begun)
		diagnose_after(s->look, s->watch, s->found);
	else
		diagnose_machine_after(s->look, s->watch);
}

void session_look_tick(struct session *s, uint64_t now_ns)
{
	if (!s->look || !s->look->begun || now_ns - s->ticked_ns < LOOK_NS)
		return;
	s->ticked_ns = now_ns;
	diagnose_tick(s->look);
}

int session_look_judge(struct session *s)
{
	struct diagnose none = { 0 };

	if (s->run.kind && !s->run.kind->has_diagnosis)
		return 0;
	return diagnose_load(s->look ? s->look : &none, s->watch, s->found, s->whole, &s->run);
}

void session_look_fini(struct session *s)
{
	if (s->look)
		diagnose_fini(s->look);
	free(s->look);
	s->look = NULL;
	if (s->found)
		kind_found_fini(s->found);
	free(s->found);
	s->found = NULL;
}

void session_keep_alive(struct session *s)
{
	struct io_wait w;

	session_look_tick(s, clock_now_ns());
	if (!s->store || s->cfg->local)
		return;
	store_wait(s->store, &w);
	store_advance(s->store, io_wait(&w, 0), NULL);
}

/* ---- where the data is ---- */

/* "ext4 on sda": a folder's file system, as the process calls it, and the disks below. */
static int note_folder(struct run *r, const char *folder, pid_t pid)
{
	char on[ERR_TEXT_MAX] = "";
	struct filesystem fs;

	filesystem_init(&fs, folder);
	filesystem_look(&fs, 1, pid);
	if (!fs.type[0])
		return 0;
	for (size_t i = 0; i < fs.below.n; i++)
		err_append(on, "%s%s", i ? " " : " on ", fs.below.name[i]);
	return run_note(&r->server, FILES_NOTE, "%s%s", fs.type, on);
}

int session_note_files(struct session *s, pid_t server)
{
	char folder[CENSUS_PATH_MAX];

	if (!server)
		return 0;
	census_cwd(folder, sizeof(folder), server);
	return folder[0] && strcmp(folder, "/") ? note_folder(&s->run, folder, server) : 0;
}

/* ---- a place ---- */

static int session_find_place(struct session *s, const struct kind *kind,
			      const struct place_server *place, struct kind_found *found,
			      struct err *e)
{
	const struct kind_wish wish = place_wish(place);
	struct sockaddr_storage local, peer;
	int r;

	if (!place->connected) {
		s->placed_ns = clock_now_ns();
		return kind_find(kind, found, &wish, e);
	}
	store_ends(s->store, &local, &peer);
	r = kind_find_connected(kind, found, &local, &peer, e);
	s->relayed = !r && found->target.way.relayed;
	return r;
}

int session_place_watch(struct session *s, struct err *e)
{
	struct place_server place;
	const struct kind *kind = place_kind(&place, s->cfg->directory);
	struct kind_found found = { 0 };
	char folder[PATH_MAX];
	struct err why = { 0 };
	int r;

	if (!text_url(s->cfg->directory) && realpath(s->cfg->directory, folder) &&
	    note_folder(&s->run, folder, getpid()))
		return err_set(e, -ENOMEM, "out of memory");
	if (!s->whole || !kind || s->cfg->watch == WATCH_OFF)
		return 0;
	s->run.kind = &kind->is;
	if (session_find_place(s, kind, &place, &found, &why)) {
		kind_found_fini(&found);
		if (s->cfg->watch == WATCH_BPF)
			return err_set(e, -ENXIO, "--watch=bpf: %s", why.text);
		return run_note(&s->run.absent, "*", "%s", why.text);
	}
	cmd_allow_files();
	r = watch_open_target(&s->watch, (enum watch_mode)s->cfg->watch, &found.target, e);
	r = r ? r : kind->describe(&found, &s->run);
	/* Of the others no process is one client's, who works in the client's folder. */
	if (!r && kind->is.judged == RUN_JUDGED_SHARES)
		r = session_note_files(s, found.target.way.server);
	kind_found_fini(&found);
	return r;
}

void session_place_note_new(struct session *s)
{
	struct place_server place;
	struct kind_wish wish;
	const struct kind *kind;

	if (!s->placed_ns)
		return;
	kind = place_kind(&place, s->cfg->directory);
	wish = place_wish(&place);
	if (kind)
		attach_note_new(s->watch, kind, &wish, s->placed_ns, &s->run);
}
