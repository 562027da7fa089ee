/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server of a place where a command works without an AFP session: drive/session.h */
#include "attach/attach.h"
#include "base/clock.h"
#include "drive/session.h"
#include "kinds/kind.h"

#include <errno.h>
#include <sys/socket.h>

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
	struct err why = { 0 };
	int r;

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
