/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_SMALLFILE_SMALLFILE_SET_H
#define WORK_SMALLFILE_SMALLFILE_SET_H

/*
 * The files of a client of smallfile: what they are, from their number and the seed alone. Only for
 * client/work/smallfile/smallfile.c and tests.
 */

#include "work/smallfile/smallfile.h"

/* A length at random is at most so many times the mean. */
#define SMALLFILE_LEN_TIMES 8

/* What a number at random is for. */
enum smallfile_use {
	FOR_DATA,
	FOR_LEN,
	FOR_DIR,
	FOR_ORDER,
	FOR_RECORDS,
	FOR_MIX, /* and all numbers after it */
};

/* A number that is the same for the same seed, client, file and use. */
uint64_t smallfile_chance(const struct smallfile_opts *o, unsigned int number, uint64_t file,
			  uint64_t use);

/* Bytes of a file when it is created. */
uint64_t smallfile_len(const struct smallfile_opts *o, unsigned int number, unsigned int file);

/* The file that is the i-th to be used: each once. */
unsigned int smallfile_at(const struct smallfile_opts *o, unsigned int number, unsigned int i);

/* Its directory. */
unsigned int smallfile_dir(const struct smallfile_opts *o, unsigned int number, unsigned int file);

/* The numbers below n in an order at random; free(). NULL without memory. */
uint32_t *smallfile_order(const struct smallfile_opts *o, unsigned int number, uint32_t n);

#endif
