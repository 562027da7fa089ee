/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope clean: removes the directories that killed runs left on a volume or in a place. */
#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "drive/session.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "work/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ENDS_NS  10000000000u /* for the server to end sessions */
#define AGAIN_NS 200000000u

struct clean_cfg {
	struct connect_cfg c;
	const char *place; /* that needs no server; NULL: a server's volume */
	bool all, dry_run, help;
};

/* clang-format off */
#define OFFSET(m) offsetof(struct clean_cfg, m)
const struct opt clean_options[] = {
	CONNECT_OPTIONS(struct clean_cfg, c),
	{ .type = OPT_HEADING, .help = "What to remove:" },
	{ .letter = 'a', .name = "all", .type = OPT_FLAG, .offset = OFFSET(all),
	  .help = "also directories of other hosts, containers and boots (their runs may be alive), and files that replay left",
	  .more = "Make sure that the runs are not alive, and that no replay of these recordings is under way." },
	{ .letter = 'n', .name = "dry-run", .type = OPT_FLAG, .offset = OFFSET(dry_run), .help = "only say what would be removed" },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

struct clean_name {
	char text[TREE_NAME_MAX + 1];
};

/* Names of ours, among all that were looked at. */
struct clean_found {
	size_t n, looked;
	struct clean_name *name; /* owned */
	bool no_memory;
};

/* Where they are. */
struct clean_where {
	struct afp afp;
	struct store *store; /* NULL: not open yet */
	const char *place;   /* of clean_cfg */
	bool kept;           /* the server does not end sessions of others, which was said */
};

static void note_name(struct store_op *op, const char *name)
{
	struct clean_found *f = op->user;
	struct tree_owner owner;
	struct clean_name *one;

	f->looked++;
	if (op->is_file || (!tree_owner(name, &owner) && !tree_is_image(name)))
		return;
	one = VEC_ADD(f->name, f->n);
	if (one)
		snprintf(one->text, sizeof(one->text), "%s", name);
	f->no_memory |= !one;
}

/* As store_remove_tree(). *busy: somebody has a file open. */
static int clean_remove_one(struct clean_where *w, const char *name, bool *busy, struct err *e)
{
	struct store_op last = { 0 };
	int r = store_remove_tree(w->store, w->store->root[0], name, &last, e);

	*busy |= !w->place && r > 0 && last.code == AFP_ERR_FILE_BUSY;
	return r;
}

/* The same until sessions that were told to end have, which may have an answer to send first. */
static int clean_remove(struct clean_where *w, const char *name, bool *busy, struct err *e)
{
	const struct timespec again = { .tv_nsec = AGAIN_NS };
	const uint64_t until_ns = clock_now_ns() + ENDS_NS;
	bool now_busy;
	int r;

	do {
		now_busy = false;
		r = clean_remove_one(w, name, &now_busy, e);
	} while (r && now_busy && !w->kept && !cmd_stop && clock_now_ns() < until_ns &&
		 !nanosleep(&again, NULL));
	*busy |= now_busy;
	return r;
}

/*
 * May the process that made it still live? Yes if it cannot be seen; not if it is a zombie, or if
 * its number now belongs to a process that began at another time.
 */
static bool may_live(const struct tree_owner *owner)
{
	struct procstat st;

	if (kill(owner->pid, 0) && errno == ESRCH)
		return false;
	if (procstat_read(&st, owner->pid))
		return true;
	return st.state != 'Z' && tree_mark(st.started) == owner->mark;
}

/* NULL: to be removed; else why not. */
static const char *keep_because(const struct clean_cfg *cfg, const char *name)
{
	struct tree_owner owner;

	if (tree_is_image(name))
		return cfg->all
			   ? NULL
			   : "files of a recording, which replay --prepare or --keep left for its "
			     "next replay; --all removes it";
	if (!tree_owner(name, &owner))
		return "not ours";
	if (!owner.here)
		return cfg->all ? NULL
				: "made on another host, in another container or before this host "
				  "was restarted, its run may be alive; --all removes it";
	return may_live(&owner) ? "its run is still alive" : NULL;
}

static void clean_say(const char *name, const char *what, const char *why)
{
	text_put(stdout, name, strlen(name));
	printf(": %s%s\n", what, why);
}

/* Those of the run that the server keeps: they hold places, and files that they have open. */
static void clean_end_sessions(struct clean_where *w, const char *run)
{
	struct err e = { 0 };
	int r = w->place || w->kept || tree_is_image(run) ? 0 : afp_end_others(&w->afp, run, &e);

	if (r != -EOPNOTSUPP)
		return;
	w->kept = true;
	cmd_say("the server does not end sessions of runs that were killed (%s): it may keep them "
		"until its \"disconnect time\" (24 h) is over; afpscope check counts them",
		e.text);
}

static enum outcome remove_all(struct clean_where *w, const struct clean_cfg *cfg,
			       const struct clean_found *f)
{
	enum outcome o = OUTCOME_OK;
	struct err e = { 0 };
	bool busy = false;
	const char *why;
	int r;

	for (size_t i = 0; i < f->n && !cmd_stop; i++) {
		why = keep_because(cfg, f->name[i].text);
		if (why || cfg->dry_run) {
			clean_say(f->name[i].text, why ? "kept, " : "would be removed",
				  why ? why : "");
			continue;
		}
		clean_end_sessions(w, f->name[i].text);
		r = clean_remove(w, f->name[i].text, &busy, &e);
		if (!r) {
			clean_say(f->name[i].text, "removed", "");
			continue;
		}
		cmd_say("cannot remove %s: %s", f->name[i].text, e.text);
		if (r < 0 && !w->place)
			return cmd_stop ? OUTCOME_INTERRUPTED : OUTCOME_LOST;
		o = OUTCOME_REFUSED;
	}
	if (!f->n)
		fputs("nothing to remove: ", stdout);
	printf("looked at %zu name%s\n", f->looked, f->looked == 1 ? "" : "s");
	if (busy)
		cmd_say("a file that is open belongs to a session that was lost: it can be removed "
			"when that afpd process has ended, after the server's \"disconnect time\" "
			"(24 h) at the latest");
	return cmd_stop ? OUTCOME_INTERRUPTED : o;
}

static enum outcome clean_open(struct clean_where *w, const struct connect_cfg *cfg, struct err *e)
{
	const struct store_afp_opts one = { .window = 1 };
	struct afp_server server;
	enum afp_stage stage;
	enum outcome o;

	if (w->place)
		return store_open_local(&w->store, w->place, false, e) ? OUTCOME_REFUSED
								       : OUTCOME_OK;
	o = connect_open(&w->afp, &server, cfg, 1, &stage, e);
	if (!o && store_open_afp(&w->store, &w->afp, &one, e))
		o = OUTCOME_FAILED;
	return o;
}

static enum outcome clean_find(struct clean_where *w, struct clean_found *found, struct err *e)
{
	struct store_op last;
	int r = store_list(w->store, w->store->root[0], note_name, found, &last, e);

	if (r)
		return cmd_stop ? OUTCOME_INTERRUPTED : r < 0 ? OUTCOME_LOST : OUTCOME_REFUSED;
	if (!found->no_memory)
		return OUTCOME_OK;
	err_set(e, -ENOMEM, "out of memory");
	return OUTCOME_FAILED;
}

static enum outcome clean_place(const struct clean_cfg *cfg)
{
	struct clean_found *found = calloc(1, sizeof(*found));
	struct clean_where w = { .place = cfg->place };
	struct rights_own own = { 0 };
	struct err e = { 0 };
	enum outcome o;

	if (!found)
		return OUTCOME_FAILED;
	cmd_allow_files(); /* one for each level of a tree in a directory */
	cmd_note_rights(w.place ? session_drop(&own, w.place, 0) : rights_drop(0), NULL);
	o = clean_open(&w, &cfg->c, &e);
	o = o ? o : clean_find(&w, found, &e);
	if (o)
		cmd_say("%s", e.text);
	else
		o = remove_all(&w, cfg, found);
	store_close(w.store);
	afp_close(&w.afp);
	free(found->name);
	free(found);
	return o;
}

/* Defaults, and what the arguments say. Opens nothing, so that a place need not be there. */
static int clean_parse(struct clean_cfg *cfg, int argc, char **argv, struct err *e)
{
	int first, r;

	*cfg = (struct clean_cfg) { .c = CONNECT_DEFAULTS };
	r = opt_parse(clean_options, cfg, argc, argv, &first, e);
	if (r || cfg->help)
		return r;
	if (first == argc - 1 && (store_is_local(argv[first]) || !text_url(argv[first]))) {
		cfg->place = argv[first];
		return 0;
	}
	r = connect_operands(&cfg->c, argc - first, argv + first, e);
	return r ? r : connect_check(&cfg->c, e);
}

/* Whether the place is there. */
static int clean_check(struct clean_cfg *cfg, struct err *e)
{
	if (!cfg->place)
		return connect_complete(&cfg->c, e);
	return session_is_place(cfg->place) ? connect_place(&cfg->c, cfg->place, e)
					    : connect_url(&cfg->c, cfg->place, e);
}

int cmd_clean(int argc, char **argv)
{
	struct clean_cfg cfg;
	struct err e = { 0 };
	int r = clean_parse(&cfg, argc, argv, &e);

	if (!r && cfg.help) {
		puts("Usage: afpscope clean [OPTIONS] [afp://USER@HOST:PORT/VOLUME]");
		session_put_places(stdout, "clean");
		return cmd_help(
		    clean_options,
		    "Removes test directories that killed runs left in the root of a volume, in a\n"
		    "directory of this machine, or in one of a GlusterFS volume, an SMB share or an\n"
		    "NFS server, and ends the sessions of these runs that a server keeps: only those\n"
		    "of the user as whom it logs in.\n\n");
	}
	r = r ? r : clean_check(&cfg, &e);
	if (r)
		return cmd_usage_error("clean", &e);
	cmd_catch_signals();
	return (int)clean_place(&cfg);
}
