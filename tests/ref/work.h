/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REF_WORK_H
#define REF_WORK_H

/*
 * What a request makes the reference server do and answer: functions of its AFP command and its
 * number alone, known to both ends.
 */

#include "ref/tally.h"

/* Not below /tmp/afpscope-test-calls: both tests may run at once. */
#define REF_DIR "/tmp/afpscope-test-ref"

/* Commands from here on are unknown to AFP and cost one call. */
#define REF_UNKNOWN 80

/*
 * Waits until no other test program uses REF_DIR; it is this one's until its last process has
 * ended. Call it before anything is made there.
 */
void ref_reserve(void);

struct ref_files {
	int data, meta, dir, log, pipe[2], pair[2];
	int asked; /* connection to the CNID server; -1: none */
};

/* Makes the folder and opens everything; ends the process when that cannot be. */
void ref_files_open(struct ref_files *f);
void ref_files_close(struct ref_files *f);

/* The calls of a request. */
void ref_work(struct ref_worker *w, const struct ref_files *f, unsigned int command,
	      unsigned int id);

int32_t ref_result(unsigned int command, unsigned int id);

/* Bytes in the reply after its header; at most most. */
#define REF_REPLY_MAX (64 * 1024)
uint32_t ref_reply_len(unsigned int command, unsigned int id, uint32_t most);

/* The commands of the program itself may not fail: says it and ends the process. */
#define REF_MUST(condition)                                                                        \
	do {                                                                                       \
		if (!(condition))                                                                  \
			ref_die(__FILE__, __LINE__, #condition);                                   \
	} while (0)

void ref_die(const char *file, int line, const char *what) __attribute__((noreturn));

/* A sequence of numbers that is the same everywhere; *state is not 0. */
uint64_t ref_random(uint64_t *state);

#endif
