/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command has made on a server is removed where it cannot do so itself: drive/session.h */
#include "base/clock.h"
#include "base/shell.h"
#include "base/text.h"
#include "drive/session.h"
#include "host/rights.h"
#include "work/tree.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Many clients may have been lost because the server is restarted: how long it is waited for. */
#define BACK_NS      10000000000u
#define BACK_LOOK_US 200000
#define AGAIN_S      5 /* most that a request of it may take */
#define NS_PER_S     1000000000u
#define WAIT_NS      100000000u /* how soon a stop is noticed */

/* In a new session. 0: it is not there any more, nor are lost sessions. */
static int remove_again(struct session *s, const struct connect_cfg *c, const char *base,
			struct err *e)
{
	struct afp_server server;
	enum afp_stage stage;

	afp_close(&s->afp);
	if (connect_open(&s->afp, &server, c, 1, &stage, e))
		return -ECONNREFUSED;
	if (c->run)
		afp_end_others(&s->afp, c->run, NULL);
	return !*base ? 0 : tree_remove(&s->afp, AFP_ROOT_ID, base, e);
}

struct connect_cfg session_connect(const struct session *s)
{
	struct connect_cfg c = s->cfg->c;

	c.marks = warden_marks(s->warden);
	c.run = s->whole ? s->run_name : NULL;
	return c;
}

/* A store that is begun by a thread of its own. */
struct slow_begin {
	char *place;
	struct store *store;
	struct err e;
	int result;
};

static void *slow_begin_main(void *arg)
{
	struct slow_begin *b = arg;

	b->result = store_begin_local(&b->store, b->place, false, &b->e);
	return b;
}

static int slow_begin_thread(pthread_t *out, struct slow_begin *b)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(out, NULL, slow_begin_main, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static bool slow_begin_has_ended(pthread_t thread)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += WAIT_NS;
	at.tv_sec += at.tv_nsec / (long)NS_PER_S;
	at.tv_nsec %= (long)NS_PER_S;
	return !pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &at);
}

static void slow_begin_free(struct slow_begin *b)
{
	free(b->place);
	free(b);
}

static int too_late(uint64_t until_ns, struct err *e)
{
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (clock_now_ns() >= until_ns)
		return err_set(e, -ETIMEDOUT, "no answer for %d s", AGAIN_S);
	return 0;
}

/*
 * As store_begin_local() of a place whose library waits for the server, as libgfapi does for as
 * long as it likes: what it has not begun by then is left to it, and lost.
 */
static int begin_slow_place(struct store **out, const char *place, uint64_t until_ns, struct err *e)
{
	struct slow_begin *b = calloc(1, sizeof(*b));
	pthread_t thread;
	int r;

	if (b)
		b->place = strdup(place);
	if (!b || !b->place || slow_begin_thread(&thread, b)) {
		if (b)
			slow_begin_free(b);
		return err_set(e, -ENOMEM, "out of memory");
	}
	while (!slow_begin_has_ended(thread)) {
		r = too_late(until_ns, e);
		if (r) {
			pthread_detach(thread);
			return r;
		}
	}
	r = b->result;
	*out = b->store;
	if (r && e)
		*e = b->e;
	slow_begin_free(b);
	return r;
}

/*
 * As store_open_local(), but for no longer than that, nor after a stop; *out may not be open yet.
 * What follows over SMB and NFS does not wait longer for an answer either, or for the next part of
 * one.
 */
static int open_place_again(struct store **out, const char *place, struct err *e)
{
	const uint64_t until_ns = clock_now_ns() + (uint64_t)AGAIN_S * NS_PER_S;
	struct io_wait w;
	int r = text_url(place) && store_place_blocks(place)
		    ? begin_slow_place(out, place, until_ns, e)
		    : store_begin_local(out, place, false, e);

	if (!r)
		(*out)->patience_ns = (uint64_t)AGAIN_S * NS_PER_S;
	while (!r && (*out)->state == STORE_OPENING) {
		r = too_late(until_ns, e);
		if (r)
			break;
		store_wait(*out, &w);
		r = store_advance(*out, io_wait(&w, WAIT_NS), e);
	}
	return r;
}

/* By a session of its own. */
static int remove_from_place(const struct session *s, const char *base, struct err *e)
{
	struct store *own = NULL;
	int r = open_place_again(&own, s->cfg->directory, e);

	r = r ? r : store_remove_local(own, s->cfg->directory, base, e);
	store_close(own);
	return r;
}

/* In the warden, by a session of its own, which also ends those of the run that are left. */
static int remove_after_kill(void *user, const char *base, const char *volume, struct err *e)
{
	const struct session *s = user;
	struct connect_cfg c = s->cfg->c;
	struct session own = { .cfg = s->cfg };
	int r;

	if (s->cfg->local) {
		r = session_drop(&own.own, s->cfg->directory, 0);
		r = r ? r : remove_from_place(s, base, e);
		rights_return(&own.own);
		return r;
	}
	c.timeout_s = c.timeout_s < AGAIN_S ? c.timeout_s : AGAIN_S;
	c.volume = *volume ? volume : c.volume;
	c.run = s->run_name;
	r = remove_again(&own, &c, base, e);
	afp_close(&own.afp);
	return r;
}

/* Without it "clean" keeps what may be wanted again. */
static const char *left_clean_how(const char *base)
{
	return tree_is_image(base) ? " --all" : "";
}

int session_warden(struct session *s, struct err *e)
{
	struct warden_task task = { remove_after_kill, s, WARDEN_NO_RIGHTS, s->cfg->local,
				    left_clean_how };
	int r;

	if (s->cfg->local)
		task.rights = text_url(s->cfg->directory) ? WARDEN_PORTS : WARDEN_ALL_RIGHTS;

	tree_name(s->run_name);
	r = warden_open(&s->warden, &task, e);

	s->left = r ? NULL : warden_left(s->warden);
	return r;
}

/* Removes one base: the connection was lost, our directory may still be on the volume. */
static void drive_session_remove_one(struct session *s, const char *base, const char *volume,
				     uint64_t until_ns)
{
	struct connect_cfg again = session_connect(s);
	char volume_word[ERR_TEXT_MAX], user_word[ERR_TEXT_MAX];
	struct err e = { 0 };
	int r;

	again.timeout_s = again.timeout_s < AGAIN_S ? again.timeout_s : AGAIN_S;
	again.volume = volume;
	while ((r = remove_again(s, &again, base, &e)) && !cmd_stop && clock_now_ns() < until_ns)
		usleep(BACK_LOOK_US);
	if (!r) {
		cmd_say("the connection was lost; a new session has removed %s from volume %s",
			base, volume);
		return;
	}
	run_note(&s->run.warnings, "left", "%s is still on volume %s: %s", base, volume, e.text);
	cmd_say(
	    "%s is still on volume %s (%s); when the server is back: afpscope clean -h %s -p %u -s %s -u %s%s",
	    base, volume, e.text, again.host, again.port,
	    shell_word(volume_word, sizeof(volume_word), volume),
	    shell_word(user_word, sizeof(user_word), again.user ? again.user : ""),
	    left_clean_how(base));
}

/*
 * Of a place on a server: the session may be lost, and what lost ones had open may be refused until
 * the server has ended them. Of others: what their own calls failed to do no other would.
 */
static void remove_left_place(struct session *s, const char *base, uint64_t until_ns)
{
	const char *place = s->cfg->directory;
	char all[ERR_TEXT_MAX], word[ERR_TEXT_MAX];
	struct err e = { 0 };
	int r = -EIO;

	while (text_url(place) && (r = remove_from_place(s, base, &e)) && !cmd_stop &&
	       clock_now_ns() < until_ns)
		usleep(BACK_LOOK_US);
	store_place_below(all, sizeof(all), place, base);
	if (!r) {
		cmd_say("a new session has removed %s", all);
		return;
	}
	run_note(&s->run.warnings, "left", "%s could not be removed%s%s", base, *e.text ? ": " : "",
		 e.text);
	cmd_say("%s could not be removed and holds only test data%s%s%s: afpscope clean%s %s, or "
		"remove it by hand",
		all, *e.text ? " (" : "", e.text, *e.text ? ")" : "", left_clean_how(base),
		shell_word(word, sizeof(word), place));
}

void session_remove_left(struct session *s)
{
	bool waits = s->whole && !cmd_stop;
	uint64_t until_ns = waits ? clock_now_ns() + BACK_NS : 0;

	for (int i = 0; i < WARDEN_BASES; i++) {
		if (!*s->left->base[i])
			continue;
		if (s->cfg->local) {
			cmd_stop = 0;
			remove_left_place(s, s->left->base[i], until_ns);
			continue;
		}
		cmd_stop = 0;
		drive_session_remove_one(
		    s, s->left->base[i],
		    *s->left->volume[i] ? s->left->volume[i] : s->cfg->c.volume, until_ns);
	}
}
