/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion for bash, from the tables of commands and options: new rows need nothing here.
 * Needs nothing but bash itself.
 */
#include "app/cmd.h"

#include <string.h>

static bool is_shown(const struct opt *o)
{
	return o->type > OPT_STOP && o->help;
}

/* "lantest) echo '-f --tests ...' ;;" */
static void put_options(FILE *out, const struct command *c)
{
	fprintf(out, "\t%s) echo '", c->name);
	for (const struct opt *o = c->options; o->type != OPT_END; o++) {
		if (!is_shown(o))
			continue;
		if (o->letter)
			fprintf(out, "-%c ", o->letter);
		if (o->name)
			fprintf(out, "--%s ", o->name);
	}
	fputs("' ;;\n", out);
}

/*
 * What the argument of an option is: "@file", "@folder", "@other", or the words to choose from. An
 * optional argument is only completed after "=".
 */
static void put_argument(FILE *out, const struct command *c, const struct opt *o)
{
	const char *bar = "";

	fputc('\t', out);
	if (o->letter) {
		fprintf(out, "%s:-%c", c->name, o->letter);
		bar = "|";
	}
	if (o->name)
		fprintf(out, "%s%s:--%s%s", bar, c->name, o->name, o->value ? "=" : "");
	fputs(") echo '", out);
	if (o->type == OPT_CHOICE)
		for (size_t i = 0; o->choice[i]; i++)
			fprintf(out, "%s ", o->choice[i]);
	else if (!strcmp(o->arg, "FILE"))
		fputs("@file", out);
	else if (!strncmp(o->arg, "DIR", 3))
		fputs("@folder", out);
	else
		fputs("@other", out);
	fputs("' ;;\n", out);
}

static const char head[] =
    "# SPDX-License-Identifier"
    ": GPL-2.0-or-later\n"
    "# Completion of afpscope for bash, made by afpscope completion bash.\n"
    "\n"
    "# The options of a command. Programs of the Python package list theirs themselves.\n"
    "_afpscope_options() {\n"
    "\tcase $1 in\n";

static const char arguments[] =
    "\t*) \"${_afpscope_program:-afpscope}\" \"$1\" --help 2>/dev/null |\n"
    "\t\tgrep -oE -- '(^|[][ ,|])--?[a-zA-Z][a-z-]*' | tr -d '][ ,|' | sort -u ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "# What the argument of an option is; nothing: it takes none, or is not known. A program of the\n"
    "# Python package lists the words of an option as {one,other}.\n"
    "_afpscope_argument() {\n"
    "\tcase $1:$2 in\n";

static const char tail[] =
    "\t*:--*) \"${_afpscope_program:-afpscope}\" \"$1\" --help 2>/dev/null |\n"
    "\t\tgrep -oE -m 1 -e \"$2 [{][^}]*\" | cut -d '{' -f 2 | tr , ' ' ;;\n"
    "\tesac\n"
    "}\n"
    "\n"
    "# The user's saved runs.\n"
    "_afpscope_runs() {\n"
    "\tls \"${AFPSCOPE_RUNS:-${XDG_STATE_HOME:-$HOME/.local/state}/afpscope/runs}\" 2>/dev/null\n"
    "}\n"
    "\n"
    "_afpscope() {\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command i kind=\n"
    "\tlocal first=2 equals=\n"
    "\tlocal _afpscope_program=${COMP_WORDS[0]}\n"
    "\n"
    "\tCOMPREPLY=()\n"
    "\tcase ${COMP_WORDS[0]##*/} in\n"
    "\tafp_lantest) command=lantest first=1 ;;\n"
    "\tafp_speedtest) command=speedtest first=1 ;;\n"
    "\t*) command=${COMP_WORDS[1]} ;;\n"
    "\tesac\n"
    "\tif [ \"$COMP_CWORD\" -lt \"$first\" ]; then\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W \"$_afpscope_commands --help --version\" -- \"$cur\")\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tfor ((i = first; i < COMP_CWORD; i++)); do\n"
    "\t\tif [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
    "\t\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
    "\t\t\treturn\n"
    "\t\tfi\n"
    "\tdone\n"
    "\t# bash takes --option=word apart\n"
    "\tif [ \"$cur\" = = ]; then\n"
    "\t\tcur='' equals='='\n"
    "\telif [ \"$before\" = = ]; then\n"
    "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]} equals='='\n"
    "\tfi\n"
    "\tcase $before in -*) kind=$(_afpscope_argument \"$command\" \"$before$equals\") ;; esac\n"
    "\tif [ -n \"$equals\" ] && [ -z \"$kind\" ]; then\n"
    "\t\tkind=$(_afpscope_argument \"$command\" \"$before\")\n"
    "\tfi\n"
    "\tcase $kind in\n"
    "\t@file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "\t@folder) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "\t@other) ;;\n"
    "\t?*) mapfile -t COMPREPLY < <(compgen -W \"$kind\" -- \"$cur\") ;;\n"
    "\t*)\n"
    "\t\tcase $cur:$command in\n"
    "\t\t-*) mapfile -t COMPREPLY < <(compgen -W \"$(_afpscope_options \"$command\")\" -- \"$cur\") ;;\n";

static const char end[] =
    "\t\t*) mapfile -t COMPREPLY < <(compgen -f -W \"$(_afpscope_runs)\" -- \"$cur\") ;;\n"
    "\t\tesac\n"
    "\t\t;;\n"
    "\tesac\n"
    "}\n"
    "complete -o filenames -F _afpscope afpscope afp_lantest afp_speedtest\n";

static bool takes_job(const struct command *c)
{
	return c->options && opt_of_key(c->options, "show-job");
}

/* Commands in C take no run: some take a job file or a directory. */
static void put_without_run(FILE *out, const struct command *commands, size_t n, bool job)
{
	const char *bar = "\t\t";

	for (size_t i = 0; i < n; i++) {
		if (!commands[i].run || takes_job(&commands[i]) != job)
			continue;
		fprintf(out, "%s*:%s", bar, commands[i].name);
		bar = " | ";
	}
	if (job)
		fputs(") mapfile -t COMPREPLY < <(compgen -f -X '!*.ini' -- \"$cur\"; "
		      "compgen -d -- \"$cur\") ;;\n",
		      out);
	else
		fputs(") ;;\n", out);
}

void complete_bash(FILE *out, const struct command *commands, size_t n)
{
	fputs(head, out);
	for (size_t i = 0; i < n; i++)
		if (commands[i].options)
			put_options(out, &commands[i]);
	fputs(arguments, out);
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = commands[i].options; o && o->type != OPT_END; o++)
			if (is_shown(o) && o->arg)
				put_argument(out, &commands[i], o);
	fputs(tail, out);
	put_without_run(out, commands, n, true);
	put_without_run(out, commands, n, false);
	fputs(end, out);
	fputs("_afpscope_commands='", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? " " : "", commands[i].name);
	fputs("'\n", out);
}
