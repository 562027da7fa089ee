/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROC_PROCTEXT_H
#define HOST_PROC_PROCTEXT_H

/*
 * What the text of a file in /proc says. Opens no file: host/procfs.h does that, and gives the text
 * ended with '\0'. Functions that return int return 0, or -EPROTO if the text is not that of such a
 * file or is cut short; then out is not valid.
 */

#include "host/proc/procfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PID/io */
int proctext_io(struct afs_compat *out, const char *text);

/* The same: bytes read from storage, and written but not withdrawn. */
int proctext_storage(uint64_t *bytes, const char *text);

/* PID/schedstat */
int proctext_times(struct procfs_times *out, const char *text);

/* A line "key: value" (status, meminfo) or "key value" (vmstat, cpu.stat): its value, cut to fit.
 * false: no such line. */
bool proctext_value(char *out, size_t len, const char *text, const char *key);
/* The same if the value begins with a number. */
bool proctext_number(uint64_t *out, const char *text, const char *key);

/* Of pressure/, and a cgroup's *.pressure: us in which some waited. false: another form. */
bool proctext_stall(uint64_t *us, const char *text);

/*
 * The argument of an option in PID/cmdline, text_len bytes of words that end with '\0'; cut to
 * fit. The option has two characters ("-F FILE" or "-FFILE") or more ("--name VALUE" or
 * "--name=VALUE", "-name VALUE"). false: none.
 */
bool proctext_argument(char *out, size_t len, const char *text, size_t text_len,
		       const char *option);

/* Whether it is one of the words. */
bool proctext_word(const char *text, size_t text_len, const char *word);

/* A line of PID/mountinfo. */
struct proctext_mount {
	unsigned int id;
	uint32_t dev;    /* as the kernel numbers devices */
	char root[256];  /* the folder of the file system that it shows */
	char point[256]; /* where it does */
	/* The next three are empty if the line has none. */
	char type[32];     /* of the file system */
	char source[256];  /* a device, a server's name */
	char options[256]; /* of the file system */
};

int proctext_mount(struct proctext_mount *out, const char *line);

#endif
