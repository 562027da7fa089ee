/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope COMMAND. A command is a row of the table below, or a program "afpscope-COMMAND"
 * beside this one or on the PATH. Installed as afp_lantest or afp_speedtest the program is that
 * command with the peers' manners (cmd/peer.h).
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command commands[] = {
	{ "lantest", "run the twelve lantest tests and count what the server does", cmd_lantest },
	{ "speedtest", "read, write and copy files: how fast, and what holds it up",
	  cmd_speedtest },
	{ "check", "tell what can be watched on this machine, and why", cmd_check },
	{ "record", "watch a running server: what each AFP command costs", cmd_record },
	{ "clean", "remove from a volume what killed runs left there", cmd_clean },
	{ "dump", "print the records of a trace as text", cmd_dump },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("Usage: afpscope COMMAND [OPTIONS]\n"
	      "Loads an AFP file server and counts what each request costs inside it.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("  NAME       any program afpscope-NAME on the PATH\n\n"
	      "afpscope COMMAND --help tells about one of them.\n",
	      out);
}

/* Runs afpscope-NAME in place of this program; returns only when there is none. */
static int run_external(int argc, char **argv)
{
	char program[256];

	(void)argc;
	if (snprintf(program, sizeof(program), "afpscope-%s", argv[0]) >= (int)sizeof(program) ||
	    strchr(argv[0], '/'))
		errno = ENOENT;
	else
		execvp(program, argv);
	if (errno != ENOENT)
		cmd_say("cannot run %s: %s", program, strerror(errno));
	else
		cmd_say("there is no command '%s', nor a program %s on the PATH (make install "
			"brings those of the analysis); afpscope --help lists them",
			argv[0], program);
	return OUTCOME_USAGE;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static int dispatch(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		help(stderr);
		return OUTCOME_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		help(stdout);
		return OUTCOME_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("afpscope " AFPSCOPE_VERSION);
		return OUTCOME_OK;
	}
	c = find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : run_external(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	const char *name = argc ? basename(argv[0]) : "";
	int r;

	if (!strcmp(name, "afp_lantest"))
		r = cmd_lantest(argc, argv);
	else if (!strcmp(name, "afp_speedtest"))
		r = cmd_speedtest(argc, argv);
	else
		r = dispatch(argc, argv);
	if (fflush(stdout))
		cmd_say("cannot write the result: %s", strerror(errno));
	else if (ferror(stdout) && !r)
		cmd_say("cannot write the result: not all of it was taken");
	return ferror(stdout) && !r ? OUTCOME_FAILED : r;
}
