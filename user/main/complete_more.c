/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion for zsh and fish, from the tables of commands and options, as complete.c for bash. A
 * program of the Python package lists its options itself (--help).
 */
#include "app/cmd.h"

#include <string.h>

/* Text inside '...' of either shell; `also` are characters that get a backslash besides. */
static void put_quoted(FILE *out, const char *text, const char *quote, const char *also)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, out);
		else if (*text == '\n')
			fputc(' ', out);
		else if (*text == '\\' || strchr(also, *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static bool is_listed(const struct opt *o)
{
	return o->type > OPT_STOP && o->help;
}

static bool is_folder(const struct opt *o)
{
	return o->arg && !strncmp(o->arg, "DIR", 3);
}

static bool is_file(const struct opt *o)
{
	return o->arg && !strcmp(o->arg, "FILE");
}

static void put_choices(FILE *out, const struct opt *o)
{
	for (size_t i = 0; o->choice[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", o->choice[i]);
}

/* Names of the programs of the Python package, with `between` between them. */
static void put_programs(FILE *out, const struct command *commands, size_t n, const char *between)
{
	const char *sign = "";

	for (size_t i = 0; i < n; i++) {
		if (commands[i].options)
			continue;
		fprintf(out, "%s%s", sign, commands[i].name);
		sign = between;
	}
}

/* zsh */

#define ZSH_QUOTE "'\\''"

static const char zsh_head[] =
    "#compdef afpscope afp_lantest afp_speedtest\n"
    "# SPDX-License-Identifier"
    ": GPL-2.0-or-later\n"
    "# Completion of afpscope for zsh, made by afpscope completion zsh.\n"
    "\n"
    "_afpscope_runs() {\n"
    "\tlocal -a runs=(${AFPSCOPE_RUNS:-${XDG_STATE_HOME:-$HOME/.local/state}/afpscope/runs}/*(N:t))\n"
    "\tcompadd -a runs\n"
    "\t_files\n"
    "}\n"
    "\n"
    "# The words of an option of a program of the Python package, as its help has them: {one,other}.\n"
    "_afpscope_words() {\n"
    "\t$1 $2 --help 2>/dev/null | grep -oE -m 1 -e \"$3 [{][^}]*\" | cut -d '{' -f 2 | tr , '\\n'\n"
    "}\n"
    "\n"
    "# Words of an option of a program of the Python package, its options, or runs.\n"
    "_afpscope_program() {\n"
    "\tlocal option=$words[CURRENT-1]\n"
    "\tif [[ $PREFIX == --*=* ]]; then\n"
    "\t\toption=${PREFIX%%=*}\n"
    "\t\tcompset -P '*='\n"
    "\tfi\n"
    "\tif [[ $option == --* ]]; then\n"
    "\t\tlocal -a choice=(${(f)\"$(_afpscope_words $1 $2 $option)\"})\n"
    "\t\tcompadd -a -- choice && return\n"
    "\tfi\n"
    "\tif [[ $PREFIX != -* ]]; then\n"
    "\t\t_afpscope_runs\n"
    "\t\treturn\n"
    "\tfi\n"
    "\tlocal -a found=(${(f)\"$($1 $2 --help 2>/dev/null |\n"
    "\t\tgrep -oE -- '(^|[][ ,|])--?[a-zA-Z][a-z-]*' | tr -d '][ ,|' | sort -u)\"})\n"
    "\tcompadd -a -- found\n"
    "}\n"
    "\n"
    "_afpscope() {\n"
    "\tlocal program=$words[1] command\n"
    "\tlocal -a commands=(\n";

static const char zsh_middle[] = "\t)\n"
				 "\tcase ${program:t} in\n"
				 "\tafp_lantest) command=lantest ;;\n"
				 "\tafp_speedtest) command=speedtest ;;\n"
				 "\t*)\n"
				 "\t\tif ((CURRENT == 2)); then\n"
				 "\t\t\t_describe command commands\n"
				 "\t\t\treturn\n"
				 "\t\tfi\n"
				 "\t\tcommand=$words[2]\n"
				 "\t\tshift words\n"
				 "\t\t((CURRENT--))\n"
				 "\t\t;;\n"
				 "\tesac\n"
				 "\tcase $command in\n";

static const char zsh_tail[] = "\tesac\n"
			       "}\n"
			       "\n"
			       "if [[ $funcstack[1] == _afpscope ]]; then\n"
			       "\t_afpscope \"$@\"\n"
			       "else\n"
			       "\tcompdef _afpscope afpscope afp_lantest afp_speedtest\n"
			       "fi\n";

/* " \" and "'--table=[help]:NAME:(words)'": what _arguments takes. */
static void put_zsh_option(FILE *out, const struct opt *o, const char *dashes, const char *name)
{
	bool is_long = dashes[1];

	fprintf(out, " \\\n\t\t\t'%s%s%s", o->repeats ? "*" : "", dashes, name);
	if (o->arg)
		fputs(!is_long ? "+" : o->value ? "=-" : "=", out);
	fputc('[', out);
	put_quoted(out, o->help, ZSH_QUOTE, "[]:");
	fputc(']', out);
	if (o->arg) {
		fputs(is_long && o->value ? "::" : ":", out);
		put_quoted(out, o->arg, ZSH_QUOTE, "[]:");
		fputc(':', out);
		if (o->type == OPT_CHOICE) {
			fputc('(', out);
			put_choices(out, o);
			fputc(')', out);
		} else {
			fputs(is_file(o) ? "_files" : is_folder(o) ? "_files -/" : " ", out);
		}
	}
	fputc('\'', out);
}

static void put_zsh_command(FILE *out, const struct command *c)
{
	fprintf(out, "\t%s)\n\t\t_arguments -S :", c->name);
	for (const struct opt *o = c->options; o->type != OPT_END; o++) {
		if (!is_listed(o))
			continue;
		if (o->letter)
			put_zsh_option(out, o, "-", (char[2]) { o->letter });
		if (o->name)
			put_zsh_option(out, o, "--", o->name);
	}
	fputs(" \\\n\t\t\t'*:operand:_files' ;;\n", out);
}

void complete_zsh(FILE *out, const struct command *commands, size_t n)
{
	fputs(zsh_head, out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "\t\t'%s:", commands[i].name);
		put_quoted(out, commands[i].summary, ZSH_QUOTE, "");
		fputs("'\n", out);
	}
	fputs(zsh_middle, out);
	for (size_t i = 0; i < n; i++)
		if (commands[i].options)
			put_zsh_command(out, &commands[i]);
	fputc('\t', out);
	put_programs(out, commands, n, " | ");
	fputs(") _afpscope_program $program $command ;;\n", out);
	fputs(zsh_tail, out);
}

/* fish */

#define FISH_QUOTE "\\'"

static const char fish_head[] =
    "# SPDX-License-Identifier"
    ": GPL-2.0-or-later\n"
    "# Completion of afpscope for fish, made by afpscope completion fish.\n"
    "\n"
    "function __afpscope_is\n"
    "\tset -l words (commandline -opc)\n"
    "\ttest (count $words) -gt 1; and contains -- $words[2] $argv\n"
    "end\n"
    "\n"
    "function __afpscope_begins\n"
    "\ttest (count (commandline -opc)) -eq 1\n"
    "end\n"
    "\n"
    "function __afpscope_runs\n"
    "\tset -l place $HOME/.local/state\n"
    "\tset -q XDG_STATE_HOME; and set place $XDG_STATE_HOME\n"
    "\tset place $place/afpscope/runs\n"
    "\tset -q AFPSCOPE_RUNS; and set place $AFPSCOPE_RUNS\n"
    "\tls $place 2>/dev/null\n"
    "end\n"
    "\n"
    "# The words of an option of a program of the Python package, as its help has them: {one,other}.\n"
    "function __afpscope_words\n"
    "\tset -l words (commandline -opc)\n"
    "\tset -l option $words[-1]\n"
    "\tset -l begin ''\n"
    "\tset -l now (commandline -ct)\n"
    "\tif string match -q -- '--*=*' $now\n"
    "\t\tset option (string replace -r -- '=.*' '' $now)\n"
    "\t\tset begin $option=\n"
    "\tend\n"
    "\tstring match -q -- '--*' $option; or return\n"
    "\tfor word in ($words[1] $words[2] --help 2>/dev/null |\n"
    "\t\tgrep -oE -m 1 -e \"$option [{][^}]*\" | cut -d '{' -f 2 | string split ,)\n"
    "\t\techo $begin$word\n"
    "\tend\n"
    "end\n"
    "\n"
    "# Options of a program of the Python package.\n"
    "function __afpscope_program\n"
    "\tset -l words (commandline -opc)\n"
    "\t$words[1] $words[2] --help 2>/dev/null |\n"
    "\t\tgrep -oE -- '(^|[][ ,|])--?[a-zA-Z][a-z-]*' | tr -d '][ ,|' | sort -u\n"
    "end\n"
    "\n";

static void put_fish_option(FILE *out, const char *program, const char *command,
			    const struct opt *o)
{
	fprintf(out, "complete -c %s", program);
	if (command)
		fprintf(out, " -n '__afpscope_is %s'", command);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	if (o->name)
		fprintf(out, " -l %s", o->name);
	if (o->arg && !o->value)
		fputs(is_file(o) ? " -rF" : " -x", out);
	if (o->type == OPT_CHOICE && o->arg) {
		fputs(" -a '", out);
		put_choices(out, o);
		fputc('\'', out);
	} else if (is_folder(o)) {
		fputs(" -a '(__fish_complete_directories)'", out);
	}
	fputs(" -d '", out);
	put_quoted(out, o->help, FISH_QUOTE, "");
	fputs("'\n", out);
}

static void put_fish_options(FILE *out, const char *program, const char *command,
			     const struct command *c)
{
	for (const struct opt *o = c->options; o->type != OPT_END; o++)
		if (is_listed(o) && (o->letter || o->name))
			put_fish_option(out, program, command, o);
}

void complete_fish(FILE *out, const struct command *commands, size_t n)
{
	fputs(fish_head, out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "complete -c afpscope -f -n __afpscope_begins -a %s -d '",
			commands[i].name);
		put_quoted(out, commands[i].summary, FISH_QUOTE, "");
		fputs("'\n", out);
	}
	for (size_t i = 0; i < n; i++)
		if (commands[i].options)
			put_fish_options(out, "afpscope", commands[i].name, &commands[i]);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(commands[i].name, "lantest"))
			put_fish_options(out, "afp_lantest", NULL, &commands[i]);
		if (!strcmp(commands[i].name, "speedtest"))
			put_fish_options(out, "afp_speedtest", NULL, &commands[i]);
	}
	fputs("complete -c afpscope -n '__afpscope_is ", out);
	put_programs(out, commands, n, " ");
	fputs("; and not count (__afpscope_words) >/dev/null' -a '(__afpscope_program) "
	      "(__afpscope_runs)'\n",
	      out);
	fputs("complete -c afpscope -f -n '__afpscope_is ", out);
	put_programs(out, commands, n, " ");
	fputs("; and count (__afpscope_words) >/dev/null' -a '(__afpscope_words)'\n", out);
}
