/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMPAT_PEER_H
#define COMPAT_PEER_H

/*
 * How this program behaves under the names of netatalk's afp_lantest and afp_speedtest, of
 * gfapi-perf-tool, and of OpenAFS's rxperf.
 */

#include "afp/afp.h"
#include "app/cmd.h"

/* Is this argv[0] the compatible name? */
bool peer_name(const char *argv0, const char *name);

/*
 * afp_lantest's exit code for an outcome. stage: how far a session came (OUTCOME_NO_SESSION);
 * refused: the AFP command that was refused (OUTCOME_REFUSED); range: the usage error was a
 * number out of range.
 */
int peer_exit_code(enum outcome o, enum afp_stage stage, uint8_t refused, bool range);

/* That of afp_speedtest; a run that broke off is 1, as a wrong argument. */
int peer_speedtest_exit_code(enum outcome o);

/* That of gfapi_perf_tool, which has no others than 0 and 1. */
int peer_plain_exit_code(enum outcome o);

#endif
