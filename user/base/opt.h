/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_OPT_H
#define BASE_OPT_H

/*
 * Command-line options from a table. A row says where its value goes in the command's config
 * struct; the type of that member follows from the type of the row. Options take effect in the
 * order in which they are given, so a callback sees the effect of earlier ones.
 *
 * opt_parse uses getopt_long, which has global state: one thread at a time, and a callback must not
 * call opt_parse.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_type {
	OPT_END,     /* the table's last row: { 0 } */
	OPT_HEADING, /* a line of help: .help */
	OPT_STOP,    /* not an option: makes parsing end at the first operand */
	OPT_FLAG,    /* bool, set to true */
	OPT_VALUE,   /* int or enum, set to .value */
	OPT_COUNT,   /* unsigned int, one more */
	OPT_UINT,    /* unsigned int, .min to .max */
	OPT_SECONDS, /* unsigned int, .min to .max: whole seconds, or with s, m, h, d */
	OPT_SIZE,    /* uint64_t, .min to .max; K, M, G, T (or KiB, ...) are powers of 1024 */
	OPT_NUMBER,  /* double, .min to .max, with decimals */
	OPT_TIME,    /* double: seconds, or with ns, us, ms, s, m, h, d; .min, .max are in ns */
	OPT_SHARE,   /* double, a share of 1, given in percent: "2%", "2"; above 0 */
	OPT_STRING,  /* const char *, borrowed from argv; may be empty */
	OPT_CHOICE,  /* int or enum, the index in .choice; .value > 0: that one, without argument */
	OPT_CALL,    /* .call(what is at .offset, argument or NULL, e) */
	OPT_LIST,    /* words with commas between: .call(.., NULL, e), then .call(.., word, e) */
};

/* A constant as text: "(default: " OPT_TEXT(PORT) ")" */
#define OPT_TEXT(constant)  OPT_TEXT_(constant)
#define OPT_TEXT_(constant) #constant

/* Whether an option is written into a job file (drive/job.h), which holds a whole run. */
enum opt_job {
	OPT_JOB_KEPT,  /* and read from it */
	OPT_JOB_ASKED, /* the same, but not into the one that a run keeps of itself */
	OPT_JOB_NEVER, /* a secret, or what makes no run */
};

struct opt {
	char letter;      /* -n; 0 = none */
	const char *name; /* --iterations; NULL = none */
	const char *arg;  /* what the argument is called in the help; NULL = takes none */
	enum opt_type type;
	size_t offset;             /* offsetof() in the config struct */
	const char *help;          /* range and choices are added to it; NULL = not in the help */
	uint64_t min, max;         /* of numbers; max 0 = the type's */
	int value;                 /* OPT_VALUE; OPT_CHOICE of an option without letter */
	const char *const *choice; /* OPT_CHOICE; ends with NULL */
	/*
	 * OPT_CALL, OPT_LIST: 0, or a negative errno and a text without the option's name. A list's
	 * words are gone afterwards, other arguments stay where they are.
	 */
	int (*call)(void *to, const char *arg, struct err *e);
	bool repeats; /* each time that it is given adds to what it was given before */
	/* Options that are about one thing, but have no .offset in common: the same word. */
	const char *group;
	enum opt_job job;
	/*
	 * What the manual says besides: sentences. `` encloses what is typed, a newline begins a
	 * paragraph. In the manual alone without .help.
	 */
	const char *more;
};

/*
 * Parses argv[1...]. Operands may stand between options (argv is reordered) unless the table has
 * OPT_STOP; "--" ends the options. *first_operand (NULL: operands are refused) is the index of
 * the first of them, argc if there are none. 0; -EINVAL (-ERANGE: a number) and a text that names
 * the option, the value and what is allowed; a callback's code; -ENOMEM. cfg may be half filled
 * after an error.
 */
int opt_parse(const struct opt *table, void *cfg, int argc, char **argv, int *first_operand,
	      struct err *e);

/*
 * Goes through the same arguments as opt_parse, with the same errors but those of values, and hands
 * over each option with its argument (NULL: none) in the order in which they are given. name is as
 * it is spelled: "-n", "--iterations". A result other than 0 of take ends it, and is returned.
 */
typedef int opt_take(void *user, const struct opt *row, const char *name, const char *arg,
		     struct err *e);
int opt_each(const struct opt *table, int argc, char **argv, int *first_operand, opt_take *take,
	     void *user, struct err *e);

/*
 * The key of a row in a file: its long name, its letter if it has none. opt_of_key: NULL: no option
 * of the table has it.
 */
const char *opt_key(const struct opt *row, char out[static 2]);
const struct opt *opt_of_key(const struct opt *table, const char *key);

/*
 * The value of a key, as text, into cfg: as an option's argument; of an option without argument yes
 * or no (no: as if it were not there), of OPT_COUNT how often it is given. text is borrowed as argv
 * is. 0, or a code of opt_parse with a text that begins with the key.
 */
int opt_put(const struct opt *row, void *cfg, const char *text, struct err *e);

/*
 * A number as options have it, from elsewhere: row (OPT_UINT, OPT_SECONDS or OPT_SIZE) says which
 * are allowed, name is for the text. 0 or -ERANGE.
 */
int opt_number(const struct opt *row, const char *name, const char *text, uint64_t *out,
	       struct err *e);
/* Likewise with decimals: row is OPT_NUMBER, OPT_TIME or OPT_SHARE. */
int opt_decimal(const struct opt *row, const char *name, const char *text, double *out,
		struct err *e);

/* The table as aligned text, at most 80 columns wide. */
void opt_help(FILE *out, const struct opt *table);

#endif
