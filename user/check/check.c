/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope check: what can be watched on this machine, of which server, and what spoils it. */
#include "check/check.h"

#include "app/runs.h"
#include "base/opt.h"
#include "check/check_found.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "kinds/kind.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#define OFFSET(m) offsetof(struct check_cfg, m)
const struct opt check_options[] = {
	WHOM_OPTIONS(struct check_cfg, whom),
	{ .name = "json", .arg = "FILE", .type = OPT_STRING, .offset = OFFSET(json),
	  .help = "save all of it (- for standard output, in place of the text)",
	  .more = "What is unknown is null." },
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(verbose),
	  .help = "also every way to watch, why those that are better do not work, and the machine",
	  .more = "The sessions are printed, too. Without it the output is one screen: whether counts are exact, "
	 	"which server, and what to change." },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

/* How the calls of a server would be watched. */
static void choose_use(struct check_server *s, const struct check *c)
{
	const struct ladder_step *calls = ladder_taken(&c->ladder, "calls");
	const struct servers_entry *e = s->entry;
	pid_t pid = servers_process(e);
	struct afs_compat io;
	int r;

	s->exact = !e->denied && c->exact;
	if (s->exact) {
		snprintf(s->use, sizeof(s->use), "%s: %.400s", calls->rung, calls->why);
		return;
	}
	r = procfs_io(&io, pid, 0);
	if (!r)
		snprintf(s->use, sizeof(s->use),
			 "/proc/PID/io: reads and writes, sampled at phase ends");
	else
		snprintf(s->use, sizeof(s->use),
			 "nothing: /proc/%d/io: %s: run as root, or with CAP_SYS_PTRACE", pid,
			 strerror(-r));
}

static int look_at_servers(struct check *c)
{
	int r = 0;

	c->server = calloc(c->servers.n + 1, sizeof(*c->server));
	if (!c->server)
		return -ENOMEM;
	c->n_servers = c->servers.n;
	for (size_t i = 0; i < c->n_servers && !r; i++) {
		c->server[i].entry = &c->servers.entry[i];
		choose_use(&c->server[i], c);
		hints_server(&c->server[i].hints, c->server[i].entry);
		r = c->server[i].hints.error;
	}
	return r;
}

static enum outcome check_judge(const struct check *c)
{
	if (c->none.code)
		return c->none.code == -EACCES ? OUTCOME_UNTRUSTED : OUTCOME_NO_SESSION;
	for (size_t i = 0; i < c->n_servers; i++)
		if (!c->server[i].exact)
			return OUTCOME_UNTRUSTED;
	return OUTCOME_OK;
}

static int check_look(struct check *c, const struct check_cfg *cfg, struct err *e)
{
	int r;

	ladder_look(&c->ladder, kind_afp.decoder);
	cmd_note_rights(rights_drop(0), NULL); /* what follows reads what other users wrote */
	/* Without /proc no process is found. */
	c->exact = procfs_is_mounted() && ladder_exact(&c->ladder);
	r = servers_named(&c->servers, cfg->whom.port, (pid_t)cfg->whom.pid, &c->none);
	/* A missing server is a finding; any other failure is an error. */
	if (r && r != -ENXIO && r != -EACCES && r != -ESRCH)
		return err_set(e, r, "%s", c->none.text);
	r = look_at_servers(c);
	hints_machine(&c->machine);
	if (r || c->machine.error)
		return err_set(e, -ENOMEM, "out of memory");
	c->outcome = check_judge(c);
	return 0;
}

static void fini(struct check *c)
{
	for (size_t i = 0; i < c->n_servers; i++)
		hints_fini(&c->server[i].hints);
	hints_fini(&c->machine);
	free(c->server);
	servers_fini(&c->servers);
	free(c);
}

static enum outcome check_all(const struct check_cfg *cfg)
{
	struct check *c = calloc(1, sizeof(*c));
	struct err e = { 0 };
	enum outcome o;
	int r;

	if (!c)
		return OUTCOME_FAILED;
	r = check_look(c, cfg, &e);
	if (!r && (!cfg->json || strcmp(cfg->json, "-") != 0))
		check_text(c, cfg->verbose, stdout);
	if (!r && cfg->json)
		r = check_json(c, cfg->json, &e);
	o = r ? OUTCOME_FAILED : c->outcome;
	if (r)
		cmd_say("%s", e.text);
	else if (c->none.code)
		cmd_say("%s", c->none.text);
	fini(c);
	return o;
}

int check_parse(struct check_cfg *cfg, int argc, char **argv, struct err *e)
{
	*cfg = (struct check_cfg) { 0 };
	return whom_check(&cfg->whom, opt_parse(check_options, cfg, argc, argv, NULL, e), e);
}

int cmd_check(int argc, char **argv)
{
	struct check_cfg cfg;
	struct runs_cfg runs = { 0 };
	struct err e = { 0 };
	int r = check_parse(&cfg, argc, argv, &e);

	if (!r && cfg.help)
		return cmd_help(
		    check_options,
		    "Usage: afpscope check [-p PORT | --pid PID] [-v] [--json FILE]\n"
		    "Shows which servers can be watched on this machine, how, and what spoils "
		    "figures.\n\n");
	runs.json = cfg.json;
	r = r ? r : runs_check(&runs, &e);
	if (r)
		return cmd_usage_error("check", &e);
	return (int)check_all(&cfg);
}
