/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job files: the options of a command, read from a file and written as one. Knows no command. */
#include "app/job.h"

#include "app/cmd.h"
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (1u << 20)

/* ---- from the command line ---- */

/* An opt_take. */
static int job_take_option(void *user, const struct opt *row, const char *name, const char *arg,
			   struct err *e)
{
	const struct job_option new = { row, arg };
	struct job_options *to = user;

	(void)name;
	return VEC_PUSH(to->option, to->n, new) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* Whether these options are about the same thing, so that one replaces the other. */
static bool job_is_same(const struct opt *a, const struct opt *b)
{
	return a == b || (a->offset && a->offset == b->offset) ||
	       (a->group && b->group && !strcmp(a->group, b->group));
}

/* Other tools, under whose name the command may be started, have no job files. */
static bool job_is_own(const struct job *j)
{
	return !strcmp(j->argv[0], j->type->command);
}

static bool job_is_name(const char *word)
{
	size_t len = strlen(word);

	return len > 4 && !strcmp(word + len - 4, ".ini") && !text_url(word);
}

int job_open(struct job *j, const struct job_type *type, int argc, char **argv, struct err *e)
{
	struct err unused;
	int first = argc;

	*j = (struct job) { .type = type, .argc = argc, .argv = argv };
	if (!job_is_own(j))
		return 0;
	/* Wrong options are job_parse's to report. */
	if (opt_each(type->options, argc, argv, &first, job_take_option, &j->of_line, &unused) ||
	    first == argc || !job_is_name(argv[first]))
		return 0;
	j->file = argv[first];
	return file_read(&j->text, j->file, TEXT_MAX, e);
}

/* ---- from the file ---- */

/* "command" and "target" are not options here. */
static const char *job_key(const struct opt *row, char out[static 2])
{
	const char *key = opt_key(row, out);

	return strcmp(key, "command") && strcmp(key, "target") ? key : out;
}

static const struct opt *job_row(const struct opt *table, const char *key)
{
	char own[2];

	for (; table->type != OPT_END; table++)
		if (table->type > OPT_STOP && !strcmp(job_key(table, own), key))
			return table;
	return NULL;
}

/* An inifile_take: all keys, before any is used. */
static int job_take_key(void *user, const struct inifile_key *k, struct err *e)
{
	struct job *j = user;

	return VEC_PUSH(j->key, j->n_keys, *k) ? err_set(e, -ENOMEM, "out of memory") : 0;
}

static int job_check_command(const struct job *j, struct err *e)
{
	const struct inifile_key *k = VEC_FIND(
	    x, j->key, j->n_keys, !strcmp(x->section, "run") && !strcmp(x->key, "command"));
	const char *own = j->type->command;

	if (!k)
		return err_set(e, -EINVAL,
			       "%s: a job file of this command has the line 'command = %s' in its "
			       "section [run]",
			       j->file, own);
	if (!strcmp(k->value, own))
		return 0;
	return err_set(e, -EINVAL, "%s, line %u: this is a job of 'afpscope %s', not of '%s'",
		       j->file, k->line, k->value, own);
}

static int job_take_target(struct job *j, void *cfg, const struct inifile_key *k, struct err *e)
{
	int r;

	if (j->n_operands)
		return 0;
	r = j->type->target(cfg, (char *)(uintptr_t)k->value, e);
	return r ? r : job_take_option(&j->of_file, NULL, NULL, k->value, e);
}

static int job_take_run(struct job *j, void *cfg, const struct inifile_key *k, struct err *e)
{
	const struct opt *row = job_row(j->type->options, k->key);
	const bool is_target = !strcmp(k->key, "target");
	int r;

	if (row && row->job == OPT_JOB_NEVER)
		return err_set(e, -EINVAL, "%s cannot be given in a job file", k->key);
	r = row && row->repeats ? 0 : inifile_once(k, e);
	if (r || is_target)
		return r ? r : job_take_target(j, cfg, k, e);
	if (!strcmp(k->key, "command"))
		return 0;
	if (!row)
		return err_set(e, -EINVAL,
			       "there is no key '%s'; there are command, target and the long "
			       "options of 'afpscope %s --help'",
			       k->key, j->type->command);
	if (VEC_FIND(x, j->of_line.option, j->of_line.n, x->row && job_is_same(x->row, row)))
		return 0;
	r = opt_put(row, cfg, k->value, e);
	return r ? r : job_take_option(&j->of_file, row, NULL, k->value, e);
}

/* The first key of a section other than [run]; whether the file has its option, too. */
static int job_take_section(struct job *j, void *cfg, const struct inifile_key *k, struct err *e)
{
	const struct job_type *t = j->type;
	const struct inifile_key *both;
	const struct opt *row;
	int r;

	if (!t->section)
		return err_set(e, -EINVAL, "there is no section [%s], only [run]", k->section);
	row = opt_of_key(t->options, t->in_place_of);
	if (VEC_FIND(x, j->of_line.option, j->of_line.n, x->row == row))
		return 0;
	both = VEC_FIND(x, j->key, j->n_keys,
			!strcmp(x->section, "run") && !strcmp(x->key, t->in_place_of));
	r = t->section(cfg, k, e); /* one that there is not is no other word for the option */
	if (!r && both)
		r = err_set(e, -EINVAL,
			    "[%s] is in place of '%s', which line %u has: give one of them",
			    k->section, both->key, both->line);
	return r;
}

static int job_use(struct job *j, void *cfg, struct err *e)
{
	int r = inifile_read(j->text, j->file, job_take_key, j, e);

	r = r ? r : job_check_command(j, e);
	for (size_t i = 0; !r && i < j->n_keys; i++) {
		const struct inifile_key *k = &j->key[i];

		r = strcmp(k->section, "run") ? job_take_section(j, cfg, k, e)
					      : job_take_run(j, cfg, k, e);
		if (r)
			err_prefix(e, r, "%s, line %u", j->file, k->line);
	}
	return r;
}

/* The first operand may be the value of an option: not beside a job file, which has it. */
static int job_take_leading(struct job *j, void *cfg, struct err *e)
{
	const struct opt *row = j->type->leading ? opt_of_key(j->type->options, j->type->leading)
						 : NULL;
	const char *value;
	int r;

	if (!row || j->file || !j->n_operands ||
	    VEC_FIND(x, j->of_line.option, j->of_line.n, x->row == row))
		return 0;
	value = j->operand[0];
	j->operand++;
	j->n_operands--;
	r = job_take_option(&j->of_line, row, NULL, value, e);
	return r ? r : opt_put(row, cfg, value, e);
}

int job_parse(struct job *j, void *cfg, struct err *e)
{
	const struct opt *table = j->type->options;
	int first, r;

	j->of_line.n = 0;
	r = opt_each(table, j->argc, j->argv, &first, job_take_option, &j->of_line, e);
	if (r)
		return opt_parse(table, cfg, j->argc, j->argv, &first, e);
	first += j->file != NULL;
	j->operand = j->argv + first;
	j->n_operands = j->argc - first;
	r = job_take_leading(j, cfg, e);
	r = r || !j->file ? r : job_use(j, cfg, e);
	if (!r && j->n_operands)
		r = job_take_option(&j->of_line, NULL, NULL, j->operand[0], e);
	return r ? r : opt_parse(table, cfg, j->argc, j->argv, &first, e);
}

void job_free(struct job *j)
{
	free(j->text);
	free(j->key);
	free(j->of_file.option);
	free(j->of_line.option);
	*j = (struct job) { 0 };
}

/* ---- as a file ---- */

/* As job_show has it. */
struct job_how {
	const char *folder;
	bool kept;
	const struct opt *replaced; /* by other sections; NULL: none */
};

/* A path that is relative is one of folder (NULL: it stays). */
static void job_put_path(FILE *out, const char *key, const char *folder, const char *path)
{
	char whole[2 * PATH_MAX];

	if (!folder || !*path || *path == '/' || !strcmp(path, "-") || text_url(path) ||
	    snprintf(whole, sizeof(whole), "%s/%s", folder, path) >= (int)sizeof(whole))
		inifile_put(out, key, path);
	else
		inifile_put(out, key, whole);
}

/* Without the password of "afp://user:password@host/volume". */
static void job_put_target(FILE *out, const char *target, const char *folder, bool is_path)
{
	const char *from = text_url(target), *at = NULL, *colon = NULL;
	char text[PATH_MAX];

	if (from) {
		at = memrchr(from, '@', strcspn(from, "/"));
		colon = at ? memchr(from, ':', (size_t)(at - from)) : NULL;
	}
	if (colon)
		snprintf(text, sizeof(text), "%.*s%s", (int)(colon - target), target, at);
	job_put_path(out, "target", is_path ? folder : NULL, colon ? text : target);
}

/* How often an option that counts was given. */
static unsigned long job_count(const struct job_options *all, const struct opt *row)
{
	unsigned long n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->option[i].row == row)
			n += all->option[i].value ? strtoul(all->option[i].value, NULL, 10) : 1;
	return n;
}

static void job_put_option(FILE *out, const struct job_option *o, const struct job_options *all,
			   const char *folder)
{
	char own[2], number[24];
	const char *key = job_key(o->row, own), *arg = o->row->arg;

	if (o->row->type == OPT_COUNT) {
		snprintf(number, sizeof(number), "%lu", job_count(all, o->row));
		inifile_put(out, key, number);
	} else if (!arg) {
		inifile_put(out, key, o->value ? o->value : "yes");
	} else if (!o->value) {
		inifile_put(out, key, o->row->choice[o->row->value]);
	} else if (!strcmp(arg, "FILE") || !strncmp(arg, "DIR", 3)) {
		job_put_path(out, key, folder, o->value);
	} else {
		inifile_put(out, key, o->value);
	}
}

/* Of an option that does not repeat only the last one counts. */
static bool job_is_last(const struct job_options *all, size_t i)
{
	const struct opt *row = all->option[i].row;

	for (size_t k = i + 1; k < all->n && row && !row->repeats; k++)
		if (all->option[k].row == row)
			return false;
	return true;
}

static void job_put_options(FILE *out, const struct job *j, const struct job_options *all,
			    const struct job_how *how)
{
	const struct job_option *o;

	for (size_t i = 0; i < all->n; i++) {
		o = &all->option[i];
		if (!job_is_last(all, i) || (how->replaced && o->row == how->replaced))
			continue;
		if (!o->row)
			job_put_target(out, o->value, how->folder, j->target_is_path);
		else if (o->row->job == OPT_JOB_KEPT ||
			 (!how->kept && o->row->job == OPT_JOB_ASKED))
			job_put_option(out, o, all, how->folder);
	}
}

int job_show(FILE *out, const struct job *j, const void *cfg, const char *folder, bool kept,
	     struct err *e)
{
	struct job_how how = { .folder = folder, .kept = kept };
	const struct job_type *t = j->type;
	char *sections = NULL;
	size_t len;
	FILE *more = t->show ? open_memstream(&sections, &len) : NULL;
	int r = more ? t->show(cfg, more, e) : 0;

	if (more)
		fclose(more);
	fprintf(out,
		"; afpscope %s FILE repeats this run; the name of FILE ends with .ini\n[run]\n",
		t->command);
	inifile_put(out, "command", t->command);
	if (r > 0)
		how.replaced = opt_of_key(t->options, t->in_place_of);
	job_put_options(out, j, &j->of_file, &how);
	job_put_options(out, j, &j->of_line, &how);
	fputs(r > 0 ? sections : "", out);
	free(sections);
	return r < 0 ? r : 0;
}

int job_text(char **out, const struct job *j, const void *cfg, bool kept, struct err *e)
{
	char folder[PATH_MAX];
	size_t len;
	FILE *to;
	int r;

	*out = NULL;
	if (!job_is_own(j))
		return 0;
	to = open_memstream(out, &len);
	if (!to)
		return err_set(e, -ENOMEM, "out of memory");
	r = job_show(to, j, cfg, getcwd(folder, sizeof(folder)), kept, e);
	if (fclose(to) && !r)
		r = err_set(e, -ENOMEM, "out of memory");
	if (!r)
		return 0;
	free(*out);
	*out = NULL;
	return r;
}

int job_print(const struct job *j, const void *cfg)
{
	struct err e = { 0 };
	char *text;

	if (job_text(&text, j, cfg, false, &e))
		return cmd_usage_error(j->type->command, &e);
	fputs(text ? text : "", stdout);
	free(text);
	return OUTCOME_OK;
}
