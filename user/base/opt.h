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
	OPT_SIZE,    /* uint64_t, .min to .max; K, M, G, T (or KiB, ...) are powers of 1024 */
	OPT_STRING,  /* const char *, borrowed from argv; may be empty */
	OPT_CHOICE,  /* int or enum, the index in .choice; .value > 0: that one, without argument */
	OPT_CALL,    /* .call(what is at .offset, argument or NULL, e) */
};

/* A constant as text: "(default: " OPT_TEXT(PORT) ")" */
#define OPT_TEXT(constant)  OPT_TEXT_(constant)
#define OPT_TEXT_(constant) #constant

struct opt {
	char letter;      /* -n; 0 = none */
	const char *name; /* --iterations; NULL = none */
	const char *arg;  /* what the argument is called in the help; NULL = takes none */
	enum opt_type type;
	size_t offset;             /* offsetof() in the config struct */
	const char *help;          /* range and choices are added to it; NULL = not in the help */
	uint64_t min, max;         /* OPT_UINT, OPT_SIZE; max 0 = the type's */
	int value;                 /* OPT_VALUE; OPT_CHOICE of an option without letter */
	const char *const *choice; /* OPT_CHOICE; ends with NULL */
	/* OPT_CALL: 0, or a negative errno and a text without the option's name */
	int (*call)(void *to, const char *arg, struct err *e);
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
 * A number as options have it, from elsewhere: row (OPT_UINT or OPT_SIZE) says which are allowed,
 * name is for the text. 0 or -ERANGE.
 */
int opt_number(const struct opt *row, const char *name, const char *text, uint64_t *out,
	       struct err *e);

/* The table as aligned text, at most 80 columns wide. */
void opt_help(FILE *out, const struct opt *table);

#endif
