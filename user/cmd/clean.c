/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope clean: removes from a volume the directories that killed runs left there. */
#include "base/text.h"
#include "cmd/connect.h"
#include "host/procfs.h"
#include "work/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOUND_MAX 256

struct clean_cfg {
	struct connect_cfg c;
	bool all, dry_run, help;
};

/* clang-format off */
#define OFFSET(m) offsetof(struct clean_cfg, m)
const struct opt clean_options[] = {
	CONNECT_OPTIONS(struct clean_cfg, c),
	{ .type = OPT_HEADING, .help = "What to remove:" },
	{ .letter = 'a', .name = "all", .type = OPT_FLAG, .offset = OFFSET(all),
	  .help = "also directories of other hosts, containers and boots (their runs may be alive)" },
	{ .letter = 'n', .name = "dry-run", .type = OPT_FLAG, .offset = OFFSET(dry_run), .help = "only say what would be removed" },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

struct clean_found {
	size_t n;
	char name[FOUND_MAX][TREE_NAME_MAX + 1];
};

static int note_found(void *user, const struct afp_params *dir)
{
	struct clean_found *f = user;

	if (f->n < FOUND_MAX)
		strcpy(f->name[f->n++], dir->name);
	return 0;
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

	if (!tree_owner(name, &owner))
		return "not ours";
	if (!owner.here)
		return cfg->all ? NULL
				: "made on another host, in another container or before this host "
				  "was restarted, its run may be alive; --all removes it";
	return may_live(&owner) ? "its run is still alive" : NULL;
}

static void say(const char *name, const char *what, const char *why)
{
	text_put(stdout, name, strlen(name));
	printf(": %s%s\n", what, why);
}

static enum outcome remove_all(struct afp *a, const struct clean_cfg *cfg,
			       const struct clean_found *f)
{
	enum outcome o = OUTCOME_OK;
	struct err e = { 0 };
	const char *why;
	int r;

	for (size_t i = 0; i < f->n && !cmd_stop; i++) {
		why = keep_because(cfg, f->name[i]);
		if (why || cfg->dry_run) {
			say(f->name[i], why ? "kept, " : "would be removed", why ? why : "");
			continue;
		}
		r = tree_remove(a, AFP_ROOT_ID, f->name[i], &e);
		if (!r) {
			say(f->name[i], "removed", "");
			continue;
		}
		cmd_say("cannot remove %s: %s", f->name[i], e.text);
		if (r < 0)
			return cmd_stop ? OUTCOME_INTERRUPTED : OUTCOME_LOST;
		o = OUTCOME_REFUSED;
	}
	if (!f->n)
		puts("nothing to remove");
	if (o)
		cmd_say("a file that is open belongs to a session that was lost: it can be removed "
			"when that afpd process has ended, after the server's \"disconnect time\" "
			"(24 h) at the latest");
	return cmd_stop ? OUTCOME_INTERRUPTED : o;
}

static enum outcome clean(const struct clean_cfg *cfg)
{
	struct clean_found *found = calloc(1, sizeof(*found));
	struct afp_server server;
	enum afp_stage stage;
	struct afp a = { 0 };
	struct err e = { 0 };
	enum outcome o;
	int r = 0;

	if (!found)
		return OUTCOME_FAILED;
	o = connect_open(&a, &server, &cfg->c, 1, &stage, &e);
	if (!o)
		r = tree_list(&a, note_found, found, &e);
	if (r)
		o = cmd_stop ? OUTCOME_INTERRUPTED : r < 0 ? OUTCOME_LOST : OUTCOME_REFUSED;
	if (o)
		cmd_say("%s", e.text);
	else
		o = remove_all(&a, cfg, found);
	afp_close(&a);
	free(found);
	return o;
}

int cmd_clean(int argc, char **argv)
{
	struct clean_cfg cfg = { .c = CONNECT_DEFAULTS };
	struct err e = { 0 };
	int first, r;

	r = opt_parse(clean_options, &cfg, argc, argv, &first, &e);
	if (!r && cfg.help) {
		puts("Usage: afpscope clean [OPTIONS] [afp://USER@HOST:PORT/VOLUME]\n"
		     "Removes test directories that killed runs left in the root of a volume.\n");
		opt_help(stdout, clean_options);
		return OUTCOME_OK;
	}
	r = r ? r : connect_operands(&cfg.c, argc - first, argv + first, &e);
	r = r ? r : connect_complete(&cfg.c, &e);
	if (r)
		return cmd_usage_error("clean", &e);
	cmd_catch_signals();
	return (int)clean(&cfg);
}
