/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope COMMAND. A command is a row of the table below, or a program "afpscope-COMMAND"
 * beside this one or on the PATH. Installed as afp_lantest or afp_speedtest the program is that
 * command with the options, tables and exit codes of netatalk's tool (compat/peer.h); likewise as
 * gfapi_perf_tool or gfapi_perf, which has no row here, and as rxperf, which is installed as a
 * program of its own (rxperf.c).
 */
#include "app/cmd.h"
#include "app/external.h"
#include "compat/peer.h"
#include "drive/rxperf.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command commands[] = {
	{ "lantest", "run the tests of afp_lantest and count what the server does", cmd_lantest,
	  lantest_options },
	{ "speedtest", "read, write and copy files: how fast, and what limits it", cmd_speedtest,
	  speedtest_options },
	{ "load", "many clients on one server, and what one user feels meanwhile", cmd_load,
	  load_options },
	{ "smallfile", "many small files: create, stat, read, rename, delete", cmd_smallfile,
	  smallfile_options },
	{ "replay", "what users did on a server, recorded there, again on any server", cmd_replay,
	  replay_options },
	{ "rx", "rxperf's calls, as AFS makes them over UDP: client, server (--serve)", cmd_rx,
	  rxperf_options },
	{ "probe", "what one user feels, second by second", cmd_probe, probe_options },
	{ "record", "watch a running server (or any program): what its work costs", cmd_record,
	  record_options },
	{ "doctor", "what is wrong with a running server, and what to try", cmd_doctor,
	  doctor_options },
	{ "slow", "a running server's slow requests as they happen, and why they are slow",
	  cmd_slow, slow_options },
	{ "top", "what a running server does now, second by second, and for whom", cmd_top,
	  top_options },
	{ "exporter", "a running server's requests as metrics for Prometheus, all the time",
	  cmd_exporter, exporter_options },
	{ "check", "show what can be watched on this machine, and what to change", cmd_check,
	  check_options },
	{ "clean", "remove from a volume what killed runs left there", cmd_clean, clean_options },
	/* Programs of the Python package. */
	{ "dump", "print the records of a trace as text", NULL, NULL },
	{ "report", "a saved run as one HTML page", NULL, NULL },
	{ "bundle", "a saved run as one file without names, to be sent to others", NULL, NULL },
	{ "info", "what a saved run is, and whether it can be trusted", NULL, NULL },
	{ "compare", "what differs between runs, and whether that is chance", NULL, NULL },
	{ "gate", "check a run against accepted counts", NULL, NULL },
	{ "ab", "measure two servers in turn and compare them", NULL, NULL },
	{ "versus", "the same load on several servers in turn: what an action costs on each", NULL,
	  NULL },
	{ "sweep", "more and more load: how much a server can take, and what limits it", NULL,
	  NULL },
	{ "query", "SQL over a run's records", NULL, NULL },
	{ "export", "a run as Parquet, CSV or a Perfetto trace", NULL, NULL },
	{ "history", "which values changed over many runs, and with which run", NULL, NULL },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void main_help(FILE *out)
{
	fputs("Usage: afpscope COMMAND [OPTIONS]\n"
	      "Loads an AFP file server and counts what each request costs inside it.\n\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (i && !commands[i].run && commands[i - 1].run)
			fputs(
			    "\nOf saved runs (in Python; make install or the package afpscope-analysis brings them):\n",
			    out);
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	}
	fputs(
	    "\n  NAME       any program afpscope-NAME beside this one or on the PATH\n\n"
	    "afpscope COMMAND --help describes a command, afpscope --version prints the version;\n"
	    "afpscope completion bash (or zsh, fish) prints a script that completes commands and\n"
	    "options (make install and the package afpscope put them in their places).\n",
	    out);
}

/*
 * Runs afpscope-NAME in place of this program: the one beside it, else the one on the PATH. Returns
 * only on failure. Where it needs afpscope itself (sweep, ab, versus), it is to use this one.
 */
static int run_external(char **argv)
{
	char self[PATH_MAX], program[PATH_MAX + 256];

	signal(SIGXFSZ, SIG_DFL);
	if (strchr(argv[0], '/')) {
		errno = ENOENT;
	} else {
		if (!procfs_link(self, sizeof(self), 0, "exe"))
			setenv("AFPSCOPE", self, 0);
		external_path(program, sizeof(program), argv[0]);
		execvp(program, argv);
	}
	if (errno != ENOENT)
		cmd_say("cannot run %s: %s", program, strerror(errno));
	else
		cmd_say(
		    "there is no command '%s': afpscope --help lists them. (Those of saved runs come with "
		    "make install or the package afpscope-analysis; in a source tree with make analysis)",
		    argv[0]);
	return OUTCOME_USAGE;
}

static const struct command *main_find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static int main_completion(const char *shell)
{
	if (!strcmp(shell, "bash")) {
		complete_bash(stdout, commands, N_COMMANDS);
	} else if (!strcmp(shell, "zsh")) {
		complete_zsh(stdout, commands, N_COMMANDS);
	} else if (!strcmp(shell, "fish")) {
		complete_fish(stdout, commands, N_COMMANDS);
	} else {
		cmd_say("completion: name the shell: bash, zsh or fish");
		return OUTCOME_USAGE;
	}
	return OUTCOME_OK;
}

/* The page of a template, from standard input to standard output. */
static int main_manual(void)
{
	struct err e = { 0 };

	if (!manual_page(stdout, stdin, commands, N_COMMANDS, &e))
		return OUTCOME_OK;
	cmd_say("%s", e.text);
	return OUTCOME_FAILED;
}

static int dispatch(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		main_help(stderr);
		return OUTCOME_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		main_help(stdout);
		return OUTCOME_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("afpscope " AFPSCOPE_VERSION);
		return OUTCOME_OK;
	}
	if (!strcmp(argv[1], "completion"))
		return main_completion(argc == 3 ? argv[2] : "");
	if (!strcmp(argv[1], "--manual")) /* for make man */
		return main_manual();
	c = main_find(argv[1]);
	return c && c->run ? c->run(argc - 1, argv + 1) : run_external(argv + 1);
}

int main(int argc, char **argv)
{
	const char *name = argc ? basename(argv[0]) : "";
	int failed = OUTCOME_FAILED, r;

	cmd_hold_standard();
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write() */
	if (!strcmp(name, "afp_lantest")) {
		failed = peer_exit_code(OUTCOME_FAILED, AFP_STAGE_CONNECT, 0, false);
		r = cmd_lantest(argc, argv);
	} else if (!strcmp(name, "afp_speedtest")) {
		r = cmd_speedtest(argc, argv);
	} else if (!strcmp(name, "gfapi_perf_tool") || !strcmp(name, "gfapi_perf")) {
		r = cmd_gfapi_perf(argc, argv);
	} else if (!strcmp(name, "rxperf")) {
		r = cmd_rxperf_tool(argc, argv);
	} else {
		r = dispatch(argc, argv);
	}
	return cmd_end(r, failed);
}
